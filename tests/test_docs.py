"""Every document of `docs` runs from top to bottom, as who reads it would try it."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import ttt_env
from tests.documents import ROOT, blocks_of, run_commands, run_session
from tests.endpoint import Endpoint
from tests.scripted_models import MODELS
from ttt_env import get_game
from ttt_env.engines.uci.notation import variants_file
from ttt_env.text.protocol import read_answer, read_question

DOCS = ROOT / "docs"
URL = "http://localhost:8000/v1"  # where the documents say that a model listens


def pages() -> list[Path]:
    """Those that are no notebooks, which `make docs` runs, and that it does not write."""
    every = [path for path in sorted(DOCS.rglob("*.md")) if path != DOCS / "reference" / "commands.md"]
    return [path for path in every if "\nkernelspec:" not in path.read_text("utf-8")]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(DOCS).as_posix())
def test_document(path: Path, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sessions share their names, its commands a folder, and its function `model` is the endpoint's."""
    namespace: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setitem(MODELS, "my-model", lambda prompt: namespace["model"](prompt))
    for kind, text in blocks_of(path):
        here = text.replace(URL, endpoint.url)
        if named := re.match(r"(?:#|//) (\w+)\.(\w+)", text):
            make_program(tmp_path, *named.groups(), text)
        elif kind == "pycon":
            run_session(here, namespace, path.name)
        elif kind == "json":
            check_protocol(here)
        elif kind == "ini":
            assert here == variants_file(get_game("mnk-v0:m=4,n=3,k=3"))
        else:
            assert kind == "sh"
            run_commands(here, tmp_path)
    questions = [json.dumps(request["messages"]) for request in endpoint.requests]
    assert len(questions) == len(set(questions))


def test_the_reference_has_every_public_name() -> None:
    text = (DOCS / "reference" / "api.md").read_text("utf-8")
    listed = set(re.findall(r"^\.\. auto\w+:: (\w+)", text, re.MULTILINE))
    assert listed >= {name for name in ttt_env.__all__ if not name.endswith("_v0")}


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
