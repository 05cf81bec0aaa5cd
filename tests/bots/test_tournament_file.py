"""Tournaments described by a file: allowed keys, results, and what is left by Ctrl-C."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from html import escape

import numpy as np
import pytest

import ttt_env
from tests.support.games import TICTACTOE, lowest
from tests.support.running import ttt
from ttt_env import Agent, GameRecord
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.certificate import Certificate
from ttt_env.bots.contest import Contest
from ttt_env.bots.documents import Documents
from ttt_env.bots.page import write_results
from ttt_env.bots.plan import read_plan
from ttt_env.errors import FileError
from ttt_env.storage.game_log import read_records
from ttt_env.tournament.matches import play_to_the_end

pytest.importorskip("scipy")
WRITTEN = ("results.json", "table.md", "table.csv", "games.txt", "index.html")
KEYS = ("name", "game", "games", "seed", "timeout", "startup", "memory", "exact")
ENTRY_KEYS = ("name", "author", "agent")
FIRST_FREE = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "cell": asked["legal"][0]}), flush=True)
"""
RANDOM = FIRST_FREE.replace("import", "import random,").replace(
    """asked["legal"][0]""", """random.choice(asked["legal"])"""
)
CHEAT_WITH_ITS_NUMBER = """\
import json, os
while True:
    asked = json.loads(input())
    print(json.dumps({"id": asked["id"], "cell": 0, "process": os.getpid()}), flush=True)
"""
PYTHON = sys.executable
BOT = f"process:{PYTHON} -S bot.py"


def toml(*entries, **keys):
    """The text of a file: keys, and the entries as dictionaries."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in ({"game": TICTACTOE.name} | keys).items()]
    for entry in entries:
        lines += ["[[entry]]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items())]
    return "\n".join(lines)


def write(folder, *entries, **keys):
    path = folder / "class.toml"
    path.write_text(toml(*entries, **keys), "utf-8")
    return path


def spec(name):
    return {"name": name, "agent": name}


def results_in(folder):
    return json.loads((folder / "results.json").read_text("utf-8"))


def play(path, *options):
    """The results of a file, computed by the command, and the output; the exit code is checked."""
    run = ttt("tournament", path, *options)
    results = results_in(path.parent / f"{path.stem}-results")
    assert run.returncode == (3 if results["not_judged"] else 0), run.stderr
    return results, run.stdout


def refuse(message, path, *options):
    """Assert that the command refuses a file with this message."""
    run = ttt("tournament", path, *options)
    assert run.returncode == 2 and message in run.stderr, run.stderr


TWO = (spec("random"), spec("minimax"))


def test_custom_game_is_read_beside_file(tmp_path):
    ring = ttt_env.Game("ring-v0", (4,), [(0, 1)], coordinates=[(0, -1), (1, 0), (0, 1), (-1, 0)])
    ring.save(tmp_path / "ring.json")
    results, _ = play(write(tmp_path, *TWO, game="ring.json"))
    page = (tmp_path / "class-results" / "index.html").read_text("utf-8")
    assert "ring-v0" in page and results["game"]["coordinates"]


def test_names_are_shown_literally_in_table(tmp_path):
    markdown = pytest.importorskip("markdown_it").MarkdownIt().enable(["table", "strikethrough"])
    ttt_env.Game("ring <img> &lt;", (1, 3), [(0, 1)]).save(tmp_path / "ring.json")
    down = {"name": "*a* ~~b~~", "agent": f"process:{tmp_path}/down"}
    (tmp_path / "down").write_bytes(b"\0")
    (tmp_path / "down").chmod(0o755)
    path = write(tmp_path, down, *TWO, game="ring.json")
    with Contest(read_plan(path)) as contest:
        contest.play()
        lines = markdown.render(Documents(contest).to_markdown()).splitlines()
    assert any(line.startswith(f"<p>{escape('ring <img> &lt;')}, 3 entries") for line in lines)
    assert any(line.startswith("<p>*a* ~~b~~ v random is not judged") for line in lines)


class TestFiles:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("game = ", "is not TOML"),
            (f"seed = {'1' * 5000}", "is not TOML: Exceeds the limit"),
            (toml(*TWO, sead=1), "unknown key 'sead' of the tournament: did you mean seed"),
            (toml(*TWO, game="chess"), "unknown game 'chess'"),
            (toml(*TWO, games=3), "games=3 of the tournament: expected an even number"),
            (toml(*TWO, games="2"), "games='2' of the tournament: expected an integer ≥ 2"),
            (toml(*TWO, seed=-1), "seed=-1"),
            (toml(*TWO, exact=1), "exact=1"),
            (toml(*TWO, timeout=0), "timeout=0"),
            (toml(TWO[0]), "fewer than two entries can play"),
            ("entry = 3\n" + toml(), r"the tournament needs entries, each below a line \[\[entry\]\]"),
            (toml(), r"the tournament needs entries, each below a line \[\[entry\]\]"),
            ("\n".join(toml(*TWO).splitlines()[1:]), "the tournament needs the key game"),
            (toml(*[{"name": "a", "agent": "rules"}] * 2), "two entries are called 'a'"),
            (toml(*TWO, {"agent": "rules"}), "entry 3 needs the key name"),
            (toml(*TWO, {"name": "Ada"}), "entry 'Ada' needs the key agent"),
            (toml(*TWO, spec("rules") | {"autor": "a"}), "key 'autor' of entry 'rules': did you mean author"),
            (toml(*TWO, spec("rules") | {"timeout": 9}), "unknown key 'timeout' of entry 'rules'"),
            (toml(*TWO, {"name": "Ada\n", "agent": "rules"}), "expected one line"),
        ],
    )  # fmt: skip
    def test_bad_file_is_refused_before_play(self, text, message, tmp_path):
        path = tmp_path / "class.toml"
        path.write_text(text, "utf-8")
        with pytest.raises(FileError, match=message):
            Contest(read_plan(path))
        assert os.listdir(tmp_path) == ["class.toml"]

    @pytest.mark.parametrize("key", [*KEYS, *ENTRY_KEYS])
    def test_bad_value_error_names_key(self, key, tmp_path):
        """Values that TOML allows: each is valid, which few are, or raises the documented error."""
        values = ["1979-05-27", "[]", "[[]]", "{}", "{a = 1}", "-1", "1e400", "nan", '""', '"\\u0000"',
                  f'"{"a" * 300}"', "true", "[1]", "99999999999999999999"]  # fmt: skip
        n_refused = 0
        for value in values:
            lines = toml(*TWO).splitlines()
            at = 0 if key in KEYS else len(lines)
            kept = [line for number, line in enumerate(lines) if key not in line or number < at - 2]
            path = tmp_path / "class.toml"
            path.write_text("\n".join([*kept[:at], f"{key} = {value}", *kept[at:]]), "utf-8")
            try:
                read_plan(path)
            except FileError as error:
                assert key in str(error)
                n_refused += 1
        assert n_refused >= len(values) - 4

    def test_missing_file_is_reported(self, tmp_path):
        run = ttt("tournament", "class.toml", cwd=tmp_path)
        assert run.returncode == 2 and run.stderr == "ttt: class.toml cannot be read: there is no such file\n"

    @pytest.mark.parametrize("library", ["jinja2", "scipy"])
    def test_missing_library_is_named(self, library, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, library, None)
        refuse(f'needs {library} of the extra "tournament"', write(tmp_path, *TWO))
        assert os.listdir(tmp_path) == ["class.toml"]

    def test_other_folder_is_not_overwritten(self, tmp_path):
        path = write(tmp_path, *TWO)
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "diary.txt").write_text("dear diary")
        refuse("holds something else: choose another folder", path, "--out", tmp_path / "mine")
        assert os.listdir(tmp_path / "mine") == ["diary.txt"]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The folder of a round robin of agents, a model and programs, its results and its output."""
    folder = tmp_path_factory.mktemp("school")
    (folder / "ada").mkdir()
    (folder / "ada" / "bot.py").write_text(FIRST_FREE)
    (folder / "ada" / "moody.py").write_text(RANDOM)
    (folder / "cheat.py").write_text(FIRST_FREE.replace('asked["legal"][0]', "0"))
    Lookup.of("rules").save(folder / "rules.npz")
    ada = {"name": "Ada", "author": "Ada <b>", "agent": f"{BOT},folder=ada"}
    path = write(
        folder,
        ada,
        ada | {"name": "Ada, moody", "agent": f"process:{PYTHON} -S moody.py,folder=ada"},
        {"name": "Cheat", "agent": f"process:{PYTHON} -S cheat.py"},
        {"name": "Rules", "agent": "rules.npz"},
        spec("minimax"),
        spec("random"),
        spec("weights"),
        name="Class 7b",
        games=4,
    )
    return folder, *play(path)


class TestResults:
    @pytest.mark.slow
    def test_computable_matches_are_computed(self, played):
        folder, results, _ = played
        agents = {name: name for name in ("minimax", "random", "weights")}
        agents["Rules"] = f"lookup:{folder / 'rules.npz'}"
        n_exact = 0
        for row in results["matches"]:
            names = row["first"], row["second"]
            assert row["exact"] == ("Ada, moody" not in names)
            if set(names) <= set(agents):
                expected = ttt_env.match(*(agents[name] for name in names), exact=True)
                assert row["as_x"] == expected.as_x._asdict()
                n_exact += 1
            elif row["exact"]:
                assert row["games"] is None and row["interval"] is None
            else:
                assert row["games"] == 4 and 1 <= row["distinct_games"] <= 4
                assert (row["interval"] is None) == (row["distinct_games"] <= 2)
        assert n_exact == 6 and len(results["matches"]) == 21 and results["is_complete"]
        expected = ttt_env.match(lowest, "minimax", exact=True)
        match_of = {(each["first"], each["second"]): each for each in results["matches"]}
        assert match_of["Ada", "minimax"]["as_o"] == expected.as_o._asdict()

    @pytest.mark.slow
    def test_results_load_as_tournament(self, played):
        folder, results, _ = played
        loaded = ttt_env.Tournament.load(folder / "class-results" / "results.json")
        assert loaded.is_complete and loaded.to_dict().items() <= results.items()
        for row, each in zip(loaded.standings, results["entries"], strict=True):
            assert row._asdict().items() <= each.items()
        assert loaded.matches["minimax", "random"] == ttt_env.match("minimax", "random")
        assert list(loaded.forfeits) == ["Cheat"]

    @pytest.mark.slow
    def test_cheater_loses_with_reason(self, played):
        _, results, printed = played
        entries = {entry["name"]: entry for entry in results["entries"]}
        assert entries["Cheat"]["points"] == 0 and not entries["Cheat"]["is_exact"]
        assert [(lost["outcome"], lost["games"]) for lost in entries["Cheat"]["forfeits"]] == [("taken", 4)]
        assert "no legal move (taken" in entries["Cheat"]["proved"]
        # With recorded answers no bot is asked, and the examples show the reason of the loss.
        examples = [each for each in results["games_played"] if not each["counts"]]
        outcomes = {each["forfeit"] for each in examples if "Cheat" in (each["x"], each["o"])}
        assert outcomes == {"taken"} and "Cheat: BEATABLE as " in printed

    def test_every_game_can_be_replayed(self, played):
        folder, results, _ = played
        lines = (folder / "class-results" / "games.txt").read_text().splitlines()
        assert lines == [each["record"] for each in results["games_played"]] and len(lines) == 6 * 4 + 15 * 2
        for each in results["games_played"]:
            record = GameRecord.parse(each["record"])
            if each["forfeit"] is None:
                assert record.is_over and record.winner == each["winner"]
            else:
                assert not record.is_over and record.positions()[-1].to_move != each["winner"]
        assert len(read_records(folder / "class-results" / "games.txt")) == len(lines)

    def test_counted_games_give_sampled_results(self, played):
        _, results, _ = played
        for row in results["matches"]:
            if row["exact"]:
                continue
            pair = {row["first"], row["second"]}
            games = [each for each in results["games_played"] if {each["x"], each["o"]} == pair]
            assert [each["x"] for each in games] == [row["first"], row["second"]] * 2
            won = [each["x"] if each["winner"] == "X" else each["o"] for each in games if each["winner"]]
            points = won.count(row["first"]) + (4 - len(won)) / 2
            assert row["points"] == pytest.approx(points / 4)

    def test_table_marks_exact_results(self, played):
        folder, results, _ = played
        assert not any(entry["is_exact"] for entry in results["entries"])  # each entry has one sampled match
        with (folder / "class-results" / "table.csv").open(newline="") as file:
            (row,) = (row for row in csv.DictReader(file) if row["name"] == "random")
        assert float(row["margin against minimax"]) == 0 < float(row["margin against Ada, moody"])
        table = (folder / "class-results" / "table.md").read_text()
        assert "15 matches are computed" in table and "6 matches are sampled, in 4 games each" in table

    def test_certificates_are_written(self, played):
        folder, results, _ = played
        entries = {entry["name"]: entry for entry in results["entries"]}
        minimax = entries["minimax"]["certificate"]
        assert minimax["unbeatable"]
        loaded = Certificate.load(folder / "class-results" / minimax["file"])
        assert loaded == ttt_env.certify("minimax")
        ada = entries["Ada"]["certificate"]
        assert ada["n_queries"] == ttt_env.certify(lowest).n_queries
        assert GameRecord.parse(ada["refutation"]["record"]).value(ada["refutation"]["seat"]) == -1
        assert entries["Ada, moody"]["not_certified"].startswith("it is random: ")
        assert not any(str(folder) in (folder / "class-results" / name).read_text() for name in WRITTEN)

    def test_page_is_self_contained_and_escapes_names(self, played):
        folder, _, _ = played
        page = (folder / "class-results" / "index.html").read_text("utf-8")
        assert "Ada &lt;b&gt;" in page and "Ada <b>" not in page
        assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
        assert " src=" not in page and "<link" not in page and "@import" not in page and "url(" not in page

    @pytest.mark.slow
    def test_same_command_gives_same_results(self, played):
        folder, _, _ = played
        out = folder / "class-results"
        assert set(os.listdir(out)) == {*WRITTEN, "certificates"}
        before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
        del before[out / "games.txt"]  # a program's random games
        (out / "certificates" / "009-gone.certificate.json").touch()
        results, printed = play(folder / "class.toml", "--json")
        assert json.loads(printed) == results and len(results["games_played"]) == 6 * 4 + 15 * 2
        assert {path.name for path in (out / "certificates").iterdir()} == {
            path.name for path in before if path.parent.name == "certificates"
        }


def test_games_are_played_if_exact_is_false(tmp_path):
    (tmp_path / "bot.py").write_text(FIRST_FREE)
    bot = {"name": "Bot", "agent": BOT}
    results, _ = play(write(tmp_path, bot, *TWO, exact=False))
    (entry,) = (each for each in results["entries"] if each["name"] == "Bot")
    certificate = ttt_env.certify(lowest)
    assert (
        entry["certificate"]["n_queries"] == certificate.n_queries and not entry["certificate"]["unbeatable"]
    )
    assert not any(each["exact"] for each in results["matches"])
    ratings = {each["name"]: (each["rating"], each["rating_margin"]) for each in results["entries"]}
    assert max(ratings, key=ratings.get) == "minimax" and all(margin > 0 for _, margin in ratings.values())


def test_inconsistent_bot_is_sampled_and_called_random(tmp_path):
    (tmp_path / "bot.py").write_text(RANDOM)
    results, _ = play(write(tmp_path, {"name": "Bot", "agent": BOT}, *TWO))
    (entry,) = (each for each in results["entries"] if each["name"] == "Bot")
    assert entry["certificate"] is None and entry["not_certified"].startswith("it is random: ")
    exact = {(each["first"], each["second"]): each["exact"] for each in results["matches"]}
    assert exact == {pair: "Bot" not in pair for pair in exact} and len(exact) == 3


LESSON = {
    "good": "def choose(position):\n    print('hello')\n    return position.legal_cells[0]\n",
    "loop": "def choose(position):\n    while True: pass\n",
    "none": "def choose(position): pass\n",
    "raises": "def choose(position):\n    return bord[0]\n",
    "taken": "def choose(position):\n    return 4\n",
    "memory": "n = [0]\ndef choose(p):\n    n[0] += 1\n    return p.legal_cells[n[0] % 2 - 1]\n",
    "syntax": "def choose(position)\n    return 0\n",
    "class": "class Bot:\n    def choose(self, position): return 0\n",
    "missing": "import numpi\ndef choose(position): return 0\n",
}


@pytest.mark.slow
def test_lesson_with_every_kind_of_mistake(tmp_path):
    for name, text in LESSON.items():
        (tmp_path / f"{name}.py").write_text(text)
    # Paths are relative to the folder of the plan. The loop never answers, whatever its limit.
    limits = {"loop": ":timeout=0.1,startup=0.2"}
    entries = [{"name": name, "agent": f"{name}.py{limits.get(name, '')}"} for name in LESSON]
    path = write(tmp_path, spec("minimax"), *entries, timeout=60, startup=60)
    results, printed = play(path)
    for message in (
        "syntax is set aside: syntax.py, line 1: expected ':'.",
        "class is set aside: class.py defines no function at top level: write def choose(position); found",
        "missing is set aside: missing.py, line 1: there is no module named numpi.",
        "good, none, raises, taken: asked once in each position that it can reach",
        "loop: not judged: timed out twice (0.1 s each, and 0.2 s to start)",
        "memory: not certified, as it is random: ",
        "raises: BEATABLE as X and as O, asked once in 10 positions; loses as X: no legal move "
        "(raised: NameError: name 'bord' is not defined (raises.py, line 2))",
    ):
        assert message in printed, message
    assert "returned None; return a cell, such as position.legal_cells[0]" in printed
    judged = {"minimax", "good", "none", "raises", "taken"}
    for each in results["matches"]:
        assert each["exact"] == ({each["first"], each["second"]} <= judged)
    assert results["entries"][0]["name"] == "minimax" and len(results["entries"]) == 7


def test_fewer_than_two_playable_entries_are_refused(tmp_path):
    (tmp_path / "a.py").write_text("def choose(position)\n    return 0\n")
    path = write(tmp_path, spec("random"), {"name": "a", "agent": f"{tmp_path}/a.py"}, spec("minmax"))
    refuse("fewer than two entries can play:\n  a: a.py, line 1: expected ':'\n  minmax: unknown agent", path)


HANGING = """\
import json, sys, time
for line in sys.stdin:
    with open("asked", "ab") as file:
        file.write(b".")
        n_asked = file.tell()
    if n_asked in json.load(open("hangs")):
        open(f"reached {n_asked}", "w").close()
        time.sleep(1000)
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "cell": asked["legal"][0]}), flush=True)
"""


def write_hanging(folder, *at):
    """The file of a tournament in which a program hangs at these questions."""
    folder.mkdir()
    (folder / "bot.py").write_text(HANGING)
    (folder / "hangs").write_text(json.dumps(at))
    bot = {"name": "Bot", "agent": f"{BOT},timeout=600"}
    names = ("random", "weights", "rules", "mcts:simulations=2")
    agents = [spec(name) for name in names]
    return write(folder, bot, *agents, games=4, seed=3, exact=False)


def end_run(path, reached, number):
    """The exit status and output of a run of this file that a signal ends while a program hangs."""
    command = [PYTHON, "-W", "error", "-m", "ttt_env.app", "tournament", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        deadline = time.monotonic() + 300
        while not (path.parent / f"reached {reached}").exists():
            assert run.poll() is None and time.monotonic() < deadline, run.communicate()
            time.sleep(0.01)
        run.send_signal(number)
        output = run.communicate(timeout=300)
    return run.returncode, *output


@pytest.mark.slow
def test_interrupted_tournament_has_results_so_far(tmp_path):
    path = write_hanging(tmp_path / "class", 261)  # 252 questions come before the games
    status, _, err = end_run(path, 261, signal.SIGINT)
    assert status == 130 and err.splitlines()[-1] == "ttt: interrupted: the results so far are saved"
    out = path.parent / "class-results"
    assert set(os.listdir(out)) == {*WRITTEN, "certificates"}
    results = results_in(out)
    assert not results["is_complete"] and "Not finished" in (out / "index.html").read_text()
    assert results["games_played"] and all(each["counts"] for each in results["games_played"])
    loaded = ttt_env.Tournament.from_dict(results)
    assert [row.points for row in loaded.standings] == [entry["points"] for entry in results["entries"]]


def test_tournament_without_games_has_results(tmp_path):
    with Contest(read_plan(write(tmp_path, *TWO))) as contest:
        write_results(Documents(contest), tmp_path / "out")
    results = results_in(tmp_path / "out")
    assert not results["is_complete"] and not results["matches"] and not results["games_played"]
    loaded = ttt_env.Tournament.from_dict(results)
    assert not loaded.pairs and set(loaded.scores.values()) == {0}
    for entry in results["entries"]:
        assert (entry["rank"], entry["points"], entry["rating"]) == (1, 0, 0)
        assert entry["not_certified"] == "the tournament has not got that far"
    assert "No game has been played yet" in (tmp_path / "out" / "index.html").read_text()


class FailingAgent(Agent):
    """Raises the given error at its second move."""

    def __init__(self, error):
        super().__init__(TICTACTOE)
        self.error = error

    def choose(self, position, rng):
        if position.ply > 1:
            raise self.error
        return position.legal_cells[0]


@pytest.mark.parametrize(
    "error", [ValueError("NaN"), ttt_env.errors.PolicyError("no policy"), RecursionError()]
)
def test_failing_agent_loses_game(error):
    random = ttt_env.make_agent("random", TICTACTOE)
    played = play_to_the_end(random, FailingAgent(error), np.random.default_rng(0))
    assert played.winner == "X" and len(played.record.cells) == 3
    assert played.forfeit.outcome == "raised" and played.forfeit.reply.startswith(type(error).__name__)
    with pytest.raises(KeyboardInterrupt):
        play_to_the_end(FailingAgent(KeyboardInterrupt()), random, np.random.default_rng(0))


@pytest.mark.slow
def test_onnx_file_can_take_part(tmp_path):
    pytest.importorskip("onnxruntime")
    from tests.support.onnx_files import write_linear

    write_linear(tmp_path / "net.onnx", TICTACTOE)
    net = {"name": "net", "agent": "net.onnx"}
    (row,) = play(write(tmp_path, net, spec("minimax")))[0]["matches"]
    expected = ttt_env.match(f"onnx:{tmp_path / 'net.onnx'}", "minimax")
    assert row["exact"] and row["as_x"] == expected.as_x._asdict()
