"""Sweeps over millions of positions, in a process of their own.

They would hold up the pages, which share one interpreter, and what they keep would fill the memory. The
process has a limit on its memory: it is replaced by a fresh one when it is full, and what is too large for a
fresh one is refused. All that is sent is pickled; the objects of `Evaluators`, which both processes have,
are sent by name.
"""

import os
import pickle
import subprocess
import sys
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, BinaryIO, NamedTuple

from ttt_env.compiled.stopping import StoppedError, stopped_by
from ttt_env.web.computing import BusyError, Job, ThreadLane
from ttt_env.web.insight import Evaluators
from ttt_env.web.roster import Roster

MAX_SWEEP_MB = 1000
"""The memory that the process of the sweeps may use, in MB. It is enforced on Linux."""

MAX_MB = 1700
"""The memory that the server may take, in MB, the process of the sweeps included."""

_FULL_MB = 850  # after an answer: the process is replaced before the next question
_TRIES = 2  # of a question, if the process ends while it is at it
_NICE = 5  # the pages go first, but a busy machine does not starve the sweeps
_PROGRAM = f"""
from signal import SIG_IGN, SIGINT, signal
signal(SIGINT, SIG_IGN)  # Ctrl-C is for the server, which then ends this process
from {__name__} import serve
serve()
"""
_SHARED = ("roster", "insight_solver", "tree_solver")
_NO_MORE = -1  # instead of an edition: the answer is not wanted any more


class Sweeper:
    """Two lanes for what takes all positions of a game, answered by one other process.

    Agents' moves are taken by `plans`, all else by `sweeps`, one at a time each: they share what they find
    out. The process is started by `start` or the first of them, and ends with this one.
    """

    def __init__(self, evaluators: Evaluators) -> None:
        self.plans = _SweepLane(self, "plan")
        self.sweeps = _SweepLane(self, "sweep")
        self._evaluators = evaluators
        self._process: _Process | None = None
        self._is_closed = False
        self._lock = Lock()

    def start(self) -> None:
        """Start the process, which the first question else waits for."""
        with self._lock:
            self._started()

    @property
    def pid(self) -> int | None:
        """The number of the process, if there is one."""
        process = self._process
        return None if process is None else process.pid

    def answer(self, job: Job) -> Any:
        """The result of a job, from the process. Raises `BusyError` if the process ends again and again."""
        file = BytesIO()
        _Pickler(file, self._evaluators).dump((job.function, job.arguments))
        for _ in range(_TRIES):
            with self._lock:
                if job.unwanted.is_set():  # since before `stop` could tell the process
                    raise StoppedError("nobody waits for this any more")
                process = self._started()
                process.ask(job, file.getvalue())
            reply = process.answers[id(job)].result()
            with self._lock:
                del process.answers[id(job)]
                if reply is not None and reply.megabytes > _FULL_MB and not process.answers:
                    process.end()
            if reply is not None:
                answer, error = pickle.loads(reply.content)
                if error is not None:
                    raise error
                return answer
        raise BusyError(f"This takes more than the {MAX_SWEEP_MB} MB of memory that a sweep may use here.")

    def _started(self) -> "_Process":
        """The process, started if there is none. The caller holds the lock."""
        if self._is_closed:
            raise BusyError("The server is about to end.")
        if self._process is None or self._process.has_ended:
            self._process = _Process(self._evaluators)
        return self._process

    def stop(self, job: Job) -> None:
        """Tell the process that nobody waits for a job any more."""
        with self._lock:
            if self._process is not None:
                self._process.stop(job)

    def close(self) -> None:
        """End the process, whatever it is at."""
        with self._lock:
            self._is_closed = True
            if self._process is not None:
                self._process.end()


class _SweepLane(ThreadLane):
    """A lane whose jobs the process of a sweeper runs."""

    def __init__(self, sweeper: Sweeper, name: str) -> None:
        self._sweeper = sweeper
        super().__init__(name, 1, sweeper.answer)

    def stop(self, job: Job) -> None:
        self._sweeper.stop(job)

    def close(self) -> None:
        self._sweeper.close()
        super().close()


class _Reply(NamedTuple):
    """The reply to a question: its pickled answer or error, and the memory that the process holds then."""

    content: bytes
    megabytes: float


class _Process:
    """The other process as this one sees it.

    `answers` has the reply that is awaited for each job in work, by its `id`; it is None if the process ends.
    """

    def __init__(self, evaluators: Evaluators) -> None:
        self.answers: dict[int, Future[_Reply | None]] = {}
        self.has_ended = False
        self._roster = evaluators.roster
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.pid = self._popen.pid
        self._write((self._roster.specs, self._roster.games_file))
        Thread(target=self._listen, name="answers of sweeps", daemon=True).start()

    def ask(self, job: Job, question: bytes) -> None:
        """Send a question, the pickled call of the job."""
        self.answers[id(job)] = Future()
        self._write((id(job), self._roster.editions, question))
        if self.has_ended:
            self._give_up()

    def stop(self, job: Job) -> None:
        """Tell the process that the answer to a question is not wanted any more."""
        if id(job) in self.answers:
            self._write((id(job), _NO_MORE, b""))

    def end(self) -> None:
        """Kill the process, and wait until its memory is free."""
        self.has_ended = True
        self._popen.kill()
        self._popen.wait()

    def _write(self, message: object) -> None:
        assert self._popen.stdin is not None
        with suppress(OSError, ValueError):  # it has ended, which the listener sees
            self._popen.stdin.write(pickle.dumps(message))
            self._popen.stdin.flush()

    def _listen(self) -> None:
        assert self._popen.stdout is not None
        try:
            with suppress(EOFError, OSError, pickle.UnpicklingError), self._popen:
                while True:
                    number, reply = pickle.load(self._popen.stdout)
                    self.answers[number].set_result(reply)
        finally:
            self.has_ended = True
            self._give_up()

    def _give_up(self) -> None:
        for future in list(self.answers.values()):
            with suppress(InvalidStateError):
                future.set_result(None)


def serve() -> None:
    """Answer the questions that come by standard input until it ends: what the process of the sweeps does."""
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)  # whatever is printed must not end up between the answers
        if sys.platform != "win32":  # limit the memory, and let the server go first
            import resource

            os.nice(_NICE)
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_DATA, (MAX_SWEEP_MB * 1_000_000,) * 2)
        source = sys.stdin.buffer
        server = _Server(Evaluators(Roster(*pickle.load(source))), output)
        with suppress(EOFError, pickle.UnpicklingError):
            while True:
                server.take(*pickle.load(source))
    os._exit(0)


class _Server:
    """Answers each question in a thread of its own: there are as many at a time as lanes."""

    def __init__(self, evaluators: Evaluators, output: BinaryIO) -> None:
        self._evaluators, self._output = evaluators, output
        self._unwanted: dict[int, Event] = {}
        self._lock = Lock()

    def take(self, number: int, editions: int, question: bytes) -> None:
        """Begin to answer a question, or stop where `editions` is `_NO_MORE`."""
        if editions != _NO_MORE:
            self._evaluators.roster.catch_up(editions)
            self._unwanted[number] = Event()
            Thread(target=self._answer, args=(number, question), daemon=True).start()
        elif (unwanted := self._unwanted.get(number)) is not None:  # else it is being answered
            unwanted.set()

    def _answer(self, number: int, question: bytes) -> None:
        """Send one reply, whatever becomes of the question: a lane waits for it."""
        try:
            content = _content(*self._result(number, question))
            del self._unwanted[number]
            message = pickle.dumps((number, _Reply(content, resident())))
            with self._lock:
                self._output.write(message)
                self._output.flush()
        except BaseException:  # above all, no memory: a fresh process may have room for it
            os._exit(1)

    def _result(self, number: int, question: bytes) -> tuple[Any, Exception | None]:
        """The answer to a question, or the error instead. Raises `MemoryError`."""
        try:
            function, arguments = _Unpickler(question, self._evaluators).load()
            with stopped_by(self._unwanted[number]):
                return function(*arguments), None
        except MemoryError:
            raise
        except Exception as error:
            return None, error
        except BaseException as error:  # what ends a program ends no lane
            return None, RuntimeError(f"the computation was ended by {error!r}")


def _content(answer: Any, error: Exception | None) -> bytes:
    """The two pickled. Raises `MemoryError`."""
    try:
        content = pickle.dumps((answer, error))
        if error is not None:  # one of others need not survive that
            pickle.loads(content)
    except MemoryError:
        raise
    except Exception as failure:
        return pickle.dumps((None, RuntimeError(repr(error or failure))))
    return content


def resident(pid: int | None = None) -> float:
    """The memory that this process holds, or that of this number, in megabytes; 0 where it is not known."""
    with suppress(OSError):
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return 0.0


class _Pickler(pickle.Pickler):
    """Pickles what the evaluators has as its name."""

    def __init__(self, file: BytesIO, evaluators: Evaluators) -> None:
        super().__init__(file)
        self._evaluators = evaluators

    def persistent_id(self, thing: object) -> str | None:
        return next((name for name in _SHARED if thing is getattr(self._evaluators, name)), None)


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, evaluators: Evaluators) -> None:
        super().__init__(BytesIO(content))
        self._evaluators = evaluators

    def persistent_load(self, name: str) -> object:
        return getattr(self._evaluators, name)
