"""Training curves: what is read of a folder, and that nothing beside it ever is."""

import re
import struct
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

pytest.importorskip("tensorboard")
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

from tests.web.serving import POINTS, write_run
from ttt_env.web.compare.curves import TAG, Scalar, curve, measures, runs_in, scalars
from ttt_env.web.server import create_app


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


@pytest.fixture
def client(runs):
    with TestClient(create_app(runs=runs), base_url="http://localhost") as made:
        yield made


def rows(page):
    """The table's cells for each run that is shown."""
    cells = re.findall(r"<tr[^>]*>\s*<th scope=\"row\">.*?</i>(.*?)</a></th>\s*(.*?)</tr>", page.text, re.S)
    return {unescape(name): re.findall(r"<td.*?>(.*?)</td>", text, re.S) for name, text in cells}


def paths(page):
    return re.findall(r'class="line line-\d" d="M(.*?)"', page.text)


def test_event_files_are_read_as_they_were_written_and_up_to_where_they_are_cut_off_or_spoilt(runs):
    content = write_run(runs).read_bytes()
    whole = list(scalars(content))
    assert [scalar for scalar in whole if scalar.tag == TAG] == [Scalar(TAG, *point) for point in POINTS]
    assert len(whole) == 2 * len(POINTS)
    head = struct.pack("<Q", 1 << 62)  # a record that claims so many bytes, with the right checksum
    assert list(scalars(content + head + struct.pack("<I", masked_crc32c(head)) + b"more")) == whole
    for length in range(len(content)):
        start = list(scalars(content[:length]))
        assert start == whole[: len(start)]
    rng = np.random.default_rng(0)
    for _ in range(300):
        spoilt = bytearray(content)
        for at in rng.integers(len(content), size=5):
            spoilt[at] = rng.integers(256)
        assert len(list(scalars(bytes(spoilt)))) <= 2 * len(POINTS)
        list(scalars(rng.bytes(200)))


def test_without_tensorboard_the_page_says_what_is_missing(runs, client, monkeypatch):
    write_run(runs / "a")
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.event_pb2", None)
    page = client.get("/compare/runs")
    assert page.status_code == 400 and ".[train]" in unescape(page.text)


def test_a_run_is_shown_with_its_figures_and_its_line(runs, client):
    write_run(runs / "ppo_1")
    write_run(runs / "deeper" / "dqn_1", [(0, 5.0, 1.0), (2048, 6.0, 0.75)])
    page = client.get("/compare/runs")
    assert rows(page) == {
        "deeper/dqn_1": ["2,048", "1", "0.75", "0.75"],
        "ppo_1": ["8,192", "3", "0.125", "0.125"],
    }
    assert paths(page) == ["0.00 0.00L25.00 25.00", "0.00 0.00L50.00 50.00L100.00 87.50"]
    over = client.get("/compare/runs?over=seconds&run=deeper/dqn_1&run=ppo_1")
    assert paths(over) == ["0.00 0.00L33.33 25.00", "0.00 0.00L50.00 50.00L100.00 87.50"]


def test_a_training_that_was_resumed_goes_on_in_time(runs):
    write_run(runs / "a")
    first = next((runs / "a").iterdir())
    first.rename(first.with_name("events.out.tfevents.1"))
    write_run(runs / "a", [(12288, 900.0, 0.0), (16384, 902.0, 0.0)])
    (run,) = runs_in(runs)
    found = curve(run)
    assert found.steps == (0, 4096, 8192, 12288, 16384) and found.seconds == (0, 1.5, 3, 3, 5)


def test_a_run_that_goes_on_is_read_again(runs, client):
    write_run(runs / "a", POINTS[:1])
    assert rows(client.get("/compare/runs"))["a"][0] == "0"
    write_run(runs / "a", POINTS[1:])
    assert rows(client.get("/compare/runs"))["a"][0] == "8,192"


def options(page):
    return re.findall(r"<option( selected)?>(.*?)</option>", page.text)


def test_any_scalar_that_a_run_logged_can_be_drawn(runs, client):
    write_run(runs / "a", tag="train/loss")
    write_run(runs / "b")
    page = client.get("/compare/runs")
    tags = ["exact/exploitability", "rollout/ep_rew_mean", "train/loss"]
    assert options(page) == [(" selected", tags[0]), ("", tags[1]), ("", tags[2])]
    assert set(rows(page)["a"]) == {"logged no exact/exploitability"}
    page = client.get("/compare/runs", params={"tag": "train/loss", "run": ["a", "b"]})
    assert rows(page)["a"] == ["8,192", "3", "0.125", "0.125"] and "optimiser" in page.text
    assert [tag for selected, tag in options(page) if selected] == ["train/loss"]
    assert "tag=train%2Floss" in unescape(re.search(r'id="over-seconds" href="(.*?)"', page.text)[1])
    page = client.get("/compare/runs", params={"tag": "rollout/ep_rew_mean", "run": ["a", "b"]})
    assert [cells[-2:] for cells in rows(page).values()] == [["0.25", "0.25"]] * 2
    (run,) = [run for run in runs_in(runs) if run.name == "a"]
    assert measures(run) == ("rollout/ep_rew_mean", "train/loss")
    assert curve(run, "train/loss").values == (1.0, 0.5, 0.125) and curve(run).values == ()


def test_of_runs_without_exploitability_another_measure_is_drawn(runs, client):
    write_run(runs / "a", tag="mine/<b>")
    page = client.get("/compare/runs")
    assert options(page) == [(" selected", "rollout/ep_rew_mean"), ("", "mine/&lt;b&gt;")]
    refused = client.get("/compare/runs", params={"tag": "nothing"})
    assert refused.status_code == 400 and "unknown measure" in refused.text


def test_runs_are_chosen_by_the_names_that_are_listed(runs, client):
    for number in range(10):
        write_run(runs / f"run {number}", POINTS[: 1 + number % 3])
    page = client.get("/compare/runs")
    assert len(rows(page)) == 10 and page.text.count('aria-checked="true"') == 8
    page = client.get("/compare/runs", params={"run": ["run 3", "run 7"]})
    assert {name for name, cells in rows(page).items() if len(cells) > 1} == {"run 3", "run 7"}
    assert page.text.count('class="line line-') == 2
    page = client.get("/compare/runs", params={"run": [f"run {number}" for number in range(9)]})
    assert page.status_code == 400 and "up to 8" in page.text


TRICKS = ["../outside", "..", ".", "/etc/passwd", "a/../../outside", "%2e%2e/outside", "linked", "b", "a\0"]


def test_a_name_that_is_not_listed_reaches_no_file(runs, client, monkeypatch):
    write_run(runs / "a")
    outside = write_run(runs.parent / "outside")
    (runs / "linked").symlink_to(outside.parent)
    (runs / "b").mkdir()
    (runs / "b" / outside.name).symlink_to(outside)
    opened, read = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path) or read(path))
    for name in [*TRICKS, "0"]:
        page = client.get("/compare/runs", params={"run": name})
        assert page.status_code == 400 and "unknown run" in page.text, name
        assert set(rows(page)) == {"a"}
    assert opened and all(path.parent == runs / "a" for path in opened)


def test_what_a_folder_is_called_stays_text(runs, client):
    write_run(runs / "<script>alert(1)<" / "b&run=c")
    page = client.get("/compare/runs")
    assert "<script>alert" not in page.text and set(rows(page)) == {"<script>alert(1)</b&run=c"}
    again = client.get("/compare/runs", params={"run": "<script>alert(1)</b&run=c"})
    assert again.status_code == 200 and again.text.count('class="line line-') == 1


def test_what_to_do_is_said_where_there_is_nothing(runs, client):
    assert "Start a learner" in client.get("/compare/runs").text
    (runs / "other").mkdir()
    (runs / "other" / "events.out.tfevents.empty").touch()
    (runs / "events.out.tfevents.empty").touch()
    page = client.get("/compare/runs")
    assert "None of these runs logged exact/exploitability" in page.text


def in_training(page):
    return re.findall(r"<p [^>]*id=\"training\"[^>]*>(.*?)</p>", page.text)


def test_trainings_wait_for_each_other_and_end_with_the_server():
    with TestClient(create_app(), base_url="http://localhost") as client:

        def start(algorithm):
            return client.post("/compare/runs/start", data={"algorithm": algorithm})

        for algorithm in ("alphazero", "dqn", "dqn"):
            assert start(algorithm).url.path == "/compare/runs"
        assert in_training(start("ppo")) == ["<b>alphazero-0</b> is training; then dqn-0, dqn-1, ppo-0 …"]
        refused = start("ppo")
        assert refused.status_code == 400 and "4 trainings run or wait already" in refused.text
        assert in_training(refused) == in_training(client.get("/compare/runs"))
        unknown = start("magic")
        assert unknown.status_code == 400 and "unknown algorithm" in unknown.text
        trainings = client.app.state.services.trainings
        folder, process = trainings.folder, trainings._process
    assert process.returncode and not folder.exists() and trainings.failed == trainings.open == []
