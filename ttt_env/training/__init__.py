"""Training: the loop around all learners, and self-play, opponents and recipes for Stable-Baselines3.

Importing this package does not import torch; a name that needs it does, with an `ImportError` that names the
extra `train`.
"""

from typing import TYPE_CHECKING

from ttt_env.lazy import lazy_names

if TYPE_CHECKING:
    from ttt_env.training.evaluation import Evaluation
    from ttt_env.training.pool import OpponentPool, RandomStarts
    from ttt_env.training.selfplay import SelfPlay

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "evaluation": ["Evaluation"],
        "pool": ["OpponentPool", "RandomStarts"],
        "selfplay": ["SelfPlay"],
    },
)
