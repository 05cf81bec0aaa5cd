"""The process of the sweeps: it answers as this one would, within its memory, and ends what nobody wants."""

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress

import numpy as np
import pytest

from tests.support.marks import slow
from tests.web.questions import doze, fail_in_words, fall_silent, hoard, think
from tests.web.reading import SMALL
from tests.web.serving import until
from ttt_env import get_game, solve
from ttt_env.compiled.stopping import StoppedError
from ttt_env.errors import GameTooLargeError
from ttt_env.storage.game_log import GameLog
from ttt_env.web import computing
from ttt_env.web.compare.agents import ladder, prove
from ttt_env.web.computing import BusyError, Job, WorkQueues
from ttt_env.web.insight import Evaluators, judged_moves, strength
from ttt_env.web.roster import Roster
from ttt_env.web.sweeping import MAX_SWEEP_MB, Sweeper, resident
from ttt_env.web.table import PlayTable

OBLONG, SIX_CELLS = get_game(SMALL), get_game("mnk-v0:m=3,n=2,k=2")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    with GameLog(tmp_path_factory.mktemp("sweeping") / "games.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def sweeper(log):
    """One for all tests that leave no question behind; where a process has ended, another begins."""
    made = Sweeper(Evaluators(Roster({"mine": "weights"}, log.path)))
    made.start()
    yield made
    made.close()


@pytest.fixture(scope="module")
def queues(sweeper):
    made = WorkQueues(sweeper.plans, sweeper.sweeps)
    yield made
    made.close()


def test_a_process_that_was_started_before_answers_the_first_question(sweeper, queues):
    before = sweeper.pid
    assert before not in (None, os.getpid()) and asyncio.run(queues.study("sweep", os.getpid)) == before
    sweeper.start()
    assert sweeper.pid == before


def test_the_other_process_answers_as_this_one_and_raises_what_is_raised(sweeper, queues):
    evaluators, roster = sweeper._evaluators, sweeper._evaluators.roster
    questions = [
        (strength, roster, "model:mine", OBLONG),
        (evaluators.insight_solver.insight, PlayTable(OBLONG, "random", "weights", (3, 4), 2)),
        (evaluators.tree_solver.tree_of, OBLONG.start, (1.0, 0.3), 2),
        (judged_moves, PlayTable(OBLONG, cells=(0, 5, 1), at=3)),
        (ladder, roster, SIX_CELLS),
        (prove, roster, SIX_CELLS, "block"),
    ]

    async def ask():
        return [await queues.study("sweep", *question) for question in questions]

    *found, table, proved = asyncio.run(ask())
    *expected, here, proved_here = (function(*arguments) for function, *arguments in questions)
    assert found == expected and table.names == here.names and table.missing == here.missing
    scores, scores_here = (
        {pair: match.score for pair, match in each.played.matches.items()} for each in (table, here)
    )
    assert scores == scores_here
    assert proved.facts == proved_here.facts and proved.refutations == proved_here.refutations
    with pytest.raises(GameTooLargeError, match="qubic-v0 has 64 cells"):
        asyncio.run(queues.move("plan", roster.make, "softmax", get_game("qubic-v0")))
    assert asyncio.run(queues.move("plan", pow, 2, 5)) == 32


def test_it_hears_of_the_games_that_are_recorded(log, sweeper, queues):
    evaluators, table = sweeper._evaluators, PlayTable(OBLONG, "imitation", "person")

    async def chances():
        edition = evaluators.roster.edition("imitation")
        insight = await queues.study("sweep", evaluators.insight_solver.insight, table, edition=edition)
        return {move.cell: move.probability for move in insight.moves}

    assert set(asyncio.run(chances()).values()) == {1 / 10}
    log.add(PlayTable(OBLONG, cells=(5, 0, 6, 1, 7), at=5).record, x="person", o="random", source="web")
    evaluators.roster.forget_reader()
    assert asyncio.run(chances()) == {cell: 0.25 * (cell in (0, 4, 5, 9)) for cell in range(10)}


def test_what_has_ended_is_begun_again(sweeper, queues, tmp_path, monkeypatch):
    monkeypatch.setattr(computing, "_PATIENCE", 0.0)

    async def ask():
        assert await queues.move("sweep", pow, 2, 5) == 32
        first = sweeper.pid
        waiting = asyncio.create_task(queues.study("sweep", think, str(tmp_path / "told")))
        begun = tmp_path / "told.begun"
        await until(begun.exists)
        begun.unlink()
        os.kill(first, signal.SIGKILL)
        await until(begun.exists)
        assert sweeper.pid != first and not waiting.done()
        waiting.cancel()
        assert await queues.move("sweep", pow, 2, 5) == 32

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("question", "failure", "told", "lanes"),
    [(sys.exit, RuntimeError, "SystemExit", ("sweep", "plan")),
     (fail_in_words, RuntimeError, "nothing works at home", ("sweep", "plan")),
     (threading.Lock, RuntimeError, "pickle", ("sweep", "plan")),
     (fall_silent, BusyError, "memory", ("sweep",)),
     slow(fall_silent, BusyError, "memory", ("plan",))],
)  # fmt: skip
def test_whatever_becomes_of_a_question_its_lane_goes_on(question, failure, told, lanes, queues):
    async def ask():
        for lane in lanes:
            async with asyncio.timeout(300):  # far longer than two processes take to start
                with pytest.raises(failure, match=told):
                    await queues.move(lane, question)
                assert await queues.move(lane, pow, 2, 5) == 32

    asyncio.run(ask())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_lanes_go_on_whoever_comes_and_goes(seed, sweeper, queues, monkeypatch):
    """Many ask the same and different things, most leave before the answer, and the process is killed."""
    monkeypatch.setattr(computing, "_PATIENCE", 0.05)
    rng = np.random.default_rng(seed)
    lanes = list(queues._lanes)

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
            visit(str(rng.choice(lanes)), [queues.move, queues.study][rng.integers(2)], 8 * rng.random(),
                  rng.choice([0.0, 0.02, 0.05, 0.2, 300]), int(rng.integers(60)))
            for _ in range(1000)
        ]  # fmt: skip
        async with asyncio.timeout(300):
            seen = await asyncio.gather(*visits, *map(kill, 8 * rng.random(4)))
            assert seen.count(True) > 50 and seen.count(False) == 0
            for lane in lanes:
                assert await queues.move(lane, pow, 2, 5) == await queues.study(lane, pow, 2, 5) == 32

    asyncio.run(all_of_them())
    assert not queues._asked and all(lane._n_open == 0 for lane in queues._lanes.values())


@pytest.mark.slow
@on_linux
def test_what_takes_too_much_memory_is_refused_and_harms_nobody(sweeper, queues):
    with pytest.raises(BusyError, match=f"{MAX_SWEEP_MB} MB"):
        asyncio.run(queues.move("sweep", hoard, 2 * MAX_SWEEP_MB))
    assert asyncio.run(queues.move("sweep", pow, 2, 5)) == 32


@pytest.mark.slow
@on_linux
def test_a_process_that_is_full_is_replaced(sweeper, queues):
    pids = []
    for _ in range(3):  # together more than one process may use
        assert asyncio.run(queues.move("sweep", hoard, 450)) == 450
        pids.append(sweeper.pid)
        assert resident(sweeper.pid) < MAX_SWEEP_MB
    assert len(set(pids)) > 1


def test_a_move_waits_for_no_study_and_one_that_nobody_waits_for_is_stopped(
    sweeper, queues, tmp_path, monkeypatch
):
    monkeypatch.setattr(computing, "_PATIENCE", 0.0)
    told = tmp_path / "told"

    async def ask():
        assert await queues.move("sweep", pow, 2, 5) == 32
        pid = sweeper.pid
        thinking = asyncio.create_task(queues.study("sweep", think, str(told)))
        await until((tmp_path / "told.begun").exists)
        assert await queues.move("plan", pow, 2, 7) == 128 and not thinking.done()
        thinking.cancel()
        assert await queues.move("sweep", pow, 2, 6) == 64
        assert told.exists() and sweeper.pid == pid

    asyncio.run(ask())


def test_what_nobody_waits_for_by_its_turn_is_not_asked():
    fresh, job = Sweeper(Evaluators(Roster({}))), Job(think)
    job.unwanted.set()
    fresh.stop(job)
    with pytest.raises(StoppedError):
        fresh.answer(job)
    assert fresh.pid is None


def test_nothing_large_is_solved_in_this_process(queues, sweeper):
    from ttt_env.analysis.layers import _all_reachable

    _all_reachable.cache_clear()
    misere = get_game(f"{SMALL},misere=true")
    asyncio.run(queues.study("sweep", strength, sweeper._evaluators.roster, "minimax", misere))
    assert _all_reachable.cache_info().currsize == 0
    assert solve(misere).value in (-1, 0, 1)
