"""What the parameters of Monte Carlo tree search may be."""

from ttt_env.errors import ParameterError, unknown
from ttt_env.rules.checks import as_integer, as_number, as_seconds

PLAYOUTS = ("random", "win-block")
_LARGEST_C = 1e9


def check_settings(c: object, draw: object, playout: object, solve: object) -> None:
    """Raise `ParameterError` for a setting that a search cannot have."""
    as_number("c", c, "mcts", _LARGEST_C)
    as_number("draw", draw, "mcts", 1.0)
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
        return as_integer("simulations", simulations, "mcts", 1), None
    return None, as_seconds("seconds", seconds, "mcts")


def checked_seed(seed: object) -> int:
    """The seed. Raises `ParameterError` if it is no integer of up to 64 bits."""
    return as_integer("seed", seed, "mcts", 0, (1 << 64) - 1)
