"""A game as a conversation of two players, who see each other's moves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ttt_env.agent import Outcome
from ttt_env.errors import EpisodeOrderError
from ttt_env.rules import SEATS, Game, Position, Seat, other_seat
from ttt_env.text.env import SETTINGS, TextEnv, split_settings
from ttt_env.text.prompt import PromptAgent

_OF_ONE_PLAYER = ("opponent", "opponent_weights", "play_as", "replies", "seed", "start")
_SETTINGS = [name for name in SETTINGS if name not in _OF_ONE_PLAYER]


class TwoPlayerTextEnv:
    """A game in which both players read texts and reply with texts, as two language models do.

    Each player has a `TextEnv`, in `players["X"]` and `players["O"]`, with the other player as its opponent:
    see there for texts, exact rewards and `info`.

    `reset` returns the prompt of the player on `seat`. `reply` takes that player's reply and returns the next
    message, for the player on `seat` then; the message that ends the game is for the player who has replied.
    If the game ends before a player's first turn, that player has no conversation and earns nothing.

    Args:
        game: The game, or its id.
        **settings: The parameters of the game and the arguments of `TextEnv`, except `opponent`,
            `opponent_weights`, `play_as`, `replies`, `seed` and `start`.

    Raises:
        ParameterError: A name is one of these or unknown, or a value is invalid, as in `TextEnv`.

    Example:
        >>> env = TwoPlayerTextEnv(reward="regret", board="line")
        >>> message = env.reset()
        >>> while not env.done:
        ...     message = env.reply(f"[{env.position.legal_cells[0]}]")
        >>> str(env.position), {seat: player.info["regret"] for seat, player in env.players.items()}
        ('XOX/OXO/X..', {'X': [0, 1, 0, 0], 'O': [1, 1, 0]})

    """

    def __init__(self, game: Game | str = "tictactoe-v0", **settings: Any) -> None:
        self.game, settings = split_settings("TwoPlayerTextEnv", game, settings, _SETTINGS)
        self._replies: dict[Seat, str] = {}
        form = settings.get("answer", "[{cell}]")
        self.players = {
            seat: TextEnv(
                self.game,
                PromptAgent(self.game, partial(_last_reply_of, self._replies, other_seat(seat)), answer=form),
                opponent_weights=None,
                play_as=seat,
                replies="by_stream",
                start=None,
                **settings,
            )
            for seat in SEATS
        }
        self._start = self.position = self.game.start
        self.outcome: Outcome | None = None
        """The outcome of the last reply."""
        self.done = True

    @property
    def seat(self) -> Seat:
        """The seat of the player whose reply is next."""
        return self.position.to_move

    def reset(self, *, position: Position | str | None = None) -> str:
        """Begin a game, on the empty board or in a position, and return the prompt of the player to move.

        Raises:
            TttEnvError: The position is invalid, as in `TextEnv.reset`; nothing has changed then.

        """
        if isinstance(position, str):
            position = Position.parse(position, self.game)
        start = self.game.start if position is None else position
        first: Seat = start.to_move if isinstance(start, Position) else "X"  # whose env refuses it
        prompt = self.players[first].reset(position=start)
        self.players[other_seat(first)]._clear_episode()
        self._replies.clear()
        self._start = self.position = start
        self.outcome, self.done = None, False
        return prompt

    def reply(self, text: str) -> str:
        """Play the cell that a reply names and return the next message; raises as `TextEnv.reply` does."""
        self._check_in_progress()
        seat, player = self.seat, self.players[self.seat]
        answer = player.answer.answer(text, self.position)
        after = None if answer.cell is None else self.position.play(answer.cell)
        if after is None or after.is_over:
            message = player.reply(text)
            if player.done:
                self._end(seat, text)
        else:
            message = self._message_to(other_seat(seat), seat, text)
        self.position, self.outcome = after or self.position, answer.outcome
        return message

    def give_up(self) -> str:
        """Lose the game for the player on `seat`, as `TextEnv.give_up` does."""
        self._check_in_progress()
        message = self.players[self.seat].give_up()
        self._end(self.seat, "")
        return message

    def _check_in_progress(self) -> None:
        if self.done:
            raise EpisodeOrderError("no game in progress: call reset()")

    def _end(self, seat: Seat, text: str) -> None:
        """End the game by the last reply of the player on `seat`."""
        if other_seat(seat) in self._replies:
            self._message_to(other_seat(seat), seat, text)
        self.done = True

    def _message_to(self, listener: Seat, seat: Seat, text: str) -> str:
        """The message to a player that follows from the other one's reply."""
        self._replies[seat] = text
        player = self.players[listener]
        before = self._replies.get(listener)
        return player.reset(position=self._start) if before is None else player.reply(before)


def _last_reply_of(replies: Mapping[Seat, str], seat: Seat, prompt: str) -> str:
    """The last reply of the player on a seat; the prompt is unused, as the player has had its own."""
    return replies[seat]
