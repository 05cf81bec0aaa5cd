"""Certificates: the proof that an agent is unbeatable, or a game that beats it."""

from fractions import Fraction
from functools import cache

import pytest

from tests import reference
from tests.support import naive
from tests.support.games import CONNECT_THREE, LOPSIDED, MISERE, TICTACTOE, TREE
from tests.support.marks import slow, slow_unless
from tests.support.naive import twin
from tests.support.naive_agent import Plays
from ttt_env import Game, certify, get_game, solve
from ttt_env.agent import checked_policies
from ttt_env.analysis import policy_table
from ttt_env.analysis.certificate import blunders_everywhere

O_WINS = Game("O wins", (2, 2), [(0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2)], misere=True)
X_WINS = get_game("mnk-v0:m=4,n=2,k=2")
SMALL = [TICTACTOE, MISERE, LOPSIDED, O_WINS, X_WINS, CONNECT_THREE, TREE]
SIGN = {"X": 1, "O": -1}


def board_of(position):
    return naive.board_of(str(position))


@cache
def best_play(game):
    return {board: twin(game).optimal(board) for board in twin(game).boards() if twin(game).moves(board)}


def optimal_except(game, mistaken, cell):
    """Best play except for one cell in one position."""
    return (best_play(game) | {mistaken: {cell: Fraction(1)}}).__getitem__


@cache
def mistakes(game):
    """(board, cell) of all mistakes in positions that the mover's best play can reach."""
    other, boards = twin(game), set()
    for seat in "XO":
        for layer in other.layers({seat: other.optimal}):
            boards |= {board for board in layer if naive.mover(board) == seat}
    return [(b, c) for b in sorted(boards) for c in other.moves(b) if c not in other.best_cells(b)]


def check_refutation(game, seat, chances, record):
    """Check that the policy can play the game in its seat and ends below the value of the game."""
    assert record.game == game
    assert record.is_over
    assert record.value(seat) < solve(game).value * SIGN[seat]
    for position, cell in zip(record.positions(), record.cells, strict=False):
        if position.to_move == seat:
            assert chances(board_of(position)).get(cell)


@pytest.mark.parametrize(
    "game, name",
    slow_unless(
        lambda game, name: (
            game.n_cells < 9
            or (game, name) in ((CONNECT_THREE, "odd"), (TICTACTOE, "odd"), (TICTACTOE, "optimal"))
        ),
        SMALL,
        ["uniform", "odd", "first", "optimal"],
    ),
    ids=str,
)
class TestAgainstNaiveSearch:
    def test_refutations_are_shortest_and_blunders_complete(self, game, name):
        chances, found = getattr(twin(game), name), certify(Plays(game, name), game)
        assert (found.game, found.game_value) == (game, twin(game).value(twin(game).empty))
        for seat, record in found.refutations.items():
            shortest = twin(game).shortest_refutation(seat, chances)
            assert (record and len(record.cells)) == shortest
            if record:
                check_refutation(game, seat, chances, record)
            layers = twin(game).layers({seat: chances})
            ends = [board for layer in layers for board in layer if not twin(game).moves(board)]
            assert found.worst_case[seat] == min(twin(game).result(board, seat) for board in ends)
        assert found.unbeatable == bool(found) == (set(found.refutations.values()) == {None})
        blunders = [board_of(position) for position in found.blunders]
        assert len(blunders) == len(set(blunders))
        assert set(blunders) == twin(game).blunders("X", chances) | twin(game).blunders("O", chances)
        won = [position for position in found.blunders if twin(game).value(board_of(position)) == 1]
        assert list(found.missed_wins) == won

    def test_blunders_everywhere_match_naive_search(self, game, name):
        other, chances = twin(game), getattr(twin(game), name)
        found = blunders_everywhere(Plays(game, chances), game)
        to_play = [board for board in other.boards() if other.moves(board)]
        played = {board: {c for c, chance in chances(board).items() if chance} for board in to_play}
        wrong = [board for board in to_play if played[board] - set(other.best_cells(board))]
        assert sorted(board_of(position) for position in found) == sorted(wrong)


def test_random_has_shortest_refutations_and_all_blunders():
    found = certify("random")
    assert found.worst_case == {"X": -1, "O": -1}
    ends = {seat: (len(record.cells), record.winner) for seat, record in found.refutations.items()}
    assert ends == {"X": (6, "O"), "O": (5, "X")}
    assert len(found.blunders) == reference.CAN_BLUNDER
    refutations = certify("random", "mnk-v0:m=4,n=3,k=3").refutations
    assert refutations["X"].value("X") < 1 and refutations["O"] is None  # A draw refutes X, too.


class TestOnePlantedMistake:
    @pytest.mark.parametrize(
        "game, step",
        [
            (TICTACTOE, 1788),
            (LOPSIDED, 12),
            (X_WINS, 42),
            *map(slow, [TICTACTOE, MISERE, LOPSIDED, X_WINS], [149, 97, 2, 7]),
        ],
        ids=repr,
    )
    def test_mistake_is_found(self, game, step):
        assert mistakes(game)
        for board, cell in mistakes(game)[::step]:
            chances = optimal_except(game, board, cell)
            found = certify(Plays(game, chances), game)
            assert [board_of(position) for position in found.blunders] == [board]
            seat = naive.mover(board)
            after = -twin(game).value(naive.play(board, cell))
            is_beaten = after < twin(game).value(twin(game).empty) * SIGN[seat]
            assert found.unbeatable == (not is_beaten)
            assert found.refutations["O" if seat == "X" else "X"] is None
            if is_beaten:
                record = found.refutations[seat]
                check_refutation(game, seat, chances, record)
                before = [board_of(position) for position in record.positions()].index(board)
                assert record.cells[before] == cell

    def test_unreachable_mistake_is_found_by_full_scan(self):
        # An agent that opens in the centre never holds a corner without the centre.
        def chances(board):
            if board == "." * 9:
                return {4: Fraction(1)}
            return {8: Fraction(1)} if board == "XO......." else twin(TICTACTOE).optimal(board)

        agent = Plays(TICTACTOE, chances)
        assert len(certify(agent).blunders) == 0 and certify(agent).unbeatable
        assert [str(position) for position in blunders_everywhere(agent)] == ["XO./.../..."]

    @pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 10**12), Fraction(0)])
    def test_mistake_counts_unless_its_probability_is_zero(self, chance):
        def chances(board):
            return {1: chance, 4: 1 - chance} if board == "X........" else twin(TICTACTOE).optimal(board)

        refuted = certify(Plays(TICTACTOE, chances)).refutations
        assert refuted["X"] is None
        assert (refuted["O"].cells[:2] == (0, 1)) if chance else refuted["O"] is None


@pytest.mark.parametrize("agent", ["random", "minimax"])
@pytest.mark.parametrize("game", ["mnk-v0:m=1,n=1,k=1", "mnk-v0:m=3,n=1,k=1", "mnk-v0:m=2,n=1,k=2"])
def test_seat_with_few_moves_is_certified(agent, game):
    found = certify(agent, game)
    assert found.unbeatable
    assert len(found.blunders) == 0
    assert found.worst_case["X"] == found.game_value == -found.worst_case["O"]


def test_each_policy_is_computed_once(monkeypatch):
    asked = []

    def counted(agent, boards):
        asked.extend(boards)
        return checked_policies(agent, boards)

    monkeypatch.setattr(policy_table, "checked_policies", counted)
    found = certify("minimax")
    assert len(asked) == len(set(asked)) == sum(found.n_positions.values()) == found.n_queries
