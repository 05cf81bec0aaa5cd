"""The metadata of the framework scripts, and the program that runs them."""

import ast
import json
import runpy
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from marked import with_table

FOLDER = Path(__file__).parents[2] / "scripts" / "frameworks"
runner = SimpleNamespace(**runpy.run_path(str(FOLDER / "run.py")))
SCRIPTS: dict[str, Any] = runner.scripts()
each_script = pytest.mark.parametrize("script", SCRIPTS.values(), ids=list(SCRIPTS))


@each_script
class TestEachScript:
    def test_text_of_script(self, script: Any) -> None:
        """It parses on the oldest Python, names the example that it follows, and asserts its result."""
        tree = ast.parse(script.source, feature_version=(3, 11))
        assert "https://" in script.docstring
        assert "assert_unbeatable(" in script.source or "assert " in script.source.partition("= outcome(")[2]
        # its name shadows no package, and the line that imports ttt_env is marked
        assert script.name not in {alias for line in ast.walk(tree) for alias in modules(line)}
        imports = [line for line in script.source.splitlines() if line.strip().startswith("import ttt_env")]
        assert imports and set(imports) <= set(script.marked_lines)

    def test_dependencies_are_pinned(self, script: Any) -> None:
        assert script.metadata["requires-python"] == ">=3.11"
        pinned = [each for each in script.metadata["dependencies"] if not each.startswith("ttt-env")]
        assert len(pinned) < len(script.metadata["dependencies"])
        assert all("==" in each for each in [*pinned, *script.options.get("no-deps", [])])

    def test_result_is_recorded(self, script: Any) -> None:
        result = runner.read_results()[script.name]
        assert result["unbeatable"] <= (result["as_x"] <= 0 and result["as_o"] <= 0)
        assert set(result["versions"]) <= {name_of(each) for each in requirements_of(script)}


def test_beatable_result_is_error(capsys: pytest.CaptureFixture[str]) -> None:
    last = SimpleNamespace(**runpy.run_path(str(FOLDER / "outcome.py")))
    assert [last.is_unbeatable(agent, "1 step") for agent in ("minimax", "block")] == [True, False]
    assert capsys.readouterr().out.startswith("1 step: the best response to X gets 0, to O 0\n1 step: ")
    last.assert_unbeatable("minimax", ["numpy"])
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["unbeatable"] and list(result["versions"]) == ["numpy"]
    with pytest.raises(AssertionError):
        last.assert_unbeatable("block", ["numpy"])
    assert not json.loads(capsys.readouterr().out.splitlines()[-1])["unbeatable"]


def modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").partition(".")[0]]
    return [each.name.partition(".")[0] for each in node.names] if isinstance(node, ast.Import) else []


def requirements_of(script: Any) -> list[str]:
    return [*script.metadata["dependencies"], *script.options.get("no-deps", [])]


def name_of(requirement: str) -> str:
    return requirement.partition("==")[0].partition("[")[0].strip()


def test_table_equals_results_of_existing_scripts() -> None:
    text = runner.README.read_text("utf-8")
    assert with_table(text, runner.table(runner.read_results())) == text
    assert set(runner.read_results()) <= set(SCRIPTS)


METADATA = """# /// script
# requires-python = ">=3.11"
# dependencies = [%s]
#
# [tool.frameworks]
# no-deps = ["pins-torch==1.0"]
# ///
"""


def write_script(folder: Path, text: str) -> Any:
    path = folder / "example.py"
    path.write_text(text, "utf-8")
    return runner.Script(path)


def test_checkout_replaces_package(tmp_path: Path) -> None:
    script = write_script(
        tmp_path, METADATA % '"ttt-env[torch]>=0.1", "ttt-env", "ttt-env-2==1", "numpy==2.4.6"'
    )
    assert script.requirements == [f"{runner.ROOT}[torch]", f"{runner.ROOT}", "ttt-env-2==1", "numpy==2.4.6"]
    assert script.options["no-deps"] == ["pins-torch==1.0"]


def test_two_metadata_blocks_are_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not 2"):
        _ = write_script(tmp_path, METADATA % "" + "\n" + METADATA % "").metadata


ALONE = """# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
import os, sys, time
time.sleep(0.2)
print('{"versions": {}, "at": "' + os.getcwd() + '", "prefix": "' + sys.prefix + '"}')
"""


@pytest.mark.slow
def test_environment_is_reused_until_requirements_change(tmp_path: Path) -> None:
    script = write_script(tmp_path, ALONE)
    python = runner.environment(script, tmp_path / "build")
    trace = python.parent / "trace"
    trace.touch()
    assert runner.environment(script, tmp_path / "build") == python and trace.exists()
    result = runner.run(script, python)
    assert result["prefix"] == str(tmp_path / "build" / "example") and result["seconds"] >= 0.2
    assert not Path(result["at"]).exists()  # a temporary folder, which is deleted
    (python.parents[1] / "made_from.txt").write_text("others")
    runner.environment(script, tmp_path / "build")
    assert not trace.exists()


@pytest.mark.parametrize(
    "line, error", [("raise SystemExit(3)", "exit status 3"), ("", "does not end with outcome")]
)
def test_failing_script_is_error(tmp_path: Path, line: str, error: str) -> None:
    script = write_script(tmp_path, line)
    with pytest.raises((subprocess.SubprocessError, ValueError), match=error):
        runner.run(script, Path(sys.executable))


@pytest.mark.slow
def test_output_before_timeout_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    child = "subprocess.Popen(['sleep', '60'])"
    text = f"import subprocess, time\nprint('step 1')\n{child}\ntime.sleep(60)\n"
    started = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired, match="timed out after 2"):
        runner.run(write_script(tmp_path, text), Path(sys.executable), 2)
    assert capsys.readouterr().out == "step 1\n" and time.monotonic() - started < 50


def test_limit_is_option_and_unknown_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = []
    monkeypatch.setitem(
        runner.main.__globals__, "run", lambda *arguments: limits.append(arguments[-1]) or {"seconds": 0}
    )
    for options in ([], ["--seconds", "9.5"]):
        assert runner.main(["trl_grpo", "--python", sys.executable, *options]) == 0
    assert limits == [600, 9.5]
    with pytest.raises(SystemExit):
        runner.main(["no_such_script"])
    assert "no script no_such_script" in capsys.readouterr().err


OUTCOME = (
    '{"versions": {"good": "1.0"}, "unbeatable": false, "as_x": 0.25, "as_o": 0.0, "exploitability": 0.125}'
)


def test_successes_are_recorded_despite_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = "<!-- table: begin -->\n<!-- table: end -->\n"
    (tmp_path / "README.md").write_text(f"Before.\n{table}After.\n", "utf-8")
    (tmp_path / "results.json").write_text("{}", "utf-8")
    header = '"""Does {}."""\n# /// script\n# dependencies = []\n# ///\n'
    good = f"x = 1  # ttt_env\nprint('{OUTCOME}')\nprint('bye')\n"
    (tmp_path / "good.py").write_text(header.format("well") + good, "utf-8")
    (tmp_path / "bad.py").write_text(header.format("badly") + "raise SystemExit(3)\n", "utf-8")
    (tmp_path / "shared.py").write_text('"""Is no script, but a module of both."""\n', "utf-8")
    paths = {"HERE": tmp_path, "RESULTS": tmp_path / "results.json", "README": tmp_path / "README.md"}
    for name, value in {**paths, "environment": lambda script: Path(sys.executable)}.items():
        monkeypatch.setitem(runner.main.__globals__, name, value)
    assert runner.main(["--record"]) == 1
    assert list(runner.read_results()) == ["good"]
    first, *lines = (tmp_path / "README.md").read_text("utf-8").splitlines()
    assert (first, lines[0], lines[-1]) == ("Before.", "<!-- table: begin -->", "After.")
    row = "| good 1.0 | [good](good.py) | 1 | 0.1250 | 0 |"
    assert lines[3:-2] == [row]
