"""How to train an algorithm: its hyperparameters, environments and opponents, as data in `recipes/`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from ttt_env.errors import ParameterError, unknown
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import is_enumerable

_FOLDER = files("ttt_env.agents.training") / "recipes"


@dataclass(frozen=True)
class Recipe:
    """What a file of `recipes/` says.

    `algorithm` is the class as `module:name`; `seconds` the budget of a training that is told no other;
    `pool` the parameters of an `OpponentPool`, `envs` those of `make_vec_env`, `random_starts` the share of
    episodes from random positions, `hyperparameters` those of the algorithm.
    """

    name: str
    algorithm: str
    seconds: float
    random_starts: float
    pool: Mapping[str, Any]
    envs: Mapping[str, Any]
    hyperparameters: Mapping[str, Any]

    def algorithm_class(self) -> Any:
        """The class. Raises `ImportError` without the extra `train`."""
        module, _, name = self.algorithm.partition(":")
        try:
            return getattr(import_module(module), name)
        except ImportError as error:
            raise ImportError('training needs the extra "train": pip install "ttt-env[train]"') from error

    def scripted(self, game: Game) -> list[str]:
        """The scripted opponents, without `minimax` where the game has too many positions for it."""
        return [name for name in self.pool["scripted"] if name != "minimax" or is_enumerable(game)]


def recipe_names() -> list[str]:
    """The names of all recipes."""
    return sorted(
        file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml")
    )


@lru_cache
def recipe(name: str) -> Recipe:
    """The recipe of this name. Raises `ParameterError` if there is none."""
    if name not in recipe_names():
        raise ParameterError(unknown("algorithm", name, recipe_names()))
    return Recipe(name, **tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8")))
