"""A game as a conversation of two players, each of whom sees the other's moves."""

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

    Each player has a `TextEnv`, in `players["X"]` and `players["O"]`, whose opponent is the other player. Its
    texts, exact rewards and `info` are those of that conversation. `settings` are the parameters of the game
    and the settings of `TextEnv`, except those for a game against a given opponent: `opponent`,
    `opponent_weights`, `play_as`, `replies`, `seed` and `start`. Raises `ParameterError` for these and for
    unknown names, and for bad values the errors of `TextEnv`.

    `reset` returns the prompt of the player on `seat`. `reply` takes that player's reply and returns the next
    message, for whoever is on `seat` then; the message that ends the game is for the player who has replied.
    A player who was never asked, because the game ended before, has no conversation and earns nothing.

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
                PromptAgent(self.game, partial(_last_reply, self._replies, other_seat(seat)), answer=form),
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
        """The player who is asked now."""
        return self.position.to_move

    def reset(self, *, position: Position | str | None = None) -> str:
        """Begin a game, on the empty board or in a position, and return the prompt of the player to move.

        Raises the errors of `TextEnv.reset` for a bad position; nothing has changed then.
        """
        if isinstance(position, str):
            position = Position.parse(position, self.game)
        start = self.game.start if position is None else position
        first: Seat = start.to_move if isinstance(start, Position) else "X"  # whose env refuses it
        prompt = self.players[first].reset(position=start)
        self.players[other_seat(first)]._forget()
        self._replies.clear()
        self._start = self.position = start
        self.outcome, self.done = None, False
        return prompt

    def reply(self, text: str) -> str:
        """Play the cell that a reply names and return the next message; raises as `TextEnv.reply` does."""
        self._check_is_on()
        seat, player = self.seat, self.players[self.seat]
        answer = player.answer.answer(text, self.position)
        after = None if answer.cell is None else self.position.play(answer.cell)
        if after is None or after.is_over:
            message = player.reply(text)
            if player.done:
                self._end(seat, text)
        else:
            message = self._tell(other_seat(seat), seat, text)
        self.position, self.outcome = after or self.position, answer.outcome
        return message

    def give_up(self) -> str:
        """Lose the game for the player on `seat`, as `TextEnv.give_up` does."""
        self._check_is_on()
        message = self.players[self.seat].give_up()
        self._end(self.seat, "")
        return message

    def _check_is_on(self) -> None:
        if self.done:
            raise EpisodeOrderError("no game is on: call reset()")

    def _end(self, seat: Seat, text: str) -> None:
        """End the game by the last reply of the player on `seat`."""
        if other_seat(seat) in self._replies:
            self._tell(other_seat(seat), seat, text)
        self.done = True

    def _tell(self, listener: Seat, seat: Seat, text: str) -> str:
        """The message to a player that follows from the other one's reply."""
        self._replies[seat] = text
        player = self.players[listener]
        before = self._replies.get(listener)
        return player.reset(position=self._start) if before is None else player.reply(before)


def _last_reply(replies: Mapping[Seat, str], seat: Seat, prompt: str) -> str:
    """The last reply of the player on a seat, who has been asked in words of its own."""
    return replies[seat]
