"""Games as data, the rules on plain ints, and the catalogue."""

import copy
import itertools
import pickle
import random
from collections import Counter
from functools import cache

import numpy as np
import pytest

from tests import reference
from tests.support import naive
from tests.support.games import CONNECT_THREE, LOPSIDED, MISERE, TICTACTOE, TREE, positions_of
from tests.support.naive import twin
from tests.support.refusals import all_raise
from ttt_env import Game, IllegalMoveError, Position, errors, get_game, random_position

LONG = Game("long", (64,), [(0, 63), (62, 63)])


class TestWinningSets:
    def test_set_counts_match_published_ones(self):
        counts = {game: len(get_game(game).winning_sets) for game in reference.WINNING_SETS}
        assert counts == reference.WINNING_SETS
        assert len(Game.runs((3, 3, 3), 3)) == reference.LINES_3X3X3

    def test_tictactoe_sets_match_hand_written_ones(self):
        rows, columns = [(0, 1, 2), (3, 4, 5), (6, 7, 8)], [(0, 3, 6), (1, 4, 7), (2, 5, 8)]
        assert set(TICTACTOE.winning_sets) == {*rows, *columns, (0, 4, 8), (2, 4, 6)}

    def test_squares_match_naive_squares(self):
        for n, count in reference.SQUARES.items():
            found = [frozenset(cells) for cells in Game.squares(n)]
            assert len(found) == count
            assert set(found) == naive.squares(n)
        upright = {cells for cells in naive.squares(4) if len({cell // 4 for cell in cells}) == 2}
        assert {frozenset(cells) for cells in Game.squares(4, tilted=False)} == upright
        assert len(upright) == reference.UPRIGHT_SQUARES_4
        for n in (1, 2, 5, 8):
            assert len(Game.squares(n, tilted=False)) == sum(side**2 for side in range(n))
        with pytest.raises(errors.ParameterError, match="tilted=2"):
            Game.squares(4, tilted=2)
        with pytest.raises(errors.ParameterError, match="tilted='maybe'"):
            get_game("square-v0:tilted=maybe")

    def test_runs_match_naive_lines(self):
        shapes = {1: [(2, 3)], 2: [(5, 2), (2, 3, 4)], 3: [(3, 3), (3, 4), (3, 3, 3)], 4: [(4, 4, 4), (6,)]}
        for k, shape in [(length, each) for length in shapes for each in shapes[length]]:
            found = [frozenset(run) for run in Game.runs(shape, k)]
            assert len(found) == len(set(found))
            assert set(found) == naive.lines(shape, k)


class TestGame:
    def test_equality_ignores_order_and_repetition_of_sets(self):
        game = Game("a", (3,), [(0, 2)])
        assert Game("a", (3,), [(2, 0), [0, 2, 2], {0, 2}]) == game
        assert Game("b", (3,), [(0, 2)]) != game and Game("a", (1, 3), [(0, 2)]) != game
        assert Game("a", (3,), [(0, 1)]) != game and Game("a", (3,), [(0, 2)], misere=True) != game

    def test_copies_are_equal(self):
        for game in (TICTACTOE, LOPSIDED, get_game("qubic-v0", misere=True)):
            for copied in (copy.deepcopy(game), copy.copy(game), pickle.loads(pickle.dumps(game))):
                assert copied == game and hash(copied) == hash(game)
                assert copied.misere == game.misere

    def test_game_is_immutable(self):
        with pytest.raises(AttributeError):
            TICTACTOE.misere = True

    @pytest.mark.parametrize(
        "name, shape, sets, message",
        [
            ("a", (3, 3), [(0, 1, 9)], r"\(0, 1, 9\).*0 to 8"),
            ("a", (3, 3), [(-1, 0)], r"\(-1, 0\).*0 to 8"),
            ("a", (3, 3), [], "at least one winning set"),
            ("a", (3, 3), [()], "winning sets are not empty"),
            ("a", (3, 3), [(0.5, 1)], "0.5"),
            ("a", (3, 3), [(float("nan"),)], "nan"),
            ("a", (3, 3), ["012"], r"\['0', '1', '2'\] are not all integers"),
            ("a", (3, 3), [0, 1, 2], r"\[0, 1, 2\]"),
            ("a", (3, 3), 7, "7"),
            ("a", (), [(0,)], r"\(\).*one to six axes"),
            ("a", (1,) * 7, [(0,)], r"\(1, 1, 1, 1, 1, 1, 1\).*one to six axes"),
            ("a", (3, 0), [(0,)], r"\(3, 0\).*at least one cell"),
            ("a", (3, -3), [(0,)], r"\(3, -3\)"),
            ("a", (3, 1.5), [(0,)], r"\(3, 1.5\)"),
            ("a", 3, [(0,)], "3"),
            ("", (3,), [(0,)], "''"),
            ("a\nb", (3,), [(0,)], "one line"),
            (None, (3,), [(0,)], "None"),
            (" a", (3,), [(0,)], "without space around it, not ' a'"),
            ("a\u2028b", (3,), [(0,)], "one line"),
            ("\ud800", (3,), [(0,)], "printable"),
            (b"a", (3,), [(0,)], "b'a'"),
            ("a" * 501, (3,), [(0,)], "at most 500 letters"),
        ],
    )
    def test_invalid_games_are_refused(self, name, shape, sets, message):
        with pytest.raises(errors.GameError, match=message):
            Game(name, shape, sets)


class TestCatalogue:
    def test_name_of_game_is_its_id(self):
        ids = (*reference.WINNING_SETS, "square-v0:n=3", "mnk-v0:m=2,n=4,k=2", "tictactoe-v0", "qubic-v0")
        for game, misere in itertools.product(ids, (False, True)):
            made = get_game(game, misere=misere)
            assert get_game(made.name) == made
            assert made.misere == misere

    def test_parameters_in_id_equal_keyword_arguments(self):
        assert get_game("mnk-v0:m=4,n=3,k=3") == get_game("mnk-v0", m=4, n=np.int64(3), k=3)
        assert get_game("square-v0:n=4") == get_game("square-v0")
        assert get_game(LOPSIDED) is LOPSIDED
        assert get_game("mnk-v0", m=5, n=3, k=3).shape == (3, 5)

    @pytest.mark.parametrize(
        "game, message",
        [
            ("tictactoe-v1", "'tictactoe-v1': did you mean tictactoe-v0"),
            ("tictacto-v0", "did you mean tictactoe-v0"),
            ("chess", "'chess'. Allowed: connect-four-v0"),
            ("", "''"),
            (None, "None"),
            (3, "3"),
        ],
    )
    def test_unknown_ids_are_refused(self, game, message):
        with pytest.raises(errors.UnknownGameError, match=message):
            get_game(game)

    @pytest.mark.parametrize(
        "game, parameters, message",
        [
            ("tictactoe-v0", {"misera": True}, "'misera' of tictactoe-v0: did you mean misere"),
            ("tictactoe-v0", {"n": 4}, "'n'.*Allowed: misere"),
            ("tictactoe-v0:4", {}, "'4'.*Allowed: misere"),
            (LOPSIDED, {"misere": True}, "'misere'"),
            ("tictactoe-v0", {"misere": "yes"}, "misere='yes' of tictactoe-v0: expected true or false"),
            ("tictactoe-v0:misere=maybe", {}, "misere='maybe' of tictactoe-v0"),
            ("mnk-v0:m=four", {}, "m='four' of mnk-v0: expected an integer"),
            ("mnk-v0:m=4,m=5", {}, "m twice"),
            ("mnk-v0", {"m": 4.0}, "m=4.0 of mnk-v0: expected an integer"),
            ("mnk-v0", {"m": float("nan")}, "m=nan"),
            ("mnk-v0", {"m": "4"}, "m='4'"),
            ("mnk-v0", {"m": True}, "m=True"),
            ("mnk-v0", {"m": 0}, "m=0.*≥ 1"),
            ("mnk-v0", {"k": -3}, "k=-3"),
            ("square-v0", {"n": 1}, "n=1.*≥ 2"),
            ("tictactoe-v0:misere=maybe", {}, "expected true or false"),
            ("mnk-v0:m=4.5", {}, "expected an integer ≥ 1"),
            ("mnk-v0:m=٤", {}, "expected an integer ≥ 1"),
            ("tictactoe-v0:misere,misere=false", {}, "misere twice"),
            ("mnk-v0:m", {}, "mnk-v0 needs a value of m: m=…"),
            ("mnk-v0:5", {}, "'5'.*Allowed: k, m"),
            ("mnk-v0:m=" + "4" * 5000, {}, "expected an integer ≥ 1"),
            ("tictactoe-v0:" + "x" * 20_000, {}, "at most 10000 letters, not 20013"),
            ("(" * 40 + "tictactoe-v0" + ")" * 40, {}, "more than 32 nested colons and brackets"),
        ],
    )
    def test_invalid_parameters_are_refused(self, game, parameters, message):
        with pytest.raises(errors.ParameterError, match=message):
            get_game(game, **parameters)

    def test_runs_longer_than_board_are_refused(self):
        for m, n, k in [(5, 4, 6), (4, 5, 6), (5, 5, 6), (1, 1, 2), (5, 4, 10**30)]:
            with pytest.raises(errors.GameError, match=f"k={k} of mnk-v0:.*: expected at most {max(m, n)}"):
                get_game("mnk-v0", m=m, n=n, k=k)
        for m, n, k, count in [(5, 3, 5, 3), (3, 5, 4, 6), (2, 6, 6, 2)]:
            assert len(get_game("mnk-v0", m=m, n=n, k=k).winning_sets) == count

    @pytest.mark.parametrize(
        "text, same",
        [
            ("tictactoe-v0:misere", "tictactoe-v0:misere=true"),
            ("square-v0:n=5,misere", "square-v0:n=5,misere=true"),
            ("square-v0:misere,n=5", "square-v0:n=5,misere=true"),
            ("square-v0:n=4,tilted=false", "square-v0:tilted=false"),
            ("square-v0:misere,tilted=0,n=5", "square-v0:n=5,tilted=false,misere=true"),
            ("square-v0:tilted", "square-v0"),
            (" mnk-v0 : m = 4, n=3 ,k=3 ", "mnk-v0:m=4,n=3,k=3"),
            ("mnk-v0: m=4 , n=3,k=3 , misere", "mnk-v0:m=4,n=3,k=3,misere=true"),
            ("( tictactoe-v0 : misere )", "tictactoe-v0:misere=true"),
        ],
    )
    def test_ids_may_have_flags_and_spaces(self, text, same):
        assert get_game(text) == get_game(same)
        assert get_game(text).name == get_game(same).name == same


class TestBounds:
    def test_boards_of_64_cells_are_playable(self):
        for game in ("mnk-v0:m=8,n=8,k=5", "square-v0:n=8", "mnk-v0:m=64,n=1"):
            game = get_game(game)
            assert game.start.play(63).play(0)[63] == 1
            assert len(game.winning_masks_through) == 64

    @pytest.mark.parametrize(
        "build, message",
        [
            (
                lambda: get_game("mnk-v0:m=1000000,n=1000000,k=3"),
                "mnk-v0 with m=1000000, n=1000000 has 1000000000000 cells",
            ),
            (lambda: get_game("mnk-v0:m=15,n=15,k=5"), "mnk-v0 with m=15, n=15 has 225 cells"),
            (lambda: get_game("square-v0:n=9"), "square-v0 with n=9 has 81 cells"),
            (lambda: get_game("square-v0", n=10**3000), "square-v0 with n=.* cells"),
            (lambda: Game.runs((8, 9), 3), r"a board of shape \(8, 9\) has 72 cells"),
            (lambda: Game.runs((10**9,) * 3, 3), ""),
            (lambda: Game.squares(9), ""),
            (lambda: Game("large", (65,), [(0,)]), "large has 65 cells"),
            (lambda: Game("large", (13, 5), [(0,)]), "large has 65 cells"),
            (lambda: Game("large", (10**9, 10**9, 10**9), [(0,)]), "large has"),
        ],
    )
    def test_larger_boards_are_refused(self, build, message):
        with pytest.raises(errors.GameTooLargeError, match=f"{message}.*; at most 64 are allowed"):
            build()

    def test_runs_need_valid_shape_and_length(self):
        shapes = ((1,) * 40, (), (0, 3), None, (2.0, 2), itertools.repeat(1))
        all_raise(errors.GameError, "one to six axes", lambda shape: Game.runs(shape, 2), shapes)
        lengths, text = (0, -1, 1.5, None, True, np.True_), "expected an integer ≥ 1"
        all_raise(errors.ParameterError, text, lambda k: Game.runs((3, 3), k), lengths)
        all_raise(errors.ParameterError, text, Game.squares, lengths)

    def test_too_many_winning_sets_are_refused(self):
        pairs = [(0, cell) for cell in range(1, 41)] * 500
        assert len(Game("pairs", (64,), pairs).winning_sets) == 40
        with pytest.raises(errors.GameTooLargeError, match="at most 20000 winning sets"):
            Game("pairs", (64,), [*pairs, (1, 2)])

    def test_endless_iterators_are_refused(self):
        with pytest.raises(errors.GameTooLargeError, match="at most 20000 winning sets"):
            Game("endless", (3,), itertools.repeat((0, 1)))
        with pytest.raises(errors.GameTooLargeError, match="at most 64 cells"):
            Game("endless", (3,), [itertools.repeat(0)])


@pytest.mark.parametrize("game", [TICTACTOE, MISERE, LOPSIDED, CONNECT_THREE, TREE], ids=repr)
class TestPositionAgainstNaiveRules:
    def test_every_position_and_action_matches_naive_rules(self, game):
        other, values = twin(game), {"X": 1, "O": -1, ".": 0}
        for board, position in positions_of(game).items():
            assert position.winner == other.winner(board)
            assert position.is_won == (other.winner(board) is not None)
            assert position.legal_cells == other.moves(board)
            assert position.is_over == (not other.moves(board))
            assert position.to_move == naive.mover(board)
            assert position.ply == game.n_cells - board.count(".")
            for cell in position.legal_cells:
                after = positions_of(game)[naive.play(board, cell)]
                assert position.play(cell) == position.child(cell) == after
            array = position.board
            assert array.dtype == np.int8 and array.shape == game.shape
            stones = [position[cell] for cell in range(game.n_cells)]
            assert stones == array.ravel().tolist() == [values[glyph] for glyph in board]
            assert all(type(stone) is int for stone in stones)

    def test_all_illegal_actions_are_refused(self, game):
        for position in list(positions_of(game).values())[::5]:
            for cell in set(range(game.n_cells)) - set(position.legal_cells):
                with pytest.raises(IllegalMoveError, match=str(cell)):
                    position.play(cell)

    def test_checked_accepts_exactly_reachable_positions(self, game):
        full = range(game.full_mask + 1)
        placed = [Position(game, mine, theirs) for mine in full for theirs in full if not mine & theirs]
        assert {position for position in placed if is_possible(position)} == set(positions_of(game).values())


def is_possible(position):
    try:
        return position.checked() == position
    except errors.ImpossiblePositionError:
        return False


@pytest.mark.parametrize(
    "game",
    ["square-v0", "mnk-v0", "qubic-v0", "qubic-v0:misere=true", "connect-four-v0", "score-four-v0", LONG],
    ids=str,
)
def test_random_games_match_naive_rules(game):
    game, rng = get_game(game), random.Random(0)
    other = twin(game)
    for _ in range(20):
        board, position = other.empty, game.start
        while other.moves(board):
            assert position.legal_cells == other.moves(board)
            cell = rng.choice(other.moves(board))
            board, position = naive.play(board, cell), position.play(cell)
        assert position.is_over
        assert position.winner == other.winner(board)
        assert position == Position(game, *naive.masks(board))


class TestTicTacToeCounts:
    def test_position_counts_match_published_ones(self):
        layers = Counter(position.ply for position in all_positions())
        assert [layers[ply] for ply in range(10)] == reference.POSITIONS_BY_PLY
        assert layers.total() == reference.POSITIONS
        winners = Counter(position.winner for position in all_positions() if position.is_over)
        assert winners == reference.FINISHED_BY_WINNER and winners.total() == reference.FINISHED
        seats = Counter(position.to_move for position in all_positions() if not position.is_over)
        assert seats == reference.TO_BE_PLAYED_BY_SEAT and seats.total() == reference.TO_BE_PLAYED

    def test_perft_matches_published_counts(self):
        histories, ends, layer = [], Counter(), Counter([TICTACTOE.start])
        while layer:  # The layer counts the histories that lead to each position.
            histories.append(layer.total())
            after = Counter()
            for position, n in layer.items():
                if position.is_over:
                    ends[position.winner] += n
                for cell in position.legal_cells:
                    after[position.child(cell)] += n
            layer = after
        assert histories == reference.PERFT
        assert sum(histories) == reference.HISTORIES
        assert ends == reference.GAMES_BY_WINNER
        assert ends.total() == reference.GAMES

    def test_mean_length_of_random_games_matches_reference(self):
        assert mean_length(TICTACTOE.start) == reference.RANDOM_V_RANDOM_MEAN_LENGTH


@cache
def all_positions():
    found, new = set(), {TICTACTOE.start}
    while new:
        found |= new
        new = {position.play(cell) for position in new for cell in position.legal_cells}
    return found


@cache
def mean_length(position):
    if position.is_over:
        return 0
    after = [mean_length(position.play(cell)) for cell in position.legal_cells]
    return 1 + reference.Fraction(sum(after), len(after))


class TestMoves:
    def test_any_integer_type_is_accepted_as_cell(self):
        for cell in (np.int64(4), np.uint8(4), np.array(4), np.int32(4)):
            assert TICTACTOE.start.play(cell) == TICTACTOE.start.play(4)
        assert LONG.start.play(np.int8(63)).theirs == 1 << 63

    def test_invalid_cells_are_refused(self):
        bad = [9, -1, 2**70, 1.0, 0.5, float("nan"), True, False, np.True_]
        bad += ["4", None, (4,), [4], np.array([4]), 4j, b"4", "\ud800"]
        text = "{} is not a cell of tictactoe-v0: expected an integer from 0 to 8"
        all_raise(IllegalMoveError, text, TICTACTOE.start.play, bad)

    def test_unprintable_int_is_refused(self):
        with pytest.raises(IllegalMoveError, match="<an int without text> is not a cell"):
            TICTACTOE.start.play(10**5000)

    def test_taken_cell_is_refused(self):
        with pytest.raises(
            IllegalMoveError, match=r"cell 4 of .../.X./... is taken; free are \[0, 1, 2, 3, 5"
        ):
            TICTACTOE.start.play(4).play(4)

    def test_move_after_end_is_refused(self):
        with pytest.raises(IllegalMoveError, match=r"cannot play 8: the game XXX/OO\./\.\.\. is over"):
            Position.parse("XXX/OO./...").play(8)

    def test_position_is_immutable(self):
        position = Position.parse("X../.O./...")
        position.play(8)
        assert str(position) == "X../.O./..."
        with pytest.raises(AttributeError):
            position.mine = 0
        with pytest.raises(AttributeError, match="mine=<an int without text>"):
            position.mine = 10**5000
        with pytest.raises(AttributeError):
            position.other = 0
        with pytest.raises(AttributeError):
            del position.mine
        assert str(position) == "X../.O./..."


class TestPositionProtocol:
    position = Position.parse("X../.O./...")

    def test_board_is_new_array_each_time(self):
        assert self.position[np.int64(4)] == -1
        self.position.board[:] = 1  # The board is a new array each time.
        assert self.position.board.sum() == 0
        assert np.flatnonzero(LONG.start.play(63).play(2).board).tolist() == [2, 63]

    def test_invalid_cells_are_refused(self):
        bad, text = (
            [-1, 9, True, 1.0, "4", None, slice(0, 2), (0, 1)],
            "is not a cell of tictactoe-v0: expected an integer from 0 to 8",
        )
        for error in (IllegalMoveError, IndexError, errors.CellError):
            all_raise(error, text, lambda cell: self.position[cell], bad)

    def test_tuple_operations_are_unsupported(self):
        uses = [list, len, sorted, lambda p: p < p, lambda p: p >= p, lambda p: p + p, lambda p: p * 2]
        uses += [lambda p: 1 in p, lambda p: [*p], lambda p: sorted([p, p.play(8)])]
        all_raise(TypeError, "", lambda use: use(self.position), uses)

    def test_position_equals_only_positions(self):
        assert self.position == Position.parse("X../.O./...")
        assert self.position != Position.parse("X../.O./...", "tictactoe-v0:misere=true")
        assert self.position != self.position.play(8)
        assert self.position != (TICTACTOE, self.position.mine, self.position.theirs)
        assert hash(self.position) == hash(Position.parse("X../.O./..."))

    def test_copies_are_equal_and_immutable(self):
        for copied in (copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))):
            again = copied(self.position)
            assert again == self.position and type(again) is Position
            with pytest.raises(AttributeError):
                again.theirs = 0

    def test_numpy_treats_position_as_one_object(self):
        assert np.array([self.position], dtype=object).shape == (1,)
        assert np.array(self.position, dtype=object).shape == ()


@pytest.mark.parametrize(
    "mine, theirs, message",
    [
        (1 << 9, 0, "outside the 9 cells"),
        (-1, 0, "outside the 9 cells"),
        (0b1, 0b1, r"both players on cells \[0\]"),
        (0b1, 0b0, "0 X and 1 O"),
        (0b0, 0b11, "0 X and 2 O"),
        (0b0, 0b111, "3 X and 0 O"),
        (0b111, 0b111000, "both players own a winning set"),
        (0b111, 0b11011000, "then the other player moved"),
        (0b1110000, 0b1111, "no single last move"),  # The two sets have no cell in common.
        (None, 0, "masks are ints, not None and 0"),
        (0, np.uint64(1), "masks are ints"),
        (1.0, True, "masks are ints"),
    ],
)
def test_impossible_positions_are_refused(mine, theirs, message):
    game = Game("pairs", (2, 4), [(0, 1), (2, 3)]) if "single" in message else TICTACTOE
    with pytest.raises(errors.ImpossiblePositionError, match=message):
        Position(game, mine, theirs).checked()


class TestRandomPosition:
    @pytest.mark.parametrize("game", ["tictactoe-v0", "qubic-v0", LOPSIDED, "mnk-v0:m=1,n=1,k=1"], ids=str)
    def test_random_position_is_open_and_reproducible(self, game):
        game = get_game(game)
        once, again = (
            [random_position(game, rng) for _ in range(100)] for rng in map(np.random.default_rng, (3, 3))
        )
        assert once == again
        assert not any(position.checked().is_over for position in once)

    def test_every_open_position_can_be_drawn(self):
        game, rng = Game("small", (2, 2), [(0, 1)]), np.random.default_rng(0)
        due = {position for position in positions_of(game).values() if not position.is_over}
        assert {random_position(game, rng) for _ in range(2000)} == due

    def test_random_position_takes_generator_or_seed(self):
        assert random_position(TICTACTOE, 3) == random_position(TICTACTOE, np.random.default_rng(3))
        bad = (-1, "x", 1.5)
        all_raise(
            errors.ParameterError,
            "a seed ≥ 0",
            lambda rng: random_position(TICTACTOE, rng),
            bad,
        )


def test_cells_are_numbered_row_major():
    assert str(get_game("qubic-v0").start.play(16 * 2 + 4 * 1 + 3)).split("|")[2] == "..../...X/..../...."
