"""Trainings that visitors start: each in a process of its own, one after the other."""

import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from ttt_env.agent import learner_class
from ttt_env.web.computing import BusyError

_PROGRAM = """
import os, sys
import ttt_env
algorithm, seed, seconds, folder = sys.argv[1:]
if hasattr(os, "nice"):
    os.nice(10)
ttt_env.train("tictactoe-v0", algorithm, seed=int(seed), seconds=float(seconds), tensorboard=folder)
"""


class Trainings:
    """The queue of trainings on tic-tac-toe, which write their curves below `folder`.

    Without a folder it is a temporary one, made by the first training. `failed` are the names of those that
    ended with an error.
    """

    MAX_SECONDS = 60
    MAX_OPEN = 4
    """The number of trainings that may run or wait."""

    def __init__(self, folder: Path | None) -> None:
        self.folder, self.failed = folder, list[str]()
        self._temporary: TemporaryDirectory[str] | None = None
        self._queue = ThreadPoolExecutor(1, "training")
        self._futures: dict[str, Future[None]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed, self._lock = False, Lock()

    @property
    def open(self) -> list[str]:
        """The names of the trainings that run or wait, in their order."""
        return [name for name, future in list(self._futures.items()) if not future.done()]

    def start(self, algorithm: str) -> None:
        """Queue a training with the first seed that this algorithm has not had here.

        Raises `ParameterError` for an unknown algorithm, `BusyError` if `MAX_OPEN` trainings run or wait.
        """
        learner_class(algorithm)
        with self._lock:
            if len(self.open) >= self.MAX_OPEN:
                raise BusyError(f"{self.MAX_OPEN} trainings run or wait already: try again in a minute.")
            if self.folder is None:
                self._temporary = TemporaryDirectory(prefix="ttt-runs-")
                self.folder = Path(self._temporary.name)
            folders = ((seed, self.folder / f"{algorithm}-{seed}") for seed in count())
            seed, folder = next(
                pair for pair in folders if pair[1].name not in self._futures and not pair[1].exists()
            )
            self._futures[folder.name] = self._queue.submit(self._train, algorithm, seed, folder)

    def _train(self, algorithm: str, seed: int, folder: Path) -> None:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        arguments = [algorithm, str(seed), str(self.MAX_SECONDS), str(folder)]
        with self._lock:
            if self._is_closed:
                return
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
            )
        if self._process.wait() and not self._is_closed:
            self.failed.append(folder.name)

    def close(self) -> None:
        """End the training that runs, and drop those that wait."""
        with self._lock:
            self._is_closed = True
            if self._process is not None:
                self._process.kill()
        self._queue.shutdown(cancel_futures=True)
        if self._temporary is not None:
            self._temporary.cleanup()
