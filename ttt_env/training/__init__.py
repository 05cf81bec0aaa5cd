"""Training: the loop around all learners, and self-play, opponents and recipes for Stable-Baselines3.

Importing this package does not import torch; a name that needs it does, with an `ImportError` that names the
extra `train`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ttt_env.training.evaluation import Evaluation
    from ttt_env.training.pool import OpponentPool
    from ttt_env.training.populations import Population, population
    from ttt_env.training.selfplay import SelfPlay
    from ttt_env.training.starts import RandomStarts
    from ttt_env.training.sweeps import Sweep, sweep

__all__ = [
    "Evaluation",
    "OpponentPool",
    "Population",
    "RandomStarts",
    "SelfPlay",
    "Sweep",
    "population",
    "sweep",
]
_ROOM_OF = {
    "Evaluation": "evaluation",
    "OpponentPool": "pool",
    "Population": "populations",
    "RandomStarts": "starts",
    "SelfPlay": "selfplay",
    "Sweep": "sweeps",
    "population": "populations",
    "sweep": "sweeps",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
