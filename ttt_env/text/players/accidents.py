"""Answers and accidents of programs: what is asked again, how often, and when a player is not judged."""

import signal
from collections.abc import Callable, Iterable

from ttt_env.agent import Agent, Answer, Outcome, quoted
from ttt_env.errors import NotJudgedError, UntrustedAnswersError, shown
from ttt_env.rules.game import Position
from ttt_env.text.players.program import Said

TRIES = 3
"""The most times that a program is asked in a position; after the first a fresh process is asked."""
CRASHES = 2
"""The crashes there after which this is its answer: a fresh process has then crashed as well."""
STARTUP = 30.0
"""Seconds that a program may take to start, by default."""
END_GRACE = 1.0
"""Seconds for a program whose input has ended to say what it still has to say, and to end."""
_OWN_SIGNALS = {
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS", "SIGSYS", "SIGTRAP")
    if hasattr(signal, name)
}
_OF_SHELLS = 128  # a shell whose program was ended by a signal exits with this and the signal's number
_TIMES = {1: "once", 2: "twice"}


class AccidentError(Exception):
    """A question without an answer, which says nothing about the player yet.

    `what` happened, in words, and what was `said`; `loses_by` is as in `NotJudgedError`.
    """

    def __init__(self, what: str, said: str, loses_by: Outcome | None) -> None:
        super().__init__(what)
        self.what, self.said, self.loses_by = what, said, loses_by


def failed_answer(said: Said) -> Answer:
    """The answer of a program that said no line when one was due, if it flooded.

    Raises `AccidentError` otherwise.
    """
    match said.outcome:
        case "too late":
            raise AccidentError("timed out", said.text, "timed out")
        case "not started":
            raise AccidentError("cannot be started", said.text, None)
        case "ended":
            killer = _killer(said.status)
            what = "crashed" if killer is None else f"was ended by {killer}"
            raise AccidentError(what, said.text, "crashed")
        case _:
            return Answer.failed("flooded", said.text)


def _killer(status: int | None) -> str | None:
    """The signal from outside that has ended a program with this exit status; None if none has."""
    number = 0 if status is None else -status if status < 0 else status - _OF_SHELLS
    if number > 0 and number not in _OWN_SIGNALS and number in set(signal.Signals):
        return signal.Signals(number).name
    return None


def settled_answer(agent: Agent, position: Position, limits: str, ask: Callable[[], Answer]) -> Answer:
    """The answer that `ask` gives, which is called up to `TRIES` times; the first after no accident.

    A crash that is reproduced is an answer: "crashed". Raises `NotJudgedError` if there is none; `limits`
    tells there how long each try may take.
    """
    accidents: list[AccidentError] = []
    while len(accidents) < TRIES:
        try:
            return ask()
        except AccidentError as accident:
            accidents.append(accident)
            if [each.what for each in accidents].count("crashed") == CRASHES:
                return Answer.failed("crashed", accident.said)
    raise _not_judged(agent, position, limits, accidents)


def _not_judged(
    agent: Agent, position: Position, limits: str, accidents: list[AccidentError]
) -> NotJudgedError:
    kinds = [each.what for each in accidents]
    parts = []
    for what in dict.fromkeys(kinds):
        times = kinds.count(what)
        within = f" ({limits})" if what == "timed out" else ""
        parts.append(f"{what} {_TIMES.get(times, f'{times} times')}{within}")
    outcomes = [each.loses_by for each in accidents if each.loses_by is not None]
    loses_by = "timed out" if "timed out" in outcomes else next(iter(outcomes), None)
    last = quoted(accidents[-1].said, "crashed") if accidents[-1].said else ""
    reason = ", ".join(parts) + (f" [{last}]" if last else "")
    return NotJudgedError(repr(agent), position, reason, loses_by)


def check_lines(agent: Agent, lines: Iterable[str]) -> None:
    """Raise `UntrustedAnswersError` for the first of these lines, each of which answers no question."""
    for line in lines:
        raise UntrustedAnswersError(
            f"{agent!r} has said a line too many, {shown(line)}: a line for each question is due, and no "
            "other. So its lines may answer other questions than they seem to, and none of them is believed"
        )
