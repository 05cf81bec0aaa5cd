"""The leaderboard: counting, evaluation, files and tables."""

import ast
import json
import lzma
import shutil
import sys
from copy import deepcopy

import numpy as np
import pytest
from contest import page, protocol, records
from contest.entries import ENTRIES, TEACHERS, Entry
from frameworks import run as frameworks
from marked import with_table

import ttt_env
from tests.support.documents import ROOT
from tests.support.games import TICTACTOE
from tests.support.marks import slow
from tests.support.running import script
from ttt_env.agent.learner import learner_names

SCRIPTS = ROOT / "scripts"
LEADERBOARD = SCRIPTS / "leaderboard.py"
RESULTS = SCRIPTS / "contest" / "results"
WON = ttt_env.get_game("mnk-v0:m=3,n=2,k=2")


def steps_of(play):
    """The number of counted steps while a function plays."""
    steps = protocol.Steps()
    play(protocol.MakeEnv(TICTACTOE, steps))
    return steps.n


class TestSteps:
    def test_moves_of_both_players_count(self):
        def play(make_env):
            env = make_env()
            env.reset(seed=0)
            for _ in env.agent_iter():  # five moves and the two last passes
                observation, _, over, _, _ = env.last()
                env.step(None if over else int(observation["action_mask"].argmax()))

        assert steps_of(play) == 7  # cells 0 to 6: X has 2, 4 and 6

    @pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
    def test_vector_environment_counts_active_games(self, mode):
        played = 0

        def play(make_env):
            nonlocal played
            envs = make_env(num_envs=16, opponent="random", autoreset_mode=mode)
            info, over = envs.reset(seed=0)[1], np.zeros(16, bool)
            rng = np.random.default_rng(0)
            for _ in range(30):
                if mode == "disabled" and over.any():
                    info = envs.reset(options={"reset_mask": over})[1]
                    over[:] = False
                played += 16 - (0 if mode == "same_step" else over.sum())
                mask = info["action_mask"]
                _, _, terminated, truncated, info = envs.step((mask * rng.random(mask.shape)).argmax(1))
                over = terminated | truncated

        assert steps_of(play) == played < 16 * 30 + (mode != "next_step")

    def test_replies_and_resets_do_not_count_but_copies_do(self):
        def play(make_env):
            env = make_env(opponent="minimax")
            for seed in range(3):
                env = deepcopy(env)
                env.reset(seed=seed)
                env.step(int(env.action_masks().argmax()))

        assert steps_of(play) == 3

    def test_illegal_moves_and_sb3_environments_count(self):
        def play(make_env):
            env = make_env(opponent="random", play_as="X", start=TICTACTOE.start.play(4).play(0))
            env.reset(seed=0)
            assert env.step(4)[2]
            envs = make_env(n_envs=8, opponent="random", seed=0)
            envs.reset()
            envs.step(np.zeros(8, np.int64))

        assert steps_of(play) == 1 + 8


def improving(make_env, seed, report):
    """Report a better policy after every third step."""
    env = make_env(opponent="random")
    for policy in ("random", "block", "minimax", "random"):
        for _ in range(3):
            env.reset(seed=seed)
            env.step(int(env.action_masks().argmax()))
        report(policy)
    raise AssertionError("nobody has ended it")


def giving_up(make_env, seed, report):
    """Return without a report."""
    make_env.count(5)
    return "block"


class TestAttempt:
    def test_attempt_ends_at_first_report_with_exploitability_0(self):
        attempt = protocol.attempt(improving, TICTACTOE, 0, 60)
        assert [point.steps for point in attempt.curve] == [3, 6, 9]
        expected = [ttt_env.exploitability(name).exploitability for name in ("random", "block", "minimax")]
        assert [point.exploitability for point in attempt.curve] == pytest.approx(expected, abs=1e-6)
        assert attempt.ended == "goal" and attempt.curve[-1].exploitability == 0

    def test_returned_policy_is_judged(self):
        attempt = protocol.attempt(giving_up, TICTACTOE, 0, 60)
        assert attempt.ended == "returned" and [point.steps for point in attempt.curve] == [5]
        assert attempt.curve[0].exploitability == ttt_env.exploitability("block").exploitability

    def test_attempt_ends_by_time_or_number_of_reports(self):
        attempt = protocol.attempt(improving, TICTACTOE, 0, 1e-9)
        assert attempt.ended == "time" and [point.steps for point in attempt.curve] == [0]
        assert attempt.curve[0].exploitability == pytest.approx(
            ttt_env.exploitability("random").exploitability
        )
        (point,) = protocol.attempt(improving, TICTACTOE, 0, 60, reports=1).curve
        assert point.steps == 3

    def test_late_report_does_not_reach_goal(self, tmp_path):
        attempt = protocol.attempt(lambda make_env, seed, report: "minimax", TICTACTOE, 0, 1e-9)
        assert attempt.ended == "time" and [point.exploitability for point in attempt.curve] == [0]
        line = records.record_of(Entry("late", "here:train", None, "solver"), TICTACTOE, 0, 1e-9, attempt)
        records.add(tmp_path / "late.jsonl", line, attempt.policy)
        assert not list(records.faults(tmp_path / "late.jsonl"))

    def test_judging_takes_no_time_of_attempt(self, monkeypatch):
        now = 0.0
        monkeypatch.setattr(protocol.time, "perf_counter", lambda: now)

        def judge(policy, game):
            nonlocal now
            now += 100.0
            return None, protocol.Judged(1.0, 0.0, 0.0)

        def train(make_env, seed, report):
            nonlocal now
            for _ in range(3):
                now += 1.0
                report("random")
            return "random"

        monkeypatch.setattr(protocol, "judge", judge)
        attempt = protocol.attempt(train, TICTACTOE, 0, 60)
        assert [point.seconds for point in attempt.curve] == [1.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize("game", [TICTACTOE, WON], ids=lambda game: game.name)
@pytest.mark.parametrize(
    "policy", ["minimax", "newell-simon", "softmax", lambda position: position.legal_cells[0]]
)
def test_policy_is_judged_like_its_certificate(game, policy):
    table, judged = protocol.judge(policy, game)
    certificate = ttt_env.certify(policy, game)
    expected = ttt_env.exploitability(policy, game).exploitability
    assert judged.exploitability == pytest.approx(expected, abs=1e-6)
    assert judged[1:] == pytest.approx((certificate.good_share, certificate.perfect_share))
    assert table is not None and 0 < len(table) <= certificate.n_queries
    assert protocol.judge_table(table) == judged


def test_policy_that_is_too_large_does_not_reach_goal(monkeypatch):
    monkeypatch.setattr(protocol, "MOST_ROWS", 10)
    attempt = protocol.attempt(lambda make_env, seed, report: "minimax", TICTACTOE, 0, 60)
    assert attempt.policy is None and attempt.curve[-1].exploitability == 0 and attempt.ended == "returned"


def test_attempt_continues_until_policy_at_0_can_be_saved(monkeypatch, tmp_path):
    def train(make_env, seed, report):
        return next(policy for policy in ("minimax", "newell-simon") if report(policy))

    monkeypatch.setattr(protocol, "MOST_ROWS", len(protocol.judge("newell-simon", TICTACTOE)[0]))
    attempt = protocol.attempt(train, TICTACTOE, 0, 60)
    assert [point.exploitability for point in attempt.curve] == [0, 0] and attempt.ended == "goal"
    line = records.record_of(Entry("two", "here:train", train, "solver"), TICTACTOE, 0, 60, attempt)
    records.add(tmp_path / "two.jsonl", line, attempt.policy)
    assert not list(records.faults(tmp_path / "two.jsonl"))


ALGORITHM = """
import ttt_env

calls = 0

def train(make_env, seed, report):
    global calls
    calls += 1
    make_env.count(10 + seed)
    report("block")
    make_env.count(10)
    if seed < 2:
        report("minimax")
    return ttt_env.make_agent("win-block", make_env.game)
"""


def run(folder, *options):
    mine = ("--algorithm", "algorithm_of_mine:train", "--teacher", "rules", "--game", "tictactoe-v0")
    return script(LEADERBOARD, "run", *mine, "--out", "mine.jsonl", *options, cwd=folder)


def lines(folder):
    return [json.loads(line) for line in (folder / "mine.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with an algorithm and three runs of it."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "algorithm_of_mine.py").write_text(ALGORITHM, "utf-8")
    sys.modules.pop("algorithm_of_mine", None)
    assert run(folder, "--seeds", "3").returncode == 0
    return folder


@pytest.fixture
def copied_runs(runs, tmp_path):
    """A copy of `runs` that a test may change."""
    return shutil.copytree(runs, tmp_path, dirs_exist_ok=True)


class TestRuns:
    def test_each_seed_has_line(self, runs):
        records_found = lines(runs)
        assert [line["seed"] for line in records_found] == [0, 1, 2]
        assert [line["steps"] for line in records_found] == [20, 21, 22]
        assert [line["ended"] for line in records_found] == ["goal", "goal", "returned"]
        assert [[point[0] for point in line["curve"]] for line in records_found] == [
            [10, 20],
            [11, 21],
            [12, 22],
        ]
        assert all({"python", "numpy", "ttt-env"} <= set(line["versions"]) for line in records_found)

    def test_existing_runs_are_not_repeated(self, copied_runs):
        """A run without a line is repeated even if its policy exists: it was killed between the two."""
        first, *_ = before = (copied_runs / "mine.jsonl").read_text("utf-8").splitlines(keepends=True)
        (copied_runs / "mine.jsonl").write_text(first, "utf-8")
        assert "seed 0" not in run(copied_runs, "--seeds", "2").stdout
        assert (copied_runs / "mine.jsonl").read_text("utf-8").startswith(first)
        assert [line["seed"] for line in lines(copied_runs)] == [0, 1] and len(before) == 3
        assert not list(records.faults(copied_runs / "mine.jsonl"))
        sys.modules["algorithm_of_mine"].calls = 0
        assert run(copied_runs, "--seeds", "2").stdout == ""
        assert sys.modules["algorithm_of_mine"].calls == 0  # not even to warm up

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("dqm", r"no algorithm dqm: known are a2c, .*module:function"),
            ("algorithm_of_mine:train", "--teacher rules, responses, solver"),
        ],
    )
    def test_unknown_algorithm_or_teacher_is_refused(self, name, message, copied_runs):
        with pytest.raises(ValueError, match=message):
            script(LEADERBOARD, "run", "--algorithm", name, cwd=copied_runs)


NO_LINES = (b"{\n", b"[]\n", b'{"format": "another"}\n')


class TestVerify:
    def verify(self, folder):
        return script(LEADERBOARD, "verify", "mine.jsonl", cwd=folder)

    def test_verify_accepts_runs(self, runs):
        result = self.verify(runs)
        assert result.returncode == 0 and result.stdout == "all is as 3 lines say\n"

    def test_tampered_lines_are_refused(self, copied_runs):
        path, whole = copied_runs / "mine.jsonl", lines(copied_runs)
        last = whole[2]
        better = [*last["curve"][:-1], [*last["curve"][-1][:3], 0.0, last["good"], last["perfect"]]]
        for number, changes, fault in (
            (0, {"good": 0.5}, "good is 1.0, not 0.5"),
            (0, {"exploitability": 0.25}, "exploitability is 0.0, not 0.25"),
            (0, {"policy": None}, "it ended by goal with exploitability 0"),
            (0, {"policy": "0" * 64}, "policies.xz has no policy of its fingerprint"),
            (0, {"ended": "time"}, "it ended by time with exploitability 0"),
            (0, {"seed": 1}, "a run is there twice"),
            (2, {"policy": None}, "its policy is missing, and none is too large to be kept"),
            (0, {"limit_cpu_seconds": 1e-9}, "it ended by goal with exploitability 0"),
            (2, {"limit_cpu_seconds": 1e-9}, "it went on after its limit of 1e-09 CPU seconds"),
            (0, {"limit_cpu_seconds": 5e3}, "its limit is 5000 CPU seconds, and 300 are allowed"),
            # a better claim than the policy
            (2, {"exploitability": 0.0, "ended": "goal", "curve": better}, "exploitability is 0.66354"),
        ):
            altered = [line | changes if at == number else line for at, line in enumerate(whole)]
            path.write_text("".join(json.dumps(line) + "\n" for line in altered), "utf-8")
            assert any(fault in one for one in records.faults(path)), changes
        result = self.verify(copied_runs)
        assert result.returncode == 1 and fault in result.stdout

    def test_other_policy_is_refused(self, copied_runs):
        path, (first, *_, other) = copied_runs / "mine.jsonl", lines(copied_runs)
        policies = records.policies_beside(path)
        forged = records.table_of(TICTACTOE, policies[other["policy"]])
        with pytest.MonkeyPatch.context() as patch:  # under the fingerprint of the first
            patch.setattr(records, "fingerprint", lambda policy: first["policy"])
            (copied_runs / records.POLICIES).write_bytes(lzma.compress(records.packed(forged)))
        result = self.verify(copied_runs)
        assert result.returncode == 1 and "the policy has another fingerprint" in result.stdout

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"teacher": "oracle"}, "teacher: 'oracle', expected one of"),
            ({"ended": "victory"}, "ended: 'victory', expected one of"),
            (
                {"game": "mnk-v0:n=3,m=4,k=3"},
                "game: 'mnk-v0:n=3,m=4,k=3', expected 'mnk-v0:m=4,n=3,k=3'",
            ),
            ({"game": "chess"}, "unknown game 'chess'"),
            ({"seed": 0.0}, "seed: 0.0, expected a value of type int"),
            ({"seconds": -3.0}, "curve: Point(steps="),
            ({"good": True}, "good: True, expected a value of type float"),
            ({"curve": []}, "curve: it has no points"),
            ({"curve": "abc"}, "curve: 'abc', expected a list"),
            ({"curve": [[1, 2.0]]}, "curve[0]: [1, 2.0], expected a list of 6"),
            ({"curve": [[1, 0.1, 0.1, -7.0, 1.0, 1.0]]}, "curve: Point(steps=1"),
            ({"policy": 5}, "policy: 5, expected a value of type str"),
            ({"versions": None}, "versions: None, expected an object with entries"),
            *(({key: ...}, f"{key}: it is missing\n") for key in ("algorithm", "curve", "policy", "machine")),
        ],
        ids=str,
    )
    def test_bad_or_missing_entry_is_named_with_line(self, copied_runs, changes, message):
        first, second, _ = lines(copied_runs)
        second = {key: value for key, value in (second | changes).items() if value is not ...}
        text = f"{json.dumps(first)}\n{json.dumps(second)}\n"
        (copied_runs / "mine.jsonl").write_text(text, "utf-8")
        for command in ("verify", "table"):
            result = script(LEADERBOARD, command, "mine.jsonl", cwd=copied_runs)
            assert result.returncode == 1 and result.stderr.startswith(f"mine.jsonl, line 2: {message}")

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("missing.jsonl", None, " does not exist"),
            ("empty.jsonl", b"", " holds no lines of a leaderboard"),
            ("bytes.jsonl", b"\xff", " cannot be read"),
            *((f"{at}.jsonl", text, ", line 1: it is no") for at, text in enumerate(NO_LINES)),
        ],
    )
    def test_file_without_lines_is_refused(self, copied_runs, name, text, message):
        if text is not None:
            (copied_runs / name).write_bytes(text)
        result = script(LEADERBOARD, "verify", "mine.jsonl", name, cwd=copied_runs)
        assert result.returncode == 1 and result.stderr.startswith(f"{name}{message}")

    def test_table_with_too_many_rows_is_refused(self, copied_runs, monkeypatch):
        monkeypatch.setattr(protocol, "MOST_ROWS", 10)
        assert any(
            "rows, and only 10 are kept" in fault for fault in records.faults(copied_runs / "mine.jsonl")
        )

    def test_policies_too_large_to_save_are_counted(self, copied_runs, monkeypatch):
        monkeypatch.setattr(protocol, "MOST_ROWS", 10)
        (copied_runs / "mine.jsonl").write_text(json.dumps(lines(copied_runs)[2] | {"policy": None}), "utf-8")
        assert self.verify(copied_runs).stdout == "all is as 1 lines say; 1 without a policy to judge\n"


def record(algorithm, seed, steps, exploitability, **more):
    """A made-up line in the format of `run`."""
    curve = [[steps // 2, 0.5, 0.5, 1.0, 0.5, 0.5], [steps, 1.0, 0.9, exploitability, 1.0, 0.75]]
    return {
        "algorithm": algorithm,
        "game": "tictactoe-v0",
        "seed": seed,
        "teacher": "rules",
        "is_seeded": True,
        "ended": "returned" if exploitability else "goal",
        "steps": steps,
        "seconds": 1.0,
        "cpu_seconds": 0.9,
        "exploitability": exploitability,
        "good": 1.0,
        "perfect": 0.75,
        "curve": curve,
        "versions": {"numpy": "2.4", "torch": "2.13"},
        "machine": {"processor": "abacus", "cores": 2, "system": "none"},
        **more,
    }


class TestPage:
    MADE_UP = (
        *(record("fast", seed, 1_000 * (seed + 1), 0.0) for seed in range(5)),
        *(record("slow", seed, 9_000, 0.0 if seed < 2 else 0.5) for seed in range(5)),
        record("unseeded", 0, 70, 0.0, is_seeded=False, cpu_seconds=0.1),
        record("taught", 0, 70, 0.0, teacher="solver", cpu_seconds=0.1),
    )

    def test_table_has_medians_and_quartiles(self):
        rows = page.table(self.MADE_UP).splitlines()
        assert rows[0] == "### 3×3"
        assert rows[4] == "| unseeded | 0.1 | 1/1 | rules | 70 |"
        assert rows[5] == "| fast | 0.9 | 5/5 | rules | 3,000 |"
        assert rows[6] == "| slow | – (0.9 to –) | 2/5; 0.5 (0 to 0.5) | rules | – |"
        assert rows[7] == "| taught | 0.1 | 1/1 | solver | 70 |"
        assert rows[-3:] == ["Versions: torch 2.13.", "", "Machines: abacus, 2 cores, none."]

    def test_curve_holds_last_reported_value(self):
        runs = page.Runs([line for line in self.MADE_UP if line["algorithm"] == "slow"])
        low, middle, high = runs.curve(np.array([100.0, 5_000.0, 9_000.0, 1e6]))
        assert np.isnan([low[0], middle[0], high[0]]).all()
        assert (low[1:].tolist(), middle[1:].tolist()) == ([1.0, 0.0, 0.0], [1.0, 0.5, 0.5])

    @pytest.mark.slow
    def test_figure_is_drawn(self, tmp_path):
        page.plot(self.MADE_UP, tmp_path / "figure.svg")
        text = (tmp_path / "figure.svg").read_text("utf-8")
        assert all(f">{name}<" in text for name in ("fast", "slow", "unseeded", "3×3"))

    def test_table_in_repository_follows_from_its_lines(self):
        text = (SCRIPTS.parent / "docs" / "results" / "leaderboard.md").read_text("utf-8")
        assert with_table(text, page.table(records.read_all([RESULTS]))) == text


def committed_files():
    return sorted(RESULTS.glob("*.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize("file", committed_files(), ids=lambda file: file.stem)
def test_lines_in_repository_are_certified_again(file):
    assert list(records.faults(file)) == []


@pytest.mark.slow
def test_archive_in_repository_holds_every_policy():
    named = {line["policy"] for file in committed_files() for line in records.read(file) if line["policy"]}
    policies = records.policies_beside(committed_files()[0])
    assert named == set(policies) and (RESULTS / records.POLICIES).stat().st_size < 4_000_000
    line = records.read(RESULTS / "a2c.jsonl")[0]
    table = records.table_of(ttt_env.get_game(line["game"]), policies[line["policy"]])
    assert records.fingerprint(table) == line["policy"]


@pytest.mark.parametrize("name", [slow("cfr"), "cfr-purified", slow("cfr-plus-purified"), "q-learning"])
def test_tabular_learners_take_part(name):
    entry = ENTRIES[name]
    attempt = protocol.attempt(entry.train, TICTACTOE, 0, 300)
    steps = [point.steps for point in attempt.curve]
    assert steps == sorted(steps) and steps[0] > 0
    if name == "cfr":
        assert attempt.ended == "returned" and 0 < attempt.curve[-1].exploitability < 0.005
    else:
        assert attempt.ended == "goal"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["maskable-ppo", "value-network", "alphazero"])
def test_slow_learners_start(name):
    attempt = protocol.attempt(ENTRIES[name].train, TICTACTOE, 0, 300, reports=2)
    first, second = attempt.curve
    assert first.steps < second.steps and attempt.ended == "time"


def test_framework_scripts_with_teacher_define_train():
    scripts = {name: script for name, script in frameworks.scripts().items() if "teacher" in script.options}
    assert {"cleanrl_dqn", "cleanrl_ppo", "skrl_ppo", "tianshou_dqn", "torchrl_dqn"} <= set(scripts)
    for each in scripts.values():
        assert each.options["teacher"] in TEACHERS
        functions = {
            node.name: node for node in ast.parse(each.source).body if isinstance(node, ast.FunctionDef)
        }
        assert [name.arg for name in functions["train"].args.args] == ["make_env", "seed", "report"]


@pytest.mark.slow
def test_framework_script_runs_in_given_environment(tmp_path):
    """In this environment, which has CleanRL's dependencies; the run is too short for a result."""
    options = ("--game", "tictactoe-v0", "--seeds", "1", "--cpu-seconds", "0.01", "--out", "lines.jsonl")
    command = ("run", "--algorithm", "cleanrl_dqn", "--python", sys.executable, *options)
    assert script(LEADERBOARD, *command, cwd=tmp_path).returncode == 0
    (line,) = records.read(tmp_path / "lines.jsonl")
    assert line["source"] == "scripts/frameworks/cleanrl_dqn.py:train" and line["ended"] == "time"
    assert {"gymnasium", "torch"} <= set(line["versions"])


def test_every_learner_takes_part_and_every_algorithm_names_teacher():
    assert set(learner_names()) <= set(ENTRIES)
    assert all(isinstance(entry, Entry) and entry.teacher in TEACHERS for entry in ENTRIES.values())
