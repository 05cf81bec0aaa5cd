"""The modules and names that a bare `import ttt_env` brings."""

import subprocess
import sys

import pytest

HEAVY = [
    "torch",
    "numba",
    "pygame",
    "tkinter",
    "matplotlib",
    "stable_baselines3",
    "sb3_contrib",
    "typer",
    "rich",
    "h5py",
    "minari",
    "mlcroissant",
    "pandas",
    "pyarrow",
]


def imported_by(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    names = run.stdout.split()
    return {*names, *(name.partition(".")[0] for name in names)}


USES = {
    "import": "import ttt_env",
    "play": """
import ttt_env
env = ttt_env.make("tictactoe-v0", opponent="minimax", render_mode="rgb_array")
env.reset(seed=0)
env.render()
env.position._repr_svg_()
ttt_env.match("random", "minimax")
""",
}


@pytest.mark.parametrize("statement", USES.values(), ids=USES)
def test_no_heavy_package_is_loaded(statement: str) -> None:
    loaded = imported_by(statement)
    assert "ttt_env" in loaded
    assert not loaded & set(HEAVY)


def test_the_top_level_shows_its_public_names_alone() -> None:
    import ttt_env

    assert set(dir(ttt_env)) == {*ttt_env.__all__, "__doc__", "__version__", "envs", "errors"}
    assert all(hasattr(ttt_env, name) for name in dir(ttt_env)) and len(ttt_env.__all__) <= 50
    assert {name for name in ttt_env.__all__ if name.endswith("Error")} == {"IllegalMoveError", "TttEnvError"}


def test_agents_are_loaded_when_named_and_not_before() -> None:
    assert "ttt_env.agents" not in imported_by("import ttt_env")
    assert "ttt_env.agents" in imported_by("import ttt_env\nttt_env.make_agent('random')")


def test_data_sets_load_their_libraries_only_for_what_needs_them() -> None:
    assert not imported_by("from ttt_env.datasets import position_chats, play_games") & set(HEAVY)


def test_names_of_training_are_short_and_load_torch_only_when_asked_for() -> None:
    pytest.importorskip("sb3_contrib")
    light = [
        "import ttt_env.training",
        "from ttt_env.agents.learned import q_learning",
        "from ttt_env.training import OpponentPool, RandomStarts",
    ]
    assert not imported_by("\n".join(light)) & set(HEAVY)
    loaded = imported_by("from ttt_env.training import SelfPlay")
    assert "torch" in loaded


def test_a_name_that_training_has_not() -> None:
    from ttt_env import training

    assert set(training.__all__) <= set(dir(training))
    with pytest.raises(AttributeError, match="SelfPlai"):
        training.SelfPlai  # noqa: B018
