"""The pages on a port of this machine, and a visitor with a browser."""

import asyncio
import threading
import time
from importlib.metadata import EntryPoint
from urllib.parse import parse_qsl, urlsplit

import uvicorn
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.web.questions import think
from ttt_env import Agent
from ttt_env.agent import ENTRY_POINT_GROUP, installed, making
from ttt_env.compiled.stopping import StoppedError
from ttt_env.web import controls
from ttt_env.web.compare.curves import TAG
from ttt_env.web.start import config_of

HELD = 0.1  # seconds between down and up
CHANCES = """return Object.fromEntries([...document.querySelectorAll('.tile')]
    .map((tile) => [tile.value, tile.querySelector('.known b')?.textContent])
    .filter(([, text]) => text))"""


class Patient(Agent):
    """Moves when it is told to."""

    seconds_per_move = 1.0
    may_move = threading.Event()

    def choose(self, position, rng):
        assert self.may_move.wait(600)
        return position.legal_cells[0]


def install(monkeypatch, name, kind):
    """Let an agent of this class, one of this module, be installed under a name."""
    point = EntryPoint(name, f"{__name__}:{kind.__name__}", ENTRY_POINT_GROUP)
    monkeypatch.setitem(installed(), name, point)
    for module in (making, controls):  # as if it were an agent of this package
        monkeypatch.setattr(module, "is_of_package", installed().__contains__)


class Server(uvicorn.Server):
    """The application on a free port of this machine, in a thread."""

    def __init__(self, app):
        super().__init__(config_of(app, host="127.0.0.1", port=0, log_level="critical"))
        self._thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self._thread.start()
        while not self.started:
            assert self._thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        port = self.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    def __exit__(self, *_):
        self.should_exit = True
        self._thread.join(10)


def resize(driver, width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


class Visitor:
    """The actions and readings of a visitor, on any page.

    Reading happens in one script: an element that is found first and read afterwards may have been
    replaced in between. Waiting ends when the page is ready, however long this machine takes.
    """

    def __init__(self, browser, url):
        self.browser, self.url = browser, url

    def go(self, address):
        """Open an address, and wait for its page: sometimes the driver returns before it is there."""
        self.run("globalThis.isLeft = true")
        self.browser.get(self.url + address)
        self.wait(lambda: self.run("return document.readyState === 'complete' && !globalThis.isLeft"))
        return self

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def wait(self, condition):
        waiting = WebDriverWait(self.browser, 300, 0.02, [StaleElementReferenceException])
        return waiting.until(lambda _: condition())

    def rest(self):
        """Wait until all parts of the page have come."""
        self.wait(lambda: not self.count("[data-load]"))
        return self

    def find(self, selector):
        """An element, to be pressed and not to be read."""
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector):
        self.wait(lambda: self.find(selector).click() is None)
        return self

    def type(self, selector, *keys):
        self.wait(lambda: self.find(selector).send_keys(*keys) is None)
        return self

    def press(self, *keys):
        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()
        return self

    def all(self, selector, name="textContent"):
        """A property of all elements, by default their texts."""
        script = """const [selector, name] = arguments, told = (value) =>
                typeof value === 'string' ? value.replace(/\\s+/g, ' ').trim() : value;
            return [...document.querySelectorAll(selector)].map((each) => told(each[name]))"""
        return self.run(script, selector, name)

    def text(self, selector):
        """The text of the first such element; empty if there is none."""
        return next(iter(self.all(selector)), "")

    def count(self, selector):
        return len(self.all(selector, "id"))

    def attribute(self, selector, name):
        return self.run(
            "return document.querySelector(arguments[0])?.getAttribute(arguments[1])", selector, name
        )

    def rect(self, selector):
        return self.run(
            "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", selector
        )

    def is_shown(self, selector):
        return self.run("return document.querySelector(arguments[0])?.checkVisibility() ?? false", selector)

    @property
    def focused(self):
        """The id of the element that has the focus."""
        return self.run("return document.activeElement.id")

    @property
    def address(self):
        return dict(parse_qsl(urlsplit(self.browser.current_url).query))


class Page(Visitor):
    """A visitor of the page for playing."""

    def open(self, query=""):
        return self.go(f"/play{query and '?'}{query}")

    def wait_for_status(self, status):
        self.wait(lambda: status in self.status)
        return self

    @property
    def status(self):
        return self.text("#status")

    @property
    def moves(self):
        return [int(cell) for cell in self.address.get("moves", "").split(".") if cell]

    def play(self, *cells):
        for cell in cells:
            before = len(self.moves)
            self.click(f"#cell-{cell}")
            self.wait(lambda before=before: len(self.moves) > before)
        return self

    def marked(self, accent):
        return sorted(map(int, self.all(f".tile.{accent}", "value")))

    def chances(self):
        """The shown probabilities by cell."""
        return {int(cell): text for cell, text in self.run(CHANCES).items()}


def hand(page):
    return ActionChains(page.browser, duration=50)


def press(page, selector):
    def pressed():
        chain = hand(page).move_to_element(page.find(selector)).click_and_hold()
        return chain.pause(HELD).release().perform()

    page.wait(lambda: pressed() is None)


def drag(page, selector, steps=12, stay=0.0):
    """The values beside the slider while it is dragged to the left, and held there for `stay` seconds."""
    watch = """window.shown = []; const slider = document.querySelector(arguments[0]);
        const output = slider.parentElement.querySelector('output');
        const note = () => shown.push(Number(output.textContent));
        slider.addEventListener('input', () => requestAnimationFrame(note));"""
    page.run(watch, selector)
    step = -int(page.rect(selector)["width"] / 30)
    # One chain: between two the driver lets go.
    chain = hand(page).move_to_element(page.find(selector)).click_and_hold()
    for _ in range(steps):
        chain.move_by_offset(step, 0).pause(HELD)
    chain.pause(stay).release().perform()
    page.wait(lambda: [str(page.run("return shown.at(-1)"))] == page.all(selector, "value"))
    return page.run("return shown")


def delay(page, milliseconds, offline=False):
    """Let every answer take so long on its way, or none come any more."""
    conditions = {
        "offline": offline,
        "latency": milliseconds,
        "downloadThroughput": -1,
        "uploadThroughput": -1,
    }
    page.browser.execute_cdp_cmd("Network.enable", {})
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)


class Endless(Agent):
    """Thinks until nobody waits for its move any more."""

    seconds_per_move = 1.0
    was_stopped = threading.Event()

    def choose(self, position, rng):
        try:
            think()
        except StoppedError:
            self.was_stopped.set()
            raise


async def until(condition):
    """Wait until a function of no arguments is true."""
    while not condition():
        await asyncio.sleep(0.01)


POINTS = [(0, 100.0, 1.0), (4096, 101.5, 0.5), (8192, 103.0, 0.125)]


def write_run(folder, points=POINTS, tag=TAG):
    """A run by TensorBoard's own writer: (step, time, value)."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    for step, wall_time, value in points:
        for name, number in (("rollout/ep_rew_mean", 0.25), (tag, value)):
            summary = Summary(value=[Summary.Value(tag=name, simple_value=number)])
            writer.add_event(Event(wall_time=wall_time, step=step, summary=summary))
    writer.close()
    (file,) = sorted(folder.glob("events*"))[-1:]
    return file
