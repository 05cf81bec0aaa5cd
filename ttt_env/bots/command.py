"""A program that is asked by lines of JSON as a player."""

import json
import sys
from pathlib import Path

from ttt_env.agent import Answer
from ttt_env.bots.function_file import MODULE as FUNCTION_FILE
from ttt_env.bots.function_file import function_in
from ttt_env.bots.process import NoLineError, Program
from ttt_env.bots.program import ProgramAgent
from ttt_env.bots.protocol import Question, echoed_id, read_answer
from ttt_env.errors import TttEnvError
from ttt_env.rules import Position, get_game
from ttt_env.storage import game_to_dict


class CommandAgent(ProgramAgent):
    """Asks a program in any language for each move: "process:COMMAND" as a spec string.

    The program reads a line of JSON for each question and answers by a line of JSON: see `docs/bots.md`.

    `command` is a command line, which is split as a shell does it and run without one, or a list of
    arguments. In a spec string it goes into round brackets if a part of it could be taken for a parameter:
    `process:(mybot --set a,timeout=3),timeout=10`. `folder` is the program's working directory, by default
    ours, `memory` how many MiB of address space each of its processes may have, None for no limit. As many
    copies of the program run as questions are asked at once; `close`, the end of a `with` block and the end
    of Python end them, and what they have started.

    A program has `timeout` seconds for an answer, and `startup` more for the first one after its start. One
    that ends between two questions with exit status 0 is just started again, so that a program may also end
    after each answer. What is an answer and what an accident, after which a fresh process is asked again, is
    said in `docs/bots.md`. Each question has an `id`; a line that echoes another one is late, and passed
    over. Where a program echoes none, a line too many makes all that it has said untrusted.

    A program has the rights of who runs it: this is no sandbox. Raises `ParameterError` for a command that
    names no program, or a script that is not there, and for a folder that is none. `answer` raises
    `NoVerdictError` where accidents leave no answer, `UntrustedAnswersError`, as `check_asked` does, for a
    line too many, and `PlayerError` after `close`. Programs are run by means that Windows does not have.

    >>> from ttt_env import certify
    >>> from ttt_env.bots.protocol import answer_line
    >>> centre = f"while read line; do echo '{answer_line(4)}'; done"  # {"cell": 4}
    >>> with CommandAgent("tictactoe-v0", ["sh", "-c", centre]) as player:
    ...     certificate = certify(player)
    >>> certificate.unbeatable, certificate.forfeits[0].outcome
    (False, 'taken')
    """

    @staticmethod
    def of_function_file(file: str, function: str = "", folder: str | None = None) -> tuple[str, ...]:
        """The command that asks a function in a Python file; "" is `choose`, `policy`, or the only one.

        Raises `ParameterError` for a file that is not there or no Python, and a function that is not in it.
        """
        name = function_in(Path(folder or "", file), function)
        return (sys.executable, "-P", "-m", FUNCTION_FILE, file, name)

    @property
    def _function(self) -> tuple[str, ...]:
        """The file and the function of a command of `of_function_file`; empty for another command."""
        return self.arguments[4:6] if self.arguments[1:4] == ("-P", "-m", FUNCTION_FILE) else ()

    @property
    def label(self) -> str:  # noqa: D102
        if self._function:
            file, function = self._function
            return f"{Path(file).name}:{function}"
        return super().label

    @property
    def _script(self) -> list[str]:
        return [self._function[0]] if self._function else super()._script

    def _command_line(self) -> tuple[str, ...]:
        """The arguments; a function in a file is told the rules of a game that is in no catalogue."""
        if self._function:
            try:
                is_known = get_game(self.game.name) == self.game
            except TttEnvError:
                is_known = False
            if not is_known:
                return (*self.arguments, json.dumps(game_to_dict(self.game)))
        return super()._command_line()

    def _ask(self, program: Program, position: Position) -> Answer:
        number, n_late = next(self._numbers), 0
        self._tell(program, Question(position, self.timeout, number).line)
        try:
            while (echoed := echoed_id(line := program.read())) is not None:
                if type(echoed) is int and echoed == number:
                    break
                n_late += 1
        except NoLineError as failure:
            if n_late:
                late = f"passed over {n_late} lines with an id that is not {number}"
                failure.said = ": ".join(filter(None, [failure.said, late]))
            raise
        if echoed is None:
            self._check_lines(program.unread())
        answer = read_answer(line, position)
        if answer.outcome == "unreadable" and echoed is None:  # maybe a greeting: the answer is still to come
            program.end_input()
            self._check_lines(program.rest())
        return answer

    def _is_answer(self, line: str) -> bool:
        return echoed_id(line) is None  # lines that echo an `id` are late, and do no harm
