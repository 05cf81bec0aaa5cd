"""What the parameters of Monte Carlo tree search may be."""

from math import inf
from operator import index

from ttt_env.agents.planning.minimax import checked_number
from ttt_env.errors import ParameterError, unknown

PLAYOUTS = ("random", "win-block")
_LARGEST_C = 1e9


def check_settings(c: object, draw: object, playout: object, solve: object) -> None:
    """Raise `ParameterError` for a setting that a search cannot have."""
    checked_number("c", c, "mcts", _LARGEST_C)
    checked_number("draw", draw, "mcts", 1.0)
    if playout not in PLAYOUTS:
        raise ParameterError(unknown("playout of mcts", playout, PLAYOUTS))
    if not isinstance(solve, bool):
        raise ParameterError(f"solve={solve!r} of mcts: True and False are allowed")


def checked_budget(simulations: object, seconds: object) -> tuple[int | None, float | None]:
    """The budget. Raises `ParameterError` unless exactly one is given, and positive."""
    if (simulations is None) == (seconds is None):
        raise ParameterError(
            f"mcts takes simulations= or seconds=, one of them, not {simulations!r} and {seconds!r}"
        )
    if simulations is not None:
        return _checked_integer("simulations", simulations, 1), None
    if isinstance(seconds, int | float) and 0 < seconds < inf:
        return None, float(seconds)
    raise ParameterError(f"seconds={seconds!r} of mcts: positive numbers are allowed")


def checked_seed(seed: object) -> int:
    """The seed. Raises `ParameterError` if it is no integer of up to 64 bits."""
    return _checked_integer("seed", seed, 0, (1 << 64) - 1)


def _checked_integer(name: str, value: object, least: int, most: int | None = None) -> int:
    number = least - 1 if isinstance(value, bool) or not hasattr(value, "__index__") else index(value)
    if number < least or (most is not None and number > most):
        upwards = "on" if most is None else f"to {most}"
        raise ParameterError(f"{name}={value!r} of mcts: integers from {least} {upwards} are allowed")
    return number
