"""The recipes of this folder as learners, by their names with `_` in place of `-`."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ttt_env.agent import Budget
from ttt_env.envs.sb3 import make_vec_env
from ttt_env.errors import ParameterError, TttEnvError, brief
from ttt_env.rules import Game, is_enumerable
from ttt_env.storage import reason
from ttt_env.training.pool import OpponentPool, StartDistribution
from ttt_env.training.recipe import recipe, recipe_names
from ttt_env.training.selfplay import ModelLearner

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv


class RecipeLearner(ModelLearner):
    """A new model of a recipe's algorithm, on its environments, against its opponents.

    Hyperparameters are named as `Recipe.adjusted` says. The environments are what `make_envs` makes.

    Raises `ParameterError` for an unknown or invalid hyperparameter, `ImportError` without the extra `train`.
    """

    def __init__(
        self,
        game: Game,
        seed: int = 0,
        *,
        make_envs: "Callable[..., VecEnv]" = make_vec_env,
        **hyperparameters: Any,
    ) -> None:
        instructions = recipe(self.name).of_game(game).adjusted(hyperparameters)
        pool = OpponentPool(**instructions.pool)
        starts = StartDistribution(game, instructions.random_starts, instructions.blunder_starts)
        envs = make_envs(
            game,
            seed=seed,
            opponent=pool.specs or "random",
            actions="cells",
            start=starts,
            **instructions.envs,
        )
        build = instructions.algorithm_class()
        try:
            model = build(env=envs, seed=seed, device="cpu", **instructions.hyperparameters)
        except Exception as error:  # the algorithm may raise anything at invalid values
            if isinstance(error, TttEnvError | ImportError) or not hyperparameters:
                raise
            values = ", ".join(f"{name}={brief(value)}" for name, value in hyperparameters.items())
            raise ParameterError(f"{self.name} cannot be made with {values}: {reason(error)}") from error
        model.game = game  # saved with it, as its spaces are the same for all games of one shape
        # As text in the file it can be read without running the file's code.
        model.trained_as = f"{self.name} on {game.name}"
        super().__init__(model, pool, starts, seed=seed)

    @classmethod
    def check(cls, game: Game, hyperparameters: Mapping[str, Any]) -> None:  # noqa: D102
        instructions = recipe(cls.name).of_game(game).adjusted(hyperparameters)
        instructions.algorithm_class()
        StartDistribution(game, instructions.random_starts, instructions.blunder_starts)
        OpponentPool(**instructions.pool).bind(game)

    @classmethod
    def described(cls, game: Game, hyperparameters: Mapping[str, Any]) -> str:  # noqa: D102
        pool = OpponentPool(**recipe(cls.name).of_game(game).adjusted(hyperparameters).pool)
        responses = ", best responses" if is_enumerable(game) else ""
        return f"Opponents: {', '.join(map(str, pool.specs))}, past selves{responses}."


@cache
def _learner_of(name: str) -> type[RecipeLearner]:
    usual = Budget(seconds=recipe(name).seconds)
    return type(name, (RecipeLearner,), {"name": name, "default_budget": usual})


def __getattr__(name: str) -> type[RecipeLearner]:
    if name.replace("_", "-") not in recipe_names():
        raise AttributeError(f"module {__name__!r} has no recipe {name!r}")
    return _learner_of(name.replace("_", "-"))
