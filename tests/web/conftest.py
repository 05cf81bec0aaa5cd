import os

import pytest
from starlette.testclient import TestClient

from scripts import headless
from tests.support.games import DRAW, TICTACTOE, X_WINS
from tests.web.axe import emulate
from tests.web.serving import Page, Server, Visitor, delay, resize, write_run
from ttt_env.rules.notation import GameRecord
from ttt_env.storage.game_log import PERSON, GameLog
from ttt_env.web.export import exported, write_folder
from ttt_env.web.insight import InsightSolver
from ttt_env.web.roster import Roster
from ttt_env.web.server import create_app


def pytest_collection_modifyitems(items):
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def roster():
    return Roster({})


@pytest.fixture(scope="session")
def insight_solver(roster):
    return InsightSolver(roster)


EXPORTED = "minimax", "newell-simon", "win-block", "softmax"


@pytest.fixture(scope="session")
def exported_files(roster):
    """The files of an export with a few agents and without most of the ladder, by name."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for module in ("export", "compare.agents"):
            monkeypatch.setattr(f"ttt_env.web.{module}.ENTRANTS", ("random", "weights"))
        return exported(roster, EXPORTED)


@pytest.fixture(scope="session")
def exported_folder(roster, tmp_path_factory):
    """The folder `docs/ttt` of a site, with an export of these agents and of the ladder."""
    folder = tmp_path_factory.mktemp("public") / "docs" / "ttt"
    write_folder(folder, exported(roster, EXPORTED))
    return folder


@pytest.fixture
def log(tmp_path):
    with GameLog(tmp_path / "games.sqlite") as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_client(tmp_path_factory):
    with (
        GameLog(tmp_path_factory.mktemp("shared") / "games.sqlite") as log,
        TestClient(create_app({"mine": "weights"}, log), base_url="http://localhost") as made,
    ):
        yield made


@pytest.fixture
def client(request, shared_client, monkeypatch):
    """The application in this process, one for all; it records into the `log` of a test that has one."""
    if "log" in request.fixturenames:
        monkeypatch.setattr(shared_client.app.state.services, "log", request.getfixturevalue("log"))
    return shared_client


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The address of a running server, and its log of games."""
    with GameLog(tmp_path_factory.mktemp("web") / "games.sqlite") as log, Server(create_app(log=log)) as url:
        yield url, log


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    """The address of a running server with two runs of training and some games of people."""
    pytest.importorskip("tensorboard")
    folder = tmp_path_factory.mktemp("watched")
    for name in ("maskable-ppo_1", "dqn_1"):
        write_run(folder / "runs" / name)
    with GameLog(folder / "games.sqlite") as log:
        for agent, cells in (
            ("minimax", DRAW), ("random", X_WINS), ("mcts:simulations=50,playout=win-block", X_WINS),
            ("epsilon:softmax,epsilon=0.3,temperature=0.25", X_WINS),
        ):  # fmt: skip
            log.add(GameRecord(TICTACTOE, cells), x=PERSON, o=agent)
        with Server(create_app(log=log, runs=folder / "runs")) as address:
            yield address


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium of the distribution."""
    try:
        with headless.chromium() as driver:
            yield driver
    except FileNotFoundError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))


@pytest.fixture
def look(chromium):
    """To a page of a site, in a window of this width and in these colours."""

    def go(site, address, width=1200, media=None):
        emulate(chromium, media or {})
        resize(chromium, width, 900)
        chromium.get("about:blank")  # else an address that differs behind # alone is not opened anew
        return Visitor(chromium, site).go(address)

    yield go
    emulate(chromium, {})
    chromium.execute_script("localStorage.clear()")


@pytest.fixture
def browser(chromium, site):
    """The browser on an empty page in a wide window; a line on its console fails the test."""
    chromium.get("about:blank")
    chromium.get_log("browser")
    resize(chromium, 1200, 900)
    yield chromium
    written = [entry["message"] for entry in chromium.get_log("browser")]
    assert not written


@pytest.fixture
def page(browser, site):
    """A visitor to the running server."""
    return Page(browser, site[0])


@pytest.fixture
def slow_page(page):
    """A visitor to whom every answer takes 150 ms on its way."""
    delay(page, 150)
    yield page
    delay(page, 0)
