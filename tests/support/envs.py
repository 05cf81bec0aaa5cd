"""One-player and two-player environments in the state that tests start from."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import ttt_env
from tests.support.games import lowest

COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


def two_player(*cells: Any, id: Any = "tictactoe-v0", seed: int = 0, **settings: Any) -> Any:
    """The environment for two players after these moves."""
    return _played(ttt_env.make(id, **settings), cells, seed)


def one_player(*cells: Any, id: Any = "tictactoe-v0", seed: int = 0, **settings: Any) -> Any:
    """The environment for X after these moves; O plays the lowest free cell."""
    return _played(ttt_env.make(id, **{"opponent": lowest, "play_as": "X", **settings}), cells, seed)


def _played(env: Any, cells: tuple[Any, ...], seed: int) -> Any:
    env.reset(seed=seed)
    for cell in cells:
        env.step(cell)
    return env


both = pytest.mark.parametrize("make", [two_player, one_player])
duplicated = pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)


def state_of(env: Any) -> dict[str, Any]:
    """The state that determines all later outputs of the environment."""
    state = {
        "position": str(env.position),
        "mask": env.action_masks().tolist(),
        "rng": env.np_random.bit_generator.state,
    }
    names = ["seat", "opponent", "play_as", "np_random_seed", "_episodes", "_positions"]
    names += ["agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations", "truncations"]
    return state | {name: repr(getattr(env, name)) for name in names if hasattr(env, name)}
