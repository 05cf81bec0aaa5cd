"""A public function works with any argument or says what is wrong with it, and then nothing has changed."""

import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import ttt_env
from tests.support.games import TICTACTOE, lowest
from tests.support.hostile_values import HOSTILE, HostileError
from tests.support.marks import slow
from ttt_env.text import TextEnv

ID = "tictactoe-v0"
START = TICTACTOE.start
SETS = [(0, 1, 2)]


def keyword(function: Callable[..., Any], *arguments: Any, **settings: Any) -> Callable[[str], Any]:
    """Calls of a function with the hostile value as one of its keywords."""
    return lambda name: lambda value: function(*arguments, **{**settings, name: value})


OF_ENVS = ["illegal", "rewards", "observation", "start", "render_mode", "misere", "m", "game", "nonsense"]
OF_SWEEPS = ["game", "progress", "workers"]
OF_SINGLE = [*OF_ENVS, "opponent", "opponent_weights", "play_as"]
KEYWORDS: dict[str, tuple[Callable[[str], Any], list[str]]] = {
    "make": (keyword(ttt_env.make, ID), [*OF_ENVS, "agent_names"]),
    "make single": (keyword(ttt_env.make, ID, opponent="random"), OF_SINGLE),
    "make two players": (keyword(ttt_env.make, ID), ["opponent_weights", "play_as"]),
    "make mnk": (keyword(ttt_env.make, "mnk-v0", opponent="random"), ["m", "n", "k", "misere"]),
    "make_vec": (
        keyword(ttt_env.make_vec, ID, opponent="random"),
        [*OF_SINGLE, "num_envs", "autoreset_mode", "backend", "device"],
    ),
    "make_agent": (keyword(ttt_env.make_agent, "random"), ["game"]),
    "get_game": (keyword(ttt_env.get_game, "mnk-v0"), ["m", "n", "k", "misere", "nonsense"]),
    "Game": (
        keyword(ttt_env.Game, name="g", shape=(3, 3), winning_sets=SETS),
        ["name", "shape", "winning_sets", "misere", "coordinates"],
    ),
    "Position": (keyword(ttt_env.Position, game=TICTACTOE, mine=0, theirs=0), ["game"]),
    "Position.parse": (keyword(ttt_env.Position.parse, ".../.../..."), ["game"]),
    "GameRecord": (keyword(ttt_env.GameRecord, game=TICTACTOE, cells=(4,)), ["game", "cells"]),
    "GameRecord.parse": (keyword(ttt_env.GameRecord.parse, "tictactoe-v0: 4"), ["game"]),
    "TextEnv": (
        keyword(TextEnv),
        [
            *["game", "opponent", "opponent_weights", "play_as", "illegal", "retries", "rewards", "reward"],
            *["reward_weights", "replies", "start", "board", "answer", "nodes", "seed", "misere", "nonsense"],
        ],
    ),
    "match": (keyword(ttt_env.match, "random", "minimax"), [*OF_SWEEPS, "exact", "games", "rng"]),
    "certify": (keyword(ttt_env.certify, "minimax"), [*OF_SWEEPS, "answers"]),
    "exploitability": (keyword(ttt_env.exploitability, "minimax"), [*OF_SWEEPS, "answers"]),
    "best_response": (keyword(ttt_env.best_response, "minimax"), [*OF_SWEEPS, "keep_value"]),
    "tournament": (
        keyword(ttt_env.tournament, ["random", "minimax"]),
        ["game", "width", "max_games", "rng", "workers", "backend", "address", "timeout", "progress"],
    ),
    "prove": (keyword(ttt_env.prove, ID), ["position", "nodes", "seconds", "progress", "checkpoint"]),
    "play_game": (keyword(ttt_env.play_game, "random", "minimax"), ["game", "rng"]),
    "make_vec_env": (
        keyword(ttt_env.envs.sb3.make_vec_env, ID),
        ["n_envs", "seed", "opponent", "play_as", "illegal", "rewards", "observation", "start", "backend"],
    ),
}
FUNCTIONS: list[Callable[..., Any]] = [
    *(ttt_env.make, ttt_env.make_vec, ttt_env.envs.sb3.make_vec_env, ttt_env.make_agent, ttt_env.get_game),
    *(ttt_env.Position.parse, ttt_env.GameRecord.parse, ttt_env.certify, ttt_env.exploitability),
    *(ttt_env.best_response, ttt_env.tournament, ttt_env.solve, ttt_env.prove, ttt_env.random_position),
    *(ttt_env.register_game, ttt_env.PolicyTable.of),
]
CALLS: dict[str, Callable[[Any], Any]] = {
    f"{function}({name}=)": of_name(name) for function, (of_name, names) in KEYWORDS.items() for name in names
}
CALLS |= {f"{function.__qualname__}()": function for function in FUNCTIONS}
CALLS |= {
    "make(opponent)": lambda value: ttt_env.make(value, "random"),
    "match()": lambda value: ttt_env.match(value, "random"),
    "play_game()": lambda value: ttt_env.play_game(value, "random"),
    "position.play()": START.play,
    "collect_episode(agents)": lambda value: ttt_env.collect_episode(ttt_env.make(ID), value),
    "collect_episode(env)": lambda value: ttt_env.collect_episode(value, {"X": "random", "O": "random"}),
    "train()": lambda value: ttt_env.train(value, "q-learning", steps=10),
    "certify([])": lambda value: ttt_env.certify([value, "random"]),
    "solve().value_of()": lambda value: ttt_env.solve(ID).value_of(value),
    "make_agent().explain()": ttt_env.make_agent("random").explain,
}
# `make_vec_env` makes what `make_vec` makes, and 20,000 winning sets take long to check.
QUICK = ("make", "get_game", "Game", "Position", "TextEnv", "solve", "play_game")
NOT_QUICK = ("make_vec_env(", "make two players(", "Game(winning_sets=)")


def test_no_public_function_is_left_out() -> None:
    functions = {name for name in ttt_env.__all__ if isinstance(getattr(ttt_env, name), FunctionType)}
    classes = {"Game", "Position", "GameRecord", "PolicyTable.of"}
    assert functions - {"agent_names", "game_names"} | classes <= {name.partition("(")[0] for name in CALLS}


def begun(env: Any) -> Any:
    env.reset(seed=0)
    return env


def of_sb3() -> Any:
    pytest.importorskip("stable_baselines3")
    envs = ttt_env.envs.sb3.make_vec_env(ID, 2, 0, "random", play_as="X")
    envs.reset()
    return envs


ENVS: dict[str, Callable[[], Any]] = {
    "single": lambda: begun(ttt_env.make(ID, lowest, play_as="X")),
    "two players": lambda: begun(ttt_env.make(ID)),
    "vector": lambda: begun(ttt_env.make_vec(ID, 2, lowest, play_as="X")),
    "table": lambda: begun(ttt_env.make_vec(ID, 2, "random", play_as="X")),
    "both sides": lambda: begun(ttt_env.make_vec(ID, 2, None)),
    "text": lambda: begun(TextEnv(ID, "random", play_as="X")),
    "sb3": of_sb3,
}
OF_ALL: dict[str, Callable[[Any, Any], Any]] = {
    "reset(seed=)": lambda env, value: env.reset(seed=value),
    "reset(options=)": lambda env, value: env.reset(options=value),
    "reset(position=)": lambda env, value: env.reset(options={"position": value}),
    "step()": lambda env, value: env.step(value),
}
OF_ONE_PLAYER: dict[str, Callable[[Any, Any], Any]] = {
    "reset(play_as=)": lambda env, value: env.reset(options={"play_as": value}),
    "set_opponent()": lambda env, value: env.set_opponent(value),
    "set_opponent(weights)": lambda env, value: env.set_opponent(["random", "block"], value),
}
OF_VECTORS: dict[str, Callable[[Any, Any], Any]] = {
    "reset(reset_mask=)": lambda env, value: env.reset(options={"reset_mask": value}),
    "set_attr(play_as)": lambda env, value: env.set_attr("play_as", value),
    "set_attr(illegal)": lambda env, value: env.set_attr("illegal", value),
}
ACTS: dict[str, Callable[[Any, Any], Any]] = {}
for _name in ("single", "two players", "vector", "table", "both sides"):
    _acts = OF_ALL if _name == "two players" else OF_ALL | OF_ONE_PLAYER
    _acts = _acts if _name in ("two players", "single") else _acts | OF_VECTORS
    ACTS |= {f"{_name}.{_act}": _acts[_act] for _act in _acts}
ACTS |= {
    "two players.observation_space()": lambda env, value: env.observation_space(value),
    "two players.action_space()": lambda env, value: env.action_space(value),
    "two players.observe()": lambda env, value: env.observe(value),
    "text.move()": lambda env, value: env.move(value),
    "text.reply()": lambda env, value: env.reply(value),
    "sb3.step()": lambda env, value: env.step(value),
    "sb3.seed()": lambda env, value: (env.seed(value), env.reset()),
    "sb3.set_options()": lambda env, value: (env.set_options(value), env.reset()),
}
for _name in ("seed", "position", "play_as", "opponent"):
    ACTS[f"text.reset({_name}=)"] = lambda env, value, name=_name: env.reset(**{name: value})


def state_of(env: Any) -> str:
    """All that decides what an environment does next."""
    env = getattr(env, "envs", env)
    rng = (env._env if isinstance(env, TextEnv) else env).np_random
    names = ["seat", "seats", "play_as", "illegal", "opponent", "opponents", "_episodes"]
    names += ["agent_selection", "rewards"]
    told = {name: repr(getattr(env, name)) for name in names if hasattr(env, name)}
    boards = list(map(str, env.boards)) if hasattr(env, "boards") else str(env.position)
    info = env.info if isinstance(env, TextEnv) else None
    return repr((boards, rng.bit_generator.state, sorted(told.items()), info))


def check(act: Callable[[Any], Any], value: Any, argument: str) -> bool:
    """True if the act works; it may fail by an error of this package, or by one that names its argument."""
    try:
        act(value)
    except (ttt_env.TttEnvError, ImportError):
        return False
    except (HostileError, TypeError, ValueError) as error:
        if isinstance(value, FunctionType | type):
            return False  # it was called, as a function may be, and this is its own error
        frame = traceback.extract_tb(error.__traceback__)[-1]
        assert "/ttt_env/" in frame.filename and argument in str(error), repr(error)
        return False
    return True


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def argument_in(name: str) -> str:
    return name.partition("(")[2].rstrip("=)")


@pytest.mark.parametrize(
    "name",
    [name if name.startswith(QUICK) and not name.startswith(NOT_QUICK) else slow(name) for name in CALLS],
)
def test_functions(name: str) -> None:
    failed = {}
    for kind, make in HOSTILE.items():
        try:
            check(CALLS[name], make(), argument_in(name))
        except (Exception, RecursionError) as error:
            failed[kind] = f"{type(error).__name__}: {str(error)[:150]}"
    assert not failed


# A table differs from other opponents where it plays; the rest of a vector env is the same.
@pytest.mark.parametrize(
    "name", [slow(name) if name.startswith(("table.reset(", "table.set_attr(")) else name for name in ACTS]
)
def test_environments(name: str) -> None:
    make_env, act = ENVS[name.partition(".")[0]], ACTS[name]
    failed, env = {}, make_env()
    for kind, make in HOSTILE.items():
        before = state_of(env)
        try:
            if check(partial(act, env), make(), argument_in(name)):
                env = make_env()
                continue
        except (Exception, RecursionError) as error:
            failed[kind] = f"{type(error).__name__}: {str(error)[:150]}"
        if state_of(env) != before:
            failed[kind] = failed.get(kind, "") + " and it has changed"
            env = make_env()
    assert not failed
