"""Every document runs from top to bottom, as who reads it would try it."""

import ast
import builtins
import inspect
import json
import os
import pydoc
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import gymnasium
import pytest
import typer

import ttt_env
from tests.reference import ENUMERABLE, POSITIONS
from tests.support.documents import ROOT, Block, blocks_of, run_commands, run_session, spans_of
from tests.support.endpoint import Endpoint
from tests.support.marks import slow
from tests.support.scripted_models import MODELS
from ttt_env import errors, get_game
from ttt_env.agent import agent_class
from ttt_env.app import cli
from ttt_env.bots.protocol import read_answer, read_question
from ttt_env.rules import catalogue, symmetries

DOCS = ROOT / "docs"
URL = "http://localhost:8000/v1"  # where the documents say that a model listens
# By the build of the site, where there was one.
WRITTEN = {
    DOCS / name for name in ("changelog.md", "contributing.md", "frameworks.md", "reference/commands.md")
}
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if path not in WRITTEN]
PAGES_THAT_TAKE_LONG = {
    *(
        "bots.md",
        "class.md",
        "frameworks.md",
        "from-pettingzoo-or-sb3.md",
        "language-models.md",
        "strength.md",
        "training.md",
        "tune.md",
    ),
}
# What takes long in a block of Python, and in its place what shows in seconds that the block runs.
SHORTER = {
    "model.learn(2_000_000,": "model.learn(5_000,",
    "model.learn(300_000,": "model.learn(5_000,",
    'assert ttt_env.certify("sb3:ppo.zip")': 'ttt_env.certify("sb3:ppo.zip")',
}


def documents() -> list[Path]:
    """Those that are not notebooks, which run when the site is built."""
    return [ROOT / "README.md", *(path for path in PAGES if "\nkernelspec:" not in path.read_text("utf-8"))]


def takes_long(block: Block) -> bool:
    """True if a block trains until an agent is certified."""
    is_training = block.kind == "sh" and "certified unbeatable" in block.text
    return is_training or any(long in block.text for long in SHORTER)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a document runs: nothing of it is left, nor of the games that it registers."""
    monkeypatch.setattr(catalogue, "_registered", {})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("TTT_ENV_GAMES", str(tmp_path / "games.sqlite"))
    return tmp_path


@pytest.mark.parametrize(
    "path",
    [slow(path) if path.name in PAGES_THAT_TAKE_LONG else path for path in documents()],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
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
        elif kind == "sh" and not takes_long(block):
            run_commands(here, folder)
        else:
            assert kind in ("sh", "text")
    questions = Counter(json.dumps(request["messages"]) for request in endpoint.requests)
    # A file of answers is trusted once twenty of them have been asked for again.
    assert max(questions.values(), default=1) <= 2 and (questions.total() - len(questions)) in (0, 20)


def test_what_a_notebook_shows_as_code_is_run_by_it() -> None:
    notebooks = {*PAGES} - {*documents()}
    assert len(notebooks) >= 5
    code = {"json", "pycon", "python", "sh"}
    idle = [(page.name, block.text) for page in notebooks for block in blocks_of(page) if block.kind in code]
    assert not idle


def shown_commands() -> list[Any]:
    """The commands that a page shows with what they print."""
    return [
        pytest.param(block.text, id=block.id, marks=[pytest.mark.slow] * ("qubic" in block.text))
        for path in PAGES
        for block in blocks_of(path)
        if block.kind == "text" and block.text.startswith("$ ") and block.text.count("\n") > 1
    ]


@pytest.mark.parametrize("text", shown_commands())
def test_a_command_prints_what_a_page_shows(text: str, folder: Path) -> None:
    command, shown = text.removeprefix("$ ").split("\n", 1)
    done = subprocess.run(command, shell=True, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE)
    assert done.stdout == shown


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
            assert "certified unbeatable" not in line or "UNBEATABLE" in printed


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


def test_pictures_have_legends() -> None:
    for path in sorted(DOCS.rglob("*.md")):
        after = re.findall(r"^!\[.*\)\n\s*(\S)", path.read_text("utf-8"), re.MULTILINE)
        assert set(after) <= {"*"}, path


def test_links_lead_somewhere() -> None:
    """On the site Sphinx sees to that; these are read in the repository."""
    for path in (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")):
        links = re.findall(r"\]\((?!\w+:)([^)#]+)", path.read_text("utf-8"))
        assert [each for each in links if not (path.parent / each).exists()] == [], path


def options_of(group: Any, name: str = "ttt") -> dict[str, set[str]]:
    """The options of each command, by the words that call it."""
    own = {option for each in group.params for option in (*each.opts, *each.secondary_opts)}
    found = {name: own | {"--help", "-h"}}
    for word, command in getattr(group, "commands", {}).items():
        found |= options_of(command, f"{name} {word}")
    return found


COMMANDS = options_of(typer.main.get_command(cli.app))
SCRIPT_OPTIONS = {
    path.relative_to(ROOT).as_posix(): set(re.findall(r'"(--[a-z][a-z-]*)"', path.read_text("utf-8")))
    for path in (ROOT / "scripts").rglob("*.py")
}
OPTIONS = set().union(*COMMANDS.values(), *SCRIPT_OPTIONS.values())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"].keys()
ENVIRONMENT = type(ttt_env.make("tictactoe-v0", opponent="random"))
TWO_PLAYERS, VECTOR = type(ttt_env.make("tictactoe-v0")), type(ttt_env.make_vec("tictactoe-v0"))
CLASSES = {
    name: value
    for module in ("ttt_env", "ttt_env.text", "ttt_env.bots", "ttt_env.training", "ttt_env.datasets")
    for name in import_module(module).__all__
    if inspect.isclass(value := getattr(import_module(module), name))
} | {each.__name__: each for each in (ENVIRONMENT, TWO_PLAYERS, VECTOR)}
# The classes whose objects the pages give these names.
OBJECTS = {
    name.lower(): [CLASSES[name]]
    for name in ("Agent", "Boards", "Certificate", "Match", "Position", "Proof", "Tournament")
} | {"env": [ENVIRONMENT, TWO_PLAYERS, CLASSES["TextEnv"]], "envs": [VECTOR]}


def has(owner: Any, name: str) -> bool:
    """True if objects of this class, or a module, have this attribute: a field, too."""
    if not inspect.isclass(owner):
        return hasattr(owner, name)
    is_set = re.search(rf"\bself\.{name}\b", inspect.getsource(owner))
    return (
        hasattr(owner, name)
        or bool(is_set)
        or any(name in each.__annotations__ for each in owner.__mro__[:-1])
    )


def resolves(dotted: str) -> bool:
    """True if there is a thing of this full name."""
    owner, _, name = dotted.rpartition(".")
    try:
        return pydoc.locate(dotted) is not None or has(pydoc.locate(owner), name)
    except pydoc.ErrorDuringImport:  # a module whose extra is not installed here
        sources = [(ROOT / each.replace(".", "/")).with_suffix(".py") for each in (dotted, owner)]
        return sources[0].is_file() or f" {name}(" in sources[1].read_text("utf-8")


def only_known(words: list[str], known: set[str]) -> bool:
    """True if all options among these words are known."""
    return {word.partition("=")[0] for word in words if word.startswith("--")} <= known


def is_command(called: re.Match[str]) -> bool:
    """True for a command of `ttt` with options that it has."""
    words = shlex.split(called[0].replace("'", ""))
    name = max((name for name in COMMANDS if f"{called[0]} ".startswith(f"{name} ")), key=len)
    return (name != "ttt" or words[1][0] == "-" or words[1] == "COMMAND") and only_known(
        words, COMMANDS[name]
    )


def is_script(called: re.Match[str]) -> bool:
    """True for a script of the repository with options that it has."""
    script, words = called[1], called[2].split()
    return "NAME" in script or (script in SCRIPT_OPTIONS and only_known(words, SCRIPT_OPTIONS[script]))


def takes(called: re.Match[str]) -> bool:
    """True if the function has these parameters, or is none of the package."""
    function = getattr(ttt_env, called[1], None)
    if not inspect.isfunction(function):
        return True
    parameters = inspect.signature(function).parameters
    named = set(re.findall(r"(?:^|, )(\w+)=", called[2]))
    return named <= parameters.keys() or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def has_parameters(agent: str, text: str) -> bool:
    """True if there is an agent of this name with these parameters."""
    if agent not in ttt_env.agent_names():
        return False
    parameters = inspect.signature(agent_class(agent.partition(":")[0]).__init__).parameters
    return set(re.findall(r"(?:^|,)(\w+)=", text)) <= parameters.keys()


# In Gymnasium, PettingZoo, Stable-Baselines3, TorchRL and the answers of an endpoint.
NAMES_OF_OTHERS = {
    *(
        "AsyncVectorEnv",
        "EvalCallback",
        "NumpyToTorch",
        "RecordVideo",
        "TicTacToeEnv",
        "TimeLimit",
        "player_1",
        "player_2",
    ),
    *("connect_four_v3", "reasoning_content", "tictactoe_v3"),
}


def words_in(constant: object) -> Iterator[str]:
    """The names and the strings in compiled code."""
    if isinstance(constant, CodeType):
        code = constant
        yield from (code.co_name, *code.co_names, *code.co_varnames, *code.co_cellvars)
        yield from chain.from_iterable(map(words_in, code.co_consts))
    elif isinstance(constant, tuple | frozenset):
        yield from chain.from_iterable(map(words_in, constant))
    elif isinstance(constant, str):
        yield constant


@cache
def identifiers() -> set[str]:
    """The names, and the strings that could be names, in the code that the pages are about."""
    paths = (
        path for folder in ("ttt_env", "scripts", "tests/support") for path in (ROOT / folder).rglob("*.py")
    )
    codes = (compile(path.read_text("utf-8"), path, "exec") for path in paths)
    return {*NAMES_OF_OTHERS, *(word for code in codes for word in words_in(code) if word.isidentifier())}


# Code in running text, by its looks: whether it exists. The first that fits decides.
RIGHT: dict[str, Callable[[re.Match[str]], bool]] = {
    r"ttt (?=[\w-]).*": is_command,
    r"make (\S+)": lambda found: bool(run_commands(found[0], ROOT)),
    r"(?:python )?(scripts/[\w/]+\.py)(.*)": is_script,
    r"--.*": lambda found: only_known(found[0].split(), OPTIONS),
    r"ttt_env/[a-z]+-v0": lambda found: found[0] in gymnasium.registry,
    r"((?:docs|scripts|tests|ttt_env|agents)/\S+)": lambda found: (ROOT / found[0]).exists(),
    r"pip install .*\[([\w,]+)\]\"": lambda found: set(found[1].split(",")) <= EXTRAS,
    r"(ttt_env(?:\.\w+)+).*": lambda found: resolves(found[1]),
    r"(\w+)\((.*)\)": takes,
    r"([A-Z][a-z]\w*)\.([a-z]\w*).*": lambda found: found[1] in CLASSES and has(CLASSES[found[1]], found[2]),
    rf"({'|'.join(OBJECTS)})\.(?!png|zip)([a-z]\w*).*": lambda found: any(
        has(each, found[2]) for each in OBJECTS[found[1]]
    ),
    r"[A-Z]\w+Error": lambda found: hasattr(errors, found[0]) or hasattr(builtins, found[0]),
    r"(tictactoe|square|mnk|qubic)-v0(:.*)?": lambda found: bool(get_game(found[0])),
    r"([a-z][a-z-]*):([a-z]\w*=.*)": lambda found: has_parameters(found[1], found[2]),
    r"([a-z][a-z-]*):[\w(].*": lambda found: found[1] in ttt_env.agent_names(),
    r"(\w+)=.*": lambda found: found[1] in identifiers(),
    r"(\w*_\w+|[A-Z][a-z]+[A-Z]\w*)": lambda found: found[1] in identifiers(),
}


def is_right(span: str) -> bool:
    """False if code looks like a command, an option, a path or a name of the package, and does not exist."""
    fitting = ((re.fullmatch(looks, span), exists) for looks, exists in RIGHT.items())
    return next((exists(found) for found, exists in fitting if found), True)


@pytest.mark.parametrize(
    "path",
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
        *sorted((ROOT / "scripts").rglob("*.md")),
        *PAGES,
    ],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_what_a_page_names_exists(path: Path) -> None:
    assert [span for span in spans_of(path) if not is_right(span)] == []


def test_what_a_docstring_names_exists() -> None:
    """Docstrings also name what is not public."""
    wrong = []
    for path in sorted((ROOT / "ttt_env").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                spans = re.findall(r"``?([^`\n]+)``?", ast.get_docstring(node) or "")
                wrong += [(path.name, span) for span in spans if not (is_right(span) or is_internal(span))]
    assert wrong == []


def is_internal(span: str) -> bool:
    """True if all names in this code are names in the sources, or of their files."""
    files = {path.stem for path in (ROOT / "ttt_env").rglob("*.*")}
    return set(re.findall(r"[A-Za-z_]\w*", span)) <= identifiers() | files


@pytest.mark.parametrize(
    "span",
    [
        *("ttt trian", "ttt train --untill", "make tests-all", "python scripts/leaderbord.py"),
        *("scripts/leaderboard.py --nothing", "--untill", "docs/none.md", 'pip install ".[everything]"'),
        *("certify(nothing=1)", "ttt_env.certifi", "Certificate.forfeit", "Certificates.load"),
        *("certificate.forfeit", "NotJudgeError", "square-v0:m=3", "mnk-v0:o=3", "mcts:simulation=9"),
        *("minmax:depth=5", "best-reponse:AGENT", "error_start=0.5", "legal_cell", "MaskablePpo"),
    ],
)
def test_a_name_that_does_not_exist_is_found(span: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        assert is_right(span)


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
    "name", ["ttt_env", "ttt_env.training", "ttt_env.text", "ttt_env.bots", "ttt_env.datasets"]
)
def test_the_reference_has_every_public_name(name: str) -> None:
    described = described_in("api/*.md") | described_in("agents.md") | described_in("errors.md")
    public = {f"{name}.{each}" for each in import_module(name).__all__ if not each.endswith("_v0")}
    assert public - described - {"ttt_env.bots.CommandAgent"} == set()  # an agent, under its own module


def has_example(value: Any) -> bool:
    """True if the docstring of a thing, or of one of its members, shows it at work."""
    members = vars(value).values() if inspect.isclass(value) else ()
    return any(">>> " in (inspect.getdoc(each) or "") for each in (value, *members))


def test_every_public_name_has_an_example_that_runs() -> None:
    runs = re.compile(r"^```(?:\{code-cell\}[^\n]*|python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    shown = "\n".join(text for path in PAGES for text in runs.findall(path.read_text("utf-8")))
    public = [name for name in ttt_env.__all__ if not has_example(getattr(ttt_env, name))]
    assert [name for name in public if not re.search(rf"\b{name}\b", shown)] == []


def test_the_reference_has_the_environments() -> None:
    names = {f"{each.__module__}.{each.__qualname__}" for each in (ENVIRONMENT, TWO_PLAYERS, VECTOR)}
    assert names <= described_in("api/*.md")


def test_the_reference_says_of_every_error_when_it_comes_and_what_to_do() -> None:
    text = (DOCS / "reference" / "errors.md").read_text("utf-8")
    rows = re.findall(r"^\| \{py:obj\}`~(\S+)` \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    places = {
        f"{'ttt_env' if each.__name__ in ttt_env.__all__ else 'ttt_env.errors'}.{each.__name__}"
        for each in subclasses_of(ttt_env.TttEnvError)
    }
    assert places == {place for place, *_ in rows}
    assert places | {"ttt_env.TttEnvError"} == described_in("errors.md")


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
    assert question.line == asked and read_answer(json.loads(answered), question.position).outcome == "played"


@pytest.mark.parametrize("page", sorted((DOCS / "games").glob("*.md")), ids=lambda page: page.stem)
def test_the_page_of_a_game_states_facts(page: Path) -> None:
    stated = dict(re.findall(r"^\| ([A-Z][^|]*) \| (.*) \|$", page.read_text("utf-8"), re.MULTILINE))
    name = stated["Id"].strip("`")
    game, env = get_game(name), ttt_env.make(name, opponent="random")
    module = stated["PettingZoo module"].partition("import ")[2].partition("`")[0]
    assert game.name == name and getattr(ttt_env, module).env().game.shape == game.shape
    assert stated["Actions"] == f"`{env.action_space}`"
    assert stated["Observation"] == f"`{env.observation_space}`"
    assert stated["Winning sets"] == str(len(game.winning_sets))
    assert stated["Symmetries"] == str(len(symmetries(game)))
    takes_minutes = ("qubic-v0", "connect-four-v0")  # which the slow tests prove to be won by X
    value = 1 if name in takes_minutes else ttt_env.prove(game).value
    assert stated["Value"] == {0: "draw", 1: "X wins"}[value]
    if game.n_cells <= 16:
        n_positions = POSITIONS if game.n_cells == 9 else ENUMERABLE[name][0]
        assert stated["Reachable positions"] == f"{n_positions:,}"


def test_the_page_about_installing_lists_all_extras() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \|", (DOCS / "install.md").read_text("utf-8"), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert listed == EXTRAS - {"dev", "docs", "peers"}
