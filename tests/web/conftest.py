import http.server
import json
import mimetypes
import os
import threading
import time
from contextlib import contextmanager
from functools import partial

import pytest
import uvicorn
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from starlette.testclient import TestClient

from scripts import headless
from tests.web.axe import emulate
from ttt_env.rules import Game, catalogue
from ttt_env.rules.catalogue import register_game
from ttt_env.storage.game_log import GameLog
from ttt_env.web.build import static_files
from ttt_env.web.data import available_games, page_files
from ttt_env.web.players import Players
from ttt_env.web.server import config_of, create_app

HOSTILE = "<img src=x onerror=alert(1)>"
FANO = [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]


def pytest_collection_modifyitems(items):
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture
def log(tmp_path):
    with GameLog(tmp_path / "games.sqlite") as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_client():
    with TestClient(create_app(), base_url="http://localhost") as client:
        yield client


@pytest.fixture
def ask(shared_client):
    """A function that sends a question to the server like its page and returns the answer."""

    def post(name, **question):
        response = shared_client.post(f"/answers/{name}", json=question)
        assert response.status_code == 200, response.text
        return response.json()

    return post


@pytest.fixture
def refusal(shared_client):
    """A function that sends a question that the server refuses and returns the reason."""

    def post(name, **question):
        response = shared_client.post(f"/answers/{name}", json=question)
        assert response.status_code == 400
        return response.json()["error"]

    return post


def contents():
    """The site's files by name, each as a function that computes its content on first use."""
    games = available_games(is_static=True)
    data = page_files(Players(), games, has_answers=False, records=False)
    files = {name: partial(bytes, content) for name, content in static_files().items()}
    return files | {f"data/{name}": content for name, content in data.items()}


@contextmanager
def hosted(files):
    """The address of a plain web server that has these files in a folder."""
    folder = "/docs/try/"

    class Files(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.removeprefix(folder) or "index.html"
            self.send_response(200 if name in files else 404)
            self.send_header("content-type", mimetypes.guess_type(name)[0] or "text/plain")
            self.end_headers()
            if name in files:
                self.wfile.write(files[name]())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}{folder}"
        server.shutdown()


@pytest.fixture(scope="session")
def site():
    """The address of a site that consists of files only."""
    with hosted(contents()) as url:
        yield url


@contextmanager
def serving(app):
    """The address of the application, which runs in a thread of this process."""
    server = uvicorn.Server(config_of(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """The address of `ttt web` with a program of hostile name and two custom games, and its game log."""
    folder = tmp_path_factory.mktemp("served")
    program = folder / "<img src=x>.py"
    program.write_text("def choose(position):\n    return position.legal_cells[0]\n")
    with pytest.MonkeyPatch.context() as patch, GameLog(folder / "games.sqlite") as log:
        patch.setattr(catalogue, "_registered", dict(catalogue._registered))
        for game in (Game("fano", (7,), FANO), Game("two-rows", (2, 15), [[0, 1, 2], [27, 28, 29]])):
            register_game(game)
        app = create_app([str(program)], log)
        patch.undo()  # the app keeps its games; they stay unknown to other tests
        with serving(app) as url:
            yield url, log


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium of the distribution."""
    try:
        with headless.chromium() as driver:
            yield driver
    except FileNotFoundError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))


class Page:
    """A visitor to a page, with helpers to read it and to act in it."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url

    def go(self, address=""):
        self.browser.get("about:blank")  # otherwise an address with another fragment is not reloaded
        self.browser.get(self.url + address)
        self.until("return document.getElementById('page')?.childElementCount !== 0")
        return self

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def until(self, script, *arguments, seconds=40):
        return WebDriverWait(self.browser, seconds, 0.02).until(lambda _: self.run(script, *arguments))

    def find(self, path):
        """The element of a CSS selector, or of an XPath."""
        by = By.XPATH if path.startswith("//") else By.CSS_SELECTOR
        return self.browser.find_element(by, path)

    def text(self, css):
        return self.run("return document.querySelector(arguments[0])?.textContent.trim() ?? ''", css)

    def all(self, css):
        script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent.trim())"
        return self.run(script, css)

    def rows(self, css):
        """The cells of rows of a table, each row as one text."""
        text = "[...cells].map(({textContent}) => textContent).join(' ')"
        return self.run(
            f"return [...document.querySelectorAll(arguments[0])].map(({{cells}}) => {text})", css
        )

    def count(self, css):
        return len(self.all(css))

    def attribute(self, css, name):
        return self.find(css).get_attribute(name)

    @property
    def focused(self):
        return self.run("return document.activeElement.id")

    def click(self, path):
        self.find(path).click()

    def move_to(self, path, x=0, y=0):
        """Move the pointer to a place relative to the middle of an element."""
        return self._pointed(path, x, y).perform()

    def click_at(self, path, x, y):
        self._pointed(path, x, y).click().perform()

    def _pointed(self, path, x, y):
        return ActionChains(self.browser, duration=0).move_to_element_with_offset(
            self.find(path), round(x), round(y)
        )

    def press(self, *keys):
        """Press these keys, one after the other, at the focus."""
        ActionChains(self.browser).send_keys(*keys).perform()

    def wait(self, is_so):
        WebDriverWait(self.browser, 60, 0.02).until(lambda _: is_so())

    def stones(self, board=".stage"):
        """The board as text, row by row without separators."""
        return self.run(
            """return [...document.querySelectorAll(`${arguments[0]} .cell`)].map(({classList}) =>
               classList.contains('x') ? 'X' : classList.contains('o') ? 'O' : '.').join('')""",
            board,
        )

    def module(self, body, *arguments, names=""):
        """The result of an asynchronous function with this body in the page, with these modules in scope.

        Arguments and result are sent as text, as the driver is slow with large lists.
        """
        script = f"""
            const [text, done] = arguments, given = JSON.parse(text);
            (async () => {{
              const [{names}] = await Promise.all("{names}".split(", ").filter(Boolean)
                .map((name) => import(new URL(name + ".js", location.href.split("#")[0]))));
              const app = await (await fetch("data/app.json")).json();
              const game = (id) => app.games.find((each) => each.id === id);
              {body}
            }})().then((result) => done([JSON.stringify(result), ""]),
              (error) => done(["null", String(error.stack)]));"""
        text, error = self.browser.execute_async_script(script, json.dumps(arguments))
        assert not error, error
        return json.loads(text)

    def offline(self, is_offline):
        self.browser.execute_cdp_cmd("Network.enable", {})
        conditions = {"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.browser.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)

    def console_messages(self):
        """The messages that the page has written to the console since the last call."""
        return [entry["message"] for entry in self.browser.get_log("browser")]


@pytest.fixture
def open_page(chromium):
    """A function that opens a page at an address, in a window of this size and in these colours."""

    def go(url, address="", width=1200, media=None, height=900):
        emulate(chromium, media or {})
        resize(chromium, width, height)
        return Page(chromium, url).go(address)

    yield go
    emulate(chromium, {})


def resize(browser, width, height):
    """Give the page this size, even one that is narrower than windows can be."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )


@pytest.fixture
def page(chromium, site, open_page):
    """A visitor to the site of files; a message on the console fails the test."""
    chromium.set_script_timeout(120)
    chromium.get_log("browser")
    page = open_page(site)
    yield page
    assert not page.console_messages()


@pytest.fixture
def live(chromium, served, open_page):
    """A visitor to `ttt web`; a message on the console fails the test."""
    chromium.get_log("browser")
    page = open_page(served[0])
    yield page
    assert not page.console_messages()
