"""Recipes: an algorithm's hyperparameters, environments and opponents, as data in `recipes/`."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from importlib import import_module
from importlib.resources import files
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from ttt_env.errors import FileError, ParameterError, brief, extra_for, unknown
from ttt_env.rules import Game, Seconds, Share, checked_value, is_enumerable
from ttt_env.storage import open_regular, parse_toml, reason
from ttt_env.training.pool import OpponentPool

_FOLDER = Path(str(files("ttt_env.training"))) / "recipes"
_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_TABLES = ("pool", "envs", "hyperparameters")
_SHARES = ("random_starts", "blunder_starts")
_OF_ENVS = ("n_envs", "illegal", "play_as", "rewards")
_NUMBERS: dict[Any, Any] = {int: Integral, float: Real}
_NOUNS: dict[Any, str] = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "a text",
    Callable: "a function",
    NoneType: "none",
}
_SET_BY_TRAINING = {"env", "seed", "device", "verbose", "tensorboard_log", "_init_setup_model"}


@dataclass(frozen=True)
class Recipe:
    """The contents of a file of `recipes/`.

    `algorithm` is the class as `module:name`; `seconds` the default budget of a training; `pool` the
    parameters of an `OpponentPool`, `envs` the options of `make_vec_env`, `random_starts` and
    `blunder_starts` the shares of episodes from random positions and from positions where the learner
    blunders, `hyperparameters` the algorithm's.
    """

    name: str
    algorithm: str
    seconds: float
    random_starts: float
    blunder_starts: float
    pool: Mapping[str, Any]
    envs: Mapping[str, Any]
    hyperparameters: Mapping[str, Any]

    def algorithm_class(self) -> Any:
        """The class. Raises `ImportError` without the extra `train`, `ParameterError` if there is none."""
        module, _, name = self.algorithm.partition(":")
        try:
            with extra_for("training needs", "train"):
                return getattr(import_module(module), name)
        except AttributeError as error:
            raise ParameterError(
                f"the recipe {self.name} is of {self.algorithm}, which is not a class"
            ) from error

    def adjusted(self, changes: Mapping[str, Any]) -> "Recipe":
        """The recipe with other values, by name.

        A name is a hyperparameter of the algorithm, `random_starts`, `blunder_starts`, `pool.NAME`,
        `envs.NAME`, or `opponents` for `pool.scripted`; an entry of a hyperparameter that is a table is named
        as in `policy_kwargs.net_arch`.

        Raises `ParameterError` for a name that the recipe's algorithm, pool or environments do not have, for
        a value of another type than the algorithm declares, and `ImportError` without the extra `train`.
        """
        if not changes:
            return self
        tables: dict[str, Any] = {name: deepcopy(dict(getattr(self, name))) for name in _TABLES}
        shares = {name: getattr(self, name) for name in _SHARES}
        for key, value in changes.items():
            name = "pool.scripted" if key == "opponents" else key
            first, _, entry = name.partition(".")
            if name in _SHARES:
                shares[name] = checked_value(f"the recipe {self.name}", name, value, Share)
            elif first in ("pool", "envs"):
                self._check_name(first, entry)
                tables[first][entry] = value
            else:
                self._check_name("hyperparameters", first)
                if not entry:
                    self._check_type(first, value)
                _set_nested(tables["hyperparameters"], name.split("."), value)
        return replace(self, **shares, **tables)

    def _check_name(self, table: str, name: str) -> None:
        """Raise `ParameterError` unless a recipe may set this parameter in this table."""
        if table == "envs":
            allowed: Iterable[str] = _OF_ENVS
        elif table == "pool":
            allowed = signature(OpponentPool).parameters
        else:
            allowed = self._hyperparameters().keys()
        if name not in allowed:
            if table == "hyperparameters":
                names = [*allowed, *_SHARES, "opponents", "pool.NAME", "envs.NAME"]
                raise ParameterError(unknown(f"hyperparameter of {self.name}", name, names))
            raise ParameterError(unknown(f"parameter of {table}", name, allowed))

    def _hyperparameters(self) -> dict[str, Parameter]:
        """The parameters of the algorithm that a recipe may set."""
        parameters = signature(self.algorithm_class()).parameters
        return {name: each for name, each in parameters.items() if name not in _SET_BY_TRAINING}

    def _check_type(self, name: str, value: object) -> None:
        """Raise `ParameterError` for a value of another type than the algorithm declares, if it does."""
        declared = self._hyperparameters()[name].annotation
        is_union = get_origin(declared) in (Union, UnionType)
        kinds = [get_origin(kind) or kind for kind in (get_args(declared) if is_union else (declared,))]
        if not all(isinstance(kind, type) for kind in kinds) or Parameter.empty in kinds:
            return
        of_numbers = tuple(_NUMBERS.get(kind, kind) for kind in kinds)
        if not isinstance(value, of_numbers) or (isinstance(value, bool) and bool not in kinds):
            expected = " or ".join(_NOUNS.get(kind, kind.__name__) for kind in kinds)
            raise ParameterError(f"{name}={brief(value)} of {self.name}: expected {expected}")

    def of_game(self, game: Game) -> "Recipe":
        """The recipe with `random` in place of `minimax` if the game cannot be enumerated."""
        if is_enumerable(game):
            return self
        names = ["random" if name == "minimax" else name for name in self.pool["scripted"]]
        return replace(self, pool={**self.pool, "scripted": list(dict.fromkeys(names))})


def _set_nested(table: dict[str, Any], path: Sequence[str], value: object) -> None:
    """Set an entry of nested tables; missing tables are created."""
    *outer, last = path
    for name in outer:
        inner = table.setdefault(name, {})
        if not isinstance(inner, dict):
            raise ParameterError(f"{'.'.join(path)}: {name} is not a table, but {brief(inner)}")
        table = inner
    table[last] = value


def recipe_names() -> list[str]:
    """The names of all recipes."""
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def recipe(name: str) -> Recipe:
    """Read the recipe of this name. Raises `ParameterError` if there is none."""
    if name not in recipe_names():
        raise ParameterError(unknown("algorithm", name, recipe_names()))
    return read_recipe(_FOLDER / f"{name}.toml")


def read_recipe(path: Path) -> Recipe:
    """The recipe in a file, with the file's name. Raises `ParameterError` if it is not a recipe."""
    try:
        with open_regular(path) as file:
            content = parse_toml(file.read())
    except OSError as error:
        raise ParameterError(f"the recipe {path} cannot be read: {reason(error)}") from error
    except FileError as error:
        raise ParameterError(f"{path} is not a recipe: {error}") from error
    keys = [field.name for field in fields(Recipe) if field.name != "name"]
    for key in content:
        if key not in keys:
            raise ParameterError(f"{path} is not a recipe: {unknown('key', key, keys)}")
    if missing := [key for key in keys if key not in content]:
        raise ParameterError(f"{path} is not a recipe: it lacks {', '.join(missing)}")
    checked_value(f"the recipe {path}", "seconds", content["seconds"], Seconds)
    for key in _SHARES:
        checked_value(f"the recipe {path}", key, content[key], Share)
    if not isinstance(content["algorithm"], str) or not _CLASS.fullmatch(content["algorithm"]):
        raise ParameterError(f"{path} is not a recipe: its algorithm is not a class, written as module:name")
    for key in _TABLES:
        if not isinstance(content[key], dict):
            raise ParameterError(f"{path} is not a recipe: {key} is not a table")
    return Recipe(path.stem, **content)
