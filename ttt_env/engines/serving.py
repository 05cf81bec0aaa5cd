"""An engine that hears lines and says lines, whatever its protocol."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from ttt_env.agent import AgentLike
from ttt_env.engines.thinking import Thinker
from ttt_env.errors import TttEnvError


class Engine(ABC):
    """One side of a protocol: `hear` is called with each line that comes, and answers by `say`.

    `say` is called from the thread that thinks as well. A line that cannot be understood or obeyed gets the
    protocol's own answer to errors (`_complain`), changes nothing, and the engine goes on.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._thinker: Thinker | None = None

    def serve(self, lines: Iterable[str]) -> None:
        """Hear lines until one says that this is the end, or no more come; the last move is still told."""
        for line in lines:
            if not self.hear(line):
                return
        if self._thinker is not None:
            self._at_end(self._thinker)

    def hear(self, line: str) -> bool:
        """Do what a line says; False if that is to end."""
        try:
            goes_on = self._obey(line.strip())
        except TttEnvError as error:
            self._complain(str(error))
            return True
        if not goes_on and self._thinker is not None:
            self._thinker.leave()
        return goes_on

    def _at_end(self, thinker: Thinker) -> None:
        """Let the move be told that somebody still waits for when no more lines come."""
        thinker.wait()

    @abstractmethod
    def _obey(self, line: str) -> bool:
        """`hear`, without care for errors."""

    @abstractmethod
    def _complain(self, why: str) -> None:
        """Say that a line was wrong."""


def one_line(text: str) -> str:
    r"""The text with all white space as single spaces: an answer is one line.

    >>> one_line("no\n such  cell")
    'no such cell'
    """
    return " ".join(text.split())


def name_shown(agent: AgentLike) -> str:
    """The name of an engine as its opponents see it: its spec, or the name of its function or class."""
    return one_line(agent) if isinstance(agent, str) else getattr(agent, "__name__", type(agent).__name__)
