"""Every document runs from top to bottom, in the order of a reader."""

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
URL = "http://localhost:8000/v1"  # the address of models in the documents
# Written by the build of the site, if there was one.
WRITTEN = {
    DOCS / name for name in ("changelog.md", "contributing.md", "frameworks.md", "reference/commands.md")
}
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if path not in WRITTEN]
PAGES_THAT_TAKE_LONG = {
    *(
        "bots.md",
        "class.md",
        "conversations.md",
        "data-sets.md",
        "frameworks.md",
        "from-pettingzoo-or-sb3.md",
        "language-models.md",
        "proofs.md",
        "strength.md",
        "training.md",
        "tune.md",
    ),
}
# Slow parts of Python blocks, and replacements that show in seconds that the block runs.
SHORTER = {
    "model.learn(2_000_000,": "model.learn(5_000,",
    "model.learn(300_000,": "model.learn(5_000,",
    'assert ttt_env.certify("sb3:ppo.zip")': 'ttt_env.certify("sb3:ppo.zip")',
}


def documents() -> list[Path]:
    """All documents except notebooks, which run when the site is built."""
    return [ROOT / "README.md", *(path for path in PAGES if "\nkernelspec:" not in path.read_text("utf-8"))]


def takes_long(block: Block) -> bool:
    """True if a block trains until an agent is certified."""
    is_training = block.kind == "sh" and "certified unbeatable" in block.text
    return is_training or any(long in block.text for long in SHORTER)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a document runs; it and the games that the document registers are removed."""
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
    """Sessions share names, commands share a folder, and the function `model` answers for the endpoint."""
    namespace: dict[str, Any] = {}
    monkeypatch.setitem(MODELS, "my-model", lambda prompt: namespace["model"](prompt))
    for block in blocks_of(path):
        kind, text = block.kind, block.text.replace(URL, endpoint.url)
        if program := re.match(r"(?:#|//) (\w+)\.(\w+)", block.text):
            make_program(folder, *program.groups(), block.text)
        elif kind == "pycon":
            run_session(text, namespace, path.name)
        elif kind == "python":
            run_python(shortened(text), path)
        elif kind == "json":
            check_protocol(text)
        elif kind == "sh" and not takes_long(block):
            run_commands(text, folder)
        else:
            assert kind in ("sh", "text")
    questions = Counter(json.dumps(request["messages"]) for request in endpoint.requests)
    # A file of answers is trusted after twenty of its questions have been asked again.
    assert max(questions.values(), default=1) <= 2 and (questions.total() - len(questions)) in (0, 20)


def test_code_in_notebooks_is_executable() -> None:
    notebooks = {*PAGES} - {*documents()}
    assert len(notebooks) >= 5
    code = {"json", "pycon", "python", "sh"}
    idle = [(page.name, block.text) for page in notebooks for block in blocks_of(page) if block.kind in code]
    assert not idle


def documented_commands() -> list[Any]:
    """The commands that a page shows with their output."""
    return [
        pytest.param(block.text, id=block.id, marks=[pytest.mark.slow] * ("qubic" in block.text))
        for path in PAGES
        for block in blocks_of(path)
        if block.kind == "text" and block.text.startswith("$ ") and block.text.count("\n") > 1
    ]


@pytest.mark.parametrize("text", documented_commands())
def test_command_prints_documented_output(text: str, folder: Path) -> None:
    command, expected = text.removeprefix("$ ").split("\n", 1)
    run = subprocess.run(command, shell=True, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE)
    assert run.stdout == expected


def long_blocks() -> list[Any]:
    """The slow blocks, each once, as some occur in two documents."""
    found = {block.text: block for path in documents() for block in blocks_of(path) if takes_long(block)}
    return [pytest.param(block, id=block.id) for block in found.values()]


@pytest.mark.slow
@pytest.mark.parametrize("block", long_blocks())
def test_slow_block_keeps_its_promise(block: Block, folder: Path) -> None:
    if block.kind == "python":
        run_python(block.text, folder)
    else:
        for line, printed in run_commands(block.text, folder):
            assert "certified unbeatable" not in line or "UNBEATABLE" in printed


def shortened(text: str) -> str:
    """A block of Python with its slow parts shortened."""
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    return text


def run_python(text: str, path: Path) -> None:
    """Run a block of Python on its own."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sb3_contrib")
    threads = torch.get_num_threads()
    try:
        exec(compile(text, path.name, "exec"), {})
    finally:
        torch.set_num_threads(threads)


def test_pictures_exist() -> None:
    for path in documents():
        pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", path.read_text("utf-8"))
        assert [each for each in pictures if not (path.parent / each).is_file()] == [], path


def test_pictures_have_captions() -> None:
    for path in sorted(DOCS.rglob("*.md")):
        after = re.findall(r"^!\[.*\)\n\s*(\S)", path.read_text("utf-8"), re.MULTILINE)
        assert set(after) <= {"*"}, path


def test_links_in_repository_documents_work() -> None:
    """Sphinx checks the links of the site; these documents are read in the repository."""
    for path in (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")):
        links = re.findall(r"\]\((?!\w+:)([^)#]+)", path.read_text("utf-8"))
        assert [each for each in links if not (path.parent / each).exists()] == [], path


def options_of(group: Any, name: str = "ttt") -> dict[str, set[str]]:
    """The options of each command, by the words that call it."""
    own = {option for each in group.params for option in (*each.opts, *each.secondary_opts)}
    options = {name: own | {"--help", "-h"}}
    for word, command in getattr(group, "commands", {}).items():
        options |= options_of(command, f"{name} {word}")
    return options


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
# The classes of the objects that have these names in the pages.
OBJECTS = {
    name.lower(): [CLASSES[name]]
    for name in ("Agent", "Boards", "Certificate", "Match", "Position", "Proof", "Tournament")
} | {"env": [ENVIRONMENT, TWO_PLAYERS, CLASSES["TextEnv"]], "envs": [VECTOR]}


def has(owner: Any, name: str) -> bool:
    """True if objects of this class, or a module, have this attribute or field."""
    if not inspect.isclass(owner):
        return hasattr(owner, name)
    is_set = re.search(rf"\bself\.{name}\b", inspect.getsource(owner))
    return (
        hasattr(owner, name)
        or bool(is_set)
        or any(name in each.__annotations__ for each in owner.__mro__[:-1])
    )


def resolves(dotted: str) -> bool:
    """True if an object with this full name exists."""
    owner, _, name = dotted.rpartition(".")
    try:
        return pydoc.locate(dotted) is not None or has(pydoc.locate(owner), name)
    except pydoc.ErrorDuringImport:  # a module whose extra is not installed here
        sources = [(ROOT / each.replace(".", "/")).with_suffix(".py") for each in (dotted, owner)]
        return sources[0].is_file() or f" {name}(" in sources[1].read_text("utf-8")


def has_only_known(words: list[str], known: set[str]) -> bool:
    """True if all options among these words are known."""
    return {word.partition("=")[0] for word in words if word.startswith("--")} <= known


def is_command(called: re.Match[str]) -> bool:
    """True for a command of `ttt` with existing options."""
    words = shlex.split(called[0].replace("'", ""))
    name = max((name for name in COMMANDS if f"{called[0]} ".startswith(f"{name} ")), key=len)
    return (name != "ttt" or words[1][0] == "-" or words[1] == "COMMAND") and has_only_known(
        words, COMMANDS[name]
    )


def is_script(called: re.Match[str]) -> bool:
    """True for a script of the repository with existing options."""
    script, words = called[1], called[2].split()
    return "NAME" in script or (script in SCRIPT_OPTIONS and has_only_known(words, SCRIPT_OPTIONS[script]))


def has_arguments(called: re.Match[str]) -> bool:
    """True if the function has these parameters, or does not belong to the package."""
    function = getattr(ttt_env, called[1], None)
    if not inspect.isfunction(function):
        return True
    parameters = inspect.signature(function).parameters
    named = set(re.findall(r"(?:^|, )(\w+)=", called[2]))
    return named <= parameters.keys() or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def has_parameters(agent: str, text: str) -> bool:
    """True if an agent of this name with these parameters exists."""
    if agent not in ttt_env.agent_names():
        return False
    parameters = inspect.signature(agent_class(agent.partition(":")[0]).__init__).parameters
    return set(re.findall(r"(?:^|,)(\w+)=", text)) <= parameters.keys()


# In Gymnasium, PettingZoo, Stable-Baselines3, TorchRL and the answers of an endpoint.
FOREIGN_NAMES = {
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
    """The names, and the strings that could be names, in the code that the pages describe."""
    paths = (
        path for folder in ("ttt_env", "scripts", "tests/support") for path in (ROOT / folder).rglob("*.py")
    )
    codes = (compile(path.read_text("utf-8"), path, "exec") for path in paths)
    return {*FOREIGN_NAMES, *(word for code in codes for word in words_in(code) if word.isidentifier())}


# Patterns of code in running text, and whether such code exists. The first that fits decides.
RIGHT: dict[str, Callable[[re.Match[str]], bool]] = {
    r"ttt (?=[\w-]).*": is_command,
    r"make (\S+)": lambda found: bool(run_commands(found[0], ROOT)),
    r"(?:python )?(scripts/[\w/]+\.py)(.*)": is_script,
    r"--.*": lambda found: has_only_known(found[0].split(), OPTIONS),
    r"ttt_env/[a-z]+-v0": lambda found: found[0] in gymnasium.registry,
    r"((?:docs|scripts|tests|ttt_env|agents)/\S+)": lambda found: (ROOT / found[0]).exists(),
    r"pip install .*\[([\w,]+)\]\"": lambda found: set(found[1].split(",")) <= EXTRAS,
    r"(ttt_env(?:\.\w+)+).*": lambda found: resolves(found[1]),
    r"(\w+)\((.*)\)": has_arguments,
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
    """False if code looks like a command, an option, a path or a name of the package, but does not exist."""
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
def test_names_in_page_exist(path: Path) -> None:
    assert [span for span in spans_of(path) if not is_right(span)] == []


def test_names_in_docstrings_exist() -> None:
    """Docstrings may also name private objects."""
    unknown = []
    for path in sorted((ROOT / "ttt_env").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                spans = re.findall(r"``?([^`\n]+)``?", ast.get_docstring(node) or "")
                unknown += [(path.name, span) for span in spans if not (is_right(span) or is_internal(span))]
    assert unknown == []


def is_internal(span: str) -> bool:
    """True if all names in this code are names in the sources or of their files."""
    return set(re.findall(r"[A-Za-z_]\w*", span)) <= internal_names()


@cache
def internal_names() -> set[str]:
    """The names in the sources, and those of the package's files."""
    return identifiers() | {path.stem for path in (ROOT / "ttt_env").rglob("*.*")}


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
def test_unknown_name_is_found(span: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        assert is_right(span)


def test_help_is_table_of_contents() -> None:
    """Errors are listed under `TttEnvError`, the modules of PettingZoo under the first of them."""
    help_text = pydoc.plain(pydoc.render_doc(ttt_env)).partition("PACKAGE CONTENTS")[0]
    names = {name for name in ttt_env.__all__ if not name.endswith("Error")} | {"TttEnvError"}
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", help_text)] == []
    modules = re.search(r"Modules to import\n(.*?)\n\s*\n", help_text, re.DOTALL)
    for name in re.findall(r"^ +([a-z.]+)  ", modules[1] if modules else "", re.MULTILINE):
        assert import_module(f"ttt_env.{name}").__doc__
    assert not [
        name for name, value in vars(ttt_env).items() if isinstance(value, ModuleType) and name[0] == "_"
    ]


def described_in(pages: str) -> set[str]:
    """The full names of all objects that these pages of the reference describe."""
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
def test_reference_has_every_public_name(name: str) -> None:
    described = described_in("api/*.md") | described_in("agents.md") | described_in("errors.md")
    public = {f"{name}.{each}" for each in import_module(name).__all__ if not each.endswith("_v0")}
    assert public - described - {"ttt_env.bots.CommandAgent"} == set()  # an agent, under its own module


def has_example(value: Any) -> bool:
    """True if the docstring of an object, or of one of its members, has an example."""
    members = vars(value).values() if inspect.isclass(value) else ()
    return any(">>> " in (inspect.getdoc(each) or "") for each in (value, *members))


def test_every_public_name_has_running_example() -> None:
    runs = re.compile(r"^```(?:\{code-cell\}[^\n]*|python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    code = "\n".join(text for path in PAGES for text in runs.findall(path.read_text("utf-8")))
    public = [name for name in ttt_env.__all__ if not has_example(getattr(ttt_env, name))]
    assert [name for name in public if not re.search(rf"\b{name}\b", code)] == []


def test_reference_has_environments() -> None:
    names = {f"{each.__module__}.{each.__qualname__}" for each in (ENVIRONMENT, TWO_PLAYERS, VECTOR)}
    assert names <= described_in("api/*.md")


def test_reference_explains_every_error() -> None:
    text = (DOCS / "reference" / "errors.md").read_text("utf-8")
    rows = re.findall(r"^\| \{py:obj\}`~(\S+)` \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    names = {
        f"{'ttt_env' if each.__name__ in ttt_env.__all__ else 'ttt_env.errors'}.{each.__name__}"
        for each in subclasses_of(ttt_env.TttEnvError)
    }
    assert names == {place for place, *_ in rows}
    assert names | {"ttt_env.TttEnvError"} == described_in("errors.md")


def subclasses_of(kind: type) -> set[type]:
    """All subclasses that belong to this package."""
    ours = {each for each in kind.__subclasses__() if each.__module__.startswith("ttt_env.")}
    return ours.union(*map(subclasses_of, ours))


def test_reference_has_every_agent() -> None:
    text = (DOCS / "reference" / "agents.md").read_text("utf-8")
    described = re.findall(r"^### (\S+)\n\n```{eval-rst}\n.. autoclass:: (\S+)\.(\w+)", text, re.MULTILINE)
    agents = {name: (module, of_class) for name, module, of_class in described}
    ours = [point for point in entry_points(group="ttt_env.agents") if point.dist.name == "ttt-env"]
    assert agents == {point.name: (point.module, point.attr) for point in ours}


def test_commands_for_contributors_exist(tmp_path: Path) -> None:
    (commands,) = (text for kind, text in blocks_of(ROOT / "CONTRIBUTING.md") if kind == "sh")
    assert len(run_commands(commands, tmp_path)) == 3


def test_citation_has_current_version() -> None:
    assert f"\nversion: {ttt_env.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def make_program(folder: Path, name: str, suffix: str, text: str) -> None:
    """Write a block that begins with a file name to this file, and compile C."""
    source = folder / f"{name}.{suffix}"
    source.write_text(text, "utf-8")
    if suffix == "c":
        if shutil.which("cc") is None:
            pytest.skip("no C compiler is installed here")
        subprocess.run(["cc", "-Wall", "-Werror", "-o", str(folder / name), str(source)], check=True)


def check_protocol(text: str) -> None:
    """Check that a question and an answer, each on its line, follow the protocol."""
    asked, answered = text.splitlines()
    question = read_question(asked)
    assert question.line == asked and read_answer(json.loads(answered), question.position).outcome == "played"


@pytest.mark.parametrize("page", sorted((DOCS / "games").glob("*.md")), ids=lambda page: page.stem)
def test_page_of_game_states_facts(page: Path) -> None:
    stated = dict(re.findall(r"^\| ([A-Z][^|]*) \| (.*) \|$", page.read_text("utf-8"), re.MULTILINE))
    name = stated["Id"].strip("`")
    game, env = get_game(name), ttt_env.make(name, opponent="random")
    module = stated["PettingZoo module"].partition("import ")[2].partition("`")[0]
    assert game.name == name and getattr(ttt_env, module).env().game.shape == game.shape
    assert stated["Actions"] == f"`{env.action_space}`"
    assert stated["Observation"] == f"`{env.observation_space}`"
    assert stated["Winning sets"] == str(len(game.winning_sets))
    assert stated["Symmetries"] == str(len(symmetries(game)))
    takes_minutes = ("qubic-v0", "connect-four-v0")  # slow tests prove that X wins them
    value = 1 if name in takes_minutes else ttt_env.prove(game).value
    assert stated["Value"] == {0: "draw", 1: "X wins"}[value]
    if game.n_cells <= 16:
        n_positions = POSITIONS if game.n_cells == 9 else ENUMERABLE[name][0]
        assert stated["Reachable positions"] == f"{n_positions:,}"


def test_install_page_lists_all_extras() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \|", (DOCS / "install.md").read_text("utf-8"), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert listed == EXTRAS - {"dev", "docs", "peers"}
