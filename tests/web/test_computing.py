"""Computations beside the event loop: shared, bounded, out of each other's way."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from tests.web.questions import think
from tests.web.serving import until
from ttt_env import get_game
from ttt_env.web import computing
from ttt_env.web.computing import MAX_KEPT_BYTES, BusyError, Keeper, ThreadLane, WorkQueues

N_THREADS = max(2, os.cpu_count() or 2)


@pytest.fixture
def queues():
    made = WorkQueues()
    yield made
    made.close()


@pytest.mark.parametrize("lane", ["quick", "search", "sweep"])
def test_a_study_is_made_once_for_all_who_ask(lane, queues):
    made = []

    def study(number):
        made.append(number)
        return number**2

    async def ask():
        return await asyncio.gather(*(queues.study(lane, study, number % 3) for number in range(30)))

    assert asyncio.run(ask()) == [(number % 3) ** 2 for number in range(30)]
    assert sorted(made) == [0, 1, 2]


def test_who_stops_waiting_does_not_stop_the_others(queues):
    go_on = threading.Event()

    async def ask():
        first, second = (asyncio.create_task(queues.study("sweep", go_on.wait, 10)) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        go_on.set()
        return await second

    assert asyncio.run(ask()) is True


def test_long_computations_are_bounded_and_leave_the_quick_ones_alone(queues):
    go_on = threading.Event()

    async def ask():
        waiting = [asyncio.create_task(queues.move("search", go_on.wait, 10)) for _ in range(200)]
        await asyncio.sleep(0.05)
        refused = [task for task in waiting if task.done()]
        assert await queues.move("quick", pow, 2, 5) == 32
        go_on.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        return len(refused), [type(each) for each in found]

    refused, kinds = asyncio.run(ask())
    assert kinds.count(BusyError) == refused > 0 and kinds.count(bool) == 200 - refused


@pytest.mark.parametrize("lane", ["search", "sweep"])
def test_what_nobody_waits_for_any_more_is_not_begun(lane):
    queues, go_on, begun = WorkQueues(ThreadLane("plan", 1), ThreadLane("sweep", 1)), threading.Event(), []

    async def ask():
        blocking = [asyncio.create_task(queues.move(lane, go_on.wait, 10)) for _ in range(2 * N_THREADS)]
        await asyncio.sleep(0.05)
        gone, shared, staying = (
            asyncio.create_task(queues.study(lane, begun.append, name))
            for name in ("gone", "shared", "shared")
        )
        moved = asyncio.create_task(queues.move(lane, begun.append, "moved"))
        await asyncio.sleep(0.05)
        for left in (gone, shared, moved):
            left.cancel()
        await asyncio.sleep(0.05)
        go_on.set()
        await asyncio.gather(*blocking, staying)
        assert begun == ["shared"]
        await queues.study(lane, begun.append, "gone")
        assert begun == ["shared", "gone"]

    asyncio.run(ask())
    queues.close()


@pytest.mark.parametrize("ask_as", ["move", "study"])
def test_what_runs_is_told_when_nobody_waits_any_more(ask_as, queues, monkeypatch, tmp_path):
    monkeypatch.setattr(computing, "_PATIENCE", 1.0)
    told = [tmp_path / name for name in ("left", "joined")]

    async def ask():
        asked = getattr(queues, ask_as)
        left, joined = (asyncio.create_task(asked("search", think, str(path))) for path in told)
        await until(lambda: all(Path(f"{path}.begun").exists() for path in told))
        left.cancel()
        if ask_as == "study":  # somebody else comes in time
            joined.cancel()
            await asyncio.sleep(0.01)
            joined = asyncio.create_task(asked("search", think, str(told[1])))
        await until(told[0].exists)
        assert not joined.done() and not told[1].exists()
        joined.cancel()
        await until(told[1].exists)

    asyncio.run(ask())


def test_answers_are_kept_up_to_a_number_of_bytes(queues):
    asked = []

    def study(number):
        asked.append(number)
        return bytes(MAX_KEPT_BYTES // 4)

    async def ask(*numbers):
        for number in numbers:
            await queues.study("quick", study, number)

    asyncio.run(ask(1, 2, 3, 1, 2, 3))
    assert asked == [1, 2, 3]
    asyncio.run(ask(4, 5, 1))
    assert asked == [1, 2, 3, 4, 5, 1]


def test_a_fault_is_told_to_who_asked(queues):
    with pytest.raises(ZeroDivisionError):
        asyncio.run(queues.move("search", divmod, 1, 0))
    assert asyncio.run(queues.move("search", divmod, 7, 2)) == (3, 1)


@pytest.mark.parametrize("failure", [MemoryError, OSError, KeyboardInterrupt, SystemExit])
def test_a_failure_is_told_to_all_who_wait_and_not_kept(failure, queues):
    go_on, asked = threading.Event(), []

    def study():
        asked.append(None)
        if len(asked) == 1:
            go_on.wait(10)
            raise failure
        return "found"

    async def ask():
        waiting = [asyncio.create_task(queues.study("sweep", study)) for _ in range(3)]
        await asyncio.sleep(0.01)
        go_on.set()
        told = await asyncio.gather(*waiting, return_exceptions=True)
        return told, [await queues.study("sweep", study) for _ in range(2)]

    told, later = asyncio.run(ask())
    expected = failure if issubclass(failure, Exception) else RuntimeError
    assert [type(each) for each in told] == [expected] * 3
    assert later == ["found"] * 2 and len(asked) == 2


def test_little_is_kept_of_large_games():
    kept, made = Keeper(3, 1), []
    for game, names in (("tictactoe-v0", "abc"), ("square-v0", "de")):
        for name in names:
            kept.get_or_make(get_game(game), name, lambda name=name: made.append(name) or name)
    assert [kept.get(get_game("tictactoe-v0"), name) for name in "abc"] == ["a", "b", "c"]
    assert [kept.get(get_game("square-v0"), name) for name in "de"] == [None, "e"]
    kept.keep(get_game("tictactoe-v0"), "f", "f")
    assert kept.get(get_game("tictactoe-v0"), "a") is None
