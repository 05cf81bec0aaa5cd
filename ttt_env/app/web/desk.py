"""Where computations are made while the server goes on answering, and their results kept."""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from functools import partial
from queue import Queue
from threading import Lock, Thread
from typing import Any, TypeVar

from anyio.to_thread import run_sync

Found = TypeVar("Found")
_MOST_WAITING = 100
_MOST_KEPT = 512


class BusyError(RuntimeError):
    """So much is being computed already that nothing more is taken on."""


class _Lane:
    """Some threads, which do not keep the process from ending, and what waits for them."""

    def __init__(self, name: str, threads: int) -> None:
        self._waiting: Queue[tuple[Future[Any], Callable[[], Any]] | None] = Queue()
        self._threads = [Thread(target=self._work, name=name, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., Found], *arguments: Any) -> "Future[Found]":
        if self._waiting.qsize() >= _MOST_WAITING:
            raise BusyError("Too much is being computed here at the moment: try again in a while.")
        future: Future[Found] = Future()
        self._waiting.put((future, partial(function, *arguments)))
        return future

    def close(self) -> None:
        for _ in self._threads:
            self._waiting.put(None)

    def _work(self) -> None:
        while task := self._waiting.get():
            future, function = task
            try:
                future.set_result(function())
            except Exception as error:
                future.set_exception(error)
            except BaseException as error:  # what ends a program ends neither the lane nor the server
                future.set_exception(RuntimeError(f"the computation was ended by {error!r}"))


class Desk:
    """Lanes of threads, so that what takes seconds never delays what takes milliseconds.

    The compiled searches, and NumPy in the sweeps, let other threads run beside them.
    """

    def __init__(self) -> None:
        self._search = _Lane("search", max(2, os.cpu_count() or 2))
        self._study = _Lane("study", 1)
        self._found: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._lock = Lock()

    async def move(self, quick: bool, function: Callable[..., Found], *arguments: Any) -> Found:
        """What the function returns; one that is not `quick` takes up to a minute."""
        if quick:
            return await run_sync(function, *arguments)
        return await _awaited(self._search.submit(function, *arguments))

    async def study(self, quick: bool, function: Callable[..., Found], *arguments: Hashable) -> Found:
        """What the function returns for these arguments, computed once for all who ask.

        A failure is told to all who wait for it and not kept: memory that lacked, or a file that could not be
        read, may be there for the next one who asks.
        """
        key = (function, *arguments)
        with self._lock:
            is_new = key not in self._found
            if is_new:
                self._found[key] = (self._search if quick else self._study).submit(function, *arguments)
            self._found.move_to_end(key)
            future: Future[Found] = self._found[key]
            while len(self._found) > _MOST_KEPT:
                self._found.popitem(last=False)
        if is_new:
            future.add_done_callback(partial(self._drop_failure, key))
        return await _awaited(future)

    def _drop_failure(self, key: Hashable, future: "Future[Any]") -> None:
        with self._lock:
            if future.exception() is not None and self._found.get(key) is future:
                del self._found[key]

    def close(self) -> None:
        """Take nothing more on."""
        self._search.close()
        self._study.close()


async def _awaited(future: "Future[Found]") -> Found:
    """The result; whoever stops waiting does not stop the others."""
    return await asyncio.shield(asyncio.wrap_future(future))
