"""Positions and game records as text."""

import itertools
import random

import numpy as np
import pytest

from tests.support import naive
from tests.support.games import MISERE, TICTACTOE, positions_of, random_game
from tests.support.refusals import all_raise
from ttt_env import Game, GameRecord, IllegalMoveError, Position, get_game
from ttt_env.analysis.known import blunders_of
from ttt_env.errors import ImpossiblePositionError, NotationError, UnknownGameError

LOPSIDED = Game("lopsided: a game", (2, 3), [(0, 1, 2), (0, 4), (2, 3, 5)])
ROW, BOX = Game("row", (5,), [(0, 4)]), Game("box", (2, 3, 4), [(0, 23)])
CATALOGUED = [
    TICTACTOE,
    MISERE,
    *map(get_game, ("square-v0", "mnk-v0", "mnk-v0:m=4,n=1,k=2", "mnk-v0:m=1,n=3,k=2")),
    *map(get_game, ("qubic-v0", "qubic-v0:misere=true")),
]
OWN = [LOPSIDED, ROW, BOX]
BROKEN_POSITIONS = [
    *("", "X", "X../...", "X../.../.../...", "X.././..../...", "X.........", "X../......", "X../.../..?"),
    *("X..|...|...", "X../.../...\nX", "X../..././..", None, 3, b".../.../...", "\ud800../.../..."),
]
BROKEN_RECORDS = [
    *("", "4 0 8", "tictactoe-v0", "tictactoe-v0: 4 x", "tictactoe-v0: 4 -1", "tictactoe-v0: 4,0"),
    *("tictactoe-v0: 4.0", None, 3, b"tictactoe-v0: 4", "tictactoe-v0: ٤", "tictactoe-v0: " + "4" * 5000),
]


def random_records(game):
    rng = random.Random(1)
    for _ in range(10):
        positions = random_game(game, rng)
        masks = [position.occupied_mask for position in positions]
        yield GameRecord(game, [(one ^ other).bit_length() - 1 for one, other in itertools.pairwise(masks)])


class TestPositions:
    @pytest.mark.parametrize("game", [TICTACTOE, LOPSIDED], ids=repr)
    def test_every_position_round_trips_through_text(self, game):
        for board, position in positions_of(game).items():
            assert str(position).replace("/", "") == board
            assert Position.parse(str(position), game) == position

    def test_position_text_has_documented_form(self):
        for game, empty in [
            ("tictactoe-v0", ".../.../..."),
            ("mnk-v0:m=4,n=2,k=2", "..../...."),
            ("qubic-v0", "|".join(["..../..../..../...."] * 4)),
            (ROW, "....."),
            (BOX, "..../..../....|..../..../...."),
        ]:
            assert str(get_game(game).start) == empty
        assert str(TICTACTOE.start.play(2).play(3)) == "..X/O../..."
        assert Position.parse(" X../.../...\n") == Position.parse("X../.../...")
        with pytest.raises(NotationError, match=r"not a position of mnk-v0:m=2,n=3,k=2: .* \.\./\.\./\.\."):
            Position.parse("...", "mnk-v0:m=2,n=3,k=2")

    @pytest.mark.parametrize("change", [str.lower, lambda text: text.replace("/", ""), " ".join])
    @pytest.mark.parametrize("empty", [*"_- "])
    def test_other_notations_are_parsed(self, empty, change):
        for position in list(positions_of(TICTACTOE).values())[::40]:
            text = change(str(position).replace(".", empty))
            if change != " ".join or empty != " ":  # Spaces cannot separate cells that are spaces.
                assert Position.parse(text) == position

    @pytest.mark.slow
    def test_positions_round_trip_through_arrays(self):
        for position in positions_of(TICTACTOE).values():
            x, o = position.x_mask, position.o_mask
            stones = [(x >> cell & 1) - (o >> cell & 1) for cell in range(9)]
            assert Position.of(stones) == Position.of(np.reshape(stones, (3, 3))) == position
        all_raise(NotationError, "stones", Position.of, [[1] * 8, [2] + [0] * 8, "XO", None])
        with pytest.raises(ImpossiblePositionError):
            Position.of([1, 1, 0, 0, 0, 0, 0, 0, 0])

    def test_repr_evaluates_to_position(self):
        position = Position.parse("X../.O./...")
        assert eval(repr(position)) == position

    def test_malformed_text_is_refused(self):
        all_raise(NotationError, "{}", Position.parse, BROKEN_POSITIONS)

    def test_impossible_stones_are_refused(self):
        for text, message in (
            ("XXX/OOO/...", "both players own a winning set"),
            ("XO./O../...", "1 X and 2 O"),
        ):
            with pytest.raises(ImpossiblePositionError, match=f"tictactoe-v0: .*{message}"):
                Position.parse(text)


@pytest.mark.parametrize("parse", [Position.parse, GameRecord.parse])
@pytest.mark.parametrize("text", [" " * 20_000, 10**5000, "X" * 10**6], ids=["spaces", "int", "letters"])
def test_too_long_or_non_text_is_refused(parse, text):
    with pytest.raises(
        NotationError, match=r"at most 10000 letters|is a str, not <an int without text>"
    ) as refused:
        parse(text)
    assert len(str(refused.value)) < 2000


class TestRecords:
    def test_record_accepts_spaces_and_flags_in_id(self):
        record = GameRecord.parse(" tictactoe-v0 : misere :  4\t0 ")
        assert str(record) == "tictactoe-v0:misere=true: 4 0"

    @pytest.mark.parametrize("game", [*CATALOGUED, *OWN], ids=repr)
    def test_record_round_trips_through_text(self, game):
        for record in random_records(game):
            assert GameRecord.parse(str(record), game if game in OWN else None) == record
            assert record.is_over
            for position in record.positions():
                assert Position.parse(str(position), game) == position

    def test_record_without_moves_is_valid(self):
        record = GameRecord("tictactoe-v0", ())
        assert str(record) == "tictactoe-v0:"
        assert GameRecord.parse(str(record)) == record
        assert record.positions() == [get_game("tictactoe-v0").start]

    def test_record_replays_its_positions(self):
        record = GameRecord.parse("tictactoe-v0: 4 0 8 2 6")
        assert [str(position) for position in record.positions()] == [
            ".../.../...",
            ".../.X./...",
            "O../.X./...",
            "O../.X./..X",
            "O.O/.X./..X",
            "O.O/.X./X.X",
        ]

    @pytest.mark.parametrize(
        "text, is_over, winner",
        [
            ("tictactoe-v0: 0 3 1 4 2", True, "X"),
            ("tictactoe-v0: 0 3 1 4 8 5", True, "O"),
            ("tictactoe-v0: 0 1 2 4 3 5 7 6 8", True, None),
            ("tictactoe-v0: 0 3 1 4", False, None),
            ("tictactoe-v0:misere=true: 0 3 1 4 2", True, "O"),
        ],
    )
    def test_record_knows_end_and_winner(self, text, is_over, winner):
        record = GameRecord.parse(text)
        assert (record.is_over, record.winner) == (is_over, winner)
        sign = {"X": 1, "O": -1, None: 0}[winner]
        assert (record.value("X"), record.value("O")) == (sign, -sign)

    @pytest.mark.parametrize("game", [TICTACTOE, MISERE, LOPSIDED, ROW], ids=repr)
    def test_blunders_match_naive_minimax(self, game):
        twin = naive.twin(game)
        for record in random_records(game):
            boards = [naive.board_of(str(position)) for position in record.positions()]
            moves = enumerate(zip(boards, record.cells, strict=False), 1)
            assert blunders_of(record) == [n for n, (b, c) in moves if c not in twin.best_cells(b)]

    @pytest.mark.parametrize("text", BROKEN_RECORDS, ids=lambda t: ascii(t)[:40])
    def test_malformed_text_is_refused(self, text):
        with pytest.raises(NotationError) as refused:
            GameRecord.parse(text)
        assert repr(text)[:800] in str(refused.value)

    @pytest.mark.parametrize(
        "text, message",
        [
            ("tictactoe-v0: 4 4", "cell 4 .* is taken"),
            ("tictactoe-v0: 9", "9 is not a cell"),
            ("tictactoe-v0: 0 3 1 4 2 8", "cannot play 8.* is over"),
        ],
    )
    def test_illegal_moves_in_text_are_refused(self, text, message):
        with pytest.raises(NotationError, match=message):
            GameRecord.parse(text)

    def test_illegal_cells_and_non_lists_are_refused(self):
        bad = (4, 9, 0.5, float("nan"), True, "8")
        all_raise(IllegalMoveError, "", lambda cell: GameRecord("tictactoe-v0", (4, cell)), bad)
        with pytest.raises(IllegalMoveError):
            GameRecord("tictactoe-v0", itertools.repeat(4))
        no_list = "a list of cells, not {}"
        all_raise(NotationError, no_list, lambda cells: GameRecord("tictactoe-v0", cells), (None, 4, 0.5))

    def test_unknown_game_is_refused(self):
        for parse in (
            lambda: Position.parse(".../.../...", "tictactoe"),
            lambda: GameRecord.parse("tictac: 4"),
        ):
            with pytest.raises(UnknownGameError, match=r"'tictac.*did you mean tictactoe-v0"):
                parse()

    @pytest.mark.parametrize("game", [LOPSIDED, "square-v0", get_game("square-v0")], ids=repr)
    def test_record_of_unexpected_game_is_refused(self, game):
        with pytest.raises(NotationError, match="'tictactoe-v0'"):
            GameRecord.parse("tictactoe-v0: 4 0", game)
