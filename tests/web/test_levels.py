"""The opponents on offer: the levels of a game and their exact results, and the slider at the game."""

import re
from html import unescape

import pytest

from tests.support.marks import slow
from tests.web.reading import SMALL, links_of, move, status, text_of
from tests.web.serving import drag, resize
from ttt_env import certify, exploitability, get_game, make_agent
from ttt_env.rules import GameRecord
from ttt_env.web.games import parse_game, rule_of
from ttt_env.web.insight import SQUARE_DEFEATS, weakness
from ttt_env.web.roster import presets

GAMES = ["tictactoe-v0", "tictactoe-v0:misere=true", "square-v0", "mnk-v0", "qubic-v0",
         "mnk-v0:m=8,n=8,k=5"]  # fmt: skip


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
    two = client.get(links_of(client.get("/play"))["level-two"])
    assert chosen(two) == ["two"] and status(two) == "X to move" and links_of(two)["door"] == "/train"
    watched = client.get("/play?x=random&o=random")
    assert "level-easy" not in watched.text and 'id="nature"' not in watched.text


@pytest.mark.parametrize(
    "game", ["tictactoe-v0", "tictactoe-v0:misere=true", SMALL, slow("mnk-v0:m=4,n=3,k=3")]
)
def test_each_level_says_whether_it_can_lose_and_leads_to_the_proof(game, roster, client):
    made, shown = get_game(game), client.get(f"/play?game={game}").text
    for preset in presets(made):
        told, proof = weakness(roster, preset.player, made).told, certify(preset.player, made)
        assert (told == "Yes, here is how") == (not proof.unbeatable)
        assert (told == "Never") == (min(proof.worst_case.values()) >= 0)
        link = re.search(rf'href="([^"]*agent={preset.player}[^"]*)">{told}<', shown)[1]
        assert f"agent={preset.player}" in unescape(link) and client.get(unescape(link)).status_code == 200
    assert "Can it lose?" in shown and "Beats random" not in shown


@pytest.mark.parametrize("player", SQUARE_DEFEATS)
def test_the_games_that_beat_the_levels_of_square_can_happen(player, roster, client):
    square = get_game("square-v0")
    record, agent = GameRecord(square, SQUARE_DEFEATS[player]), make_agent(player, square)
    assert record.positions()[-1].winner == "X"
    for position, cell in zip(record.positions(), record.cells, strict=False):
        assert position.to_move == "X" or agent.policy(position)[cell] > 0
    shown = client.get("/play?game=square-v0").text
    link = re.search(rf'href="([^"]*o={player}[^"]*review=1)">Yes, here is how<', shown)[1]
    assert status(client.get(unescape(link))) == f"Before the first of {len(record.cells)} moves"


@pytest.mark.parametrize(
    ("game", "told", "value"),
    [slow("square-v0", "Never", "0"), ("mnk-v0:m=13,n=1,k=2", "Only lost positions", "+1"),
     ("mnk-v0:m=13,n=1,k=13", "Never", "0")],
)  # fmt: skip
def test_the_perfect_level_of_13_to_16_cells_leads_to_the_values_by_which_it_moves(game, told, value, client):
    shown = client.get(f"/play?game={game}").text
    link = unescape(re.search(rf'class="how" href="([^"]*)">{told}<', shown)[1])
    assert f"X to move {value} for X" in text_of(client.get(f"{link}&whole=1").text)


@pytest.mark.slow
def test_the_perfect_level_of_square_never_loses(roster):
    assert weakness(roster, "minimax", get_game("square-v0")).told == "Never"
    assert exploitability("minimax", "square-v0").nash_conv == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("game", "told"),
    [("mnk-v0:m=4,n=4,k=4", ["Yes", "Yes", "Yes", "Never"]),
     ("square-v0:misere=true", ["Yes", "Yes", "Yes", "Never"]),
     ("mnk-v0:m=5,n=3,k=3", ["Yes", "Yes", "Yes", "Only lost positions"]),
     ("mnk-v0:m=13,n=1,k=13", ["Never"] * 4),  # where no game is won
     ("qubic-v0", ["Yes", "Not known", "Not known"])],
)  # fmt: skip
def test_whether_a_level_can_lose_is_known_without_a_sweep_in_the_process_of_the_pages(
    game, told, roster, monkeypatch
):
    for sweep in ("solve", "reachable", "certify"):
        monkeypatch.setattr(f"ttt_env.web.insight.{sweep}", lambda *_: pytest.fail("all positions"))
    made = get_game(game)
    assert [weakness(roster, preset.player, made).told for preset in presets(made)] == told


def test_the_slider_at_the_game_makes_the_opponent_softmax_while_it_is_dragged(page):
    page.open().play(4).wait_for_status("Your turn")
    assert page.text("#nature output") == "–"
    shown = drag(page, "#o-temperature", steps=8)
    assert shown == sorted(shown, reverse=True) and shown[-1] < shown[0]
    page.wait(lambda: page.address["o"].startswith(f"softmax:temperature={shown[-1]:g}"))
    assert len(page.moves) == 2 and page.text("#nature output") == f"{shown[-1]:g}"
    page.click("#level-perfect").wait(lambda: page.address["o"] == "minimax")
    page.wait(lambda: page.text("#nature output") == "–")


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_the_slider_and_the_buttons_are_on_the_first_screen(size, page):
    resize(page.browser, *size)
    page.open("game=square-v0")
    slider, board, bar = (page.rect(each) for each in ("#o-temperature", ".board", ".bar"))
    assert slider["bottom"] < board["bottom"] < bar["bottom"] <= size[1]
