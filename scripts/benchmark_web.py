"""Measure the web page: time to the first paint and to answers, players at once, memory of the server.

A server runs in a process of its own, the visitors in this one, over HTTP on this machine. Times are from a
request to its whole answer, redirects included: a click is two requests, the move and the page after it.
What a browser makes of it is told by Chromium itself, where chromium and chromedriver are installed: first
paint, how far things were moved on the screen (layout shift), tasks of more than 50 ms, and kilobytes.

    python scripts/benchmark_web.py
"""

import argparse
import multiprocessing as mp
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import headless
import numpy as np
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.action_chains import ActionChains

from ttt_env.app.web.controls import offered_names
from ttt_env.app.web.start import start
from ttt_env.app.web.sweeping import resident
from ttt_env.storage.game_log import GameLog

GAME = "tictactoe-v0"
NEEDS_ANOTHER = {"best-response": ":random", "epsilon": ":minimax"}
VISITORS, GAMES, CLICKS, SECONDS = 50, 1000, 100, 10
STARTS, VISITS = 5, 7
PACE = 0.15  # seconds between two steps of a search that the page animates


class Visitor:
    """A browser's connection, without a browser."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=600)
        self.address = ""

    def __enter__(self) -> "Visitor":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, address: str) -> str:
        """The page at an address; `self.address` is then where the redirections ended."""
        return self._ask("GET", address)

    def move(self, cell: int | None = None) -> str:
        """The page after a move of the visitor, or of the agent without a cell."""
        body = "" if cell is None else f"cell={cell}"
        return self._ask("POST", self.address.replace("/play?", "/play/move?"), body)

    def _ask(self, method: str, address: str, body: str = "") -> str:
        self._connection.request(method, address, body)
        response = self._connection.getresponse()
        text = response.read().decode()
        if response.status == 303:
            return self.get(response.headers["location"])
        if response.status != 200:
            raise RuntimeError(f"{response.status} for {method} {address}: {text[:500]}")
        self.address = address
        return text

    @property
    def cells(self) -> tuple[int, ...]:
        """The moves of the address."""
        text = dict(parse_qsl(urlsplit(self.address).query)).get("moves", "")
        return tuple(int(cell) for cell in text.split(".") if cell)

    def play(self, players: str, rng: np.random.Generator) -> list[float]:
        """Play a whole game, the visitor at random; the seconds of each click and of each reply to one."""
        page, times = self.get(f"/play?{players}"), []
        while 'id="again"' not in page:  # which offers another game
            free = sorted({*range(9)} - {*self.cells})
            cell = None if "thinking" in page else int(rng.choice(free))
            page, seconds = timed(self.move, cell)
            times.append(seconds)
        return times


def timed(function: Callable[..., str], *arguments: object) -> tuple[str, float]:
    """The result of a function, and the seconds it took."""
    begin = time.perf_counter()
    text = function(*arguments)
    return text, time.perf_counter() - begin


@contextmanager
def server(games: Path) -> Iterator[tuple[int, int]]:
    """The port and the process of a running server."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    spawn = mp.get_context("spawn")
    is_there = spawn.Event()
    process = spawn.Process(target=serve, args=(port, games, is_there))
    process.start()
    is_there.wait()
    yield port, process.pid or 0
    process.terminate()
    process.join()


def serve(port: int, games: Path, is_there: Any) -> None:
    """Run the server, and set the event once it answers: the target of its process."""

    def say(line: str) -> None:
        if line.startswith("Play at"):
            is_there.set()

    start("127.0.0.1", port, [], GameLog(games), None, say)


FIRST_MOVES = {
    "Perfect on Square 4×4": "game=square-v0&x=person&o=minimax",
    "Medium on 4,4,4": "game=mnk-v0:m=4,n=4,k=4&x=person&o=epsilon:minimax,epsilon=0.3",
}


def report_starts(games: Path, rounds: int) -> None:
    """Print how long the first page and the first replies of a fresh server take, asked for at once."""
    print(f"a fresh server, median and shortest of {rounds}, milliseconds")
    pages = list[float]()
    for name, query in FIRST_MOVES.items():
        replies = list[float]()
        for _ in range(rounds):
            with server(games) as (port, _), Visitor(port) as visitor:
                pages.append(timed(visitor.get, "/play")[1])
                visitor.get(f"/play?{query}&unrecorded=1")
                visitor.move(0)
                replies.append(timed(visitor.move)[1])
        print(f"  {name + ', first reply':36}{1000 * median(replies):7.0f} {1000 * min(replies):7.0f}")
    print(f"  {'first page':36}{1000 * median(pages):7.0f} {1000 * min(pages):7.0f}")


class Browser:
    """Chromium without a window, and what it has measured."""

    FIGURES = """const [since, done] = arguments, found = {};
        const seen = (type) => (list) => (found[type] ??= []).push(...list.getEntries());
        for (const type of ['paint', 'layout-shift', 'longtask', 'navigation', 'resource'])
          new PerformanceObserver(seen(type)).observe({ type, buffered: true });
        const later = (type) => (found[type] ?? []).filter(({ startTime }) => startTime >= since);
        setTimeout(() => done({
          paint: found.paint?.find(({ name }) => name === 'first-contentful-paint')?.startTime,
          shift: later('layout-shift').filter((each) => !each.hadRecentInput)
            .reduce((sum, { value }) => sum + value, 0),
          tasks: later('longtask').map((each) => each.duration),
          bytes: [...found.navigation, ...found.resource ?? []]
            .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
          requests: 1 + (found.resource ?? []).length,
        }), 200);"""

    def __init__(self, port: int, driver: WebDriver) -> None:
        self._driver, self._url = driver, f"http://127.0.0.1:{port}"
        driver.set_window_size(1440, 900)

    def open(self, address: str) -> None:
        """Go to an address, as somebody who has never been there, and wait until nothing more comes."""
        self._driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        self._driver.get(self._url + address)
        time.sleep(SETTLED)

    def figures(self, action: Callable[[Any], object] | None = None) -> dict[str, Any]:
        """The measurements since the page was opened; with an action, which is done now, since then."""
        since = self._driver.execute_script("return performance.now()") if action else 0
        if action:
            action(self._driver)
            time.sleep(SETTLED)
        figures: dict[str, Any] = self._driver.execute_async_script(self.FIGURES, since)
        return figures


def press(selector: str) -> Callable[[Any], None]:
    """Press what a selector finds, for as long as people do."""

    def action(driver: Any) -> None:
        target = driver.find_element("css selector", selector)
        ActionChains(driver).move_to_element(target).click_and_hold().pause(0.1).release().perform()

    return action


def drag(driver: Any) -> None:
    """Drag the slider of softmax minimax in twelve steps."""
    slider = driver.find_element("css selector", "#o-temperature")
    chain = ActionChains(driver, duration=50).move_to_element(slider).click_and_hold()
    for _ in range(12):
        chain.move_by_offset(-int(slider.rect["width"] / 30), 0).pause(0.1)
    chain.release().perform()


SETTLED = 1.0  # seconds in which all answers have come
STATES: dict[str, tuple[str, Callable[[Any], None] | None]] = {
    "first screen": ("/play", None),
    "a move and its reply": ("/play", press("#cell-4")),
    "See on": ("/play?moves=4.0", press("#see")),
    "a slider dragged": ("/play?o=softmax&see=1", drag),
    "game over": ("/play?x=person&o=person&moves=0.3.1.4", press("#cell-2")),
    "Look inside, a tree": ("/inside?view=tree", None),
    "Compare": ("/compare", None),
}


def report_browser(port: int, rounds: int) -> None:
    """Print what Chromium measures on 3×3: of so many visits the median, of shifts and tasks the most."""
    if None in headless.programs().values():
        print("in a browser: left out, for there is no chromium with its chromedriver")
        return
    print(f"{GAME} in Chromium, {rounds} visits each with an empty cache")
    print(f"  {'':22}first paint (ms)   layout shift   longest task over 50 ms   requests     kB")
    with headless.chromium() as driver:
        browser = Browser(port, driver)
        for name, (address, action) in STATES.items():
            seen = []
            for _ in range(rounds):
                browser.open(address)
                seen.append(browser.figures(action))
            longest = max((task for figures in seen for task in figures["tasks"]), default=None)
            paint = median(figures["paint"] for figures in seen)
            shift = max(figures["shift"] for figures in seen)
            told = "none" if longest is None else f"{longest:.0f} ms"
            print(
                f"  {name:22}{paint:16.0f}{shift:15.4f}{told:>26}{seen[-1]['requests']:11}"
                f"{seen[-1]['bytes'] / 1000:7.1f}"
            )


def report_clicks(port: int, clicks: int) -> None:
    """Print the time of a click, and of the agent's reply, for every agent but a timed search."""
    rng = np.random.default_rng(0)
    print(f"{GAME}: median of {clicks} and 95th percentile, milliseconds")
    for name in offered_names():
        players = f"x=person&o={name}{NEEDS_ANOTHER.get(name, '')}&unrecorded=1"
        times: list[float] = []
        with Visitor(port) as visitor:
            visitor.play(players, rng)  # the first game makes the agent
            while len(times) < clicks:
                times += visitor.play(players, rng)
        print(f"  {name:16} {1000 * median(times):6.1f} {1000 * quantiles(times, n=20)[-1]:6.1f}")


def report_lanes(port: int, seconds: float, searches: int) -> None:
    """Print how soon a visitor is answered while others have the server search, sweep and animate."""
    rng, over = np.random.default_rng(0), threading.Event()
    clicks, sees = list[float](), list[float]()
    others = [*[partial(search, port, seconds)] * searches, partial(sweep, port), partial(animate, port)]
    with ThreadPoolExecutor(len(others)) as threads, Visitor(port) as visitor:
        begun = [threads.submit(other, over) for other in others]
        while not over.is_set() or len(sees) < 2:
            clicks += visitor.play("x=person&o=minimax&unrecorded=1", rng)
            moves = ".".join(map(str, rng.permutation(9)[:3]))
            opponent = f"softmax:temperature={rng.integers(60) / 20}"
            sees.append(timed(visitor.get, f"/play/see?o={opponent}&moves={moves}")[1])
        for other in begun:
            other.result()
    print(f"while {searches} searches of {seconds:g} s run, sweeps over Square, and a search by steps:")
    for name, times in (("clicks on 3×3", clicks), ("See on 3×3", sees)):
        print(
            f"  {len(times)} {name}: median {1000 * median(times):.1f} ms, 95th percentile "
            f"{1000 * np.quantile(times, 0.95):.1f} ms, "
            f"longest {1000 * max(times):.1f} ms"
        )


def search(port: int, seconds: float, over: threading.Event) -> None:
    """Let an agent search for its move in Qubic; it is over then."""
    try:
        with Visitor(port) as visitor:
            visitor.get(f"/play?game=qubic-v0&x=mcts:seconds={seconds}&o=person&unrecorded=1")
            visitor.move()
    finally:  # or the visitor who is timed meanwhile would play on for ever
        over.set()


def sweep(port: int, over: threading.Event) -> None:
    """Ask what the moves of Square get against one agent after the other, until it is over."""
    with Visitor(port) as visitor:
        for step in range(1000):
            if over.is_set():
                break
            players = f"x=softmax:temperature={0.5 + step / 1000}&o=weights"
            visitor.get(f"/play/see?game=square-v0&{players}")


def animate(port: int, over: threading.Event) -> None:
    """Step through a search in Qubic as fast as the page does, until it is over."""
    with Visitor(port) as visitor:
        for done in range(2000):
            if over.wait(PACE):
                break
            visitor.get(f"/inside?game=qubic-v0&view=mcts&mcts.run=yes&mcts.done={done}")


def report_crowd(port: int, visitors: int, log: GameLog) -> None:
    """Print how fast a crowd is answered, after a check that every game is recorded as it was played."""
    before = len(log)

    def visit(number: int) -> tuple[tuple[int, ...], list[float]]:
        with Visitor(port) as visitor:
            times = visitor.play("x=person&o=minimax", np.random.default_rng(number))
            return visitor.cells, times

    with ThreadPoolExecutor(visitors) as crowd:
        played, times = zip(*crowd.map(visit, range(visitors)), strict=True)
    recorded = [record.cells for record in log.records(GAME)[before:]]
    assert sorted(played) == sorted(recorded)
    clicks = [seconds for game in times for seconds in game]
    print(
        f"{visitors} visitors at once: no error, no game mixed up; median {1000 * median(clicks):.1f} ms, "
        f"longest {1000 * max(clicks):.1f} ms"
    )


def report_memory(port: int, pid: int, games: int) -> None:
    """Print the memory of the server before and after so many whole games."""
    rng, players = np.random.default_rng(0), "x=person&o=mcts:simulations=100&unrecorded=1"
    with Visitor(port) as visitor:
        for _ in range(max(games // 10, 5)):
            visitor.play(players, rng)
        before = resident(pid)
        for _ in range(games):
            visitor.play(players, rng)
    print(f"memory after {games} games: {before:.1f} MB before, {resident(pid):.1f} MB after")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--share", type=float, default=1.0, help="of starts, visits, clicks, visitors, games and seconds"
    )
    share = parser.parse_args().share
    with tempfile.TemporaryDirectory() as folder:
        games = Path(folder) / "games.sqlite"
        report_starts(games, max(1, int(share * STARTS)))
        with GameLog(games) as log, server(games) as (port, pid):
            report_browser(port, max(1, int(share * VISITS)))
            report_clicks(port, max(5, int(share * CLICKS)))
            for searches in (1, 4):
                report_lanes(port, max(0.5, share * SECONDS), searches)
            report_crowd(port, max(2, int(share * VISITORS)), log)
            report_memory(port, pid, max(5, int(share * GAMES)))


if __name__ == "__main__":
    main()
