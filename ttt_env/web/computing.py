"""Computing while the server goes on answering, each kind of work out of the others' way.

What takes milliseconds, what takes seconds and what goes through millions of positions wait in lanes of their
own. Work that nobody waits for any more, because the page that asked for it has gone, is not begun; what runs
is told to stop. The answers that were asked for last are kept, up to a number of bytes.
"""

import asyncio
import os
import pickle
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Queue
from threading import Event, Lock, Thread
from typing import Any, Generic, Literal, TypeVar

from anyio.to_thread import run_sync
from cachetools import LRUCache

from ttt_env.compiled.stopping import stopped_by
from ttt_env.rules import Game, is_instant

Answer = TypeVar("Answer")
Lane = Literal["quick", "search", "plan", "sweep"]
"""A queue of work: `quick` takes milliseconds, `search` has searches and proofs, `plan` moves of agents that
first go through all positions of a large game, `sweep` whatever else goes through all positions."""

MAX_WAITING = 100  # in a lane
MAX_KEPT_BYTES = 32_000_000  # of answers, as they are pickled
_MAX_SEARCHES = 4  # at a time: each fills some memory
_PATIENCE = 3.0  # seconds for which a study goes on that nobody waits for: the next page may ask the same


class BusyError(RuntimeError):
    """The server is computing so much already that it accepts nothing more."""


class Job:
    """A function that is called once, for all who wait for its result; all of them in one event loop."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments
        self.future: Future[Any] = Future()
        self.unwanted = Event()
        self._n_waiting = 0

    async def result(self, stop: Callable[["Job"], None], patience: float) -> Any:
        """The result. Whoever gives up waiting does not stop it for others who wait.

        If all have given up, the job is not begun; if it runs, `stop` is called with it unless somebody else
        asks within `patience` seconds.
        """
        loop, is_done = asyncio.get_running_loop(), asyncio.Event()

        def tell(_: "Future[Any]") -> None:
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(is_done.set)

        self._n_waiting += 1
        self.future.add_done_callback(tell)
        try:
            await is_done.wait()
        finally:
            self._n_waiting -= 1
            if not self._n_waiting and not self.future.done() and not self.future.cancel():
                loop.call_later(patience, self._stop_if_left, stop)
        return self.future.result()

    def _stop_if_left(self, stop: Callable[["Job"], None]) -> None:
        if not self._n_waiting and not self.future.done():
            self.unwanted.set()
            # It may have to wait for a process that begins or ends, and nothing else should.
            asyncio.get_running_loop().run_in_executor(None, stop, self)

    def call(self) -> Any:
        """The result of the function, called now; it may raise `StoppedError` once the job is unwanted."""
        with stopped_by(self.unwanted):
            return self.function(*self.arguments)

    def run(self, call: Callable[["Job"], Any]) -> None:
        """Let `call` find the result, unless nobody waits any more."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            answer = call(self)
        except Exception as error:
            self.future.set_exception(error)
        except BaseException as error:  # what ends a program ends neither the lane nor the server
            self.future.set_exception(RuntimeError(f"the computation was ended by {error!r}"))
        else:
            self.future.set_result(answer)


class ThreadLane:
    """Threads that work off their queue by `call`. They do not keep the process from ending."""

    def __init__(self, name: str, threads: int, call: Callable[[Job], Any] = Job.call) -> None:
        self._waiting: Queue[Job | None] = Queue()
        self._call, self._n_open, self._lock = call, 0, Lock()
        self._threads = [Thread(target=self._work, name=name, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> None:
        """Let the job be run, unless its future is cancelled before.

        Raises `BusyError` if `MAX_WAITING` others are not done or cancelled.
        """
        with self._lock:
            if self._n_open >= MAX_WAITING:
                raise BusyError("The server is busy computing: try again in a moment.")
            self._n_open += 1
        job.future.add_done_callback(self._leave)
        self._waiting.put(job)

    def _leave(self, _: "Future[Any]") -> None:
        with self._lock:
            self._n_open -= 1

    def stop(self, job: Job) -> None:
        """Nothing: what the job calls looks by itself whether it is wanted."""

    def close(self) -> None:
        """End the threads once they have worked off what is waiting."""
        for _ in self._threads:
            self._waiting.put(None)

    def _work(self) -> None:
        while job := self._waiting.get():
            job.run(self._call)


class WorkQueues:
    """Takes questions, each for one of the lanes, and gives the answers to all who wait for them.

    `plans` and `sweeps` are the lanes of these names, by default a thread each in this process.
    """

    def __init__(self, plans: ThreadLane | None = None, sweeps: ThreadLane | None = None) -> None:
        n_processors = os.cpu_count() or 2
        self._lanes: dict[Lane, ThreadLane] = {
            "quick": ThreadLane("quick", max(2, n_processors)),
            "search": ThreadLane("search", min(_MAX_SEARCHES, max(2, n_processors))),
            "plan": plans or ThreadLane("plan", 1),
            "sweep": sweeps or ThreadLane("sweep", 1),
        }
        self._asked: dict[Hashable, Job] = {}
        self._answers: LRUCache[Hashable, tuple[Any, int]] = LRUCache(
            MAX_KEPT_BYTES, getsizeof=lambda kept: kept[1]
        )
        self._lock = Lock()

    async def move(self, lane: Lane, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """The result of the function, called for this one who asks alone."""
        if lane == "quick":
            return await run_sync(function, *arguments)
        job = Job(function, *arguments)
        self._lanes[lane].submit(job)
        answer: Answer = await job.result(self._lanes[lane].stop, 0.0)
        return answer

    async def study(
        self, lane: Lane, function: Callable[..., Answer], *arguments: Hashable, edition: int = 0
    ) -> Answer:
        """The result of the function for these arguments, computed once for all who ask, and kept.

        For another `edition` of what they stand for, as `Roster.edition` is, it is computed anew. A failure
        is raised for all who wait for it, and not kept: the memory or the file that was missing may be there
        for the next one who asks.
        """
        key = (function, *arguments, edition)
        with self._lock:
            if key in self._answers:
                kept: Answer = self._answers[key][0]
                return kept
            job = self._asked.get(key)
            is_new = job is None or job.future.cancelled() or job.unwanted.is_set()
            if job is None or is_new:
                job = Job(function, *arguments)
                self._lanes[lane].submit(job)
                self._asked[key] = job
        if is_new:
            job.future.add_done_callback(partial(self._keep, key, job))
        answer: Answer = await job.result(self._lanes[lane].stop, _PATIENCE)
        return answer

    def knows(self, function: Callable[..., Any], *arguments: Hashable, edition: int = 0) -> bool:
        """True if the answer is kept."""
        with self._lock:
            return (function, *arguments, edition) in self._answers

    def _keep(self, key: Hashable, job: Job, future: "Future[Any]") -> None:
        has_answer = not future.cancelled() and future.exception() is None
        size = len(pickle.dumps(future.result())) if has_answer else 0
        with self._lock:
            if self._asked.get(key) is job:
                del self._asked[key]
            if has_answer and size <= MAX_KEPT_BYTES:
                self._answers[key] = future.result(), size

    def close(self) -> None:
        """Accept nothing more; what runs is left to end."""
        for lane in self._lanes.values():
            lane.close()


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
