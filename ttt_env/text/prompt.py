"""A function of prompts as a player."""

from __future__ import annotations

from collections.abc import Callable

from ttt_env.agent import Answer, AskedAgent, function_name, waiting_for
from ttt_env.errors import NoVerdictError, ParameterError, brief
from ttt_env.rules import Game, Position, checked, get_game
from ttt_env.text.answers import AnswerFormat
from ttt_env.text.wording import BoardStyle, prompt_text


class Reply(str):
    """A reply with a `note` on how it came about, which is quoted if the reply names no free cell."""

    __slots__ = ("note",)
    note: str

    def __new__(cls, text: str, note: str = "") -> Reply:
        """The reply with this text and this note."""
        reply = super().__new__(cls, text)
        reply.note = note
        return reply


class PromptAgent(AskedAgent):
    """Plays the cell that a function from prompt to reply names, such as a call of a language model.

    An exception of the function is raised, with a note that names the position. An accident of the machine
    or the network is not an answer: an `OSError`, such as a time-out or a failed connection, an exception
    caused by one, and a `MemoryError` raise `NoVerdictError`.

    Args:
        game: The game, or its id.
        reply: The function, which is given the text of `TextEnv.reset(position=…)` with the same `board` and
            `answer`. Its reply is read by the rule of `AnswerFormat`; anything but a str is unreadable.
        board: The drawing of the board: "grid", "coordinates" or "line" (see `board_text`).
        answer: The form of an answer, as in `TextEnv`.

    Raises:
        ParameterError: `reply` cannot be called, or another argument is invalid.

    Example:
        >>> from ttt_env import certify
        >>> def first_free(prompt: str) -> str:
        ...     return f"[{prompt.partition('Free cells: ')[2].partition(' ')[0].rstrip('.')}]"
        >>> certify(PromptAgent("tictactoe-v0", first_free)).unbeatable
        False

    """

    @checked
    def __init__(
        self,
        game: Game | str,
        reply: Callable[[str], str],
        *,
        board: BoardStyle = "grid",
        answer: str | AnswerFormat = "[{cell}]",
    ) -> None:
        super().__init__(get_game(game))
        if not callable(reply):
            raise ParameterError(f"reply={brief(reply)} of PromptAgent: expected a function of a prompt")
        self.reply = reply
        self.board = board
        self.answer_format = answer if isinstance(answer, AnswerFormat) else AnswerFormat(answer)

    def __repr__(self) -> str:
        return f"<PromptAgent {self.reply!r} of {self.game.name}>"

    @property
    def label(self) -> str:
        """The name of the function, and the form of its prompts."""
        return f"the function {function_name(self.reply)} of prompts, {self._format_text}"

    @property
    def _format_text(self) -> str:
        return f"board={self.board!r}, answer={self.answer_format.template!r}"

    def prompt(self, position: Position) -> str:
        """The prompt for a position."""
        return prompt_text(position, self.board, self.answer_format.template)

    def answer(self, position: Position) -> Answer:  # noqa: D102
        try:
            with waiting_for(self.label, position):
                reply: object = self.reply(self.prompt(position))
        except NoVerdictError as error:
            error.position = position
            error.add_note(self._query_note(position))
            raise
        except Exception as error:
            if _is_accident(error):
                reason = f"gave no answer: {brief(error)}"
                raise NoVerdictError(self.label, position, reason) from error
            error.add_note(self._query_note(position))
            raise
        if not isinstance(reply, str):
            return Answer.failure("unreadable", brief(reply))
        answer = self.answer_format.answer(reply, position)
        if answer.cell is None and isinstance(reply, Reply) and reply.note:
            return Answer.failure(answer.outcome, f"({reply.note}) {reply}".rstrip())
        return answer

    def _query_note(self, position: Position) -> str:
        return f"when it was asked in {position} of {self.game.name}"


def _is_accident(error: BaseException | None) -> bool:
    """True if an exception, or one that caused it, is an accident of the machine or the network."""
    ids: set[int] = set()
    while error is not None and id(error) not in ids:
        if isinstance(error, OSError | MemoryError):
            return True
        ids.add(id(error))
        error = error.__cause__ or error.__context__
    return False
