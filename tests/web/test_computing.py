"""Computations beside the event loop: shared, bounded, out of each other's way."""

import asyncio
import threading

import pytest

from ttt_env import get_game
from ttt_env.app.web.computing import BusyError, Desk, Keeper


@pytest.fixture
def desk():
    made = Desk()
    yield made
    made.close()


@pytest.mark.parametrize("quick", [True, False])
def test_a_study_is_made_once_for_all_who_ask(quick, desk):
    made = []

    def study(number):
        made.append(number)
        return number**2

    async def ask():
        return await asyncio.gather(*(desk.study(quick, study, number % 3) for number in range(30)))

    assert asyncio.run(ask()) == [(number % 3) ** 2 for number in range(30)]
    assert sorted(made) == [0, 1, 2]


def test_who_stops_waiting_does_not_stop_the_others(desk):
    go_on = threading.Event()

    async def ask():
        first, second = (asyncio.create_task(desk.study(False, go_on.wait, 10)) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        go_on.set()
        return await second

    assert asyncio.run(ask()) is True


def test_long_computations_are_bounded_and_leave_the_quick_ones_alone(desk):
    go_on = threading.Event()

    async def ask():
        waiting = [asyncio.create_task(desk.move(False, go_on.wait, 10)) for _ in range(200)]
        await asyncio.sleep(0.05)
        refused = [task for task in waiting if task.done()]
        assert await desk.move(True, pow, 2, 5) == 32
        go_on.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        return len(refused), [type(each) for each in found]

    refused, kinds = asyncio.run(ask())
    assert kinds.count(BusyError) == refused > 0 and kinds.count(bool) == 200 - refused


def test_a_fault_is_told_to_who_asked(desk):
    with pytest.raises(ZeroDivisionError):
        asyncio.run(desk.move(False, divmod, 1, 0))
    assert asyncio.run(desk.move(False, divmod, 7, 2)) == (3, 1)


@pytest.mark.parametrize("failure", [MemoryError, OSError, KeyboardInterrupt, SystemExit])
def test_a_failure_is_told_to_all_who_wait_and_not_kept(failure, desk):
    go_on, asked = threading.Event(), []

    def study():
        asked.append(None)
        if len(asked) == 1:
            go_on.wait(10)
            raise failure
        return "found"

    async def ask():
        waiting = [asyncio.create_task(desk.study(False, study)) for _ in range(3)]
        await asyncio.sleep(0.01)
        go_on.set()
        told = await asyncio.gather(*waiting, return_exceptions=True)
        return told, [await desk.study(False, study) for _ in range(2)]

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
