"""The agent that infers its opponent's temperature, and how agents come to know the game so far."""

from itertools import pairwise
from math import exp, inf, prod

import numpy as np
import pytest

import ttt_env
from tests.support import naive
from tests.support.games import TICTACTOE
from tests.support.marks import slow
from ttt_env.agents.combining import Epsilon, Mixture
from ttt_env.agents.planning import adaptive
from ttt_env.agents.planning.adaptive import ESTIMATES, TEMPERATURES, Adaptive
from ttt_env.errors import GameTooLargeError, ParameterError


def positions_of(cells, game=TICTACTOE):
    return ttt_env.GameRecord(game, tuple(cells)).positions()


def random_games(count, seed=0, game=TICTACTOE):
    """The positions before some move of random games."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        positions = ttt_env.play_game("random", "random", game, rng).positions()
        yield positions[: rng.integers(1, len(positions))]


def naive_softmax(temperature):
    """The probabilities of the moves of every board by plain recursion, as a function from boards."""
    game, found = naive.twin(TICTACTOE), {}
    values = {}
    for board in reversed(game.boards()):
        after = {cell: -values[naive.play(board, cell)] for cell in game.moves(board)}
        if not after:
            values[board] = game.result(board, naive.mover(board))
            continue
        largest = max(after.values())
        if temperature in (0, inf):
            weights = {c: float(temperature == inf or v > largest - 1e-9) for c, v in after.items()}
        else:
            weights = {c: exp((v - largest) / temperature) for c, v in after.items()}
        total = sum(weights.values())
        found[board] = {cell: weight / total for cell, weight in weights.items()}
        values[board] = sum(found[board][cell] * value for cell, value in after.items())
    return found


class TestInference:
    def test_is_bayes_rule_on_the_moves_of_the_opponent_alone(self):
        agent, models = Adaptive(TICTACTOE), [naive_softmax(t) for t in TEMPERATURES]
        begun = [TICTACTOE.start], positions_of([4, 0])[-1:], positions_of([4, 1])
        for positions in (*begun, *random_games(10)):
            boards = [naive.board_of(str(position)) for position in positions]
            seat = naive.mover(boards[-1])
            likelihoods = [
                prod(
                    model[before][next(c for c in range(9) if before[c] != after[c])]
                    for before, after in pairwise(boards)
                    if naive.mover(before) != seat
                )
                for model in models
            ]
            due = [likelihood / sum(likelihoods) for likelihood in likelihoods]
            assert agent.chances_of_temperatures(positions) == pytest.approx(due, abs=1e-7)  # ties: see `TIE`


class TestPlay:
    def test_is_the_best_answer_to_the_chances(self):
        for estimate in ESTIMATES:
            agent = Adaptive(TICTACTOE, estimate)
            answers = [ttt_env.best_response(f"softmax:temperature={t}") for t in TEMPERATURES]
            for positions in random_games(6, seed=1):
                weights = agent.chances_of_temperatures(positions)
                if estimate == "likeliest":
                    weights = weights >= weights.max() - 1e-9
                tables = [answer.numbers(positions[-1]).by_cell for answer in answers]
                expected = {
                    cell: np.average([table[cell] for table in tables], weights=weights)
                    for cell in positions[-1].legal_cells
                }
                largest = [c for c, value in expected.items() if value > max(expected.values()) - 1e-9]
                policy = agent.policy_in_game(positions)
                assert np.flatnonzero(policy).tolist() == largest
                assert policy[largest] == pytest.approx(1 / len(largest))
                rng = np.random.default_rng(0)
                assert {agent.choose_in_game(positions, rng) for _ in range(20)} <= set(largest)

    @pytest.mark.parametrize(
        ("game", "estimate", "differs"),
        [
            (TICTACTOE, "posterior", False),
            (TICTACTOE, "likeliest", True),
            slow(ttt_env.get_game("mnk-v0:m=4,n=3,k=3,misere=true"), "posterior", True),
        ],
        ids=["3x3", "3x3 likeliest", "a larger board"],
    )
    def test_what_it_learns_changes_its_moves(self, game, estimate, differs):
        agent = Adaptive(game, estimate)
        found = any(
            not np.array_equal(agent.policy_in_game(positions), agent.policy(positions[-1]))
            for positions in random_games(20, seed=2, game=game)
        )
        assert found == differs

    def test_matches_with_it_are_sampled(self):
        found = ttt_env.match("adaptive", "random", games=4)
        assert not found.exact and found.source == "sampled"

    def test_a_larger_game_is_refused(self):
        told = r"16 cells, too many for adaptive .* 12 cells are the limit"
        with pytest.raises(GameTooLargeError, match=told):
            ttt_env.make_agent("adaptive", "square-v0")
        with pytest.raises(ParameterError, match="estimate of adaptive"):
            ttt_env.make_agent("adaptive:mean")


class Listener(ttt_env.Agent):
    """Plays the first free cell, and remembers what it was told of the games so far."""

    def __init__(self, game):
        super().__init__(game)
        self.told = []

    def policy(self, position):
        return np.eye(self.game.n_cells)[position.legal_cells[0]]

    def choose_in_game(self, positions, rng):
        self.told.append(list(positions))
        return positions[-1].legal_cells[0]


class TestWhoIsToldOfTheGame:
    def assert_told(self, listener, record, parity):
        due = record.positions()
        assert listener.told == [due[: ply + 1] for ply in range(parity, len(record.cells), 2)]

    @pytest.mark.parametrize("parity", [0, 1])
    def test_in_games(self, parity):
        listener = Listener(TICTACTOE)
        seats = ["random", listener] if parity else [listener, "random"]
        self.assert_told(listener, ttt_env.play_game(*seats, rng=0), parity)

    @pytest.mark.parametrize("wrap", [Epsilon, lambda game, agent, _: Mixture(game, [agent])])
    def test_inside_of_other_agents(self, wrap):
        listener = Listener(TICTACTOE)
        record = ttt_env.play_game("random", wrap(TICTACTOE, listener, 0.0), rng=0)
        self.assert_told(listener, record, 1)

    @pytest.mark.parametrize("play_as", ["X", "O"])
    def test_in_the_environment(self, play_as):
        listener = Listener(TICTACTOE)
        env = ttt_env.make("tictactoe-v0", opponent=listener, play_as=play_as)
        for seed in range(2):  # the second episode begins anew
            listener.told.clear()
            env.reset(seed=seed)
            due, over = [], False
            played = [TICTACTOE.start] if play_as == "X" else [TICTACTOE.start, env.position]
            while not over:
                played.append(played[-1].play(env.position.legal_cells[-1]))
                if not played[-1].is_over:
                    due.append(list(played))
                _, _, over, _, _ = env.step(env.position.legal_cells[-1])
                if env.position.ply > played[-1].ply:
                    played.append(env.position)
            assert listener.told == ([] if play_as == "X" else [[TICTACTOE.start]]) + due

    def test_a_move_that_failed_is_not_of_the_game_and_a_given_position_is_its_first(self):
        listener = Listener(TICTACTOE)
        env = ttt_env.make("tictactoe-v0", opponent=lambda position: 99, play_as="X")
        env.reset(seed=0)
        with pytest.raises(ttt_env.IllegalMoveError):
            env.step(0)
        env.set_opponent(listener)
        env.step(4)
        assert listener.told == [[TICTACTOE.start, TICTACTOE.start.play(4)]]
        start = ttt_env.Position.parse("XO./.../...")
        env.reset(seed=0, options={"position": start})
        env.step(4)
        assert listener.told[1:] == [[start, start.play(4)]]


def test_what_is_remembered_is_of_the_position_and_stays_small(monkeypatch):
    monkeypatch.setattr(adaptive, "_MEMO_SIZE", 3)
    agent = Adaptive(TICTACTOE)
    due = Adaptive(TICTACTOE)
    for positions in random_games(10, seed=5):
        due._memo.clear()
        assert agent.policy_in_game(positions).tolist() == due.policy_in_game(positions).tolist()
        assert len(agent._memo) <= 3
    kept = agent._memo[next(iter(agent._memo))]
    position = ttt_env.Position(TICTACTOE, *next(iter(agent._memo)))
    assert agent._known(position) is kept
