"""Agents that declare nothing: asked once in each position, and judged by the answers that they gave."""

import copy
import pickle
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import ttt_env
from tests.support.games import LOPSIDED, TICTACTOE, lowest
from tests.support.refusals import all_raise
from ttt_env import Agent, Boards, RecordedAgent
from ttt_env.agent import checked_policies
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis import evaluation, recorded
from ttt_env.analysis.dossier import dossier
from ttt_env.analysis.induction import follow
from ttt_env.analysis.layers import reachable
from ttt_env.errors import GameTooLargeError, ParameterError, PolicyError


class Asked(Counter):
    """Counts the positions in which it is asked; answers anything legal, differently every time."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(0)

    def __call__(self, position):
        self[position] += 1
        return int(self.rng.choice(position.legal_cells))

    @property
    def once(self):
        return set(self.values()) == {1}


class Chooser(Agent):
    """Overrides `choose` alone, and counts."""

    def __init__(self, game):
        super().__init__(game)
        self.asked = Asked()

    def choose(self, position, rng):
        self.asked[position] += 1
        return int(rng.choice(position.legal_cells))


class Undeclared(Agent):
    """Overrides `policy` alone, and counts; its policy differs whenever it is asked."""

    def __init__(self, game):
        super().__init__(game)
        self.asked = Asked()

    def policy(self, position):
        return np.eye(self.game.n_cells)[self.asked(position)]


class Sly(type(ttt_env.make_agent("minimax"))):
    """Inherits the policy of best play, and plays the lowest free cell."""

    def choose(self, position, rng):
        return lowest(position)


ANALYSES = {
    "certify": ttt_env.certify,
    "exploitability": ttt_env.exploitability,
    "best_response": ttt_env.best_response,
    "match": lambda agent, game: ttt_env.match(agent, "random", game, exact=True),
    "match of itself": lambda agent, game: ttt_env.match(agent, agent, game, exact=True),
    "dossier": lambda agent, game: dossier(agent, game, name="it"),
    "lookup": Lookup.of,
}


@pytest.mark.parametrize("analyse", ANALYSES.values(), ids=ANALYSES)
def test_nobody_is_asked_twice(analyse):
    function = Asked()
    analyse(function, LOPSIDED)
    assert function and function.once
    for build in (Chooser, Undeclared):
        agent = build(LOPSIDED)
        analyse(agent, LOPSIDED)
        assert agent.asked and agent.asked.once, build


def can_come_up(game, agent):
    """The positions with the agent to move, on both seats, against anybody."""
    seat = follow(lambda boards: checked_policies(agent, boards))
    as_x, as_o = reachable(game, seat), reachable(game, None, seat)
    return {p for layer in [*as_x[::2], *as_o[1::2]] for p in layer.boards(layer.open)}


@pytest.mark.parametrize("analyse", [ttt_env.certify, ttt_env.exploitability, ttt_env.best_response])
def test_only_what_can_come_up_is_asked(analyse):
    asked = set()
    analyse(lambda position: asked.add(position) or lowest(position))
    assert asked == can_come_up(TICTACTOE, ttt_env.make_agent(lowest))


class TestResults:
    def test_speak_of_the_answers_that_were_given(self):
        """A table of the very same answers is judged alike."""
        noted = {}
        rng = np.random.default_rng(3)

        def function(position):
            noted[position] = int(rng.choice(position.legal_cells))
            return noted[position]

        found = ttt_env.certify(function)

        class Replay(Agent):
            is_fixed = True

            def policy(self, position):
                return np.eye(9)[noted[position]]

        again = ttt_env.certify(Replay(TICTACTOE))
        assert (found.source, again.source) == ("recorded", "declared")
        assert (found.asked, again.asked) == (len(noted), 0)
        assert found.refutations == again.refutations and found.worst_case == again.worst_case
        assert found.positions == again.positions and sum(found.positions.values()) == len(noted)
        assert list(found.blunders) == list(again.blunders)
        for seat, record in found.refutations.items():
            for position, cell in zip(record.positions(), record.cells, strict=False):
                assert position.to_move != seat or noted[position] == cell

    def test_say_so_in_words(self):
        match = ttt_env.match(lowest, "random", exact=True)
        for result in (ttt_env.certify(lowest), ttt_env.exploitability(lowest), match):
            assert result.source == "recorded" and "answers" in str(result)
        for result in (ttt_env.certify("block"), ttt_env.exploitability("block")):
            assert result.source == "declared" and "answers" not in str(result)
        assert ttt_env.match(lowest, "random", games=2).source == "sampled"

    def test_an_agent_is_judged_as_it_plays(self):
        class Frank(Sly):
            is_fixed = True

            def choose(self, position, rng):
                return lowest(position)

        due = ttt_env.match(lowest, "minimax", exact=True).as_x
        sources = {Sly(TICTACTOE): "recorded", lowest: "recorded", Frank(TICTACTOE): "declared"}
        for agent, source in sources.items():
            found = ttt_env.certify(agent)
            assert (found.source, found.unbeatable) == (source, False)
            assert found.asked == (sum(found.positions.values()) if source == "recorded" else 0)
            assert ttt_env.match(agent, "minimax", exact=True).as_x == due
        assert ttt_env.match(Sly(TICTACTOE), "minimax", games=2).source == "sampled"
        assert ttt_env.match(Frank(TICTACTOE), "minimax").exact

    def test_a_best_response_wins_what_it_says(self):
        function = RecordedAgent(ttt_env.make_agent(Asked()))
        worst = ttt_env.exploitability(function)
        found = ttt_env.match(ttt_env.best_response(function), function)
        assert found.exact and found.source == "recorded"
        assert (found.as_x.value, found.as_o.value) == pytest.approx((worst.as_o, worst.as_x))


class TestMatch:
    def test_a_function_is_called_exactly_once_for_each_of_its_moves(self):
        ours, theirs, games = Asked(), Chooser(TICTACTOE), 40
        assert ttt_env.match(ours, theirs, games=games).games == games
        n_ours, n_theirs = ours.total(), theirs.asked.total()
        # X, who is each of them in half of the games, makes as many moves as O or one more.
        assert abs(n_ours - n_theirs) <= games and 5 * games <= n_ours + n_theirs <= 9 * games
        ours.clear()
        assert not ttt_env.match(ours, "random", "square-v0", games=4).exact
        assert ours.total() <= 4 * 8

    def test_how_it_is_judged_may_be_asked_for(self):
        assert ttt_env.match("random", "random", exact=False, games=10).games == 10
        with pytest.raises(GameTooLargeError, match="qubic-v0 has 64 cells"):
            ttt_env.match("random", "random", "qubic-v0", exact=True)
        asked, bad = lambda how: ttt_env.match("block", "block", exact=how), ("yes", 1, 0, "True")
        all_raise(ParameterError, "unknown exact", asked, bad)


class TestWrongDeclarations:
    def test_that_are_noticed_late_end_in_the_error_too(self):
        """On a game whose answers are not kept, a refutation asks again."""

        class Late(Agent):
            is_fixed = True
            calls = 0

            def policies(self, boards):
                self.calls += len(boards) > 1
                end = -1 if self.calls > 2 else 0
                return np.array([np.eye(self.game.n_cells)[p.legal_cells[end]] for p in boards])

        large = ttt_env.get_game("mnk-v0:m=13,n=1,k=3")
        with pytest.raises(PolicyError, match=r"no fixed policy"):
            ttt_env.certify(Late(large), large)

    def test_a_difference_in_a_position_of_the_refutation_is_noticed(self, monkeypatch):
        """Only some positions of a large ply are looked at, but all of a refutation."""
        monkeypatch.setattr(evaluation, "check_declared", lambda *_: None)
        record = ttt_env.certify(lowest).refutations["O"]
        lost = record.positions()[-3]

        class Slip(Agent):
            is_fixed = True

            def policy(self, position):
                cells = position.legal_cells
                return np.eye(9)[cells[-1] if position == lost else cells[0]]

            def policies(self, boards):
                return np.array([np.eye(9)[lowest(position)] for position in boards])

        with pytest.raises(PolicyError, match="no fixed policy"):
            ttt_env.certify(Slip(TICTACTOE))


class TestProgress:
    @pytest.mark.parametrize(
        "analyse",
        [
            ttt_env.certify,
            ttt_env.exploitability,
            ttt_env.best_response,
            lambda agent, progress: ttt_env.match(agent, agent, exact=True, progress=progress),
            lambda agent, progress: dossier(agent, progress=progress),
        ],
    )
    def test_begins_with_what_it_may_cost(self, analyse, monkeypatch):
        monkeypatch.setattr(recorded, "_SHOWN_EVERY", 0.0)
        told, function = [], Asked()
        analyse(function, progress=told.append)
        assert told[0].positions == 0
        positions = [now.positions for now in told]
        assert positions == sorted(positions) and positions[-1] == len(function)
        # A function is met by at most 1·8·6·4·2 replies as X, and by 9·7·5·3 as O: 633 + 1,332 positions.
        assert told[0].at_most in (1_965, 2 * 1_965)

    def test_of_a_match_is_told_of_both_agents_together(self, monkeypatch):
        monkeypatch.setattr(recorded, "_SHOWN_EVERY", 0.0)
        told, one, two = [], Asked(), Asked()
        ttt_env.match(one, two, exact=True, progress=told.append)
        assert told[-1].positions == len(one) + len(two) <= told[-1].at_most < 2 * 1_965
        assert one.once and two.once
        told.clear()
        assert ttt_env.certify("block", progress=told.append).source == "declared"
        assert told[0] == (0, 6046 - 126)  # all placements of stones but the full boards
        told.clear()
        with pytest.raises(GameTooLargeError, match="18 cells are the limit"):
            ttt_env.certify(one, "qubic-v0", progress=told.append)
        assert not told and one.once  # nobody was asked

    def test_without_it_long_asking_alone_says_so_in_the_log(self, monkeypatch, logged):
        ttt_env.exploitability(lowest)
        assert not logged
        monkeypatch.setattr(recorded, "_LOGGED_EVERY", 0.0)
        ttt_env.exploitability(lowest)
        assert "positions of at most 1," in logged[0]

    def test_time_before_the_first_question_does_not_count(self, monkeypatch, logged):
        now = [0.0]
        monkeypatch.setattr(recorded, "time", SimpleNamespace(monotonic=lambda: now[0]))
        agent = RecordedAgent(ttt_env.make_agent(lowest))
        now[0] = 1000.0
        ttt_env.exploitability(agent)
        assert not logged


class TestRecorded:
    def test_is_a_fixed_policy_of_any_mix_of_positions(self):
        agent = RecordedAgent(ttt_env.make_agent(Asked()))
        boards = Boards.of([ttt_env.random_position(TICTACTOE, np.random.default_rng(n)) for n in range(300)])
        first = agent.policies(boards)
        assert agent.is_fixed and agent.asked == len(set(boards))
        order = np.random.default_rng(0).permutation(300)
        assert (agent.policies(boards[order]) == first[order]).all()
        assert all((agent.policy(boards[i]) == first[i]).all() for i in range(0, 300, 7))

    def test_copies_keep_the_answers(self):
        agent = RecordedAgent(ttt_env.make_agent("mcts:simulations=3"))
        answers = {p: agent.policy(p) for p in (TICTACTOE.start, TICTACTOE.start.play(4))}
        for again in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
            assert all((again.policy(p) == answer).all() for p, answer in answers.items())
            assert again.asked == 2

    def test_may_be_tabulated_by_an_environment(self):
        function = Asked()
        agent = RecordedAgent(ttt_env.make_agent(function))
        envs = ttt_env.make_vec("tictactoe-v0", 4, opponent=agent)
        envs.reset(seed=0)
        assert len(function) == 4520 and function.once

    def test_of_a_game_too_large(self):
        with pytest.raises(GameTooLargeError, match="qubic-v0"):
            RecordedAgent(ttt_env.make_agent("random", "qubic-v0"))


def test_it_loses_the_games_that_it_plays_where_it_named_no_free_cell():
    recorded = RecordedAgent(
        ttt_env.make_agent(lambda position: 0, TICTACTOE)
    )  # taken from its second move on
    played = ttt_env.match(recorded, "random", exact=False, games=4)
    assert played.as_x == played.as_o == (0, 0, 1)
    assert [(lost.outcome, lost.games) for lost in played.forfeits[0]] == [("taken", 4)]
    assert played.as_x == ttt_env.match(recorded, "random", exact=True).as_x
