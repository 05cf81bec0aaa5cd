"""The pages on a port of this machine, and a visitor with a browser."""

import asyncio
import threading
import time
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import uvicorn
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from ttt_env import Agent
from ttt_env.app.web.start import config_of
from ttt_env.stopping import StoppedError, check_wanted


class Patient(Agent):
    """Moves when it is told to."""

    seconds_per_move = 1.0
    may_move = threading.Event()

    def choose(self, position, rng):
        assert self.may_move.wait(600)
        return position.legal_cells[0]


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


class Page:
    """What a visitor sees and does."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url

    def open(self, query=""):
        self.browser.get(f"{self.url}/play{query and '?'}{query}")
        return self

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.browser.execute_script(
            "return document.querySelector(arguments[0])?.textContent.trim() ?? ''", selector
        )

    def wait(self, condition):
        waiting = WebDriverWait(self.browser, 300, 0.02, [StaleElementReferenceException])
        return waiting.until(lambda _: condition())

    def wait_for_status(self, status):
        self.wait(lambda: status in self.status)
        return self

    @property
    def status(self):
        return self.text("#status")

    @property
    def address(self):
        return dict(parse_qsl(urlsplit(self.browser.current_url).query))

    @property
    def moves(self):
        return [int(cell) for cell in self.address.get("moves", "").split(".") if cell]

    def click(self, selector):
        self.wait(lambda: self.find(selector).click() is None)
        return self

    def press(self, *keys):
        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()
        return self

    def play(self, *cells):
        for cell in cells:
            before = len(self.moves)
            self.click(f"#cell-{cell}")
            self.wait(lambda before=before: len(self.moves) > before)
        return self

    def marked(self, accent):
        script = "return [...document.querySelectorAll('.tile.' + arguments[0])].map((tile) => +tile.value)"
        return sorted(self.browser.execute_script(script, accent))

    def chances(self):
        """The shown probabilities by cell."""
        script = """return Object.fromEntries([...document.querySelectorAll('.tile')]
            .map((tile) => [tile.value, tile.querySelector('.known b')?.textContent])
            .filter(([, text]) => text))"""
        return {int(cell): text for cell, text in self.browser.execute_script(script).items()}


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


def think(told=None):
    """Go on until nobody waits for this any more: the file `told` says so, `told.begun` that it began."""
    if told is not None:
        Path(f"{told}.begun").touch()
    while True:
        time.sleep(0.01)
        try:
            check_wanted()
        except StoppedError:
            if told is not None:
                Path(told).touch()
            raise


def has_made(roster, player, game):
    """Whether the agent of a player is there, in the process that is asked."""
    return roster._made.get(game, player) is not None


def hoard(megabytes):
    """Fill so much memory, and keep it."""
    _HOARD.append(np.ones(megabytes * 1_000_000, np.uint8))
    return megabytes


_HOARD = []
