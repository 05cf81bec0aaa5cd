"""The opponents on offer: the levels of a game and their exact results, and the slider at the game."""

import re
from html import unescape

import numpy as np
import pytest

from tests.web.test_hands import drag
from tests.web.test_pages import links_of, move, status
from ttt_env import get_game, match
from ttt_env.app.web.games import parse_game, rule_of
from ttt_env.app.web.insight import SQUARE_SCORES, score
from ttt_env.app.web.roster import presets
from ttt_env.render.words import percent

GAMES = [
    "tictactoe-v0",
    "tictactoe-v0:misere=true",
    "square-v0",
    "mnk-v0",
    "qubic-v0",
    "mnk-v0:m=15,n=15,k=5",
]


def chosen(page):
    return re.findall(r'id="level-(\w+)" href="[^"]*" aria-current', page.text)


@pytest.mark.parametrize("game", GAMES)
def test_a_first_visit_is_at_a_board_against_a_beatable_opponent(game, client):
    page = client.get(f"/play?game={game}" if game != GAMES[0] else "/play")
    assert status(page) == "Your turn: X" and chosen(page) == ["medium"]
    assert unescape(page.text).count(rule_of(parse_game(game))) == 1
    assert all(preset.manner in page.text for preset in presets(parse_game(game)))


@pytest.mark.parametrize(
    ("game", "told"),
    [("tictactoe-v0", "Tic-tac-toe: whoever has three stones in a row first wins."),
     ("mnk-v0:m=7,n=5,k=4", "4 in a row on 7×5: whoever has 4 stones in a row first wins."),
     ("mnk-v0:m=3,n=3,k=3,misere=true", "3 in a row on 3×3: whoever has 3 stones in a row first loses.")],
)  # fmt: skip
def test_the_game_is_told_in_words(game, told):
    assert rule_of(parse_game(game)) == told


def test_a_level_is_chosen_by_a_link_and_moves_under_its_name(client):
    page = client.get(links_of(client.get("/play"))["level-hard"])
    assert chosen(page) == ["hard"] and "o=epsilon:minimax&" in f"{page.url}&"
    page = move(client, page.url, 4)
    assert status(page) == "Hard (O) is thinking …" and status(move(client, page.url)) == "Your turn: X"
    as_o = client.get("/play?x=minimax&o=person")
    assert chosen(as_o) == ["perfect"]
    assert "x=random&o=person" in links_of(as_o)["level-easy"]
    watched = client.get("/play?x=random&o=random")
    assert "level-easy" not in watched.text and 'id="nature"' not in watched.text


@pytest.mark.parametrize("game", ["tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=4,n=2,k=3"])
def test_the_results_of_the_levels_are_exact(game, roster, client):
    made, shown = get_game(game), client.get(f"/play?game={game}").text
    losses = []
    for preset in presets(made):
        exact = match(preset.player, "random", made, exact=True)
        told = score(roster, preset.player, made)
        mean = np.mean([exact.as_x, exact.as_o], axis=0)
        assert (
            told == pytest.approx(mean, abs=1e-12)
            and f"play {percent(told.win)}, loses {percent(told.loss)}<" in shown
        )
        losses.append(told.loss)
    assert losses == sorted(losses, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("player", [player for _, player in SQUARE_SCORES])
def test_the_results_on_square_are_those_of_the_sweep(player):
    exact = match(player, "random", "square-v0", exact=True)
    mean = np.mean([exact.as_x, exact.as_o], axis=0)
    assert SQUARE_SCORES[get_game("square-v0"), player] == pytest.approx(mean, abs=1e-11)


def test_every_level_of_square_has_its_result_and_the_authors_opponents_are_among_them(roster):
    square = get_game("square-v0")
    scores = [score(roster, preset.player, square) for preset in presets(square)]
    assert [result.loss for result in scores] == sorted([result.loss for result in scores], reverse=True)
    assert {"random", "weights"} < {preset.player for preset in presets(square)}
    assert score(roster, "random", get_game("qubic-v0")) is None


def test_the_slider_at_the_game_makes_the_opponent_softmax_while_it_is_dragged(page):
    page.open().play(4).wait_for_status("Your turn")
    assert page.text("#nature output") == "–"
    shown = drag(page, "#o-temperature", steps=8)
    assert shown == sorted(shown, reverse=True) and shown[-1] < shown[0]
    page.wait(lambda: page.address["o"].startswith(f"softmax:temperature={shown[-1]:g}"))
    assert len(page.moves) == 2 and page.text("#nature output") == f"{shown[-1]:g}"
    page.click("#level-perfect").wait(lambda: page.address["o"] == "minimax")
    page.wait(lambda: page.text("#nature output") == "–")


def test_the_panel_keeps_what_the_slider_at_the_game_has_set(client):
    was = "x=person&o=softmax:temperature=0.2,opponent_temperature=0.4"
    fields = {"was": was, "x": "person", "o": "softmax", "o.opponent_temperature": "0.7"}
    page = client.get("/play/table", params=fields)
    assert "o=softmax:temperature=0.2,opponent_temperature=0.7" in str(page.url)
    fields = {"was": "x=person&o=weights", "o": "softmax", "of-o": "softmax", "o.temperature": "0.3"}
    assert "o=softmax:temperature=0.3" in str(client.get("/play/table", params=fields).url)
