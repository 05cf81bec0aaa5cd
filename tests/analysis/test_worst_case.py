"""The worst end of all games that can come up with an agent."""

import re

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support.documents import ROOT
from tests.support.games import LARGER_LOPSIDED, lowest
from tests.support.marks import slow
from ttt_env.agents.combining import Symmetric
from ttt_env.alphazero.agent import AlphaZero
from ttt_env.alphazero.network import PolicyValueNetwork
from ttt_env.analysis.declared import is_own, surely_completes_sets
from ttt_env.analysis.worst_case import worst_case
from ttt_env.errors import GameTooLargeError, ParameterError, PolicyError

GAMES = ("tictactoe-v0", "tictactoe-v0:misere=true")
WON = ttt_env.Game("won", (3, 3), [*ttt_env.get_game(GAMES[0]).winning_sets, (0, 5, 7)])  # by X
RESULT = {"X": 1, None: 0, "O": -1}


def end_of(record, agent, seat):
    """The last position of a game in which each move of the seat is one that the agent may make."""
    for position, cell in zip(record.positions(), record.cells, strict=False):
        if position.to_move == seat:
            assert agent.policy(position)[cell] > 0
    return record.positions()[-1]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("seat", "XO")
@pytest.mark.parametrize("name", ["random", "win-block", "minimax", "q-learning"])
def test_is_that_of_the_certificate(name, seat, game):
    agent = ttt_env.make_agent(name, ttt_env.get_game(game))
    found = worst_case(agent, seat)
    certificate = ttt_env.certify(agent)
    assert found.value == certificate.worst_case[seat]
    end = end_of(found.record, agent, seat)
    assert end.is_over and RESULT[end.winner] * (1 if seat == "X" else -1) == found.value
    if found.value > -1:  # else it ends with the first game that is lost
        assert found.positions == certificate.positions[seat]
    elif certificate.refutations[seat] is not None:
        assert len(found.record.cells) == len(certificate.refutations[seat].cells)


@pytest.mark.parametrize(
    ("fails_in", "moves"), [("X../.O./..X", 3), (".../.../...", 0), ("XO./.X./...", None)]
)
def test_an_answer_that_names_no_free_cell_loses(fails_in, moves):
    def play(position):
        return 99 if str(position) == fails_in else perfect.best_cells(position)[0]

    perfect = ttt_env.solve("tictactoe-v0")
    agent = ttt_env.RecordedAgent(ttt_env.make_agent(play, "tictactoe-v0"))
    certificate = ttt_env.certify(agent)
    for seat in "XO":
        found = worst_case(agent, seat)
        assert found.value == certificate.worst_case[seat]
        if found.value == -1:
            assert len(found.record.cells) == moves and "Then it names no free cell" in str(found)
    assert (moves is None) == certificate.unbeatable


def test_a_first_player_wins_where_the_game_is_won():
    assert reference.ENUMERABLE["mnk-v0:m=4,n=3,k=3"][1] == 1
    found = worst_case("minimax", "X", "mnk-v0:m=4,n=3,k=3")
    assert found.value == 1 and found.record.positions()[-1].winner == "X"
    assert str(found).startswith("mnk-v0:m=4,n=3,k=3: as X it wins at worst, of all games")


@pytest.mark.slow
def test_a_network_that_searches_wins_a_game_of_30_cells_against_every_reply():
    found = worst_case("alphazero", "X", "mnk-v0:m=6,n=5,k=4")
    assert found.value == 1 and found.positions > 10_000


class TestTheLearnedPlayerOfQubic:
    SPEC = "symmetric:(alphazero:simulations=2)"
    FILE = ROOT / "docs" / "proofs" / "learned" / "qubic-v0.npz"

    @pytest.mark.slow
    def test_wins_against_every_reply(self):
        found = worst_case(self.SPEC, "X", "qubic-v0", most=2_000_000)
        assert found.value == 1 and found.positions > 1_000_000
        assert end_of(found.record, ttt_env.make_agent(self.SPEC, "qubic-v0"), "X").winner == "X"

    def test_loses_with_more_simulations_the_game_that_the_page_shows(self):
        text = (ROOT / "docs" / "experiments" / "learned-qubic.md").read_text("utf-8")
        record = ttt_env.GameRecord.parse(re.search(r"^qubic-v0: [\d ]+$", text, re.M)[0])
        assert end_of(record, ttt_env.make_agent("alphazero", "qubic-v0"), "X").winner == "O"

    def test_plays_the_moves_of_its_file_which_is_a_proof(self):
        proof = ttt_env.Proof.load(self.FILE)
        proof.check()
        assert proof.value == 1
        (strategy,) = proof.strategies
        rows = np.random.default_rng(0).choice(len(strategy), 200, replace=False)
        boards = ttt_env.Boards(proof.position.game, *strategy.positions[rows].T.copy())
        policies = ttt_env.make_agent(self.SPEC, "qubic-v0").policies(boards)
        assert (policies[np.arange(len(rows)), strategy.moves[rows]] == 1).all()


@pytest.mark.parametrize("seat", "XO")
@pytest.mark.parametrize(
    ("name", "game"),
    [("win-block", game) for game in GAMES]
    + [slow("minimax", game) for game in (*GAMES, "mnk-v0:m=4,n=3,k=3")],
)
def test_a_symmetric_agent_is_asked_in_one_position_of_each_class(name, game, seat):
    agent = ttt_env.make_agent(f"symmetric:{name}", game)
    merged, whole = worst_case(agent, seat), worst_case(Plain(agent), seat)
    assert merged.value == whole.value
    assert len(merged.record.cells) == len(whole.record.cells)
    assert merged.positions < whole.positions or whole.value == -1
    end_of(merged.record, agent, seat)


class Plain(ttt_env.Agent):
    """Plays like another agent, and says nothing about symmetry."""

    is_fixed = True

    def __init__(self, agent):
        super().__init__(agent.game)
        self.agent, self.answers = agent, {}

    def policies(self, boards):
        if any(position not in self.answers for position in boards):
            self.answers |= zip(boards, self.agent.policies(boards), strict=True)
        return np.array([self.answers[position] for position in boards])


class Finisher(ttt_env.Agent):
    """Completes a set where it can, else plays like another agent."""

    is_fixed = completes_sets = True

    def __init__(self, agent):
        super().__init__(agent.game)
        self.agent = agent

    def policy(self, position):
        ends = [cell for cell in position.legal_cells if position.child(cell).is_won]
        return np.eye(self.game.n_cells)[ends[0]] if ends else self.agent.policy(position)


@pytest.mark.parametrize("seat", "XO")
@pytest.mark.parametrize(
    ("name", "game"),
    [*(("random", game) for game in GAMES), ("minimax", WON), slow("win-block", LARGER_LOPSIDED)],
)
def test_an_agent_that_completes_sets_is_not_asked_where_it_can(name, game, seat):
    agent = Finisher(ttt_env.make_agent(name, game))
    asked, whole = worst_case(agent, seat, trusted=True), worst_case(Plain(agent), seat)
    assert (asked.value, len(asked.record.cells)) == (whole.value, len(whole.record.cells))
    assert asked.positions < whole.positions or whole.value == -1
    end_of(asked.record, agent, seat)


class TheFirstCell(ttt_env.Agent):
    """Plays the first free cell, and says that it is symmetric."""

    is_fixed = is_symmetric = True

    def policy(self, position):
        return np.eye(self.game.n_cells)[position.legal_cells[0]]


def test_an_agent_that_is_trusted_and_is_not_what_it_says_is_refused():
    class Liar(Plain):
        is_fixed = completes_sets = True

    random = ttt_env.make_agent("random", "tictactoe-v0")
    with pytest.raises(PolicyError, match="is_symmetric, but plays differently in"):
        worst_case(TheFirstCell(random.game), "X", trusted=True)
    with pytest.raises(PolicyError, match="completes_sets, but does not in"):
        worst_case(Liar(random), "X", trusted=True)


@pytest.mark.parametrize("seat", "XO")
@pytest.mark.parametrize("wraps", [lambda agent: agent, lambda agent: Symmetric(agent.game, agent)])
def test_an_agent_from_outside_is_asked_everywhere_whatever_it_declares(wraps, seat):
    class Liar(Plain):
        """Draws its moves, also where it could complete a set."""

        is_fixed = completes_sets = is_symmetric = True

    random = ttt_env.make_agent("random", "tictactoe-v0")
    found, whole = worst_case(wraps(Liar(random)), seat), worst_case(wraps(Plain(random)), seat)
    assert found == whole


def test_an_agent_whose_declarations_were_changed_is_asked_everywhere():
    agent, whole = (ttt_env.make_agent("minimax", "mnk-v0:m=4,n=3,k=3") for _ in range(2))
    agent.is_symmetric = True
    with pytest.raises(AttributeError, match="completes_sets"):
        agent.completes_sets = True
    assert worst_case(agent, "X") == worst_case(whole, "X")


def test_an_agent_with_a_network_from_outside_is_asked_everywhere():
    class Fickle(PolicyValueNetwork):
        """A network that may answer anything, as another class of networks can."""

    ours = ttt_env.make_agent("alphazero:simulations=2", "mnk-v0:m=4,n=4,k=4")
    theirs = AlphaZero.of(Fickle(ours.game, ours.network.weights), simulations=2)
    assert theirs.completes_sets and surely_completes_sets(ours) and not surely_completes_sets(theirs)
    assert is_own(ours) and not is_own(theirs)


def test_as_many_positions_as_it_may_ask_in_are_enough():
    found = worst_case("minimax", "X", "mnk-v0:m=4,n=3,k=3")
    assert worst_case("minimax", "X", "mnk-v0:m=4,n=3,k=3", most=found.positions) == found
    with pytest.raises(GameTooLargeError, match=f"more than {found.positions - 1:,} positions"):
        worst_case("minimax", "X", "mnk-v0:m=4,n=3,k=3", most=found.positions - 1)


def test_too_many_positions_and_other_agents_are_refused():
    with pytest.raises(GameTooLargeError, match="comes into more than 100 positions of mnk-v0:m=5,n=5,k=4"):
        worst_case("win-block", "X", "mnk-v0:m=5,n=5,k=4", most=100)
    with pytest.raises(ParameterError, match="declares no fixed policy"):
        worst_case(lowest, "X")
    with pytest.raises(ParameterError, match="unknown seat 'Y'"):
        worst_case("random", "Y")
    with pytest.raises(ParameterError, match="most=0"):
        worst_case("random", "X", most=0)
