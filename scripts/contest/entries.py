"""The algorithms of this package as they take part, each with one set of hyperparameters for all seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from contest.protocol import MakeEnv, Report, Train
from ttt_env.agent import Agent, Budget, Floats, learner_class
from ttt_env.alphazero.agent import AlphaZero
from ttt_env.alphazero.search import canonical_images
from ttt_env.alphazero.training import AlphaZeroSettings
from ttt_env.rules import Boards
from ttt_env.training.loop import Training, TrainingCheckpoint
from ttt_env.training.recipe import recipe_names

TEACHERS = ("rules", "responses", "solver", "regret", "moves")
"""The algorithm's source of knowledge about the game: the `rules`, by playing itself or random players;
exact best `responses` to itself; a `solver`, as an opponent or as a judge of its errors; the exact `regret`
of its own moves; or `moves` that give no value away."""


@dataclass(frozen=True)
class Entry:
    """An algorithm that takes part.

    `source` is where it is, as `module:function`; `teacher` one of `TEACHERS`; `packages` are the
    distributions whose versions belong to a result. One that is not `is_seeded` draws nothing, so that one
    run says all. One with `games` takes part in these alone.
    """

    name: str
    source: str
    train: Train
    teacher: str
    packages: Sequence[str] = ()
    is_seeded: bool = True
    games: Sequence[str] | None = None


class FirstOfBest(Agent):
    """Makes one of the moves that an agent likes best: the first in the canonical image of the position.

    An agent that draws among equal moves comes into many more positions than one that does not.
    """

    is_stationary = True

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent.game)
        self._agent = agent

    def policies(self, boards: Boards) -> Floats:
        """All of the probability on one move, `[B, cells]`."""
        canonical, cells = canonical_images(boards)
        firsts = self._agent.policies(canonical).argmax(axis=1)
        policies: Floats = (cells == firsts[:, None]).astype(np.float64)
        return policies


def by_recipe(name: str, make_env: MakeEnv, seed: int, report: Report) -> Any:
    """Train by a recipe of `ttt_env.training`, looking when its self-play looks."""
    from ttt_env.agents.learned.sb3 import SB3
    from ttt_env.training.loop import one_thread

    game, make_learner = make_env.game, cast(Any, learner_class(name))
    with one_thread():
        learner = make_learner(game, seed, make_envs=lambda game, **options: make_env(**options))
        agent = SB3.from_model(game, learner.model)
        kept = TrainingCheckpoint(name, game, seed, {})
        Training(learner, kept, until="budget", report=lambda _: report(agent)).run(Budget())
    return agent


def by_learner(
    name: str,
    make_env: MakeEnv,
    seed: int,
    report: Report,
    judged: Callable[[Agent], Agent] = lambda agent: agent,
    **hyperparameters: Any,
) -> Any:
    """Train a learner of this package, for as long as it usually learns; a step is a move that it makes."""
    learner = cast(Any, learner_class(name))(make_env.game, seed, **hyperparameters)
    steps, known, is_over = learner.default_budget.steps, 0, False
    while not is_over and learner.steps < steps:
        learner.advance(Budget(steps=steps - learner.steps))
        make_env.count(learner.moves - known)
        known = learner.moves
        is_over = report(judged(learner.agent()))
    return judged(learner.agent())


def by_alphazero(make_env: MakeEnv, seed: int, report: Report) -> Any:
    """AlphaZero, whose network alone is judged; a step is a move of a game, or one that a search makes.

    Nobody tells it where its network errs, so all its games begin with the empty board or with random moves.
    """
    from ttt_env.alphazero.training import AlphaZeroLearner
    from ttt_env.training.loop import one_thread

    known, is_over = 0, False
    with one_thread():
        learner = AlphaZeroLearner(make_env.game, seed, **vars(AlphaZeroSettings()))
        while not is_over:
            for _ in range(learner.settings.pause):
                learner.advance()
            made = learner.search.moves + learner.rounds * learner.settings.moves * learner.settings.games
            make_env.count(made - known)
            known = made
            network = AlphaZero.of(learner.inference_network(), simulations=1)
            is_over = report(network)
    return network


def by_language_model(name: str, make_env: MakeEnv, seed: int, report: Report) -> Any:
    """The language model of `scripts/grpo.py`, which names a cell by one letter."""
    from contest.language_models import train

    return train(name, make_env, seed, report)


def _entry(name: str, learner: str, *, is_seeded: bool = True, **options: Any) -> Entry:
    train = partial(by_learner, learner, **options)
    return Entry(name, f"contest.entries:by_learner({name})", train, "rules", is_seeded=is_seeded)


_RECIPES = [
    Entry(
        name,
        f"contest.entries:by_recipe({name})",
        partial(by_recipe, name),
        "solver",
        ("sb3-contrib", "stable-baselines3", "torch"),
    )
    for name in recipe_names()
]
_OWN = [
    _entry("q-learning", "q-learning", judged=FirstOfBest),
    _entry("value-network", "value-network"),
    Entry("alphazero", "contest.entries:by_alphazero", by_alphazero, "rules", ("torch",)),
    _entry("cfr", "cfr", is_seeded=False, purified=False),
    _entry("cfr-purified", "cfr", is_seeded=False),
    _entry("cfr-plus-purified", "cfr", is_seeded=False, variant="cfr+"),
]
_LANGUAGE_MODELS = [
    Entry(
        name,
        f"contest.entries:by_language_model({name})",
        partial(by_language_model, name),
        teacher,
        ("torch",),
        games=("tictactoe-v0", "tictactoe-v0:misere=true"),
    )
    for name, teacher in (
        ("grpo", "regret"),
        ("grpo-shaped", "regret"),
        ("grpo-result", "solver"),
        ("imitation", "moves"),
    )
]
ENTRIES = {entry.name: entry for entry in (*_RECIPES, *_OWN, *_LANGUAGE_MODELS)}
