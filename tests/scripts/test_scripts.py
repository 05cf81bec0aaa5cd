"""Every script runs to its end, with a small budget and warnings as errors."""

import os
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running import Run, script

SCRIPTS = Path(__file__).parents[2] / "scripts"
POLICY = shlex.quote(str(SCRIPTS.parent / "docs" / "proofs" / "policies" / "ppo.npz"))
PROOF = shlex.quote(str(SCRIPTS.parent / "docs" / "proofs" / "mnk-v0-m-6-n-5-k-4.npz"))
# The arguments of a small run, and a text of its output. A script that is missing here fails the tests.
SMALL: dict[str, tuple[str, str]] = {
    "blunder_curves.py": ("--out . --seconds 1", "7×6: solved positions"),
    "behaviour_cloning.py": ("--game mnk-v0:m=3,n=2,k=2 --epochs 20", "gives value away in 0."),
    "connect_four_peers.py": ("--games 10 --rounds 0", "10 games, "),
    "benchmark_envs.py": ("--seconds 0.001 --rounds 1", "np.take alone"),
    "benchmark_exact.py": ("--rounds 1 --games mnk-v0:m=4,n=3,k=3", "value  1"),
    "benchmark_gpu.py": (
        "--device cpu --game tictactoe-v0 --rounds 1 --factor 2",
        "| cpu | 512 |",
    ),
    "benchmark_search.py": ("--rounds 1 --share 0.01", "ratio"),
    "benchmark_selfplay.py": (
        "--rounds 1 --seconds 0.001 --out a.jsonl",
        "| ttt_env, one game at a time, cache cleared |",
    ),
    "benchmark_training.py": ("--envs 4 --rollouts 1 --rounds 1", "of replayed"),
    "build_pretrained.py": (
        "--out . --share 0.005 --only ppo dqn q-learning value-network alphazero",
        "unbeatable: True",
    ),
    "check_policy.py": (POLICY, "worst result as O: draw, for example 0 4 1 2 6 3 5 8 7"),
    "check_proof.py": (
        PROOF,
        "mnk-v0:m=6,n=5,k=4 (rules of the catalogue), from the empty board: X wins",
    ),
    "dependency_ranges.py": ("lowest --dry-run", "--resolution lowest-direct --editable '.[dev]'"),
    "golden.py": ("--check --only count aec", "30 facts are as in behaviour.txt"),
    "gravity_values.py": (
        "--games connect-four-v0:m=3,n=3,k=3 score-four-v0:k=3,h=3",
        "| connect-four-v0:m=3,n=3,k=3 | 694 | draw |",
    ),
    "grpo.py": ("--steps 100", "at worst"),
    "grpo_generalisation.py": ("--seeds 1 --steps 1", "the other half"),
    "ladder.py": ("--out . --agents random block", "minimax"),
    "leaderboard.py": (
        "run --algorithm q-learning --game tictactoe-v0 --seeds 1 --out a.jsonl",
        "q-learning, tictactoe-v0, seed 0: goal after",
    ),
    "mcts_strength.py": ("--out . --seeds 2 --most 10", "minimax"),
    "mutants.py": ("--check --only kernels", "applies"),
    "opening_trap.py": ("--ways ppo --seeds 1 --steps 5000 --lines a.jsonl", "ppo, seed 0: "),
    "pictures.py": ("--out .", "game.gif"),
    "early_stop.py": ("--positions 2 --budgets 64", "| qubic-v0 "),
    "proofs.py": ("--games mnk-v0:m=4,n=3,k=3 --seconds 30 --lines a.jsonl --save .", "X wins"),
    "q_learning_curve.py": ("--out . --seeds 1 --on tictactoe-v0", "unbeatable"),
    "showdown.py": ("--out .", "nobody"),
    "softmax_figures.py": ("--out . --games 2", "draw"),
    "value_network_figures.py": (
        "--out . --games 600 --seeds 1 --keep . --tensorboard runs",
        "looks at networks",
    ),
    "position_layout.py": ("--out layout.json", "layout.json"),
    "tour.py": ("--out . --pages 1", "tour.gif, "),
    "truth.py": ("board-code", "14,446 = 201211001 in base 3"),
    "web_pictures.py": ("--out . web-ladder web-phone", "web-phone.png"),
    "teach_proof.py": (
        "--game mnk-v0:m=4,n=3,k=3 --new --out a.npz --proof b.npz",
        "b.npz: 1 positions",
    ),
    "train_unbeatable.py": ("--algo dqn --seeds 1 --steps 2000", "| dqn | certified |"),
}

SLOW_SCRIPTS = {
    "behaviour_cloning.py",
    "benchmark_gpu.py",
    "benchmark_training.py",
    "opening_trap.py",
    "pictures.py",
    "position_layout.py",
    "showdown.py",
    "train_unbeatable.py",
    "blunder_curves.py",
    "benchmark_envs.py",
    "benchmark_exact.py",
    "benchmark_selfplay.py",
    "build_pretrained.py",
    "grpo.py",
    "grpo_generalisation.py",
    "mcts_strength.py",
    "q_learning_curve.py",
    "softmax_figures.py",
    "value_network_figures.py",
}
NEEDS_CHROMIUM = {"tour.py", "web_pictures.py"}
NEEDS_A_COMPILER = {"gravity_values.py"}
STARTS_PROCESSES = {"value_network_figures.py"}  # the processes import it as the main program


PROGRAMS = [path for path in sorted(SCRIPTS.glob("*.py")) if "__main__" in path.read_text(encoding="utf-8")]
EACH = [
    pytest.param(
        path,
        id=path.name,
        marks=[pytest.mark.slow] * (path.name in SLOW_SCRIPTS)
        + [pytest.mark.browser] * (path.name in NEEDS_CHROMIUM),
    )
    for path in PROGRAMS
]


@pytest.mark.parametrize("path", EACH)
def test_script(path: Path, tmp_path: Path) -> None:
    assert path.name in SMALL, f"how is {path.name} run in a few seconds? Say so in SMALL"
    line, text = SMALL[path.name]
    arguments = shlex.split(line)
    if path.name in NEEDS_CHROMIUM and not shutil.which("chromium") and not os.environ.get("CI"):
        pytest.skip("no chromium here: `make browser` installs it on Debian")
    if path.name in NEEDS_A_COMPILER and not shutil.which("cc"):
        pytest.skip("no C compiler here")
    if path.name in STARTS_PROCESSES:
        command = [sys.executable, "-W", "error", str(path), *arguments]
        own = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        run = Run(own.returncode, own.stdout, own.stderr)
    else:
        run = script(path, *arguments, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert text in run.stdout


@pytest.mark.parametrize("name", sorted(SLOW_SCRIPTS))
def test_slow_script_can_be_imported(name: str) -> None:
    assert callable(runpy.run_path(str(SCRIPTS / name), run_name="imported")["main"])


def test_small_runs_have_existing_scripts() -> None:
    assert set(SMALL) == {path.name for path in PROGRAMS}
