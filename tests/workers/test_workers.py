"""Work in other processes: the order of results, what is sent, errors, and processes that end or hang.

`test_ray_tournament.py` asks the same of a Ray cluster.
"""

import socket
import subprocess
import sys
import time
from threading import Thread

import pytest

from tests.support import faults
from ttt_env.errors import ParameterError, TaskTimeoutError, WorkerError
from ttt_env.workers import Workers, pickled, ray_cluster

NUMBERS = [(number,) for number in range(40)]


@pytest.fixture(scope="module")
def pair():
    with Workers(2) as workers:
        yield workers
        processes = {process for process, _ in workers.run(lambda _: (__import__("os").getpid(), 0), NUMBERS)}
    assert all(faults.is_over(process) for process in processes), "some have not ended with the block"


class TestResults:
    @pytest.mark.parametrize("workers", [None, 1, 2])
    def test_stand_in_the_order_of_the_tasks(self, workers, pair) -> None:
        def late(number):
            time.sleep(0.05 if number < 2 else 0)
            return number**2

        with Workers(workers) as shared:
            found = (pair if workers == 2 else shared).run(late, NUMBERS)
        assert found == [number**2 for (number,) in NUMBERS]

    def test_function_is_sent_once_to_each_process(self, pair, tmp_path) -> None:
        results = pair.run(faults.counts_its_loads(tmp_path), NUMBERS)
        processes = {process for _, process in results}
        assert len(list(tmp_path.iterdir())) == len(processes) <= 2

    @pytest.mark.parametrize("is_here", [True, False])
    def test_progress_is_what_is_done(self, is_here, pair) -> None:
        told = []
        with Workers() as here:
            (here if is_here else pair).run(abs, NUMBERS, progress=lambda *counts: told.append(counts))
        assert told == [(done, 40) for done in range(41)]


class TestErrorsOfTasks:
    @pytest.mark.parametrize("is_here", [True, False])
    def test_keep_their_class_and_name_the_task(self, is_here, pair) -> None:
        with Workers() as here, pytest.raises(ZeroDivisionError, match="oops") as caught:
            run = (here if is_here else pair).run
            run(faults.fails_at_five, NUMBERS, named=faults.named)
        last = caught.value.__notes__[-1]
        assert "in the task of 5" in "\n".join(caught.value.__notes__)
        if not is_here:  # the lines that raised it would be lost
            assert "faults.py" in last and 'raise ZeroDivisionError("oops")' in last

    def test_that_cannot_be_sent_are_told(self, pair) -> None:
        class TwoPartsError(Exception):
            def __init__(self, one: int, two: int) -> None:
                super().__init__(f"{one} and {two}")

        with pytest.raises(WorkerError, match=r"the task of 5 failed: .*TwoPartsError: 1 and 2"):
            pair.run(faults.raises(lambda: TwoPartsError(1, 2)), NUMBERS, named=faults.named)

    def test_an_exit_is_one_that_names_its_task_and_leaves_the_workers_as_they_were(self, pair) -> None:
        with pytest.raises(WorkerError, match=r"would end its process, by SystemExit\(4\)") as caught:
            pair.run(lambda number: sys.exit(4), NUMBERS, named=faults.named)
        assert "in another process" in caught.value.__notes__[0]
        assert pair.run(abs, NUMBERS) == list(range(40)) and pair.run(abs, []) == []


class TestProcesses:
    def test_task_that_kills_every_process_is_named_and_not_one_beside_it(self, pair, tmp_path) -> None:
        kills = faults.kills_its_process(tmp_path, 100)

        def slow_or_deadly(number: int) -> int:
            import time

            time.sleep(0 if number == 5 else 0.3)
            return kills(number)

        told = "^the task of 5: the process that worked on it ended 3 times"
        with pytest.raises(WorkerError, match=told):
            pair.run(slow_or_deadly, NUMBERS[4:7], named=faults.named)
        assert len(list(tmp_path.iterdir())) == 3

    def test_task_of_a_killed_process_is_run_again(self, pair, tmp_path) -> None:
        assert pair.run(faults.kills_its_process(tmp_path, 1), NUMBERS) == list(range(40))
        assert len(list(tmp_path.iterdir())) == 1

    @pytest.mark.slow
    def test_task_that_takes_too_long_is_named_and_its_process_ended(self, pair, tmp_path) -> None:
        with pytest.raises(TaskTimeoutError, match=r"the task of 5 took longer than 3 s"):
            pair.run(faults.hangs(tmp_path), NUMBERS, named=faults.named, timeout=3)
        (process,) = tmp_path.iterdir()
        assert faults.is_over(int(process.name))

    @pytest.mark.slow  # its process has to hang three times
    def test_task_that_hangs_and_lets_no_other_thread_run_is_named(self, pair) -> None:
        def sleeps(number: int) -> int:
            import ctypes

            if number == 5:
                ctypes.PyDLL(None).sleep(1000)  # holds the interpreter's lock
            return number

        with pytest.raises(WorkerError, match=r"the task of 5: .* ended 3 times.* or hung"):
            pair.run(sleeps, NUMBERS, named=faults.named, timeout=3)

    def test_none_is_left_by_ctrl_c(self, tmp_path) -> None:
        mark, _ = faults.interrupt_a_tournament(tmp_path, "loky")
        assert faults.eventually(lambda: not faults.marked(mark)), faults.marked(mark)


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"workers": 0}, "workers=0 of shared work: integers from 1 to 4096 are allowed"),
            ({"workers": -1}, "workers=-1"),
            ({"workers": 1.5}, r"workers=1\.5"),
            ({"backend": "rya"}, "did you mean ray"),
            ({"address": "auto"}, "address='auto': only backend='ray' has one, not 'loky'"),
        ],
    )
    def test_are_checked(self, arguments, text) -> None:
        with pytest.raises(ParameterError, match=text):
            Workers(**arguments)

    def test_timeout(self, pair) -> None:
        with Workers() as here, pytest.raises(ParameterError, match=r"timeout=3: .* workers=2 or more"):
            here.run(abs, NUMBERS, timeout=3)
        with pytest.raises(ParameterError, match="timeout=0 of a task: positive finite numbers"):
            pair.run(abs, NUMBERS, timeout=0)

    def test_function_that_cannot_be_sent(self, pair) -> None:
        lock = __import__("threading").Lock()
        told = "cannot be sent to another process: TypeError: cannot pickle"
        with pytest.raises(ParameterError, match=told):
            pair.run(lambda number: lock, NUMBERS)
        with pytest.raises(ParameterError, match=r"^my agent cannot be sent"):
            pickled("my agent", lock)

    def test_missing_ray_names_its_extra(self, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(ImportError, match=r"pip install \"\.\[ray\]\""), Workers(2, "ray"):
            pass


class TestAddress:
    @pytest.fixture(autouse=True)
    def _ray(self) -> None:
        pytest.importorskip("ray")

    @pytest.mark.parametrize("address", ["nonsense", ":1", "host:", "host:70000", "host:x", ""])
    def test_that_is_none(self, address) -> None:
        with pytest.raises(ParameterError, match='"auto" or host:port of a Ray cluster is needed'):
            with ray_cluster(address):
                pass

    def test_where_nobody_listens(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ParameterError, match=f"address='{address}': no Ray cluster answers there"):
            with ray_cluster(address):
                pass

    @pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
    def test_where_something_else_listens(self, answer) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:

            def reply() -> None:
                connection, _ = server.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(answer)

            thread = Thread(target=reply)
            thread.start()
            address = f"127.0.0.1:{server.getsockname()[1]}"
            with pytest.raises(ParameterError, match=f"address='{address}': no Ray cluster answers there"):
                with ray_cluster(address):
                    pass
            thread.join()


def test_workers_end_soon_after_a_main_process_that_was_killed(tmp_path) -> None:
    script = """
import os, sys, time
from pathlib import Path
from ttt_env.workers import Workers
def work(number):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(120)
with Workers(2) as workers:
    workers.run(work, [(0,), (1,)])
"""
    main = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    try:
        assert faults.eventually(lambda: len(list(tmp_path.iterdir())) == 2)
    finally:
        main.kill()
        main.wait()
    processes = [int(path.name) for path in tmp_path.iterdir()]
    assert all(map(faults.is_over, processes))
