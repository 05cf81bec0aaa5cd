"""Computing while the server goes on answering, and keeping the answers that were used last."""

import asyncio
import os
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from functools import partial
from queue import Queue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from anyio.to_thread import run_sync
from cachetools import LRUCache

from ttt_env.rules.game import Game
from ttt_env.rules.sizes import is_instant

Answer = TypeVar("Answer")
_MAX_WAITING = 100
_MAX_STUDIES = 512


class BusyError(RuntimeError):
    """The server is computing so much already that it accepts nothing more."""


class _Lane:
    """Some threads and the queue of tasks that they work off. They do not keep the process from ending."""

    def __init__(self, name: str, threads: int) -> None:
        self._waiting: Queue[tuple[Future[Any], Callable[[], Any]] | None] = Queue()
        self._threads = [Thread(target=self._work, name=name, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., Answer], *arguments: Any) -> "Future[Answer]":
        if self._waiting.qsize() >= _MAX_WAITING:
            raise BusyError("Too much is being computed here at the moment: try again in a while.")
        future: Future[Answer] = Future()
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
        self._studies: LRUCache[Hashable, Future[Any]] = LRUCache(_MAX_STUDIES)
        self._lock = Lock()

    async def move(self, quick: bool, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """The result of the function. A function that is not `quick` waits for a thread of the searches."""
        if quick:
            return await run_sync(function, *arguments)
        return await _awaited(self._search.submit(function, *arguments))

    async def study(self, quick: bool, function: Callable[..., Answer], *arguments: Hashable) -> Answer:
        """The result of the function for these arguments, computed once for all who ask, and kept.

        A failure is raised for all who wait for it, and not kept: the memory or the file that was missing may
        be there for the next one who asks.
        """
        key = (function, *arguments)
        with self._lock:
            is_new = key not in self._studies
            if is_new:
                self._studies[key] = (self._search if quick else self._study).submit(function, *arguments)
            future: Future[Answer] = self._studies[key]
        if is_new:
            future.add_done_callback(partial(self._drop_failure, key))
        return await _awaited(future)

    def _drop_failure(self, key: Hashable, future: "Future[Any]") -> None:
        with self._lock:
            if future.exception() is not None and self._studies.get(key) is future:
                del self._studies[key]

    def close(self) -> None:
        """End the threads once they have worked off what is waiting."""
        self._search.close()
        self._study.close()


async def _awaited(future: "Future[Answer]") -> Answer:
    """The result of a future. Giving up the waiting does not cancel it for others who wait."""
    return await asyncio.shield(asyncio.wrap_future(future))


class Keeper(Generic[Answer]):
    """Keeps up to `small` answers about games of up to 9 cells and up to `large` about larger ones.

    Threads may share it. Two that ask for the same at once may both make it; the later answer is kept.
    """

    def __init__(self, small: int, large: int) -> None:
        self._caches: dict[bool, LRUCache[tuple[Game, str], Answer]] = {
            True: LRUCache(small),
            False: LRUCache(large),
        }
        self._lock = Lock()

    def get(self, game: Game, name: str) -> Answer | None:
        """The answer that is kept under this name, if one is."""
        with self._lock:
            return self._caches[is_instant(game)].get((game, name))

    def keep(self, game: Game, name: str, answer: Answer) -> Answer:
        """Keep the answer, and give it back."""
        with self._lock:
            self._caches[is_instant(game)][game, name] = answer
        return answer

    def drop(self, name: str) -> None:
        """Keep no answer under this name, about whatever game."""
        with self._lock:
            for cache in self._caches.values():
                for key in [key for key in cache if key[1] == name]:
                    del cache[key]

    def get_or_make(self, game: Game, name: str, make: Callable[[], Answer]) -> Answer:
        """The answer that is kept, made first if there is none."""
        answer = self.get(game, name)
        return self.keep(game, name, make()) if answer is None else answer
