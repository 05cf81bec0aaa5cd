"""Bots that break the protocol, each in its own way: `python hostile_bots.py NAME FILE`.

Each writes its process id, and those of what it starts, into the file. Nothing of the package is used here.
`HOSTILE` says for each by what it may lose.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

LATE = 0.05  # seconds that a hanging bot is given


def question() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)


def asked() -> list[int]:
    """The legal cells of the next question."""
    return question()["legal"]


def say(answer: object) -> None:
    print(answer if isinstance(answer, str) else json.dumps(answer), flush=True)


def play() -> None:
    """Answer a question as it should be."""
    say({"cell": asked()[0]})


def play_first() -> list[int]:
    """Make first moves as it should be, until another is asked for; the cells of the bot's stones then."""
    while True:
        now = question()
        board = now["position"].replace("/", "")
        own = [cell for cell, letter in enumerate(board) if letter == now["to_move"]]
        if own:
            return own
        say({"cell": now["legal"][0]})


def hang() -> None:
    while True:
        time.sleep(1000)


def note(pid: int) -> None:
    with open(sys.argv[2], "a", encoding="utf-8") as file:
        file.write(f"{pid}\n")


def child(daemon: bool) -> None:
    """Start a process that never ends, maybe in a session of its own and as nobody's child."""
    if os.fork() == 0:
        if daemon:
            os.setsid()
            if os.fork():
                os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note(os.getpid())
        hang()


def saying(*answers: object) -> Callable[[], None]:
    def bot() -> None:
        while True:
            asked()
            for answer in answers:
                say(answer)

    return bot


def once_asked(act: Callable[[], object]) -> Callable[[], None]:
    """A bot that acts at its first question, and hangs if it has not ended by that."""

    def bot() -> None:
        asked()
        act()
        hang()

    return bot


def kill(pid: Callable[[], int], number: signal.Signals) -> Callable[[], None]:
    return lambda: os.kill(pid(), number)


def write_for_ever(descriptor: int, text: bytes) -> None:
    while True:
        os.write(descriptor, text)


def honest() -> None:
    while True:
        play()


def crashes_at_start() -> None:
    raise ImportError("no module named torch")


def crashes_later() -> None:
    play_first()
    raise IndexError("list index out of range")


def repeats_its_move() -> None:
    while True:
        say({"cell": play_first()[0]})


def floods_after_its_move() -> None:
    play()
    write_for_ever(1, (b"x" * 999 + b"\n") * 1_000)


def ignores_signals() -> None:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    asked()
    hang()


def is_late() -> None:
    legal = asked()
    time.sleep(0.6 + 4 * LATE)  # more than it is given to start and to answer
    say({"cell": legal[0]})


def fork_six() -> None:
    for number in range(6):
        child(daemon=number % 2 == 0)


def take_all_memory() -> None:
    held = []
    while True:
        held.append(bytearray(1 << 24))


def greets() -> None:
    say("Welcome")
    time.sleep(0.2)  # its answer comes when the greeting has been read
    honest()


def says_goodbye() -> None:
    """Answers as it should, and writes a line more when its input ends."""
    for line in sys.stdin:
        say({"cell": json.loads(line)["legal"][0]})
    say({"cell": 8})


def drips() -> None:
    """Writes its answer a byte at a time, each within the time for an answer, and all of them not."""
    legal = asked()
    for letter in json.dumps({"cell": legal[0], "thoughts": "." * 500}):
        os.write(1, letter.encode())
        time.sleep(LATE / 5)


def echoes_a_wrong_id() -> None:
    while True:
        now = question()
        say({"cell": now["legal"][0], "id": now["id"] - 1})


class Fault(NamedTuple):
    """The reasons a bot loses by, and parameters of its spec; without reasons it says a line too many."""

    bot: Callable[[], None]
    outcomes: str
    parameters: str = ""


_HANGS = f",timeout={LATE},startup=0.6"
HOSTILE = {
    "hangs": Fault(once_asked(hang), "timed out", _HANGS),
    "hangs at start": Fault(hang, "timed out", _HANGS),
    "crashes at start": Fault(crashes_at_start, "crashed"),
    "crashes later": Fault(crashes_later, "crashed"),
    "dies of a signal": Fault(once_asked(kill(os.getpid, signal.SIGSEGV)), "crashed"),
    "kills its parent": Fault(once_asked(kill(os.getppid, signal.SIGKILL)), "crashed"),
    "says no JSON": Fault(saying("I take the centre"), "unreadable"),
    "says a number": Fault(saying("0"), "unreadable"),
    "says another key": Fault(saying({"move": 0}), "unreadable"),
    "says half a cell": Fault(saying({"cell": 0.5}), "unreadable"),
    "says a deep list": Fault(saying("[" * 60_000), "unreadable"),
    "says a huge number": Fault(saying('{"cell": ' + "9" * 10_000 + "}"), "unreadable"),
    "says no cell": Fault(saying({"cell": 99}), "no cell"),
    "says a cell below 0": Fault(saying({"cell": -1}), "no cell"),
    "repeats its move": Fault(repeats_its_move, "taken"),
    "floods output": Fault(once_asked(lambda: write_for_ever(1, b"x" * 1_000_000)), "flooded"),
    "floods errors": Fault(once_asked(lambda: write_for_ever(2, b"thinking " * 100_000)), "flooded"),
    "floods after its move": Fault(floods_after_its_move, ""),
    "says two lines": Fault(saying({"cell": 4}, {"cell": 5}), ""),
    "says two lines of the same": Fault(saying({"cell": 4}, ""), ""),
    "greets": Fault(greets, ""),
    "says goodbye": Fault(says_goodbye, ""),
    "is killed": Fault(once_asked(kill(os.getpid, signal.SIGKILL)), "crashed"),
    "drips": Fault(drips, "timed out", _HANGS),
    "echoes a wrong id": Fault(echoes_a_wrong_id, "timed out", _HANGS),
    "closes output": Fault(once_asked(lambda: os.close(1)), "crashed"),
    "closes input": Fault(once_asked(lambda: os.close(0)), "timed out", _HANGS),
    "says half a line": Fault(once_asked(lambda: os.write(1, b'{"cell"')), "timed out", _HANGS),
    "ignores signals": Fault(ignores_signals, "timed out", _HANGS),
    "is late": Fault(is_late, "timed out", _HANGS),
    "forks and hangs": Fault(once_asked(fork_six), "timed out", ",timeout=0.2,startup=0.6"),
    "forks and crashes": Fault(once_asked(lambda: (fork_six(), os._exit(1))), "crashed"),
    "takes all memory": Fault(once_asked(take_all_memory), "crashed", ",memory=200"),
}


if __name__ == "__main__":
    note(os.getpid())
    honest() if sys.argv[1] == "honest" else HOSTILE[sys.argv[1]].bot()
