"""The protocol of bots: a line of JSON for each question, a line of JSON for each answer (`docs/bots.md`)."""

import json
from typing import Annotated, Any, NamedTuple

from ttt_env.agent import Answer
from ttt_env.errors import ImpossiblePositionError, NotationError, shown
from ttt_env.rules import Between, Game, Position, Seconds, checked_value, get_game


class Question(NamedTuple):
    """A question to a bot: the position, in which the game goes on, and the seconds for its answer.

    `seconds` is None if nobody waits for the answer. `id` grows from question to question; None for none.
    """

    position: Position
    seconds: float | None = None
    id: int | None = None

    @property
    def line(self) -> str:
        """The question as a line of JSON, without its end: ASCII, its keys always in this order.

        >>> print(Question(Position.parse("XOX/OXX/O.."), 9.5).line)
        {"game": "tictactoe-v0", "position": "XOX/OXX/O..", "to_move": "O", "legal": [7, 8], "seconds": 9.5}
        """
        question = {
            "game": self.position.game.name,
            "position": str(self.position),
            "to_move": self.position.to_move,
            "legal": self.position.legal_cells,
        }
        more = {"seconds": self.seconds, "id": self.id}
        return json.dumps(question | {key: value for key, value in more.items() if value is not None})


def read_question(line: str, game: Game | None = None) -> Question:
    """The question that a line asks, of this game or, by default, of the one that it names.

    Only `position` has to be there. Keys that the protocol does not have are passed over, as are `to_move`
    and `legal`, which follow from the position. Raises `NotationError` for a line that is no question,
    `UnknownGameError` for a game that nobody knows, `ImpossiblePositionError` for a position that cannot come
    up or in which the game is over, `ParameterError` for `seconds` that are no positive number, or an `id`
    that is no integer from 0 on.
    """
    data = _object(line)
    if data is None or "position" not in data:
        raise NotationError(f'{shown(line)} is no question: a line of JSON with a "position" is needed')
    position = Position.parse(data["position"], game or get_game(data.get("game", "tictactoe-v0")))
    if position.is_over:
        raise ImpossiblePositionError(f"there is no move to ask for: the game {position} is over")
    seconds = data.get("seconds")
    number = data.get("id")
    return Question(
        position,
        checked_value("a question", "seconds", seconds, Seconds | None),
        checked_value("a question", "id", number, Annotated[int, Between(0)] | None),
    )


def answer_line(cell: int, id: int | None = None) -> str:
    """The answer that plays a cell, as a line of JSON without its end; it echoes the `id` of a question.

    >>> answer_line(4), answer_line(4, 12)
    ('{"cell": 4}', '{"cell": 4, "id": 12}')
    """
    return json.dumps({"cell": cell} if id is None else {"cell": cell, "id": id})


def echoed_id(line: str) -> object:
    """The `id` of the question that a line says it answers; None if it says none.

    >>> echoed_id('{"cell": 4, "id": 12}'), echoed_id('{"cell": 4}')
    (12, None)
    """
    data = _object(line)
    return None if data is None else data.get("id")


def read_answer(line: str, position: Position) -> Answer:
    """The answer in a line: the cell, if it is free in the position; else the fault.

    >>> read_answer('{"cell": 4, "value": 0.5}', get_game("tictactoe-v0").start)
    Answer(cell=4, outcome='played', reply='{"cell": 4, "value": 0.5}')
    >>> read_answer("4", get_game("tictactoe-v0").start).outcome
    'unreadable'
    """
    data = _object(line)
    cell = None if data is None else data.get("cell")
    if type(cell) is not int:
        return Answer.failed("unreadable", line)
    return Answer.of(cell, position, line)


def _object(line: str) -> dict[str, Any] | None:
    """The JSON object on a line, None if there is none."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
