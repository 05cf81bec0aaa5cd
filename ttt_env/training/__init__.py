"""Training: the loop around all learners, and self-play, opponents and recipes for Stable-Baselines3.

Importing this package does not import torch; a name that needs it does, with an `ImportError` that names the
extra `train`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ttt_env.training.evaluation import Evaluation
    from ttt_env.training.pool import OpponentPool, StartDistribution
    from ttt_env.training.selfplay import SelfPlayCallback

__all__ = ["Evaluation", "OpponentPool", "SelfPlayCallback", "StartDistribution"]
_MODULES = {
    "Evaluation": "evaluation",
    "OpponentPool": "pool",
    "StartDistribution": "pool",
    "SelfPlayCallback": "selfplay",
}


def __getattr__(name: str) -> Any:
    """A public name, from its module, which is imported when the name is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """All names of the module, with public names that are not yet imported."""
    return [*globals(), *__all__]
