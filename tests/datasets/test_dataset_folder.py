"""A data set as a folder: what is in it, that it is the same every time, and what is refused."""

import json
import os
import shlex
import shutil
import sys
from datetime import date
from hashlib import sha256
from html import escape
from itertools import islice

import numpy as np
import pytest

from tests.support.games import LOPSIDED

pytest.importorskip("h5py")
pytest.importorskip("minari")
pytest.importorskip("pyarrow")

from pyarrow import parquet

from tests import reference
from tests.support.running import ttt
from ttt_env import Game, get_game
from ttt_env.datasets import play_games, write_dataset
from ttt_env.datasets.folder import DatasetOrder
from ttt_env.errors import GameTooLargeError, ParameterError, ResultFileError
from ttt_env.storage.game_file import game_from_dict
from ttt_env.text import TextEnv

SMALL = "mnk-v0:m=3,n=2,k=2"
AT_ONCE = Game("at-once", (3,), [(0,), (1, 2)])  # which the first move can end
TABLES = ["games-expert.parquet", "games-mixed.parquet", "games-novice.parquet", "positions.parquet"]
CHATS = ["chat-games.parquet", "chat-positions.parquet"]
DESCRIPTIONS = ["README.md", "croissant.json", "dataset.json"]
# What mlcroissant says of the versions that it itself runs with.
MLCROISSANT = pytest.mark.filterwarnings(
    "ignore:ConjunctiveGraph is deprecated", "ignore:The inplace keyword"
)


def written(tmp_path_factory, game):
    folder = tmp_path_factory.mktemp("data") / "whole"
    write_dataset(game, folder, games=5, published=date(2026, 1, 2))
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return written(tmp_path_factory, "tictactoe-v0")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return written(tmp_path_factory, SMALL)


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def described(folder):
    return json.loads((folder / "croissant.json").read_text())


class TestWhatIsWritten:
    def test_all_that_the_game_can_have(self, whole):
        at_top = sorted(name for name in files_of(whole) if "/" not in name)
        assert at_top == sorted([*TABLES, *CHATS, *DESCRIPTIONS])
        sets = sorted(name for name in files_of(whole) if "/" in name)
        levels = [f"minari/ttt_env/tictactoe-v0/{level}-v0/data" for level in ("expert", "mixed", "novice")]
        assert sets == [f"{level}/{name}" for level in levels for name in ("main_data.hdf5", "metadata.json")]

    def test_rows_and_lines(self, whole):
        rows = {name: parquet.read_table(whole / name).num_rows for name in [*TABLES, *CHATS]}
        perfect = sum(map(len, parquet.read_table(whole / "positions.parquet")["perfect_cells"].to_pylist()))
        of_positions = {"positions.parquet": reference.TO_BE_PLAYED, "chat-positions.parquet": perfect}
        assert rows == dict.fromkeys(rows, 5) | of_positions
        card = (whole / "README.md").read_text("utf-8")
        assert all(f"{n:,} rows" in line_of(card, name) for name, n in rows.items())
        records = parquet.read_table(whole / "games-novice.parquet")["record"].to_pylist()
        assert records == [str(played.record) for played in play_games("tictactoe-v0", "novice", 5)]

    def test_another_seed_gives_other_games_and_the_same_facts(self, whole, tmp_path):
        write_dataset("tictactoe-v0", tmp_path, kinds=["positions", "games"], games=5, seed=1)
        first, second = (parquet.read_table(folder / "positions.parquet") for folder in (whole, tmp_path))
        assert first.drop_columns("answer").equals(second.drop_columns("answer"))
        assert not first["answer"].equals(second["answer"])
        one, other = (parquet.read_table(folder / "games-expert.parquet") for folder in (whole, tmp_path))
        assert not one["record"].equals(other["record"])

    def test_each_row_begins_a_conversation(self, whole):
        env = TextEnv("tictactoe-v0", opponent="minimax")
        for chat in parquet.read_table(whole / "chat-positions.parquet").to_pylist()[::500]:
            question, answer = chat["messages"]
            assert env.reset(**chat) == question["content"]
            env.reply(answer["content"])
            assert env.info["regret"] == [0]

    def test_kinds_unless_others_are_named(self):
        for game, kinds in {
            get_game("tictactoe-v0"): ("positions", "games", "chat", "minari"),
            get_game("square-v0"): ("positions", "games", "minari"),
            LOPSIDED: ("positions", "games", "chat"),
            AT_ONCE: ("positions", "games"),
            get_game("mnk-v0:m=2,n=2,k=1"): ("positions", "games", "minari"),
        }.items():
            assert DatasetOrder(game).chosen_kinds == kinds

    def test_progress(self, tmp_path):
        told = []
        write_dataset(LOPSIDED, tmp_path, games=2, progress=lambda *said: told.append(said))
        assert list(dict.fromkeys(kind for kind, _, _ in told)) == ["positions", "games", "chat"]
        last = {kind: (done, total) for kind, done, total in told}
        assert all(done == total > 0 for done, total in last.values())
        assert "datePublished" not in described(tmp_path)  # unless one is given


class TestCroissant:
    @MLCROISSANT
    def test_mlcroissant_reads_the_rows_and_finds_nothing_to_say(self, whole):
        mlcroissant = pytest.importorskip("mlcroissant")
        data = mlcroissant.Dataset(jsonld=str(whole / "croissant.json"))
        metadata = data.metadata
        assert (metadata.issues.errors, metadata.issues.warnings) == (set(), set())
        assert metadata.date_published.date() == date(2026, 1, 2)
        for name in [*TABLES, *CHATS]:
            rows = parquet.read_table(whole / name).to_pylist()
            records = list(islice(data.records(name.removesuffix(".parquet")), 100))
            assert [plain(record) for record in records] == rows[:100]

    def test_checksums_and_sizes_are_those_of_the_files(self, whole):
        contents = files_of(whole)
        told = {file["contentUrl"]: file for file in described(whole)["distribution"]}
        assert told.keys() == contents.keys() - set(DESCRIPTIONS)
        for name, file in told.items():
            assert file["sha256"] == sha256(contents[name]).hexdigest()
            assert file["contentSize"] == f"{len(contents[name])} B"

    def test_every_column_is_described(self, whole):
        for record_set in described(whole)["recordSet"]:
            schema = parquet.read_schema(whole / f"{record_set['name']}.parquet")
            assert [field["name"] for field in record_set["field"]] == schema.names
            assert all(field["description"] for field in record_set["field"])


def plain(value):
    """The value that was written, from what mlcroissant reads: its text is bytes, and its null is NaN."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {key.rpartition("/")[2]: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return None if isinstance(value, float) and np.isnan(value) else value


class TestCard:
    def test_it_names_each_file_and_each_column(self, whole):
        card = (whole / "README.md").read_text()
        assert all(f"`{name}`" in card for name in files_of(whole).keys() - {"README.md"})
        columns = {name for table in TABLES for name in parquet.read_schema(whole / table).names}
        assert all(f"| `{column}` |" in card for column in columns)

    def test_its_head_names_the_tables(self, whole):
        head = (whole / "README.md").read_text().split("---\n")[1].splitlines()
        configs = [line.partition(": ")[2] for line in head if "config_name" in line]
        paths = [line.partition(": ")[2] for line in head if "data_files" in line]
        assert (sorted(paths), [f"{config}.parquet" for config in configs]) == (sorted(TABLES + CHATS), paths)
        assert head.count("  default: true") == 1

    def test_its_command_makes_the_same_data_again(self, tmp_path):
        options = ["--one-per-class", "--finished", "--answer", "<move> {cell}", "--no-prompts", "--seed", 3]
        options += ["--kind", "positions", "--kind", "games", "--games", 3, "--published", "2026-01-02"]
        assert ttt("dataset", f"{SMALL},misere", "--out", tmp_path / "first", *options).returncode == 0
        card = (tmp_path / "first" / "README.md").read_text()
        command = card.partition("```\n")[2].partition("\n```")[0].replace("DIR", str(tmp_path / "second"))
        program, *arguments = shlex.split(command)
        assert program == "ttt"
        assert ttt(*arguments).returncode == 0
        assert files_of(tmp_path / "first") == files_of(tmp_path / "second")

    def test_an_own_game_is_made_again_from_what_is_kept(self, tmp_path):
        first = tmp_path / "first"
        write_dataset(LOPSIDED, first, games=2, ties="draw")
        kept = json.loads((first / "dataset.json").read_text())
        write_dataset(game_from_dict(kept["game"]), tmp_path / "second", **kept["settings"])
        assert files_of(first) == files_of(tmp_path / "second")
        assert "write_dataset(game, 'DIR', ties='draw', games=2)" in (first / "README.md").read_text()

    @pytest.mark.parametrize("name", ["<img src=x>", "*star* &copy;", "C #"])
    def test_names_and_answers_show_themselves(self, name, tmp_path):
        markdown = pytest.importorskip("markdown_it").MarkdownIt()
        answer = "```\n# <b>{cell}"
        write_dataset("mnk-v0:m=1,n=3,k=2", tmp_path / "known", kinds=["positions"], answer=answer)
        shown = markdown.render((tmp_path / "known" / "README.md").read_text())
        assert escape(answer, quote=False) in shown and shown.count("<h1>") == 1
        write_dataset(Game(name, (1, 3), [(0, 1)]), tmp_path / "own", kinds=["positions"])
        shown = markdown.render((tmp_path / "own" / "README.md").read_text())
        assert f"<h1>ttt_env {escape(name)}</h1>" in shown


class TestFolders:
    def test_a_data_set_is_replaced_and_other_files_stay(self, small, tmp_path):
        shutil.copytree(small, tmp_path / "data")
        (tmp_path / "data" / "notes.txt").write_text("mine")
        write_dataset(LOPSIDED, tmp_path / "data", kinds=["positions"])
        assert sorted(files_of(tmp_path / "data")) == sorted(
            [*DESCRIPTIONS, "notes.txt", "positions.parquet"]
        )
        assert parquet.read_table(tmp_path / "data" / "positions.parquet")["position"][0].as_py() == ".../..."

    @pytest.mark.parametrize("marker", [None, "", "[]", "{}", '{"format": "other"}'])
    def test_what_is_no_data_set_is_left_alone(self, tmp_path, marker):
        (tmp_path / "positions.parquet").write_text("precious")
        if marker is not None:
            (tmp_path / "dataset.json").write_text(marker)
        before = files_of(tmp_path)
        for path in (tmp_path, tmp_path / "positions.parquet"):
            with pytest.raises(ResultFileError, match="is no data set"):
                write_dataset("tictactoe-v0", path)
        assert files_of(tmp_path) == before

    def test_what_is_not_installed_is_told_before_anything_is_removed(self, small, tmp_path, monkeypatch):
        shutil.copytree(small, tmp_path / "data")
        monkeypatch.setitem(sys.modules, "minari", None)
        for folder in (tmp_path / "data", tmp_path / "new"):
            with pytest.raises(ImportError, match='the extra "data"'):
                write_dataset(SMALL, folder, games=5)
        assert files_of(tmp_path / "data") == files_of(small) and not (tmp_path / "new").exists()

    @pytest.mark.parametrize("kind", ["positions", "games", "chat", "minari"])
    def test_what_is_interrupted_leaves_no_half_file_and_no_description(self, small, tmp_path, kind):
        def interrupt(at, done, total):
            if at == kind:
                raise KeyboardInterrupt

        shutil.copytree(small, tmp_path / "data")
        with pytest.raises(KeyboardInterrupt):
            write_dataset(SMALL, tmp_path / "data", games=5, progress=interrupt)
        left = files_of(tmp_path / "data")
        assert left.pop("dataset.json")
        assert not {"croissant.json", "README.md"} & left.keys()
        assert left.items() <= files_of(small).items()

    def test_what_is_refused_leaves_the_data_set_that_is_there(self, tmp_path):
        write_dataset(LOPSIDED, tmp_path, kinds=["games"], games=np.int64(2), seed=np.int32(3))
        before = files_of(tmp_path)
        with pytest.raises(ParameterError, match="progress=3"):
            write_dataset(LOPSIDED, tmp_path, kinds=["games"], progress=3)
        with pytest.raises(ParameterError, match="over after one move"):
            write_dataset(AT_ONCE, tmp_path, kinds=["chat"])
        assert files_of(tmp_path) == before
        assert json.loads(before["dataset.json"])["settings"] == {"kinds": ["games"], "games": 2, "seed": 3}

    def test_another_run_makes_it_whole_with_the_same_bytes(self, small, tmp_path):
        (tmp_path / "dataset.json").write_bytes((small / "dataset.json").read_bytes())
        (tmp_path / ".positions.parquet.0a.part").write_text("half")
        write_dataset(SMALL, tmp_path, games=5, published=date(2026, 1, 2))
        assert files_of(tmp_path) == files_of(small)


def line_of(card, name):
    """The line of a data set's card that describes this file."""
    (line,) = (line for line in card.splitlines() if f"`{name}`" in line and " rows" in line)
    return line


@pytest.mark.parametrize(
    ("game", "options", "error", "message"),
    [
        ("qubic-v0", {}, GameTooLargeError, "18 cells are the limit"),
        ("tictactoe-v0", {"kinds": ["position"]}, ParameterError, "did you mean positions"),
        ("tictactoe-v0", {"kinds": "positions"}, ParameterError, "a list of some of positions, games"),
        ("tictactoe-v0", {"kinds": []}, ParameterError, "a list of some of positions, games"),
        ("tictactoe-v0", {"board": "round"}, ParameterError, "unknown board"),
        ("tictactoe-v0", {"ties": "none"}, ParameterError, "unknown ties"),
        ("tictactoe-v0", {"games": 0}, ParameterError, "games=0 of a data set"),
        ("tictactoe-v0", {"seed": -1}, ParameterError, "seed=-1 of a data set"),
        ("tictactoe-v0", {"published": "today"}, ParameterError, "a datetime.date is needed"),
        (LOPSIDED, {"kinds": ["minari"]}, ParameterError, r"kinds=\('minari',\): .* not in the catalogue"),
        (AT_ONCE, {"kinds": ["games", "chat"]}, ParameterError, r"'chat'\): .* may be over after one move"),
    ],
    ids=lambda value: str(value) if isinstance(value, str | dict) else "",
)
def test_refusals_before_anything_is_written(tmp_path, game, options, error, message):
    with pytest.raises(error, match=message):
        write_dataset(game, tmp_path / "data", **options)
    assert not os.path.lexists(tmp_path / "data")


def test_command(tmp_path):
    folder = tmp_path / "data"
    run = ttt("dataset", "qubic-v0", "--out", folder)
    assert (run.returncode, run.stdout) == (2, "") and not os.path.lexists(folder)
    assert run.stderr.startswith("ttt: qubic-v0 has 64 cells")
    run = ttt("dataset", "mnk-v0:m=4,n=2,k=3", "--out", folder, "--games", 2, "--kind", "positions")
    assert (run.returncode, run.stderr) == (0, "")
    assert sorted(files_of(folder)) == sorted([*DESCRIPTIONS, "positions.parquet"])
    assert run.stdout == f"Saved in {folder}: its README.md says what each file is\n"
