"""Counterfactual regret minimisation: its update rule, its regret bound and its strategies."""

import numpy as np
import pytest

import ttt_env
from tests.support.agents import advanced
from tests.support.marks import slow_but_the_first
from ttt_env.agent.learner import Budget
from ttt_env.agents.learned.cfr import CFRLearner
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.errors import ParameterError
from ttt_env.rules.symmetry import canonical

GAMES = ["tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=4,n=3,k=3"]
LOPSIDED = ttt_env.Game("lopsided", (2, 3), [(0, 1), (2, 5), (1, 3, 4)])


def strategy(game, iterations, variant, purified=False):
    """The average strategy after `iterations` iterations."""
    learner = CFRLearner(ttt_env.get_game(game), variant=variant, purified=purified)
    return advanced(learner, iterations).agent()


class NaiveCFR:
    """CFR as in the paper: a walk over all histories with dictionaries and Python numbers."""

    def __init__(self, game, is_plus):
        self.game, self.is_plus, self.iterations = game, is_plus, 0
        self.regrets, self.totals, self.now = {}, {}, {}

    def strategy(self, position):
        regrets = self.regrets.setdefault(position, dict.fromkeys(position.legal_cells, 0.0))
        self.totals.setdefault(position, dict.fromkeys(position.legal_cells, 0.0))
        above = {cell: max(regret, 0.0) for cell, regret in regrets.items()}
        total = sum(above.values())
        return {cell: above[cell] / total if total > 0 else 1 / len(above) for cell in above}

    def walk(self, position, reach, learners, weight):
        """The value for the player to move; `reach` holds X's and O's own reach probabilities."""
        if position.is_over:
            if position.winner is None:
                return 0.0
            return 1.0 if position.winner == position.to_move else -1.0
        mover = "XO".index(position.to_move)
        if position not in self.now:
            self.now[position] = self.strategy(position)
        strategy, values = self.now[position], {}
        for cell, chance in strategy.items():
            after = list(reach)
            after[mover] *= chance
            values[cell] = -self.walk(canonical(position.play(cell)), after, learners, weight)
        worth = sum(strategy[cell] * values[cell] for cell in values)
        if position.to_move in learners:
            for cell in values:
                self.gains.setdefault(position, dict.fromkeys(values, 0.0))
                self.gains[position][cell] += reach[1 - mover] * (values[cell] - worth)
                self.totals[position][cell] += weight * reach[mover] * strategy[cell]
        return worth

    def iterate(self):
        self.iterations += 1
        for learners in ("X", "O") if self.is_plus else ("XO",):
            self.now, self.gains = {}, {}
            self.walk(
                canonical(self.game.start), [1.0, 1.0], learners, self.iterations if self.is_plus else 1
            )
            for position, gains in self.gains.items():
                for cell, gain in gains.items():
                    regret = self.regrets[position][cell] + gain
                    self.regrets[position][cell] = max(regret, 0.0) if self.is_plus else regret

    def average(self, position):
        totals = self.totals[position]
        total = sum(totals.values())
        return [
            (totals[cell] / total if total else 1 / len(totals)) if cell in totals else 0.0
            for cell in range(self.game.n_cells)
        ]


@pytest.mark.parametrize("variant", ["cfr", "cfr+"])
@pytest.mark.parametrize(
    "game", [LOPSIDED, ttt_env.get_game("mnk-v0:m=3,n=2,k=2,misere=true")], ids=lambda game: game.name
)
def test_sweeps_match_walks_over_all_histories(game, variant):
    naive, learner = NaiveCFR(game, variant == "cfr+"), CFRLearner(game, variant=variant, purified=False)
    for _ in range(4):
        naive.iterate()
        learner.advance(Budget(steps=1))
        average = learner.agent()
        for position in naive.totals:
            np.testing.assert_allclose(average.policy(position), naive.average(position), atol=1e-6)


@pytest.mark.parametrize("game", slow_but_the_first(GAMES))
def test_exploitability_is_within_regret_bound(game):
    """Theorems 2 and 3 of Zinkevich et al.: the overall regret is at most the sum of immediate regrets."""
    learner = CFRLearner(ttt_env.get_game(game), purified=False)
    for iterations in (40, 120):
        first = advanced(learner, iterations).graph.first
        largest = np.maximum.reduceat(learner.regrets.regret, first[:-1][np.diff(first) > 0])
        bound = np.maximum(largest, 0).sum() / learner.iterations
        found = ttt_env.exploitability(learner.agent())
        assert 0 < found.nash_conv <= bound


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["cfr", "cfr+"])
@pytest.mark.parametrize("game", GAMES)
def test_fourfold_iterations_halve_exploitability(game, variant):
    averages = [strategy(game, iterations, variant) for iterations in (20, 80, 320)]
    found = [ttt_env.exploitability(average).exploitability for average in averages]
    assert found[1] <= found[0] / 2 and found[2] <= found[1] / 2


@pytest.mark.parametrize("variant", slow_but_the_first(["cfr+", "cfr"]))
@pytest.mark.parametrize("game", slow_but_the_first(GAMES))
def test_purified_average_is_not_exploitable(game, variant, tmp_path):
    learned = strategy(game, 200, variant, purified=True)
    learned.save(tmp_path / "strategy.npz")
    loaded = Lookup(learned.game, str(tmp_path / "strategy.npz"))
    assert ttt_env.exploitability(loaded).exploitability == 0


def test_learner_visits_every_move_up_to_symmetry():
    learner, seen = CFRLearner(ttt_env.get_game("tictactoe-v0")), []
    for _ in range(3):
        learner.advance()
        seen.append(learner.moves)
    assert len(learner.positions) == 765  # The count up to symmetry in tests/reference.py.
    assert seen == [len(learner.graph.next) * n for n in (1, 2, 3)]


def test_time_limit_ends_training():
    seen = []
    ttt_env.train(algo="cfr", seconds=1e-9, until="budget", report=seen.append)
    assert [evaluation.steps for evaluation in seen] == [1]


def test_training_ends_at_zero_exploitability():
    assert ttt_env.exploitability(ttt_env.train(algo="cfr")).exploitability == 0


@pytest.mark.parametrize(
    "settings",
    [{"purified": 1}, {"variant": "mccfr"}, {"steps": -1}, {"seconds": "long"}],
    ids=["purified", "variant", "steps", "seconds"],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(ParameterError, match="cfr"):
        ttt_env.train(algo="cfr", **settings)
