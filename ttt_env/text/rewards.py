"""The rewards of the moves of a conversation, and the value that they give away."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeAlias, get_args

from ttt_env.errors import ParameterError, shown
from ttt_env.proofs.known import known_value
from ttt_env.rules.checks import one_of
from ttt_env.rules.game import Position

if TYPE_CHECKING:
    from ttt_env.text.env import TextEnv

RewardName = Literal["result", "regret", "shaped"]
Reward: TypeAlias = "RewardName | Callable[[TextEnv], float]"


class MoveRecord(NamedTuple):
    """An own move: the values of the position before and after it, for its player, under best play of both.

    Values are 1 won, 0 drawn, −1 lost, and None where they are not known. `cell` is None for a reply by which
    the game was lost without a move.
    """

    cell: int | None
    value_before: int | None
    value_after: int | None

    @classmethod
    def of(cls, position: Position, cell: int | None, nodes: int) -> Self:
        """The record of a move to a free cell, or of a reply without one, by which the game is lost here.

        On games that are too large to be solved, a search of at most `nodes` positions proves the values.
        """
        before = known_value(position, nodes)
        if cell is None:
            return cls(None, before, -1)
        after = known_value(position.child(cell), nodes)
        return cls(cell, before, None if after is None else -after)

    @property
    def regret(self) -> int | None:
        """The value that the move has given away: 0 for a best move, at most 2; None if it is not known."""
        if self.value_before is None or self.value_after is None:
            return None
        return self.value_before - self.value_after


@dataclass(frozen=True)
class WeightedReward:
    """The weighted reward of the last reply: the result of the game and minus the regret of the move.

    A regret that is not known counts as 0.
    """

    of_result: float
    of_regret: float

    def __call__(self, env: "TextEnv") -> float:
        """The reward of the last reply."""
        regret = env.moves[-1].regret if env.outcome == "played" or env.done else None
        return self.of_result * env.result - self.of_regret * (regret or 0)


def reward_function(reward: Reward, weights: Sequence[float]) -> "Callable[[TextEnv], float]":
    """The function that gives what the last reply to an environment has earned.

    `weights` are those of result and regret for "shaped". Raises `ParameterError` for another name, and for
    weights that are not two finite numbers.
    """
    if callable(reward):
        return reward
    name = one_of("reward", reward, get_args(RewardName))
    try:
        of_result, of_regret = map(float, weights)
    except Exception:  # they may be of a user's class
        of_result = of_regret = nan
    if not isfinite(of_result) or not isfinite(of_regret):
        raise ParameterError(
            f"reward_weights={shown(weights)}: two finite numbers, of result and regret, are needed"
        )
    chosen = {"result": (1.0, 0.0), "regret": (0.0, 1.0), "shaped": (of_result, of_regret)}
    return WeightedReward(*chosen[name])
