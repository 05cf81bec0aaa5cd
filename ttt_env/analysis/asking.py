"""Query agents that play by `choose`: several questions at a time, with every answer saved in a file."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Annotated, Any, NamedTuple, TypeAlias

from ttt_env.agent import ACCIDENTS, Agent, Answer, Outcome, answer_of
from ttt_env.errors import FileError
from ttt_env.rules import Between, Game, Position
from ttt_env.storage import file_errors, game_to_dict, open_regular, parse_json
from ttt_env.storage.codec import decode_value

_Questions = SimpleQueue[int | None]
_Results = SimpleQueue[tuple[int, Answer | BaseException]]
_FORM = "ttt_env answers"
_FORMAT = f"{_FORM} 2"
_BEGINNING = f'{{"format": "{_FORM}'.encode()  # of a file
_AGAIN = 20  # recorded answers that are checked by asking again
_LOOK_UP = 0.5  # seconds of a wait: Ctrl-C that comes just before one is noticed only after it


class QueryCount(NamedTuple):
    """The number of positions in which an agent has been queried, and an upper bound on the final number.

    The bound falls as answers come in: they rule out the positions after other answers.
    """

    positions: int
    at_most: int


AskProgress = Callable[[QueryCount], None]
"""A function to show progress, called before the first query, then about ten times a second."""


QueryWorkers: TypeAlias = Annotated[int, Between(1, 256)]
"""The number of questions to ask at a time."""


class _Header(NamedTuple):
    format: str
    game: Game
    agent: str


class _Line(NamedTuple):
    position: Position
    outcome: Outcome
    cell: int | None
    reply: str


class AnswerFile:
    """The answers of one agent in a file, a line of JSON for each, written as they come.

    The first line says whose answers they are. If a run was killed while it wrote the last line, which then
    has no end, that line is removed. Accidents are not recorded. Only one run at a time may use the file.

    Raises `FileError`, which names the file and the line, for a file of something else, of the answers
    of another agent or game, with two answers in one position, and for one that cannot be read or written.
    """

    def __init__(self, path: str | Path, game: Game, label: str) -> None:
        self.path = Path(path)
        self.game, self.label = game, label
        self._answers: dict[tuple[int, int], Answer] = {}
        self._has_header = False
        with file_errors(path, "read"):
            self._read()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, position: Position) -> Answer | None:
        """The recorded answer in a position, None if there is none."""
        return self._answers.get((position.mine, position.theirs))

    def check_again(self, agent: Agent) -> None:
        """Ask twenty of the recorded questions again, that of the empty board among them.

        Raises `FileError`, which names the position, for the first answer that differs: the player has
        changed, or it does not always give the same answer.
        """
        keys = sorted(self._answers, key=lambda key: (key[0] | key[1]).bit_count())
        for number in sorted({round(at * (len(keys) - 1) / (_AGAIN - 1)) for at in range(_AGAIN)}):
            position = Position(self.game, *keys[number])
            old, new = self._answers[keys[number]], answer_of(agent, position)
            if (old.cell, old.outcome) != (new.cell, new.outcome):
                answers = [each.outcome if each.cell is None else f"cell {each.cell}" for each in (old, new)]
                raise FileError(
                    f"{self.path}: {self.label} answered {answers[0]} in {position}, and {answers[1]} now: "
                    "name another file, or remove this one"
                )

    @property
    def origin(self) -> str:
        """The number of recorded answers, the name of the file, and its date."""
        day = date.fromtimestamp(self.path.stat().st_mtime)
        return f"{len(self):,} answers from {self.path.name} of {day}"

    def add(self, position: Position, answer: Answer) -> None:
        """Record an answer, in the file first."""
        lines: list[Mapping[str, Any]] = [{"position": str(position), **answer._asdict()}]
        if not self._has_header:
            lines.insert(0, {"format": _FORMAT, "game": game_to_dict(self.game), "agent": self.label})
        with file_errors(self.path, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write("".join(f"{json.dumps(line)}\n" for line in lines).encode())
        self._has_header = True
        self._answers[position.mine, position.theirs] = answer

    def _read(self) -> None:
        try:
            with open_regular(self.path) as file:
                content = file.read()
        except FileNotFoundError:
            return
        if not content.startswith(_BEGINNING[: len(content)]):
            raise FileError(f"{self.path} holds no answers")
        *lines, unfinished = content.split(b"\n")
        for number, line in enumerate(lines, 1):
            try:
                (self._read_answer if self._has_header else self._check_header)(parse_json(line))
            except FileError as error:
                raise FileError(f"{self.path}, line {number}: {error}") from error
        if unfinished:
            os.truncate(self.path, len(content) - len(unfinished))

    def _check_header(self, data: Mapping[str, Any]) -> None:
        self._has_header, header = True, decode_value(_Header, data)
        if header.format != _FORMAT:
            raise FileError(f"its format is {header.format!r}, expected {_FORMAT!r}")
        if (header.game, header.agent) != (self.game, self.label):
            raise FileError(
                f"it holds the answers of {header.agent} on {header.game.name}, "
                f"not of {self.label} on {self.game.name}: name another file"
            )

    def _read_answer(self, data: Mapping[str, Any]) -> None:
        position, outcome, cell, reply = decode_value(_Line, data, self.game)
        if position.is_over or self.get(position) is not None:
            why = "the game is over there" if position.is_over else "it has an answer already"
            raise FileError(f"position: {position}, but {why}")
        if (outcome == "played") != (cell in position.legal_cells):
            raise FileError(f"cell: {cell}, which is not what {outcome!r} means in {position}")
        if outcome not in ACCIDENTS:  # these questions are asked again
            self._answers[position.mine, position.theirs] = Answer(cell, outcome, reply)


def answers_of(
    agent: Agent, positions: list[Position], workers: int, file: AnswerFile | None
) -> Iterator[tuple[int, Answer]]:
    """The agent's answer in each position, with the position's index, as they come; recorded ones first.

    `workers` questions are asked at a time. If the agent raises an error, the pending answers are still
    awaited and recorded.
    """
    indices = []
    for index, position in enumerate(positions):
        answer = None if file is None else file.get(position)
        if answer is None:
            indices.append(index)
        else:
            yield index, answer
    for index, answer in _ask_in_batches(agent, positions, indices, workers):
        if file is not None:
            file.add(positions[index], answer)
        yield index, answer


def _ask_in_batches(
    agent: Agent, positions: list[Position], indices: list[int], workers: int
) -> Iterator[tuple[int, Answer]]:
    if workers == 1:
        for index in indices:
            yield index, answer_of(agent, positions[index])
        return
    questions: _Questions = SimpleQueue()
    results: _Results = SimpleQueue()
    n_threads = min(workers, len(indices))
    # Daemon threads are not waited for, neither here after Ctrl-C nor when Python ends: a model may think for
    # minutes.
    for number in range(n_threads):
        work = partial(_work, agent, positions, questions, results)
        Thread(target=work, name=f"asking_{number}", daemon=True).start()
    waiting, n_running = iter(indices), n_threads
    for index in islice(waiting, n_threads):
        questions.put(index)
    error: BaseException | None = None
    try:
        while n_running:
            index, result = _next_result(results)
            n_running -= 1
            if isinstance(result, BaseException):
                error = error or result
                continue
            # One question is queued for each that is answered, so that an error leaves none in the queue.
            for next_index in islice(waiting, 1 if error is None else 0):
                questions.put(next_index)
                n_running += 1
            yield index, result
    finally:
        for _ in range(n_threads):
            questions.put(None)
    if error is not None:
        raise error


def _next_result(results: _Results) -> tuple[int, Answer | BaseException]:
    while True:
        with suppress(Empty):
            return results.get(timeout=_LOOK_UP)


def _work(agent: Agent, positions: list[Position], questions: _Questions, results: _Results) -> None:
    while (index := questions.get()) is not None:
        try:
            results.put((index, answer_of(agent, positions[index])))
        except BaseException as error:  # raised again where the results are taken
            results.put((index, error))
