"""The process of the sweeps: it answers as this one would, within its memory, and ends what nobody wants."""

import asyncio
import os
import signal
import sys
from contextlib import suppress

import numpy as np
import pytest

from tests.web.serving import (
    doze,
    end_the_program,
    fail_in_words,
    fall_silent,
    hoard,
    think,
    unsendable,
    until,
)
from ttt_env import get_game, solve
from ttt_env.app.web import computing
from ttt_env.app.web.bench import Bench
from ttt_env.app.web.compare.certificate import prove
from ttt_env.app.web.compare.ladder import ladder
from ttt_env.app.web.computing import BusyError, Desk, Job
from ttt_env.app.web.insight import judged_moves, strength
from ttt_env.app.web.roster import Roster
from ttt_env.app.web.sweeping import MAX_SWEEP_MB, Sweeper, resident
from ttt_env.app.web.table import PlayTable
from ttt_env.errors import GameTooLargeError
from ttt_env.stopping import StoppedError
from ttt_env.storage.game_log import GameLog

TICTACTOE, OBLONG = get_game("tictactoe-v0"), get_game("mnk-v0:m=4,n=3,k=3")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")


@pytest.fixture
def sweeper():
    made = Sweeper(Bench(Roster({"mine": "weights"})))
    yield made
    made.close()


@pytest.fixture
def desk(sweeper):
    made = Desk(sweeper.plans, sweeper.sweeps)
    yield made
    made.close()


def test_the_other_process_answers_as_this_one(sweeper, desk):
    bench = sweeper._bench
    questions = [
        (strength, bench.roster, "model:mine", OBLONG),
        (bench.sage.insight, PlayTable(OBLONG, "random", "weights", (3, 4), 2)),
        (bench.foreseer.foresee, OBLONG.start, (1.0, 0.3), 2),
        (judged_moves, PlayTable(OBLONG, cells=(0, 5, 1), at=3)),
    ]

    async def ask():
        return [await desk.study("sweep", *question) for question in questions]

    assert asyncio.run(ask()) == [function(*arguments) for function, *arguments in questions]
    assert sweeper.pid not in (None, os.getpid())


def test_a_process_that_was_started_before_answers_the_first_question(sweeper, desk):
    sweeper.start()
    before = sweeper.pid
    assert before is not None and asyncio.run(desk.study("sweep", os.getpid)) == before
    sweeper.start()
    assert sweeper.pid == before


def test_results_of_comparing_come_whole(sweeper, desk):
    roster = sweeper._bench.roster

    async def ask():
        return [await desk.study("sweep", ladder, roster, TICTACTOE),
                await desk.study("sweep", prove, roster, TICTACTOE, "block")]  # fmt: skip

    (table, proved), (here, proved_here) = (
        asyncio.run(ask()),
        (ladder(roster, TICTACTOE), prove(roster, TICTACTOE, "block")),
    )
    assert table.names == here.names and table.missing == here.missing
    assert {pair: played.score for pair, played in table.matches.items()} == {
        pair: played.score for pair, played in here.matches.items()
    }
    assert proved.facts == proved_here.facts and proved.refutations == proved_here.refutations


def test_errors_come_as_they_are_raised(sweeper, desk):
    roster = sweeper._bench.roster
    with pytest.raises(GameTooLargeError, match="qubic-v0 has 64 cells"):
        asyncio.run(desk.move("plan", roster.make, "softmax", get_game("qubic-v0")))
    assert asyncio.run(desk.move("plan", pow, 2, 5)) == 32


def test_it_hears_of_the_games_that_are_recorded(tmp_path):
    path = tmp_path / "games.sqlite"
    with GameLog(path) as log:
        sweeper = Sweeper(Bench(Roster({}, path)))
        desk, bench = Desk(sweeper.plans, sweeper.sweeps), sweeper._bench
        table = PlayTable(OBLONG, "imitation", "person")

        async def chances():
            edition = bench.roster.edition("imitation")
            insight = await desk.study("sweep", bench.sage.insight, table, edition)
            return {move.cell: move.probability for move in insight.moves}

        assert set(asyncio.run(chances()).values()) == {1 / 12}
        log.add(PlayTable(OBLONG, cells=(5, 0, 6, 1, 7), at=5).record, x="person", o="random", source="web")
        bench.roster.forget_reader()
        assert asyncio.run(chances()) == {cell: 0.5 * (cell in (5, 6)) for cell in range(12)}
        desk.close()


def test_what_has_ended_is_begun_again(sweeper, desk, tmp_path):
    async def ask():
        assert await desk.move("sweep", pow, 2, 5) == 32
        first = sweeper.pid
        waiting = asyncio.create_task(desk.study("sweep", think, str(tmp_path / "told")))
        begun = tmp_path / "told.begun"
        await until(begun.exists)
        begun.unlink()
        os.kill(first, signal.SIGKILL)
        await until(begun.exists)
        assert sweeper.pid != first and not waiting.done()
        os.kill(sweeper.pid, signal.SIGKILL)
        assert await desk.move("sweep", pow, 2, 5) == 32

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("question", "failure", "told"),
    [(end_the_program, RuntimeError, "SystemExit"), (fail_in_words, RuntimeError, "nothing works at home"),
     (unsendable, RuntimeError, "pickle"), (fall_silent, BusyError, "memory")],
)  # fmt: skip
def test_whatever_becomes_of_a_question_its_lane_goes_on(question, failure, told, desk):
    async def ask():
        for lane in ("sweep", "plan"):
            async with asyncio.timeout(300):  # far longer than two processes take to start
                with pytest.raises(failure, match=told):
                    await desk.move(lane, question)
                assert await desk.move(lane, pow, 2, 5) == 32

    asyncio.run(ask())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_lanes_go_on_whoever_comes_and_goes(seed, sweeper, desk, monkeypatch):
    """Many ask the same and different things, most leave before the answer, and the process is killed."""
    monkeypatch.setattr(computing, "_PATIENCE", 0.05)
    rng = np.random.default_rng(seed)
    lanes = list(desk._lanes)

    async def visit(lane, ask, comes, stays, name):
        await asyncio.sleep(comes)
        with suppress(TimeoutError, BusyError):
            async with asyncio.timeout(stays):
                return await ask(lane, doze, 0.03, name) == name

    async def kill(comes):
        await asyncio.sleep(comes)
        with suppress(ProcessLookupError, TypeError):
            os.kill(sweeper.pid, signal.SIGKILL)

    async def all_of_them():
        visits = [
            visit(str(rng.choice(lanes)), [desk.move, desk.study][rng.integers(2)], 8 * rng.random(),
                  rng.choice([0.0, 0.02, 0.05, 0.2, 300]), int(rng.integers(60)))
            for _ in range(1000)
        ]  # fmt: skip
        async with asyncio.timeout(300):
            seen = await asyncio.gather(*visits, *map(kill, 8 * rng.random(4)))
            assert seen.count(True) > 50 and seen.count(False) == 0
            for lane in lanes:
                assert await desk.move(lane, pow, 2, 5) == await desk.study(lane, pow, 2, 5) == 32

    asyncio.run(all_of_them())
    assert not desk._asked and all(lane._n_open == 0 for lane in desk._lanes.values())


@pytest.mark.slow
@on_linux
def test_what_takes_too_much_memory_is_refused_and_harms_nobody(sweeper, desk):
    with pytest.raises(BusyError, match=f"{MAX_SWEEP_MB} MB"):
        asyncio.run(desk.move("sweep", hoard, 2 * MAX_SWEEP_MB))
    assert asyncio.run(desk.move("sweep", pow, 2, 5)) == 32


@pytest.mark.slow
@on_linux
def test_a_process_that_is_full_is_replaced(sweeper, desk):
    pids = []
    for _ in range(3):  # together more than one process may use
        assert asyncio.run(desk.move("sweep", hoard, 450)) == 450
        pids.append(sweeper.pid)
        assert resident(sweeper.pid) < MAX_SWEEP_MB
    assert len(set(pids)) > 1


def test_what_nobody_waits_for_is_stopped_and_the_process_goes_on(sweeper, desk, tmp_path, monkeypatch):
    monkeypatch.setattr(computing, "_PATIENCE", 0.0)
    told = tmp_path / "told"

    async def ask():
        assert await desk.move("sweep", pow, 2, 5) == 32
        pid = sweeper.pid
        thinking = asyncio.create_task(desk.study("sweep", think, str(told)))
        await until((tmp_path / "told.begun").exists)
        thinking.cancel()
        assert await desk.move("sweep", pow, 2, 6) == 64
        assert told.exists() and sweeper.pid == pid

    asyncio.run(ask())


def test_what_nobody_waits_for_by_its_turn_is_not_asked(sweeper):
    job = Job(think)
    job.unwanted.set()
    sweeper.stop(job)
    with pytest.raises(StoppedError):
        sweeper.answer(job)
    assert sweeper.pid is None


def test_a_move_does_not_wait_for_a_study(desk, tmp_path):
    async def ask():
        study = asyncio.create_task(desk.study("sweep", think, str(tmp_path / "told")))
        await until((tmp_path / "told.begun").exists)
        assert await desk.move("plan", pow, 2, 5) == 32
        assert not study.done()

    asyncio.run(ask())


def test_nothing_large_is_solved_in_this_process(desk, sweeper):
    from ttt_env.analysis.layers import _all_reachable

    _all_reachable.cache_clear()
    misere = get_game("mnk-v0:m=4,n=3,k=3,misere=true")
    asyncio.run(desk.study("sweep", strength, sweeper._bench.roster, "minimax", misere))
    assert _all_reachable.cache_info().currsize == 0
    assert solve(misere).value in (-1, 0, 1)
