"""What callers give to a vector env, checked. Each function raises the named error for other things."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from gymnasium.vector import AutoresetMode

from ttt_env.envs.vector.backends import Array, Backend
from ttt_env.envs.vector.store import Cells
from ttt_env.errors import IllegalMoveError, ParameterError
from ttt_env.rules.checks import one_of
from ttt_env.rules.game import Game, Position

Autoreset = Literal["next_step", "same_step", "disabled"]
_MODES = {mode.name.lower(): mode for mode in AutoresetMode}


def as_cells(actions: Any, size: int, game: Game, backend: Backend) -> Cells:
    """The actions as `int64[size]` cells. Raises `IllegalMoveError` for other things."""
    cells = backend.cells(actions, size, game.n_cells)
    if cells is None:
        allowed = f"int[{size}], each 0 to {game.n_cells - 1}"
        raise IllegalMoveError(f"{actions!r} are not {size} cells of {game.name}: {allowed}, is needed")
    return cells


def as_number(num_envs: object) -> int:
    """The number of sub-envs. Raises `ParameterError` for what is none."""
    if not isinstance(num_envs, int | np.integer) or isinstance(num_envs, bool) or num_envs < 1:
        raise ParameterError(f"num_envs={num_envs!r}: a whole number from 1 on is needed")
    return int(num_envs)


def as_mode(mode: Autoreset | AutoresetMode) -> AutoresetMode:
    """The autoreset mode of this name. Raises `ParameterError` for another one."""
    if isinstance(mode, AutoresetMode):
        return mode
    return _MODES[one_of("autoreset_mode", mode, get_args(Autoreset))]


def as_seeds(seed: object, size: int) -> list[int]:
    """The seeds, one, or `size` of them. Raises `ParameterError` for other things."""
    is_one = not isinstance(seed, Sequence | np.ndarray)
    given: Any = [seed] if is_one else seed
    seeds = [int(one) for one in given if isinstance(one, int | np.integer) and one >= 0]
    if len(seeds) != len(given) or not (is_one or len(seeds) == size):
        raise ParameterError(f"seed={seed!r}: an int from 0 on, or {size} of them")
    return seeds


def as_reset_mask(mask: Any, size: int, backend: Backend) -> Array:
    """Which sub-envs to reset, `bool[size]`; None is all. Raises `ParameterError` for other things."""
    xp = backend.xp
    if mask is None:
        return xp.ones(size, dtype=xp.bool, device=backend.device)
    is_mask = isinstance(mask, np.ndarray | type(xp.empty(0))) and mask.shape == (size,)
    if not is_mask or mask.dtype not in (np.bool_, xp.bool) or not mask.any():
        raise ParameterError(f"reset_mask={mask!r}: bool[{size}], not all False, is needed")
    return xp.asarray(mask, device=backend.device)


def as_positions(given: object, size: int, check: Callable[[object], Position]) -> list[Position]:
    """One checked position for each sub-env, from one for all or a list of them."""
    if isinstance(given, Position | str) or not isinstance(given, Sequence):
        return [check(given)] * size
    if len(given) != size:
        raise ParameterError(f"{len(given)} positions for {size} sub-envs")
    return [check(position) for position in given]
