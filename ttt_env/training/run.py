"""Training by recipe: an algorithm of Stable-Baselines3, an opponent pool, budgets, files."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttt_env.agent import AgentLike
from ttt_env.envs.sb3 import make_vec_env
from ttt_env.errors import ParameterError, PolicyFileError
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.game import Game
from ttt_env.training.checkpoint import checkpoint_of, load_checkpoint
from ttt_env.training.evaluation import Report, Until
from ttt_env.training.pool import OpponentPool
from ttt_env.training.recipe import Recipe, recipe
from ttt_env.training.selfplay import SelfPlay
from ttt_env.training.starts import RandomStarts
from ttt_env.training.threads import one_thread

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env import VecEnv

_NO_LIMIT = 2**62  # steps


def train(
    game: Game | str = "tictactoe-v0",
    algo: str = "maskable-ppo",
    opponents: Sequence[AgentLike] | None = None,
    *,
    hyperparameters: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    until: Until = "unbeatable",
    out: str | Path | None = None,
    resume: bool = False,
    tensorboard: str | Path | None = None,
    report: Report | None = None,
) -> "BaseAlgorithm":
    """The least exploitable model that an algorithm found within so many seconds or steps of the agent.

    `algo` is the name of a recipe. `opponents` take the place of the recipe's scripted ones, and
    `hyperparameters` that of its values, by the names that `Recipe.adjusted` has. Without `seconds` and
    `steps` the recipe says how long. Training ends sooner when `until` is reached: see `SelfPlay`.
    `report` is called after every evaluation.

    With `out` the model is written there whenever it is better than before, and all that is needed to go on
    to the file `checkpoint_of(out)`. `resume` goes on from that file, with the seed, opponents,
    hyperparameters and log of the beginning; budgets include what was used before.

    Raises `ParameterError` for an unknown algorithm or hyperparameter, `PolicyFileError` if there is nothing
    to resume or it is a training of something else, `ImportError` without the extra `train`.
    """
    played_game, instructions = get_game(game), recipe(algo).adjusted(hyperparameters or {})
    if resume and (out is None or opponents is not None or hyperparameters):
        raise ParameterError(
            "resume=True needs out=, to know its checkpoint, "
            "and goes on with its opponents and hyperparameters"
        )
    if steps is not None and steps < 1:
        raise ParameterError(f"steps={steps!r}: a number above 0 is needed")
    with one_thread():
        if resume and out is not None:
            model, callback = go_on(checkpoint_of(out), played_game, instructions)
        else:
            model, callback = begin(played_game, instructions, opponents, seed, tensorboard)
        callback.configure(
            until=until,
            seconds=_seconds(instructions, seconds, steps),
            best=out,
            checkpoint=out and checkpoint_of(out),
            report=report,
        )
        left = (steps or _NO_LIMIT) - model.num_timesteps
        if left > 0:
            model.learn(left, callback, tb_log_name=algo, reset_num_timesteps=not resume)
        callback.restore_best(model)
    return model


def _seconds(instructions: Recipe, seconds: float | None, steps: int | None) -> float:
    if seconds is not None:
        return seconds
    return instructions.seconds if steps is None else math.inf


def begin(
    game: Game,
    instructions: Recipe,
    opponents: Sequence[AgentLike] | None,
    seed: int,
    tensorboard: str | Path | None = None,
    make_envs: "Callable[..., VecEnv]" = make_vec_env,
) -> tuple["BaseAlgorithm", SelfPlay]:
    """The model and the callback of a new training, for `learn`, on what `make_envs` makes."""
    scripted = instructions.scripted(game) if opponents is None else opponents
    pool = OpponentPool(**{**instructions.pool, "scripted": scripted})
    starts = RandomStarts(game, instructions.random_starts, instructions.error_starts)
    envs = make_envs(game, seed=seed, opponent=pool.specs or "random", start=starts, **instructions.envs)
    build = instructions.algorithm_class()
    log = None if tensorboard is None else str(tensorboard)
    model = build(env=envs, seed=seed, device="cpu", tensorboard_log=log, **instructions.hyperparameters)
    model.game = game  # saved with it, as its spaces are the same for all games of one shape
    # As text in the file it can be read without running the file's code.
    model.trained_as = f"{instructions.name} on {game.name}"
    return model, SelfPlay(pool, starts=starts)


def go_on(path: Path, game: Game, instructions: Recipe) -> tuple["BaseAlgorithm", SelfPlay]:
    """The model and the callback from a checkpoint, for `learn(..., reset_num_timesteps=False)`.

    Raises `PolicyFileError` if it is no checkpoint, or one of another training.
    """
    model, callback = load_checkpoint(path)
    envs: Any = model.get_env()
    trained_on = envs.get_attr("game")[0]
    if trained_on != game or type(model) is not instructions.algorithm_class():
        raise PolicyFileError(
            f"{path} is a training of {type(model).__name__} on {trained_on.name}, "
            f"not of {instructions.name} on {game.name}"
        )
    return model, callback
