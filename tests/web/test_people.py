"""People against agents on the page: the counts of the log, and the exact chances of a random player."""

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from tests.support.games import DRAW, O_WINS, TICTACTOE, X_WINS
from tests.web.reading import part_of, reloaded, text_of
from ttt_env import GameRecord, get_game, match
from ttt_env.render.words import percent
from ttt_env.storage.game_log import PERSON, GameLog
from ttt_env.web.server import create_app

SQUARE = get_game("square-v0")


def rows(page):
    """The rows of the table: what stands in each cell."""
    return [
        [text_of(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)]
        for row in re.findall(r"<tr>.*?</tr>", page.text.partition("</thead>")[2], re.S)
    ]


@pytest.fixture
def played(log):
    for cells, x, o in [
        (X_WINS, PERSON, "win-block"), (X_WINS, PERSON, "win-block"), (DRAW, PERSON, "win-block"),
        (X_WINS, "win-block", PERSON), (O_WINS, PERSON, "minimax"), (X_WINS, PERSON, PERSON),
        (X_WINS, PERSON, "lookup:/home/somebody/secret.npz"), (X_WINS, PERSON, "mcts:simulations=50"),
    ]:  # fmt: skip
        log.add(GameRecord(TICTACTOE, cells), x=x, o=o)
    return log


def expected(agent):
    of_random = match("random", agent, TICTACTOE, exact=True)
    return {"X": list(map(percent, of_random.as_x)), "O": list(map(percent, of_random.as_o))}


def test_the_table_of_a_game(client, played):
    shares, against_minimax = expected("win-block"), expected("minimax")["X"]
    counted = [
        ["win-block", "X", "3", f"2 {shares['X'][0]}", f"1 {shares['X'][1]}", f"0 {shares['X'][2]}"],
        ["O", "1", f"0 {shares['O'][0]}", f"0 {shares['O'][1]}", f"1 {shares['O'][2]}"],
    ]
    for page in (client.get("/compare/people?part=1"), client.get("/compare/people?whole=1")):
        found = rows(page)
        assert found[:2] == counted
        others = {row[0]: row[1:] for row in found[2:]}
        results = (f"{n} {p}" for n, p in zip((0, 0, 1), against_minimax, strict=True))
        assert others["minimax"] == ["X", "1", *results]
        assert others["mcts:simulations=50"] == ["X", "1", "1", "0", "0"]
        assert "fixed policy" in text_of(page.text)
        assert "secret" not in page.text and "home" not in page.text  # agents of the page alone


def test_the_table_comes_later_and_without_a_script_by_a_reload(client, played):
    page = client.get("/compare/people")
    later = rows(part_of(client, page))
    assert later and later == rows(reloaded(client, page))
    assert re.search(r"tictactoe-v0[^>]*>Tic-tac-toe</a>", page.text)


def test_one_agent_beside_the_board(client, played):
    play = client.get("/play?o=minimax")
    [later] = [unescape(url) for url in re.findall(r'data-load="(.*?)"', play.text) if "people" in url]
    page = client.get(later)
    assert "People against minimax" in text_of(page.text) and [row[:2] for row in rows(page)] == [["X", "1"]]
    assert client.get("/compare/people/agent?agent=weights").text.strip() == ""


def test_a_game_that_is_played_here_counts_at_once(client, played):
    before = rows(client.get("/compare/people/agent?agent=minimax"))
    played.add(GameRecord(TICTACTOE, DRAW), x=PERSON, o="minimax")
    after = rows(client.get("/compare/people/agent?agent=minimax"))
    assert before[0][1:4] != after[0][1:4] and after[0][1] == "2" and after[0][3].startswith("1 ")


def test_larger_games_say_why_there_is_no_expectation(client, log):
    log.add(GameRecord(SQUARE, (0, 1, 3, 2, 12, 4, 15)), x=PERSON, o="brute-force")
    page = client.get("/compare/people?part=1&game=square-v0")
    assert rows(page)[0] == ["brute-force", "X", "1", "1", "0", "0"] and "up to 12" in text_of(page.text)


def test_two_spellings_of_an_agent_are_one(client, log):
    for spec in ("epsilon:minimax", "epsilon:minimax,epsilon=0.1"):
        log.add(GameRecord(TICTACTOE, X_WINS), x=PERSON, o=spec)
    assert rows(client.get("/compare/people?part=1"))[0][:3] == ["epsilon:minimax", "X", "2"]


def test_a_model_goes_by_its_name_here(tmp_path):
    from ttt_env import make_agent
    from ttt_env.agents.learned.lookup import Lookup

    path = tmp_path / "mine.npz"
    Lookup.of(make_agent("win-block")).save(path)
    with GameLog(tmp_path / "games.sqlite") as log:
        log.add(GameRecord(TICTACTOE, X_WINS), x=PERSON, o=f"lookup:{path}")
        app = create_app({"mine": f"lookup:{path}"}, log)
        with TestClient(app, base_url="http://localhost") as client:
            page = client.get("/compare/people?part=1")
    assert rows(page)[0][:3] == ["model:mine", "X", "1"] and str(path) not in page.text
    assert rows(page)[0][3].split()[1] == expected("win-block")["X"][0]
