"""The data files: the page plays like the package, and states about its agents what the package proves."""

import json

import numpy as np
import pytest

from tests.support.games import TICTACTOE
from tests.web.conftest import FANO
from ttt_env import certify, get_game, make_agent, match, solve
from ttt_env.analysis.solution import distances
from ttt_env.errors import FileError, GameError
from ttt_env.rules import Boards, Game, catalogue
from ttt_env.rules.catalogue import register_game
from ttt_env.web.data import GAMES, available_games, layout_facts, page_files, rule_of
from ttt_env.web.players import PROOF, Players

MISERE = get_game("tictactoe-v0:misere=true")


@pytest.fixture(scope="module")
def files():
    return page_files(Players(), available_games(is_static=True), has_answers=False, records=False)


@pytest.fixture(scope="module")
def app(files):
    return json.loads(files["app.json"]())


@pytest.fixture(autouse=True)
def restore_games(monkeypatch):
    """Forget the games that a test registers."""
    monkeypatch.setattr(catalogue, "_registered", dict(catalogue._registered))


def test_static_site_offers_games_that_it_solves(app):
    assert [game["id"] for game in app["games"]] == ["tictactoe-v0", MISERE.name]
    for fact in app["games"]:
        game = get_game(fact["id"])
        assert [list(each) for each in game.winning_sets] == fact["sets"] and fact["misere"] == game.misere
        assert set(fact["agents"]) <= set(fact["policies"]) | {"softmax"}


def test_server_offers_all_games_with_suitable_agents():
    players = Players()
    for game in available_games(is_static=False):
        for agent in players.agents_for(game):
            make_agent(agent, game)
        assert [level.name for level in players.levels(game)][:2] == ["Easy", "Medium"]
    assert set(GAMES) == {game.name for game in available_games(is_static=False)}


@pytest.mark.parametrize("game", [TICTACTOE, MISERE], ids=str)
def test_perfect_is_unbeatable_and_levels_get_harder(game):
    levels = [make_agent(level.agent, game) for level in Players().levels(game)]
    assert [certify(each).unbeatable for each in levels] == [False, False, False, True]
    scores = [match(each, "random", game).score for each in levels]
    assert scores == sorted(scores)


@pytest.mark.slow
def test_perfect_wins_fast_and_resists_long():
    perfect, solution = make_agent(Players().levels(TICTACTOE)[-1].agent, TICTACTOE), solve(TICTACTOE)
    layer = {TICTACTOE.start}
    for _ in range(5):
        open_positions = [position for position in layer if not position.is_over]
        layer = {position.play(cell) for position in open_positions for cell in position.legal_cells}
    decided = [each for each in layer if not each.is_over and solution.value_of(each) != 0]
    assert {solution.value_of(each) for each in decided} == {1, -1}
    for position in decided:
        values = solution.values_by_cell(position)
        best = [cell for cell in values if values[cell] == max(values.values())]
        plies = distances(TICTACTOE).of(Boards.of([position.play(cell) for cell in best])).tolist()
        aim = min(plies) if max(values.values()) > 0 else max(plies)
        played = np.flatnonzero(perfect.policy(position)).tolist()
        assert set(played) <= {cell for cell, each in zip(best, plies, strict=True) if each == aim}


@pytest.mark.slow
def test_ladder_of_page_is_exact(files, app):
    for fact in app["games"]:
        listed = json.loads(files[fact["strength"]]())["agents"]
        names = [each["agent"] for each in listed]
        for row in listed:
            certificate = certify(row["agent"], fact["id"])
            assert row["unbeatable"] == certificate.unbeatable
            for seat, record in certificate.refutations.items():
                assert (row["refutations"][seat] is None) == (record is None)
        scores = np.array([row["scores"] for row in listed])
        assert np.allclose(scores, -scores.T)
        row, column = names.index("win-block"), names.index("random")
        assert scores[row, column] == pytest.approx(match("win-block", "random", fact["id"]).score)


@pytest.mark.slow
def test_data_files_are_reproducible(files):
    again = page_files(Players(), available_games(is_static=True), has_answers=False, records=False)
    assert {name: content() for name, content in again.items()} == {
        name: content() for name, content in files.items()
    }


@pytest.mark.parametrize(
    ("game", "expected"),
    [("tictactoe-v0", "Whoever has three stones in a row first wins."),
     ("mnk-v0:m=3,n=3,k=3,misere=true", "Whoever has 3 stones in a row first loses."),
     ("square-v0", "Whoever has four stones on the corners of a square, upright or tilted, first wins.")],
)  # fmt: skip
def test_rule_of_game_in_words(game, expected):
    assert rule_of(get_game(game)) == expected


@pytest.mark.parametrize("game", GAMES)
def test_known_boards_are_laid_out_in_rows(game):
    facts = layout_facts(get_game(game))
    assert not facts["lines"] and not facts["round"]
    assert len(facts["tiles"]) == get_game(game).n_cells


def test_inconspicuous_winning_sets_are_drawn():
    fano = Game("fano-plane", (7,), FANO)
    assert layout_facts(fano)["lines"] and layout_facts(fano)["round"]
    rows = Game("rows", (3, 3), [[0, 1, 2], [0, 4, 8]])
    assert not layout_facts(rows)["lines"]
    knights = Game("knights", (3, 3), [[0, 5], [0, 7]])
    assert layout_facts(knights)["lines"] and not layout_facts(knights)["round"]


def test_too_large_game_is_refused_by_name():
    register_game(Game("long-line", (16,), [[0, 1]]))
    with pytest.raises(GameError, match="long-line: the page draws up to 15 cells a side"):
        available_games(is_static=False)


def test_proof_is_level_of_qubic_only():
    for game in available_games(is_static=False):
        proofs = [level for level in Players().levels(game) if level.agent == PROOF]
        assert bool(proofs) == (game.name == "qubic-v0") and all(level.seat == "X" for level in proofs)


def test_file_for_one_game_is_offered_only_there(tmp_path):
    certify("minimax").table.save(tmp_path / "perfect.npz")
    players = Players([str(tmp_path / "perfect.npz"), "minimax", "mcts:simulations=9"])
    assert list(players.labels) == ["perfect", "mcts:simulations=9"]
    games = [get_game("square-v0"), TICTACTOE]
    players.check(games)
    assert ["perfect" in players.agents_for(game) for game in games] == [False, True]
    with pytest.raises(FileError, match="is a table of tictactoe-v0"):
        players.check(games[:1])
