"""The command `ttt`: most commands run in this process; tests of signals run the program."""

import hashlib
import inspect
import json
import os
import re
import shlex
import sys
from collections import Counter
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from unittest.mock import Mock
from zipfile import ZipFile

import numpy as np
import pytest
import typer.main

import ttt_env
from tests.support.documents import ROOT
from tests.support.faults import files_of_at_most
from tests.support.games import TICTACTOE
from tests.support.marks import slow
from tests.support.running import script, ttt
from ttt_env.agent import Agent, agent_class
from ttt_env.agent.learner import learner_names
from ttt_env.analysis.dossier import Strength, dossier
from ttt_env.analysis.known import judge
from ttt_env.app import cli, installed
from ttt_env.app.console import ProgressLine
from ttt_env.app.learning import trained_as
from ttt_env.app.scorecard import scorecard
from ttt_env.rules import catalogue
from ttt_env.web.players import Players


def test_train_shows_falling_exploitability_and_next_command(tmp_path, monkeypatch):
    program = str(Path(sys.executable).parent / "ttt")
    for path, typed in ((os.path.dirname(program), "ttt"), ("", program)):
        monkeypatch.setenv("PATH", path)
        run = ttt("train", "q-learning", "--steps", "2000", "--out", "q.npz", cwd=tmp_path, program=program)
        assert f"\n  {typed} play q-learning:q.npz\n" in run.stdout, run.stderr
    assert run.stderr.startswith("Training q-learning on tictactoe-v0 (seed 0).")
    assert run.stderr.splitlines()[0].endswith(" Limit: 2,000 steps.")
    values = re.findall(r" s  exploitability (\d\.\d{4})", run.stderr)
    assert values == sorted(values, reverse=True) and len(set(values)) == len(values) > 0
    of_saved_model = ttt_env.exploitability(f"q-learning:{tmp_path}/q.npz").exploitability
    assert float(values[-1]) == pytest.approx(of_saved_model, abs=5e-5)
    assert run.stdout.startswith("q.npz on tictactoe-v0: ")


@pytest.mark.slow
def test_bench_rates_model_on_large_board(tmp_path):
    game = "mnk-v0:m=5,n=5,k=4"
    out = tmp_path / "m.zip"
    run = ttt("train", "maskable-ppo", "--game", game, "--steps", "1", "--out", str(out), cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    *_, expression = run.stdout.strip().splitlines()
    assert -1 <= eval(expression, {"ttt_env": ttt_env}) <= 1
    bench = next(line for line in run.stdout.splitlines() if "ttt bench " in line)
    assert "minimax" not in bench


class TestTrainedFiles:
    @pytest.mark.slow
    def test_default_names_hold_algorithm_and_game_and_retraining_overwrites(self, tmp_path):
        game = "mnk-v0:m=3,n=2,k=2"
        for algo in ("q-learning", "a2c", "value-network", "value-network"):
            run = ttt("train", algo, "--steps", "10", "--game", game, cwd=tmp_path)
            assert run.returncode == 0, run.stderr
            kind, path = re.search(r"ttt play (\S+?):(\S+) --game", run.stdout).groups()
            assert ttt_env.match(f"{kind}:{tmp_path / path}", "random", game).exact
        models = {f"{algo}-mnk-v0-m-3-n-2-k-2.npz" for algo in ("q-learning", "value-network")}
        models |= {"a2c-mnk-v0-m-3-n-2-k-2.zip"}
        file_names = {path.name for path in (tmp_path / "models").iterdir()}
        assert file_names == models | {f"{model}.checkpoint" for model in models}

    @pytest.mark.parametrize(
        ("file", "made_by", "algo", "message"),
        [
            ("m.zip", "train a2c --steps 10", "dqn",
             "m.zip holds a2c on tictactoe-v0, and dqn on tictactoe-v0 does not overwrite it"),
            slow("m.zip", "train dqn --steps 10 --game mnk-v0:m=3,n=2,k=2", "dqn",
                 "m.zip holds dqn on mnk-v0:m=3,n=2,k=2, and dqn"),
            ("m.npz", "train q-learning --steps 10", "value-network", "holds q-learning on tictactoe-v0"),
            ("m.npz", "certify minimax --out m.npz", "q-learning", "holds policy-table on tictactoe-v0"),
            ("m.zip", None, "dqn", "m.zip is not a model of `ttt train`, and dqn"),
        ],
        ids=["algorithm", "game", "table", "policy table", "no model"],
    )  # fmt: skip
    @pytest.mark.slow
    def test_other_model_is_not_overwritten(self, file, made_by, algo, message, tmp_path):
        if made_by is None:
            (tmp_path / file).write_text("my thesis")
        else:
            to_file = [] if "--out" in made_by else ["--out", file]
            assert ttt(*made_by.split(), *to_file, cwd=tmp_path).returncode == 0
        before = (tmp_path / file).read_bytes()
        for more in ([], ["--resume"] if file == "m.zip" and made_by else []):
            run = ttt("train", algo, "--steps", "10", "--out", file, *more, cwd=tmp_path)
            assert run.returncode == 2
            assert message in run.stderr and "--out" in run.stderr
            assert (tmp_path / file).read_bytes() == before

    @pytest.mark.parametrize("name", ["m.npz", "m.zip"])
    def test_invalid_model_file_is_not_read_further(self, name, tmp_path):
        path = tmp_path / name
        if path.suffix == ".npz":
            np.savez_compressed(path, trained_as=np.zeros(1 << 20), game=np.array("tictactoe-v0"))
        else:
            with ZipFile(path, "w") as file:
                file.writestr("data", '{"trained_as": "\\u001b[31mdqn"}')
        assert trained_as(path) is None
        path.unlink()
        path.symlink_to(os.devnull)
        assert trained_as(path) is None
        if hasattr(os, "mkfifo"):
            path.unlink()
            os.mkfifo(path)  # a reader would wait for ever
            assert trained_as(path) is None


class TestValueNetworkTraining:
    def test_stops_when_goal_is_reached(self, tmp_path):
        """X wins this game with any move: the first evaluation finds it unbeatable and optimal everywhere."""
        for until, games in (("unbeatable", 6000), ("optimal", 6000), ("budget", 13000)):
            options = ["--steps", "13000", "--until", until, "--game", "mnk-v0:m=2,n=1,k=1"]
            run = ttt("train", "value-network", *options, cwd=tmp_path)
            assert run.returncode == 0, run.stderr
            _, progress = run.stderr.split(" Limit: 13,000 steps.\n")
            assert max(re.findall(r"(\d+),000 steps", progress), key=int) == str(games // 1000)

    def test_accepts_hyperparameters(self, tmp_path):
        options_given = ["hidden=[7,4]", "view=xo+turn", "empty=0", "start=symmetric", "learning_rate=0.05"]
        settings = [word for setting in options_given for word in ("--set", setting)]
        run = ttt("train", "value-network", "--steps", "700", *settings, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert "two against itself and four against a random player" in run.stderr
        options = {"hidden": [7, 4], "view": "xo+turn", "empty": 0}
        options |= {"start": "symmetric", "learning_rate": 0.05}
        expected = ttt_env.train(algo="value-network", steps=700, **options)
        file = tmp_path / "models" / "value-network-tictactoe-v0.npz"
        made = ttt_env.make_agent(f"value-network:{file}")
        pairs = zip(made.network.layers, expected.network.layers, strict=True)
        assert all((one == two).all() for one, two in pairs)


def test_certify_shows_exact_results_and_draws_refutation():
    run = ttt("certify", "random")
    as_x = ttt_env.match("random", "minimax").as_x
    row = next(line for line in run.stdout.splitlines() if line.startswith("against minimax"))
    assert [float(cell) for cell in row.split()[2:5]] == pytest.approx(as_x, abs=5e-5)
    record = ttt_env.certify("random").refutations["X"]
    assert f"Worst result as X: loss, by {' '.join(map(str, record.cells))}." in run.stdout
    assert f"{len(record.cells)}. O" in run.stdout


def test_certify_marks_and_explains_blunders_of_refutation():
    text = ttt("certify", "win-block").stdout
    assert "Good moves in 89.34% of the positions, all of them perfect.\n" in text
    *_, sentence, replay = text.splitlines()
    assert " 4. O?\n" in text and sentence == f"4. {judge(ttt_env.Position.parse('..X/X.O/...'), 4).sentence}"
    command = replay.removeprefix("Move by move: ttt ").split()
    assert f"\n4. O 4 (b2)\n{sentence[3:]}\n" in ttt(*command).stdout


@pytest.mark.slow
def test_slow_agent_is_queried_once_per_position():
    queries = Counter()

    def highest(position):
        queries[position] += 1
        return position.legal_cells[-1]

    expected = dossier(ttt_env.make_agent(highest), TICTACTOE, name="highest")
    queries.clear()
    once = Strength(ttt_env.PolicyTable.of(highest))
    assert scorecard(once, "highest").startswith("highest on tictactoe-v0: BEATABLE as X and as O.")
    facts = dossier(once.table, name="highest", strength=once)
    assert set(queries.values()) == {1} and facts["refutations"] == expected["refutations"]


def test_certify_lists_several_agents_one_per_line():
    run = ttt("certify", "random", "minimax", "--workers", "1")
    assert run.returncode == 1
    _, random, minimax = (re.split("  +", line.strip()) for line in run.stdout.splitlines())
    n_blunders = f"{ttt_env.certify('random').n_blunders:,} positions"
    assert random == ["random", "BEATABLE as X and as O", "loses", "loses", n_blunders]
    assert minimax == ["minimax", "UNBEATABLE", "draws", "draws", "0 positions"]


def test_certify_writes_only_requested_files(tmp_path):
    for name in ("one", "two"):
        ttt("certify", "minimax", "--out", f"{name}.npz", cwd=tmp_path)
    run = ttt("certify", "one.npz", "two.npz", cwd=tmp_path)
    assert run.returncode == 0 and sorted(os.listdir(tmp_path)) == ["one.npz", "two.npz"]
    listed = json_of("certify", "random", "one.npz", cwd=tmp_path, status=1)
    names = [each["agent"]["name"] for each in listed]
    assert names == ["random", "one.npz"]
    assert listed[0] == {"agent": {"name": "random"}, **ttt_env.certify("random").to_dict()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--game", "mnk-v0:m=4,n=3,k=3"], "X wins"),
        (["--game", "mnk-v0:m=5,n=5,k=4"], "A draw"),
        (["--position", "XX./OO./XO."], "X wins"),
        (["--game", "qubic-v0", "--nodes", "2000"], "Undecided: the budget was too small"),
    ],
)
def test_solve(arguments, message):
    run = ttt("solve", *arguments)
    assert run.returncode == (3 if message.startswith("Undecided") else 0), run.stderr
    assert run.stdout.startswith(message) and " positions searched, " in run.stdout


@pytest.mark.slow
def test_certify_on_large_board_stops_at_first_lost_game():
    run = ttt("certify", "win-block", "--game", "connect-four-v0", "--json")
    facts = json.loads(run.stdout)
    assert run.returncode == 1 and facts["worst_case"] == {"X": -1, "O": -1} and not facts["is_complete"]
    assert facts["exploitability"] is None and facts["results"] == {}


def test_solve_writes_proof_and_resumes_from_checkpoint(tmp_path):
    arguments = "solve", "--game", "mnk-v0:m=4,n=3,k=3", "--proof", "proof.npz", "--checkpoint", "search.npz"
    for _ in range(2):
        assert "the agent strategy:proof.npz plays it" in ttt(*arguments, cwd=tmp_path).stdout
    assert ttt_env.Proof.load(tmp_path / "proof.npz").value == 1
    assert (tmp_path / "search.npz").exists()


def test_agents_lists_installed_agents_with_summaries():
    *_, listing = ttt("agents")[:2]
    assert max(map(len, listing.splitlines())) <= 80
    for name in ttt_env.agent_names():
        start = inspect.getdoc(agent_class(name)).split()[0]
        assert re.search(
            rf"^  {re.escape(name)} +{re.escape(start)}.*(\n +.*)*[.]$", listing, re.MULTILINE
        ), name
    _, _, algorithms = listing.partition("\nAlgorithms of `ttt train`: ")
    assert re.findall(r"[\w-]+", algorithms)[: len(learner_names())] == learner_names()


def test_agents_are_grouped_as_in_documentation():
    page = (ROOT / "docs" / "reference" / "agents.md").read_text("utf-8")
    documented = {
        title: sorted(re.findall("^### (.*)", section, re.MULTILINE))
        for title, section in re.findall("^## (.*): details\n((?:(?!## ).*\n)*)", page, re.MULTILINE)
    }
    listed = re.findall("^(.*):\n((?:  .*\n)+)", ttt("agents").stdout, re.MULTILINE)
    assert documented == {title: re.findall(r"^  ([\w-]+)", agents, re.MULTILINE) for title, agents in listed}


def test_agents_shows_one_agent_with_parameters(monkeypatch):
    run = ttt("agents", "mcts")
    assert run.stdout.startswith(inspect.getdoc(agent_class("mcts")).partition("\n\nRaises:")[0])
    parameters = run.stdout.partition("(ttt_env.agents.mcts.agent.MCTS):\n")[2]
    assert re.match("  mcts:simulations=N +an integer ≥ 1, optional\n", parameters)
    playout = "^  mcts:playout=random +one of random, win-block, default random$"
    assert re.search(playout, parameters, re.MULTILINE)
    assert re.search(
        "^  epsilon:agent=AGENT +an agent, required$", ttt("agents", "epsilon").stdout, re.MULTILINE
    )
    assert "did you mean minimax?" in ttt("agents", "minmax").stderr
    # The docstring of the base class is not shown for an agent without its own.
    monkeypatch.setattr(installed, "agent_class", lambda name: type("Bare", (Agent,), {"choose": max}))
    assert ttt("agents", "bare").stdout.endswith("  It has no parameters.\n")
    monkeypatch.setattr(installed, "agent_class", lambda name: import_module("no_such"))
    assert re.search("^  minimax +cannot be used here: No module named", ttt("agents").stdout, re.MULTILINE)


def json_of(*arguments, cwd=None, status=0):
    """The output of the command, which must be JSON and nothing else."""
    run = ttt(*arguments, "--json", cwd=cwd)
    assert run.returncode == status, run.stderr
    return json.loads(run.stdout)


class TestJson:
    def test_agents(self):
        facts = json_of("agents")
        assert [agent["name"] for agent in facts["agents"]] == ttt_env.agent_names()
        assert "qubic-v0" in facts["games"] and facts["algorithms"] == learner_names()
        (depth,) = (each for each in json_of("agents", "minimax")["parameters"] if each["name"] == "depth")
        assert depth == {
            "name": "depth",
            "type": "int | None",
            "allowed": "an integer ≥ 1",
            "required": False,
            "default": None,
        }

    def test_solve(self, tmp_path):
        facts = json_of("solve", "--game", "mnk-v0:m=4,n=3,k=3", "--proof", "x.npz", cwd=tmp_path)
        assert (facts["value"], facts["to_move"], facts["bounds"]) == (1, "X", [1, 1])
        assert (tmp_path / "x.npz").exists()

    def test_bench(self):
        facts = json_of("bench", "random", "minimax")
        assert [agent["name"] for agent in facts["agents"]] == ["random", "minimax"]
        assert facts["agents"][1]["exploitability"] == ttt_env.exploitability("minimax").to_dict()
        (played,) = facts["matches"]
        expected = ttt_env.match("random", "minimax")
        assert played["as_x"] == expected.as_x._asdict() and played["score"] == expected.score
        assert played["exact"] and played["games"] is None

    def test_certify(self, tmp_path):
        facts = json_of("certify", "random", cwd=tmp_path, status=1)
        certificate = ttt_env.certify("random").to_dict()
        assert {name: facts[name] for name in certificate} == certificate
        assert not list(tmp_path.iterdir())

    def test_games(self, tmp_path, monkeypatch):
        monkeypatch.setenv("TTT_ENV_GAMES", str(tmp_path / "games.sqlite"))
        monkeypatch.setattr(catalogue, "_registered", {})
        path, text, other = (tmp_path / name for name in ("games.sqlite", "in.txt", "out.txt"))
        assert json_of("games") == {"path": str(path), "games": {}, "people": []}
        assert "No games yet" in ttt("games").stdout
        text.write_text("tictactoe-v0: 4 0 8\n", encoding="utf-8")
        assert "1 games added" in ttt("games", "import", text).stdout
        assert json_of("games")["games"] == {"tictactoe-v0": 1}
        table = "game          games\ntictactoe-v0      1\n"
        assert ttt("games").stdout == f"{table}\nThe games are in {path}\n"
        assert ttt("games", "export", "-").stdout == "tictactoe-v0: 4 0 8\n"
        assert f"1 games written to {other}" in ttt("games", "export", other).stdout
        assert other.read_bytes() == text.read_bytes()
        ttt_env.Game("ring-of-mine", (1, 4), [(0, 1)]).save(tmp_path / "ring.json")
        (tmp_path / "ring.txt").write_text("ring-of-mine: 2 0 3\n")
        of_mine = "games", "import", tmp_path / "ring.txt"
        assert ttt(*of_mine).returncode == 2
        assert "1 games added" in ttt(*of_mine, "--game", tmp_path / "ring.json").stdout


class TestStandardOutput:
    """`-` is standard output, which then holds the file's content and nothing else."""

    def test_bench_names_agent_that_raised(self, monkeypatch):
        def policies(self, boards):
            raise ttt_env.errors.PolicyError("no idea")

        monkeypatch.setattr("ttt_env.agents.heuristics.rules.Block.policies", policies)
        monkeypatch.setattr("ttt_env.agents.heuristics.rules.Block.is_stationary", True)
        run = ttt("bench", "random", "block", "-q")
        assert run.returncode == 2
        assert run.stderr == "ttt: no idea, in the agent 'block', asked in all positions\n"

    def test_bench_writes_csv_and_plot(self):
        run = ttt("bench", "random", "minimax", "--csv", "-")
        assert [line.split(",")[0] for line in run.stdout.splitlines()] == ["agent", "minimax", "random"]
        assert "all exact" in run.stderr
        assert "</svg>" in ttt("bench", "random", "minimax", "--plot", "-").stdout

    def test_missing_plot_library_is_reported_before_play(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        run = ttt("bench", SLOW, "random", "--plot", "heat.svg")
        assert run.returncode == 2 and 'charts need the extra "plot"' in run.stderr

    def test_certificate(self):
        run = ttt("certify", "random", "--out", "-")
        assert run.returncode == 1
        assert not json.loads(run.stdout)["unbeatable"] and "BEATABLE as" in run.stderr


SLOW = "mcts:simulations=1000000000,seed=0,solve=false"
MISTAKES = [
    ("--nope", "--nope: no such option (`ttt -h` shows the help)"),
    ("certify --answer a", "--answer: no such option; did you mean --answers?"),
    ("pley", "unknown command 'pley': did you mean play? `ttt -h` lists all"),
    ("games inport x", "unknown command 'inport': did you mean import? `ttt games -h` lists all"),
    ("train --seconds", "--seconds: a value is missing (`ttt train -h` shows the help)"),
    ("train --resume=yes", "--resume: it takes no value (`ttt train -h` shows the help)"),
    ("train dqn ppo", "unexpected argument 'ppo' (`ttt train -h` shows the help)"),
    ("web --port 70000", "--port=70000: expected an integer from 0 to 65535"),
    ("web --port abc", "--port='abc': expected an integer from 0 to 65535"),
    ("bench random minimax -q -v", "--quiet and --verbose exclude each other"),
    ("web --port 0 --no-record absent.zip", "absent.zip is not a model"),
    ("web --port 0 --no-record --host 0.0.0.0", "0.0.0.0 can be reached from other machines"),
    ("games import", "FILE: missing (`ttt games import -h` shows the help)"),
    ("play minmax", "unknown agent 'minmax': did you mean minimax? `ttt agents` lists all"),
    (
        "play minimax --game tictacto-v0",
        "--game: unknown game 'tictacto-v0': did you mean tictactoe-v0? Allowed: connect-four-v0, mnk-v0",
    ),
    ("play minimax --seat Z", "--seat='Z': expected one of X, O"),
    ("play mine.zap", "unknown agent 'mine.zap'"),
    ("certify minimax --game qubic-v0", "64 cells"),
    ("certify nothing.zip", "nothing.zip is not a model: there is no such file"),
    ("certify sb3:nothing.zip,deterministic=false", "nothing.zip is not a model"),
    ("certify nothing.npz", "nothing.npz"),
    ("games import missing.txt", "missing.txt"),
    ("replay nofile", "'nofile' is neither a game record"),
    ("solve --game mnk-v0:q=3", "Allowed: k, m, misere, n"),
    ("solve --seconds -1", "--seconds=-1.0: expected a number > 0"),
    ("certify chat:foo,model=m", "expected http://host:port/path or https://"),
    ("solve --position XX", "--position: 'XX' is not a position of tictactoe-v0"),
    ("bench random mcts:seed=-1", "ttt: seed=-1 of mcts: expected an integer from 0 to"),
    ("solve --position XXX/OO./...", "--position: the game is over in XXX/OO./...: X has won"),
    ("solve --proof -", "standard output"),
    ("solve --game connect-four-v0 --proof x.npz", "connect-four-v0 has gravity, where a proof has no"),
    ("solve --game qubic-v0 --checkpoint no/x.npz", "no folder"),
    ("train --opponent lookup:nowhere.npz", "nowhere.npz"),
    ("train maskabel-ppo", "did you mean maskable-ppo?"),
    ("train q-learning --resume --out nowhere.npz", "nowhere.npz.checkpoint"),
    ("train --resume --out nowhere.zip", "nowhere.zip.checkpoint"),
    (
        "train dqn --resume",
        "models/dqn-tictactoe-v0.zip.checkpoint to resume: omit --resume to start a new run, or give the "
        "model of the run to resume by --out",
    ),
    ("train q-learning --out model.zip", "models of q-learning end in .npz"),
    ("train dqn --out model", "models of dqn end in .zip"),
    ("solve mnk-v0:m=3", "unexpected argument 'mnk-v0:m=3': name the game by --game mnk-v0:m=3 (`ttt solve"),
    ("train --set lr=1", "unknown hyperparameter 'lr' of maskable-ppo: did you mean learning_rate?"),
    ("train q-learning --set view=xo", "unknown hyperparameter 'view' of q-learning"),
    ("train q-learning --opponent random", "--opponent is for a2c, dqn, maskable-ppo"),
    ("train dqn --opponent random --set pool.scripted=[]", "name the same opponents"),
    ("solve --game ring.json", "--game: ring.json"),
    ("certify C:/models/dqn.zip", "C:/models/dqn.zip is not a model: there is no such file"),
    ("certify C:/bots/bot.py", "there is no file 'C:/bots/bot.py'"),
    ("new random.py", "would hide Python's module random"),
    ("new bot", "such as bot.py"),
    ("certify minimax --out x.txt", "--out x.txt: end it in .npz (policy table) or .json (certificate)"),
    ("train ppo --set blunder_start=1", "did you mean blunder_starts?"),
    ("train ppo --set opponents.x=1", "unknown hyperparameter 'opponents' of ppo"),
    ("new a:b.py", "such as bot.py"),
    ("new no/bot.py", "there is no folder 'no'"),
    (
        "train value-network --until optimall",
        "--until='optimall': expected one of unbeatable, optimal, budget; did you mean optimal?",
    ),
    # These would take hours if they were not refused at once.
    (f"bench {SLOW} random --csv nowhere/x.csv", "there is no folder 'nowhere'"),
    (f"bench {SLOW} random --plot nowhere/x.svg", "there is no folder 'nowhere'"),
    (
        f"bench {SLOW} random --plot x.foo",
        "'x.foo' is not the name of a picture; expected one that ends in .svg or .png or .pdf",
    ),
    (f"bench {SLOW} random --plot heat", "'heat' is not the name of a picture"),
    ("bench random minimax --csv .", "it is a folder"),
    (f"bench {SLOW} random --workers 0", "--workers=0: expected an integer from 1 to 4096"),
    (f"certify {SLOW} --out nowhere/x.json", "there is no folder 'nowhere'"),
    (f"certify {SLOW} random --out both.json", "--out is for one agent"),
    # Standard output takes one result.
    (f"bench {SLOW} random --csv - --json", "takes one result"),
    (f"bench {SLOW} random --csv - --plot -", "takes one result"),
    (f"certify {SLOW} --out - --json", "takes one result"),
]
LATE_MISTAKES = [  # which are found after the first output
    ("certify minimax --out /proc/policy.npz", "/proc/policy.npz"),
    ("solve --game qubic-v0 --nodes 9 --proof x.npz", "is not proved"),
    ("train value-network --set hidden=[18,'x']", "hidden='x'"),
    ("train value-network --set view=x", "view='x' of value-network: expected one of mover, xo, xo+turn"),
]


@pytest.mark.parametrize(("command", "message"), [*MISTAKES, *LATE_MISTAKES])
def test_mistake_is_reported_in_one_line_and_nothing_is_written(command, message, tmp_path):
    run = ttt(*command.split(), cwd=tmp_path)
    *before, last = run.stderr.splitlines()
    assert run.returncode == 2 and last.startswith("ttt: ") and message in last
    assert (command, message) in LATE_MISTAKES or not (before or run.stdout)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_interrupted_command_prints_proved_bounds_or_no_result(monkeypatch):
    """Ctrl-C at the first progress report."""
    monkeypatch.setattr(ProgressLine, "say", Mock(side_effect=KeyboardInterrupt))
    run = ttt("certify", SLOW)
    assert run.returncode == 130 and not run.stdout
    assert run.stderr.startswith("ttt: interrupted: no result for certify mcts")
    run = ttt("solve", "--game", "qubic-v0")
    assert run.returncode == 130 and "Aborted" not in run.stdout + run.stderr
    assert "interrupted. X at least draws." in run.stdout
    assert int(run.stdout.split()[-5].replace(",", "")) > 0


def test_play_to_the_end():
    answers = "4\nnonsense\n4\n0\n1\n2\n3\n5\n6\n7\n8\nn\n" + "q\n" * 5
    run = ttt("play", "minimax", "--seed", "0", answers=answers)
    assert run.returncode == 0, run.stderr
    assert "'nonsense' is not a cell" in run.stdout
    assert "is taken; free are" in run.stdout
    assert "You lose." in run.stdout or "A draw." in run.stdout
    assert "Final score: you 0, draws" in run.stdout


class TestModelFiles:
    def test_every_command_accepts_model_path(self, tmp_path):
        ttt("certify", "minimax", "--out", "policy.npz", cwd=tmp_path)
        for line, message in [
            ("bench policy.npz random", "policy-table:policy.npz"),
            ("play policy.npz random --rounds 1", "policy-table:policy.npz is X"),
            ("certify policy.npz", "UNBEATABLE. Asked once in"),
            ("certify policy.npz --out again.npz", "Policy table: again.npz"),
            ("certify policy.npz --out found.json", "Certificate: found.json"),
        ]:
            assert message in ttt(*line.split(), cwd=tmp_path).stdout
        tables = (
            ttt_env.PolicyTable(TICTACTOE, str(tmp_path / name)) for name in ("policy.npz", "again.npz")
        )
        assert len({table.digest for table in tables}) == 1
        certificate = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
        assert certificate["unbeatable"] and certificate["agent"]["file"] == "policy.npz"

    @pytest.mark.parametrize("algo", ["q-learning", slow("value-network")])
    @pytest.mark.slow
    def test_certify_accepts_trained_model(self, algo, tmp_path):
        ttt("train", algo, "--steps", "1000", "--out", "m.npz", cwd=tmp_path)
        for model in ("m.npz", f"{algo}:m.npz", f"{algo}:path=m.npz"):
            run = ttt("certify", model, "--out", "m.json", cwd=tmp_path)
            certificate = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
            assert run.returncode == int(not certificate["unbeatable"]), run.stderr
            assert certificate["agent"] == {
                "name": model,
                "file": "m.npz",
                "sha256": hashlib.sha256((tmp_path / "m.npz").read_bytes()).hexdigest(),
            }
            assert certificate["label"] == model

    def test_one_sample_of_nonstationary_agent_is_judged(self, tmp_path):
        output = ttt("certify", "mcts:simulations=2", cwd=tmp_path).stdout
        assert "; it may answer differently next time." in output


def commands(group=None, *path):
    """All commands of the command line, each a list of words."""
    group = group or typer.main.get_command(cli.app)
    for name, command in group.commands.items():
        yield [*path, name]
        if hasattr(command, "commands"):
            yield from commands(command, *path, name)


@pytest.mark.parametrize("command", [[], *commands()], ids=" ".join)
def test_help_describes_every_option_and_has_an_example(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    short, long = ttt(*command, "-h"), ttt(*command, "--help")
    help_text = short.stdout
    assert short == long and help_text.startswith(f"Usage: {' '.join(['ttt', *command])} ")
    assert max(map(len, help_text.splitlines())) <= 80
    assert not re.search(r"<\w|\w\.\.\.$", help_text, re.MULTILINE)
    rows = re.findall(r"^  (?=-|[A-Z=]+  )\S.*(?:\n {5,}\S.*)*", help_text, re.MULTILINE)
    assert rows and all(re.search(r"(  |\n +)\S", row[2:]) for row in rows)
    example = re.search(r"^  Example: (ttt .*)$", help_text, re.MULTILINE)
    assert not command or example[1].startswith(f"ttt {command[0]}")


def test_bare_ttt_shows_where_to_begin():
    run = ttt()
    assert run.returncode == 0 and not run.stderr
    first_commands = re.findall(r"^  ttt (\w+) ", run.stdout, re.MULTILINE)
    assert len(first_commands) == 5 and {(name,) for name in first_commands} <= set(map(tuple, commands()))
    assert "\n`ttt -h` lists all commands" in run.stdout and len({name for name, *_ in commands()}) == 11
    assert ttt("--version").stdout == f"ttt-env {version('ttt-env')}\n"


class TestErrors:
    def test_exit_status_separates_bad_input_from_failures(self, monkeypatch):
        for error, status in [
            (ttt_env.errors.NoVerdictError("it", None, "timed out"), 3),
            (ttt_env.errors.WorkerError("a process ended"), 3),
            (ttt_env.errors.PlayerError("wrong key"), 2),
            (FileNotFoundError("no file"), 2),
        ]:
            judge = Mock(side_effect=error)
            monkeypatch.setattr("ttt_env.app.certifying.certify_and_print", judge)
            assert ttt("certify", "minimax") == (status, "", f"ttt: {error}\n")

    def test_bug_gives_no_verdict_and_no_traceback(self, monkeypatch):
        monkeypatch.setattr("ttt_env.app.certifying.certify_and_print", lambda order: {}["key"])
        run = ttt("certify", "minimax")
        assert run.returncode == 3 and not run.stdout and run.stderr.count("\n") == 1
        path = Path(re.search(r"KeyError: 'key'\. The traceback is in (\S+)", run.stderr)[1])
        assert "Traceback" in path.read_text("utf-8")
        path.unlink()


class TestStreams:
    """Characters that standard output cannot encode, and a closed input, end no command."""

    @pytest.mark.parametrize(
        ("encoding", "line", "status", "message"),
        [
            ("cp1252", "solve", 0, "+---+---+---+"),
            ("cp1252", "bench random minimax --csv out", 0, "random     -217  -0.87"),
            ("latin-1", "certify random --out out.json", 1, "+---+---+---+"),
            ("ascii", "play random random --rounds 1 --seed 0", 0, "+---+---+---+"),
            ("ascii", "replay tictactoe-v0: 4 1", 0, "+---+---+---+"),
            ("ascii", "solve --game ring.json --json", 0, '"game": "ring\\u2013\\u0127"'),
        ],
    )
    def test_unencodable_characters_are_replaced(self, encoding, line, status, message, tmp_path):
        ttt_env.Game("ring–ħ", (3, 1), [[0, 1]]).save(tmp_path / "ring.json")
        run = ttt(*line.split(), cwd=tmp_path, encoding=encoding)
        assert run.returncode == status, run.stderr
        assert message in run.stdout and (tmp_path / "out").exists() == line.endswith("out")

    def test_closed_or_undecodable_input_ends_cleanly(self, tmp_path):
        for answers in (None, b"\xff\n"):
            run = ttt("play", "random", cwd=tmp_path, answers=answers)
            assert run.returncode == 0 and "not expect" not in run.stderr


class TestPathsWithColons:
    def test_model_path_may_hold_colons(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a:b").mkdir()
        for path in ("a:b/x.npz", "C:\\x.npz"):
            assert ttt("certify", "minimax", "--out", path, cwd=tmp_path).returncode == 0
            for typed in (path, f"policy-table:{path}"):
                assert list(Players([typed]).labels) == [Path(path).stem]
                assert ttt("certify", typed, cwd=tmp_path).returncode == 0

    @pytest.mark.slow
    def test_bot_path_may_hold_colons(self, tmp_path):
        bot = "C:\\bot.py"
        assert ttt("new", bot, cwd=tmp_path).returncode == 0
        for typed in (f"{bot}:choose", f"epsilon:{bot},epsilon=0,timeout=9"):
            assert ttt("certify", typed, cwd=tmp_path).returncode == 1
        (tmp_path / "a:b.py").write_bytes((tmp_path / bot).read_bytes())
        assert "without a colon" in ttt("certify", "a:b.py", cwd=tmp_path).stderr


@pytest.mark.parametrize("command", ["new bot.py", "bench random rules --csv table.csv"])
def test_full_disk_leaves_no_partial_file_and_keeps_old_one(command, tmp_path):
    (tmp_path / "table.csv").write_text("mine")
    with files_of_at_most(10):
        run = ttt(*command.split(), cwd=tmp_path)
    assert run.returncode == 2 and run.stderr.endswith(f"{command.split()[-1]}: file too large\n")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("table.csv", "mine")]


def test_shell_completion(monkeypatch):
    monkeypatch.setenv("_TTT_COMPLETE", "complete_bash")
    for typed, completed in (("cer", "certify"), ("certify minim", "minimax"), ("train q-l", "q-learning")):
        monkeypatch.setenv("COMP_WORDS", f"ttt {typed}")
        monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
        assert ttt().stdout.split() == [completed]


class TestNew:
    def test_suggested_commands_work(self, tmp_path):
        run = ttt("new", "my bot.py", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        lines = map(shlex.split, re.findall(r"^  (.*?)   +\S", run.stdout, re.MULTILINE))
        certify, play, python = (
            script(tmp_path / arguments[0], cwd=tmp_path)
            if Path(program).name.startswith("python")
            else ttt(*arguments, cwd=tmp_path, answers="q\n")
            for program, *arguments in lines
        )
        assert certify.returncode == 1 and ": BEATABLE as " in certify.stdout, certify.stderr
        assert play.returncode == 0 and "Traceback" not in play.stderr
        assert python.returncode == 0 and python.stdout.startswith("tictactoe-v0: BEATABLE as "), (
            python.stderr
        )
        record = re.search("Shortest refutation as .*", python.stdout)[0]
        assert record in certify.stdout
        (tmp_path / "my bot.py").write_text("mine")
        again = ttt("new", "my bot.py", cwd=tmp_path)
        assert again.returncode == 2 and "my bot.py already exists" in again.stderr
        assert (tmp_path / "my bot.py").read_text() == "mine"
