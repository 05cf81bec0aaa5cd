"""The algorithms of this package as they take part, each with one set of hyperparameters for all seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

import numpy as np

from contest.protocol import MakeEnv, Report, Train
from ttt_env.agent import Agent, Floats
from ttt_env.agents.alphazero.agent import AlphaZero
from ttt_env.agents.alphazero.search import merged
from ttt_env.agents.learned import cfr, q_learning, value_network
from ttt_env.rules.boards import Boards
from ttt_env.training.alphazero_settings import Settings as AlphaZeroSettings
from ttt_env.training.recipe import recipe

NO_LIMIT = 2**62  # steps
TEACHERS = ("rules", "responses", "solver")
"""The algorithm's source of knowledge about the game: the `rules`, by playing itself or random players;
exact best `responses` to itself; or a `solver`, as an opponent or as a judge of its errors."""


@dataclass(frozen=True)
class Entry:
    """An algorithm that takes part.

    `source` is where it is, as `module:function`; `teacher` one of `TEACHERS`; `packages` are the
    distributions whose versions belong to a result. One that is not `is_seeded` draws nothing, so that one
    run says all.
    """

    name: str
    source: str
    train: Train
    teacher: str
    packages: Sequence[str] = ()
    is_seeded: bool = True


class FirstOfBest(Agent):
    """Makes one of the moves that an agent likes best: the first in the canonical image of the position.

    An agent that draws among equal moves comes into many more positions than one that does not.
    """

    is_fixed = True

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent.game)
        self._agent = agent

    def policies(self, boards: Boards) -> Floats:
        """All of the probability on one move, `[B, cells]`."""
        canonical, cells = merged(boards)
        firsts = self._agent.policies(canonical).argmax(axis=1)
        policies: Floats = (cells == firsts[:, None]).astype(np.float64)
        return policies


def by_recipe(name: str, make_env: MakeEnv, seed: int, report: Report) -> Any:
    """Train by a recipe of `ttt_env.training`, looking when its self-play looks."""
    from ttt_env.agents.learned.sb3 import SB3
    from ttt_env.training.run import begin, one_thread

    with one_thread():
        model, callback = begin(
            make_env.game, recipe(name), None, seed, make_envs=lambda game, **options: make_env(**options)
        )
        agent = SB3.from_model(make_env.game, model)
        callback.configure(
            until="budget", seconds=inf, best=None, checkpoint=None, report=lambda _: report(agent)
        )
        model.learn(NO_LIMIT, callback)
    return agent


def by_q_learning(make_env: MakeEnv, seed: int, report: Report) -> Any:
    """Tabular Q-learning in self-play."""
    look = _counting(make_env, lambda now: report(FirstOfBest(now.agent)))
    return FirstOfBest(q_learning.train(make_env.game, seed=seed, seconds=inf, goal=None, report=look))


def by_value_network(make_env: MakeEnv, seed: int, report: Report) -> Any:
    """The value network by its author's numbers, and for as many games."""
    look = _counting(make_env, lambda now: report(now.agent))
    return value_network.train(make_env.game, seed=seed, report=look)


def by_alphazero(make_env: MakeEnv, seed: int, report: Report) -> Any:
    """AlphaZero, whose network alone is judged; a step is a move of a game, or one that a search makes.

    Nobody tells it where its network errs, so all its games begin with the empty board or with random moves.
    """
    from ttt_env.training.alphazero import AlphaZeroTraining
    from ttt_env.training.threads import one_thread

    known, is_over = 0, False
    with one_thread():
        training = AlphaZeroTraining(make_env.game, AlphaZeroSettings(), seed)
        while not is_over:
            for _ in range(training.settings.pause):
                training.step()
            made = training.search.moves + training.rounds * training.settings.moves * training.settings.games
            make_env.count(made - known)
            known = made
            network = AlphaZero.of(training.exported(), simulations=1)
            is_over = report(network)
    return network


def by_cfr(variant: cfr.Variant, is_purified: bool, make_env: MakeEnv, seed: int, report: Report) -> Any:
    """Counterfactual regret minimisation; a step is a move that a sweep looks at."""

    def strategy(now: cfr.StrategySnapshot) -> Any:
        return now.purified if is_purified else now.average

    look = _counting(make_env, lambda now: report(strategy(now)))
    return strategy(cfr.train(make_env.game, iterations=4_000, variant=variant, report=look))


def _counting(make_env: MakeEnv, report: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A report that first counts the moves since the last one."""
    known = 0

    def look(now: Any) -> bool:
        nonlocal known
        make_env.count(now.moves - known)
        known = now.moves
        return report(now)

    return look


def _recipe_entry(name: str, packages: Sequence[str]) -> Entry:
    return Entry(name, f"contest.entries:by_recipe({name})", partial(by_recipe, name), "solver", packages)


_SB3 = ("stable-baselines3", "torch")
_CONTRIB = ("sb3-contrib", *_SB3)
_HERE = (
    _recipe_entry("a2c", _SB3),
    _recipe_entry("dqn", _SB3),
    _recipe_entry("maskable-ppo", _CONTRIB),
    _recipe_entry("ppo", _SB3),
    _recipe_entry("qr-dqn", _CONTRIB),
    Entry("q-learning", "contest.entries:by_q_learning", by_q_learning, "rules"),
    Entry("value-network", "contest.entries:by_value_network", by_value_network, "rules"),
    Entry("alphazero", "contest.entries:by_alphazero", by_alphazero, "rules", ("torch",)),
    Entry("cfr", "contest.entries:by_cfr", partial(by_cfr, "cfr", False), "rules", is_seeded=False),
    Entry("cfr-purified", "contest.entries:by_cfr", partial(by_cfr, "cfr", True), "rules", is_seeded=False),
    Entry(
        "cfr-plus-purified", "contest.entries:by_cfr", partial(by_cfr, "cfr+", True), "rules", is_seeded=False
    ),
)
ENTRIES = {entry.name: entry for entry in _HERE}
