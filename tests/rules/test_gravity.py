"""Games with gravity: valid supports, files and error messages."""

import json

import pytest

from tests.support.games import CONNECT_THREE, TICTACTOE, TREE
from tests.support.refusals import all_raise
from ttt_env import Game, Position, get_game
from ttt_env.errors import GameError, IllegalMoveError, ImpossiblePositionError


def column(supports):
    return Game("a column", (3, 1), [(0, 1, 2)], supports=supports)


class TestSupports:
    def test_supports_follow_an_axis(self):
        assert TICTACTOE.with_gravity().supports == CONNECT_THREE.supports == (3, 4, 5, 6, 7, 8, *[None] * 3)
        assert TICTACTOE.with_gravity(axis=1).supports == (1, 2, None, 4, 5, None, 7, 8, None)
        pegs = get_game("score-four-v0:k=3,h=2")
        assert pegs.shape == (2, 3, 3) and pegs.supports == (*range(9, 18), *[None] * 9)
        assert Game("cube", (2, 2, 2), [(0, 1)]).with_gravity(1).supports[:4] == (2, 3, None, None)

    def test_game_with_gravity_differs_from_game_without(self):
        fallen = TICTACTOE.with_gravity(name="fallen")
        assert fallen.has_gravity and not TICTACTOE.has_gravity and not fallen.is_monotone
        assert fallen != Game("fallen", (3, 3), TICTACTOE.winning_sets)
        assert fallen == Game("fallen", (3, 3), TICTACTOE.winning_sets, supports=fallen.supports)
        assert TICTACTOE.with_gravity().name == "gravity on tictactoe-v0"

    def test_supports_of_none_mean_no_gravity(self):
        assert column([None] * 3) == column(None) and not column([None] * 3).has_gravity

    def test_circular_supports_are_refused(self):
        circles = ([0, None, None], [1, 0, None], [1, 2, 0], [None, 2, 1], [1, 2, 1])
        all_raise(GameError, "supports: cell . rests on itself", column, circles)

    def test_supports_outside_board_are_refused(self):
        for cell in (3, -1, 1.5, "1", True):
            with pytest.raises(
                GameError, match=rf"supports: cell 0 cannot rest on {cell!r}: cells are 0 to 2"
            ):
                column([cell, None, None])

    def test_wrong_number_of_supports_is_refused(self):
        message = "supports holds a cell or None for each of 3 cells, not"
        all_raise(GameError, message, column, [[], [1, 2], [1, 2, None, None], 1, {0: 1}])

    def test_missing_axis_is_refused(self):
        all_raise(GameError, r"axis={}: .* the axes 0 to 1", TICTACTOE.with_gravity, [2, -1, 0.5, "x", None])


class TestCatalogue:
    def test_gravity_games_have_expected_shapes_and_sets(self):
        assert get_game("connect-four-v0") == get_game("connect-four-v0", m=7, n=6, k=4)
        assert get_game("connect-four-v0").shape == (6, 7)
        assert len(get_game("connect-four-v0").winning_sets) == 69
        assert get_game("score-four-v0").shape == (4, 4, 4)
        assert get_game("score-four-v0").winning_sets == get_game("qubic-v0").winning_sets

    def test_catalogue_id_with_other_supports_is_refused(self):
        rules = CONNECT_THREE.name, (3, 3), TICTACTOE.winning_sets
        with pytest.raises(GameError, match="or its rules differ from those of"):
            Game(*rules)
        assert Game(*rules, supports=CONNECT_THREE.supports) == CONNECT_THREE


class TestFiles:
    @pytest.mark.parametrize("game", [TREE, CONNECT_THREE, TICTACTOE.with_gravity(1)], ids=repr)
    def test_game_round_trips_through_file(self, game, tmp_path):
        game.save(tmp_path / "game.json")
        assert Game.load(tmp_path / "game.json") == game

    def test_file_may_define_supports(self, tmp_path):
        described = {"name": "mine", "shape": [3, 1], "winning_sets": [[0, 2]], "supports": [1, 2, None]}
        path = tmp_path / "mine.json"
        path.write_text(json.dumps(described))
        assert Game.load(path).start.legal_cells == [2]
        path.write_text(json.dumps(described | {"supports": [1, 2, 0]}))
        with pytest.raises(GameError, match=r"mine\.json.*rests on itself"):
            Game.load(path)


class TestPositions:
    def test_cell_above_free_cell_is_illegal(self):
        position = Position.parse(".../.../X..", CONNECT_THREE)
        assert position.legal_cells == [3, 7, 8]
        with pytest.raises(
            IllegalMoveError,
            match=r"cell 0 of \.\.\./\.\.\./X\.\. rests on cell 3, which is free; legal are \[3, 7, 8\]",
        ):
            position.play(0)
        with pytest.raises(IllegalMoveError, match=r"cell 6 of .* is taken; free are \[3, 7, 8\]"):
            position.play(6)

    @pytest.mark.parametrize(
        "text, message",
        [
            ("X../.../...", "cell 0 is taken before cell 3, on which it rests"),
            (".../.X./O..", "cell 4 is taken before cell 7, on which it rests"),
            (".../X../O..", "no order of moves"),  # O would have moved first.
            ("XO./XO./XO.", "both players own a winning set"),
        ],
    )
    def test_impossible_positions_are_refused(self, text, message):
        with pytest.raises(ImpossiblePositionError, match=message):
            Position.parse(text, CONNECT_THREE)
