"""The protocol of bots: a line of JSON for each question and for each answer (`docs/guide/bots.md`)."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ttt_env.agent import Answer, Outcome
from ttt_env.errors import ImpossiblePositionError, NotationError, brief
from ttt_env.rules import Game, Position, get_game

_KEYS: dict[str, Outcome] = {"raised": "raised", "returned": "no cell", "error": "unreadable"}


class Question(NamedTuple):
    """A question to a bot, with an unfinished position, the seconds for its answer, and its number.

    `seconds` is None without a time limit. `id` grows from question to question.
    """

    position: Position
    seconds: float | None = None
    id: int = 0

    @property
    def line(self) -> str:
        """The question as a line of ASCII JSON without its end, with the keys always in this order.

        >>> print(Question(Position.parse("XOX/OXX/O.."), id=7).line)
        {"id": 7, "game": "tictactoe-v0", "position": "XOX/OXX/O..", "to_move": "O", "legal": [7, 8]}
        """
        question = {
            "id": self.id,
            "game": self.position.game.name,
            "position": str(self.position),
            "to_move": self.position.to_move,
            "legal": self.position.legal_cells,
        }
        return json.dumps(question if self.seconds is None else question | {"seconds": self.seconds})


def read_question(line: str, game: Game | None = None) -> Question:
    """The question on a line, about this game or, by default, the one that it names.

    Only `position` is required. Unknown keys are ignored, as are `to_move` and `legal`, which follow from the
    position. Raises `NotationError` for a line that is not a question, and the errors of `get_game` and
    `Position.parse`.
    """
    data = json_object(line)
    if data is None or "position" not in data:
        raise NotationError(f'{brief(line)} is not a question: expected a line of JSON with a "position"')
    position = Position.parse(data["position"], game or get_game(data.get("game", "tictactoe-v0")))
    if position.is_over:
        raise ImpossiblePositionError(f"there is no move to ask for: the game {position} is over")
    return Question(position, data.get("seconds"), data.get("id", 0))


def read_answer(data: Mapping[str, Any], position: Position) -> Answer:
    """The answer of a bot, with the cell if it is free in the position, else with the fault.

    A bot without a cell gives the reason as `error`. A function in a file has `raised` an exception, or
    `returned` something else than a cell.

    >>> start = get_game("tictactoe-v0").start
    >>> read_answer({"id": 1, "cell": 4, "value": 0.5}, start)
    Answer(cell=4, outcome='played', reply='4')
    >>> read_answer({"id": 1, "error": "no idea"}, start)
    Answer(cell=None, outcome='unreadable', reply='no idea')
    """
    if type(data.get("cell")) is int:
        return Answer.of(data["cell"], position)
    for key, outcome in _KEYS.items():
        if key in data:
            return Answer.failure(outcome, str(data[key]))
    return Answer.failure("unreadable", json.dumps({key: data[key] for key in data if key != "id"}))


def json_object(line: str) -> dict[str, Any] | None:
    """The JSON object on a line, None if there is none."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
