"""Games as environments of TRL: `environment_factory=` of its `GRPOTrainer`, and rows for its data set.

    from functools import partial
    from ttt_env.integrations.trl import GameEnvironment, rows, start_rows

    game = ttt_env.get_game("tictactoe-v0")
    trainer = GRPOTrainer(
        model="Qwen/Qwen3-0.6B",
        train_dataset=Dataset.from_list(rows(start_rows(game, plies=1, seeds=100))),
        environment_factory=partial(GameEnvironment, "tictactoe-v0", opponent="minimax"),
    )

The extra `trl` has the versions that this was tried with; nothing here imports TRL.
Contract of an environment: https://huggingface.co/docs/trl/openenv
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ttt_env.agent import AgentLike
from ttt_env.errors import EpisodeOrderError
from ttt_env.rules import Game
from ttt_env.text.env import TextEnv, start_rows

__all__ = ["CALL", "INSTRUCTION", "GameEnvironment", "rows", "start_rows"]

CALL = "of a tool call: move(cell={cell})"
"""The format of an answer: it ends the sentence "Answer with the number of a free cell in the form ..."."""

INSTRUCTION = "Play this game to its end: call the tool `move` once in each of your turns.\n\n"
"""The start of the user's message; TRL appends the text of `reset`."""


class GameEnvironment:
    """A game against an opponent, in which a model plays by calling the tool `move`.

    It takes the arguments of `TextEnv`; `text_env` is that env. TRL makes an environment for each rollout of
    a batch and resets it with the columns of its row. A group of rollouts shares the row's `seed`, so that
    all of them have the same seat and, with `replies="by_position"`, get the same reply on the same board.
    Without that column this holds only if the environments have a `seed=`.

    For a taken cell, the tool returns a text if `illegal` is "lose" or "retry"; with "raise" TRL shows the
    model the error, and the game continues as long as TRL allows.

    A completion that is cut off at `max_completion_length` has no end-of-sequence token. TRL reads a call
    from it only if the call is complete, so half a call plays nothing; the unfinished game is given up, and
    so lost, as without an answer. `GRPOConfig(mask_truncated_completions=True)` keeps such completions out of
    the loss.
    """

    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        opponent: AgentLike | Sequence[AgentLike] = "random",
        *,
        answer: str = CALL,
        **settings: Any,
    ) -> None:
        self.text_env = TextEnv(game, opponent, answer=answer, **settings)

    def reset(self, **row: Any) -> str:
        """Begin the game of a row of the data set and return its prompt, as `TextEnv.reset` does."""
        return self.text_env.reset(**row)

    def move(self, cell: int) -> str:
        """Put your mark on a free cell of the board, and see what the other player does.

        Args:
            cell: The number of a free cell.

        Returns:
            What has happened, and the board.

        """
        if self.text_env.done:
            raise EpisodeOrderError("The game is over: no more moves can be made.")
        return self.text_env.move(cell)

    def get_reward(self) -> float:
        """The sum of the rewards of the rollout, which TRL reads once it has ended.

        An unfinished game, because the model called no tool or wrote too much, is given up and so lost.
        """
        if not self.text_env.done:
            self.text_env.give_up()
        return self.text_env.total_reward


def rows(starts: Iterable[Mapping[str, Any]], *, instruction: str = INSTRUCTION) -> list[dict[str, Any]]:
    """A row of TRL's data set for each start of a game, for `datasets.Dataset.from_list`.

    The columns of a start, as from `start_rows`, are arguments of `TextEnv.reset`. The first column,
    `prompt`, is a user's message with the `instruction`.

    >>> from ttt_env.rules.catalogue import get_game
    >>> row = rows(start_rows(get_game("tictactoe-v0"), plies=1))[-1]
    >>> row["position"], row["play_as"], row["seed"]
    ('.../.X./...', 'O', 0)
    """
    return [{"prompt": [{"role": "user", "content": instruction}], **start} for start in starts]
