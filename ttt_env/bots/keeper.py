"""Keeps a program: starts it, and when it ends, or is no longer wanted, kills all that it has started.

This file is run by its path, as a process between ours and the program:
`keeper.py LIFELINE TROUBLE MEMORY COMMAND…`. The program has the keeper's standard input, output and error.
It is no longer wanted once something can be read from the file descriptor LIFELINE, which is so, too, when
our process ends in whatever way. If the program cannot be run, the reason is written to the file descriptor
TROUBLE. MEMORY is the most address space of each of its processes in bytes, 0 for no limit. The keeper ends
as the program has ended.

Nothing but a few of Python's own modules is imported here, so that a program starts at once.
"""

import os
import resource
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress

_CANNOT_RUN = 126  # the exit status by which shells say so
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # of Linux's prctl


def main(lifeline: int, trouble: int, memory: int, arguments: list[str]) -> None:
    """Run the program, wait, clean up, and end as it has ended."""
    # Whatever a program starts and leaves behind becomes a child of the keeper, even from another session.
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    ends, wake_up = os.pipe()
    for descriptor in (ends, wake_up):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wake_up, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    os.set_inheritable(trouble, False)  # the program closes it by being run
    program = os.fork()
    if program == 0:
        _become(memory, arguments, trouble)
    for descriptor in (0, 1, 2, trouble):
        os.close(descriptor)
    status, listener = None, select.poll()  # `select.select` takes no descriptors above 1023
    for descriptor in (lifeline, ends):
        listener.register(descriptor, select.POLLIN)
    while status is None and lifeline not in dict(listener.poll()):
        with suppress(BlockingIOError):
            os.read(ends, 1 << 12)
        status = _reaped(program)
    _kill_all(program)
    _end_like(status)


def _become(memory: int, arguments: list[str], trouble: int) -> None:
    """Turn this process into the program, or write to `trouble` why that fails."""
    try:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        # Python ignores these signals, and an ignored signal stays ignored in another program.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(arguments[0], arguments)
    except BaseException as error:
        os.write(trouble, f"{arguments[0]} cannot be run: {error}".encode("utf-8", "replace"))
    finally:
        os._exit(_CANNOT_RUN)


def _reaped(program: int) -> int | None:
    """The status that the program has ended with, None if it runs; other children that ended are let go."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == program:
                return ended[1]
    return None


def _kill_all(program: int) -> None:
    """Kill the program's group, and what has left it, until the keeper has no child."""
    _kill(program)
    with suppress(ChildProcessError):
        while True:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                for child in _children():
                    _kill(child)
                os.waitpid(-1, 0)


def _kill(process: int) -> None:
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(process, signal.SIGKILL)


def _children() -> Iterator[int]:
    """The keeper's children, by Linux's list of processes; on other systems they stay in their group."""
    with suppress(FileNotFoundError):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                if int(file.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    yield int(name)


def _end_like(status: int | None) -> None:
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), number)
    os._exit(1 if status is None else os.waitstatus_to_exitcode(status))


def _prctl(option: int, value: int) -> None:
    """Set an attribute of this process where there is `prctl`, on Linux."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
