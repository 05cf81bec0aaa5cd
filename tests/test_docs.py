"""Every document runs from top to bottom, as who reads it would try it."""

import json
import os
import pydoc
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ttt_env
from tests.reference import ENUMERABLE, POSITIONS
from tests.support.documents import ROOT, Block, blocks_of, run_commands, run_session
from tests.support.endpoint import Endpoint
from tests.support.scripted_models import MODELS
from ttt_env import get_game
from ttt_env.engines.uci.engine import variants_file
from ttt_env.rules import symmetries
from ttt_env.text.protocol import read_answer, read_question

DOCS = ROOT / "docs"
URL = "http://localhost:8000/v1"  # where the documents say that a model listens
# By the build of the site, where there was one.
WRITTEN = {"changelog.md", "commands.md", "contributing.md", "experiments.md", "frameworks.md"}
PAGES_THAT_TAKE_LONG = {"bots.md", "is-my-model-any-good.md", "strength.md", "tournaments.md"}
# What takes long in a block of Python, and in its place what shows in seconds that the block runs.
SHORTER = {
    "model.learn(2_000_000,": "model.learn(5_000,",
    'assert ttt_env.certify("sb3:ppo.zip")': 'ttt_env.certify("sb3:ppo.zip")',
}


def documents() -> list[Path]:
    """Those that are no notebooks, which run when the site is built."""
    pages = [path for path in sorted(DOCS.rglob("*.md")) if path.name not in WRITTEN]
    return [ROOT / "README.md", *(path for path in pages if "\nkernelspec:" not in path.read_text("utf-8"))]


def takes_long(block: Block) -> bool:
    """True if a block trains until an agent is certified."""
    is_training = block.kind == "sh" and "certified unbeatable" in block.text
    return is_training or any(long in block.text for long in SHORTER)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a document runs: nothing of it is left."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("TTT_ENV_GAMES", str(tmp_path / "games.sqlite"))
    return tmp_path


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=path.relative_to(ROOT).as_posix(),
            marks=[pytest.mark.slow] * (path.name in PAGES_THAT_TAKE_LONG),
        )
        for path in documents()
    ],
)
def test_document(path: Path, endpoint: Endpoint, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sessions share their names, its commands a folder, and its function `model` is the endpoint's."""
    namespace: dict[str, Any] = {}
    monkeypatch.setitem(MODELS, "my-model", lambda prompt: namespace["model"](prompt))
    for block in blocks_of(path):
        kind, here = block.kind, block.text.replace(URL, endpoint.url)
        if named := re.match(r"(?:#|//) (\w+)\.(\w+)", block.text):
            make_program(folder, *named.groups(), block.text)
        elif kind == "pycon":
            run_session(here, namespace, path.name)
        elif kind == "python":
            run_python(shortened(here), path)
        elif kind == "json":
            check_protocol(here)
        elif kind == "ini":
            assert here == variants_file(get_game("mnk-v0:m=4,n=3,k=3"))
        elif kind == "sh" and not takes_long(block):
            run_commands(here, folder)
        else:
            assert kind in ("sh", "text")
    questions = [json.dumps(request["messages"]) for request in endpoint.requests]
    assert len(questions) == len(set(questions))


def long_blocks() -> list[Any]:
    """Each of them once: some stand in two documents."""
    found = {block.text: block for path in documents() for block in blocks_of(path) if takes_long(block)}
    return [pytest.param(block, id=block.id) for block in found.values()]


@pytest.mark.slow
@pytest.mark.parametrize("block", long_blocks())
def test_what_takes_long_keeps_its_promise(block: Block, folder: Path) -> None:
    if block.kind == "python":
        run_python(block.text, folder)
    else:
        for line, printed in run_commands(block.text, folder):
            assert "certified unbeatable" not in line or "CERTIFIED UNBEATABLE" in printed


def shortened(text: str) -> str:
    """A block of Python with its long parts made short."""
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    return text


def run_python(text: str, path: Path) -> None:
    """Run a block of Python by itself."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sb3_contrib")
    threads = torch.get_num_threads()
    try:
        exec(compile(text, path.name, "exec"), {})
    finally:
        torch.set_num_threads(threads)


def test_pictures_are_there() -> None:
    for path in documents():
        pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", path.read_text("utf-8"))
        assert [each for each in pictures if not (path.parent / each).is_file()] == [], path


def test_links_lead_somewhere() -> None:
    """On the site Sphinx sees to that; these are read in the repository."""
    for path in (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")):
        links = re.findall(r"\]\((?!\w+:)([^)#]+)", path.read_text("utf-8"))
        assert [each for each in links if not (path.parent / each).exists()] == [], path


def test_help_is_a_table_of_contents() -> None:
    """Errors stand under `TttEnvError`, the modules of PettingZoo under the first of them."""
    told = pydoc.plain(pydoc.render_doc(ttt_env)).partition("PACKAGE CONTENTS")[0]
    names = {name for name in ttt_env.__all__ if not name.endswith("Error")} | {"TttEnvError"}
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", told)] == []
    modules = re.search(r"Modules to import\n(.*?)\n\s*\n", told, re.DOTALL)
    for name in re.findall(r"^ +([a-z.]+)  ", modules[1] if modules else "", re.MULTILINE):
        assert import_module(f"ttt_env.{name}").__doc__
    assert not [
        name for name, value in vars(ttt_env).items() if isinstance(value, ModuleType) and name[0] == "_"
    ]


def described_in(pages: str) -> set[str]:
    """The full names of the things that these pages of the reference describe."""
    module, described = "", set()
    for page in (DOCS / "reference").glob(pages):
        text = page.read_text("utf-8")
        for directive, name in re.findall(r"^\.\. (currentmodule|auto\w+):: ([\w.]+)", text, re.MULTILINE):
            if directive == "currentmodule":
                module = name
            else:
                described.add(name if "." in name else f"{module}.{name}")
    return described


@pytest.mark.parametrize(
    "name", ["ttt_env", "ttt_env.training", "ttt_env.text", "ttt_env.text.players", "ttt_env.datasets"]
)
def test_the_reference_has_every_public_name(name: str) -> None:
    described = described_in("api/*.md") | described_in("agents.md") | described_in("errors.md")
    public = {f"{name}.{each}" for each in import_module(name).__all__ if not each.endswith("_v0")}
    assert (
        public - described - {"ttt_env.text.players.CommandAgent"} == set()
    )  # an agent, under its own module


def test_the_reference_has_the_environments() -> None:
    made = [ttt_env.make("tictactoe-v0"), ttt_env.make("tictactoe-v0", opponent="random")]
    classes = [type(env) for env in (*made, ttt_env.make_vec("tictactoe-v0"))]
    assert {f"{each.__module__}.{each.__qualname__}" for each in classes} <= described_in("api/*.md")


def test_the_reference_says_of_every_error_when_it_comes_and_what_to_do() -> None:
    text = (DOCS / "reference" / "errors.md").read_text("utf-8")
    of_error = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    errors = {each.__name__ for each in subclasses_of(ttt_env.TttEnvError)}
    assert errors == of_error.keys()
    for name, section in of_error.items():
        place = "ttt_env" if name in ttt_env.__all__ else "ttt_env.errors"
        assert f".. autoexception:: {place}.{name}\n" in section
        assert "\n**When:** " in section and "\n**What to do:** " in section
        assert "Traceback" not in section or f".{name}: " in section


def subclasses_of(kind: type) -> set[type]:
    """Those of this package, and theirs."""
    ours = {each for each in kind.__subclasses__() if each.__module__.startswith("ttt_env.")}
    return ours.union(*map(subclasses_of, ours))


def test_the_reference_has_every_agent() -> None:
    text = (DOCS / "reference" / "agents.md").read_text("utf-8")
    described = re.findall(r"^### (\S+)\n\n```{eval-rst}\n.. autoclass:: (\S+)\.(\w+)", text, re.MULTILINE)
    agents = {name: (module, of_class) for name, module, of_class in described}
    ours = [point for point in entry_points(group="ttt_env.agents") if point.dist.name == "ttt-env"]
    assert agents == {point.name: (point.module, point.attr) for point in ours}


def test_the_commands_for_contributors_exist(tmp_path: Path) -> None:
    (commands,) = (text for kind, text in blocks_of(ROOT / "CONTRIBUTING.md") if kind == "sh")
    assert len(run_commands(commands, tmp_path)) == 3


def test_what_is_cited_is_this_version() -> None:
    assert f"\nversion: {ttt_env.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def make_program(folder: Path, name: str, suffix: str, text: str) -> None:
    """A block that begins with the name of its file is this file; C is compiled."""
    source = folder / f"{name}.{suffix}"
    source.write_text(text, "utf-8")
    if suffix == "c":
        if shutil.which("cc") is None:
            pytest.skip("no C compiler is installed here")
        subprocess.run(["cc", "-Wall", "-Werror", "-o", str(folder / name), str(source)], check=True)


def check_protocol(text: str) -> None:
    """A question and an answer, each on its line, are as the package asks and reads them."""
    asked, answered = text.splitlines()
    question = read_question(asked)
    assert question.line == asked and read_answer(answered, question.position).outcome == "played"


@pytest.mark.parametrize("page", sorted((DOCS / "games").glob("*.md")), ids=lambda page: page.stem)
def test_the_page_of_a_game_states_facts(page: Path) -> None:
    stated = dict(re.findall(r"^\| ([A-Z][^|]*) \| (.*) \|$", page.read_text("utf-8"), re.MULTILINE))
    name = stated["Id"].strip("`")
    game, env = get_game(name), ttt_env.make(name, opponent="random")
    module = stated["PettingZoo module"].partition("import ")[2].partition("`")[0]
    assert game.name == name and getattr(ttt_env, module).env().game.shape == game.shape
    assert stated["Actions"] == f"`{env.action_space}`"
    assert stated["Observation, one player"] == f"`{env.observation_space}`"
    assert stated["Winning sets"] == str(len(game.winning_sets))
    assert stated["Symmetries"] == str(len(symmetries(game)))
    value = 1 if name == "qubic-v0" else ttt_env.prove(game).value
    assert stated["Value"] == {0: "draw", 1: "X wins"}[value]
    if (n_cells := len(game.start.legal_cells)) <= 16:
        n_positions = POSITIONS if n_cells == 9 else ENUMERABLE[name][0]
        assert stated["Reachable positions"] == f"{n_positions:,}"


def test_the_page_about_installing_lists_all_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    rows = re.findall(r"^\| (`[^|]*`) \|", (DOCS / "install.md").read_text("utf-8"), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert listed == extras.keys() - {"dev", "docs", "peers"}
