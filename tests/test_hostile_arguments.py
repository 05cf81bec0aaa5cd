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


def position(function: Callable[..., Any], *others: Any, **settings: Any) -> Callable[[Any], Any]:
    """A call of a function with the hostile value as its first argument."""
    return lambda value: function(value, *others, **settings)


OF_ENVS = ["illegal", "rewards", "observation", "start", "render_mode", "misere", "m", "game", "nonsense"]
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
        lambda name: (
            lambda value: ttt_env.Game(**{"name": "g", "shape": (3, 3), "winning_sets": SETS, name: value})
        ),
        ["name", "shape", "winning_sets", "misere", "coordinates"],
    ),
    "Position": (
        lambda name: (
            lambda value: ttt_env.Position(**{"game": TICTACTOE, "mine": 0, "theirs": 0, name: value})
        ),
        ["game"],
    ),
    "Position.parse": (keyword(ttt_env.Position.parse, ".../.../..."), ["game"]),
    "GameRecord": (
        lambda name: lambda value: ttt_env.GameRecord(**{"game": TICTACTOE, "cells": (4,), name: value}),
        ["game", "cells"],
    ),
    "GameRecord.parse": (keyword(ttt_env.GameRecord.parse, "tictactoe-v0: 4"), ["game"]),
    "TextEnv": (
        keyword(TextEnv),
        [
            *["game", "opponent", "opponent_weights", "play_as", "illegal", "retries", "rewards", "reward"],
            *["reward_weights", "replies", "start", "board", "answer", "nodes", "seed", "misere", "nonsense"],
        ],
    ),
    "match": (
        keyword(ttt_env.match, "random", "minimax"),
        ["game", "exact", "games", "rng", "progress", "workers"],
    ),
    "certify": (keyword(ttt_env.certify, "minimax"), ["game", "progress", "workers", "answers"]),
    "exploitability": (
        keyword(ttt_env.exploitability, "minimax"),
        ["game", "progress", "workers", "answers"],
    ),
    "best_response": (
        keyword(ttt_env.best_response, "minimax"),
        ["game", "keep_value", "progress", "workers"],
    ),
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
CALLS: dict[str, Callable[[Any], Any]] = {
    f"{function}({name}=)": of_name(name) for function, (of_name, names) in KEYWORDS.items() for name in names
} | {
    "make()": position(ttt_env.make),
    "make(opponent)": position(ttt_env.make, "random"),
    "make_vec()": position(ttt_env.make_vec),
    "make_vec_env()": position(ttt_env.envs.sb3.make_vec_env),
    "make_agent()": position(ttt_env.make_agent),
    "get_game()": position(ttt_env.get_game),
    "Position.parse()": position(ttt_env.Position.parse),
    "GameRecord.parse()": position(ttt_env.GameRecord.parse),
    "match()": position(ttt_env.match, "random"),
    "certify()": position(ttt_env.certify),
    "exploitability()": position(ttt_env.exploitability),
    "best_response()": position(ttt_env.best_response),
    "tournament()": position(ttt_env.tournament),
    "solve()": position(ttt_env.solve),
    "prove()": position(ttt_env.prove),
    "play_game()": position(ttt_env.play_game, "random"),
    "position.play()": position(START.play),
    "random_position()": position(ttt_env.random_position),
    "register_game()": position(ttt_env.register_game),
    "RecordedAgent()": position(ttt_env.RecordedAgent),
    "collect_episode(agents)": lambda value: ttt_env.collect_episode(ttt_env.make(ID), value),
    "collect_episode(env)": lambda value: ttt_env.collect_episode(value, {"X": "random", "O": "random"}),
    "enumerate_positions()": position(ttt_env.enumerate_positions, "folder"),
    "train()": position(ttt_env.train, "q-learning", steps=10),
    "certify([])": lambda value: ttt_env.certify([value, "random"]),
    "solve().value_of()": lambda value: ttt_env.solve(ID).value_of(value),
    "make_agent().explain()": position(ttt_env.make_agent("random").explain),
}
# `make_vec_env` makes what `make_vec` makes, and 20,000 winning sets take long to check.
QUICK = ("make", "get_game", "Game", "Position", "TextEnv", "solve", "play_game")
NOT_QUICK = ("make_vec_env(", "make two players(", "Game(winning_sets=)")


def test_no_public_function_is_left_out() -> None:
    functions = {name for name in ttt_env.__all__ if isinstance(getattr(ttt_env, name), FunctionType)}
    classes = {"Game", "Position", "GameRecord", "RecordedAgent"}
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
ACTS: dict[str, Callable[[Any, Any], Any]] = {}
for _name in ("single", "two players", "vector", "table", "both sides"):
    ACTS |= {
        f"{_name}.reset(seed=)": lambda env, value: env.reset(seed=value),
        f"{_name}.reset(options=)": lambda env, value: env.reset(options=value),
        f"{_name}.reset(position=)": lambda env, value: env.reset(options={"position": value}),
        f"{_name}.step()": lambda env, value: env.step(value),
    }
    if _name != "two players":
        ACTS |= {
            f"{_name}.reset(play_as=)": lambda env, value: env.reset(options={"play_as": value}),
            f"{_name}.set_opponent()": lambda env, value: env.set_opponent(value),
            f"{_name}.set_opponent(weights)": lambda env, value: env.set_opponent(["random", "block"], value),
        }
    if _name in ("vector", "table", "both sides"):
        ACTS |= {
            f"{_name}.reset(reset_mask=)": lambda env, value: env.reset(options={"reset_mask": value}),
            f"{_name}.set_attr(play_as)": lambda env, value: env.set_attr("play_as", value),
            f"{_name}.set_attr(illegal)": lambda env, value: env.set_attr("illegal", value),
        }
ACTS |= {
    "two players.observation_space()": lambda env, value: env.observation_space(value),
    "two players.action_space()": lambda env, value: env.action_space(value),
    "two players.observe()": lambda env, value: env.observe(value),
    "text.reset(seed=)": lambda env, value: env.reset(seed=value),
    "text.reset(position=)": lambda env, value: env.reset(position=value),
    "text.reset(play_as=)": lambda env, value: env.reset(play_as=value),
    "text.reset(opponent=)": lambda env, value: env.reset(opponent=value),
    "text.move()": lambda env, value: env.move(value),
    "text.reply()": lambda env, value: env.reply(value),
    "sb3.step()": lambda env, value: env.step(value),
    "sb3.seed()": lambda env, value: (env.seed(value), env.reset()),
    "sb3.set_options()": lambda env, value: (env.set_options(value), env.reset()),
}


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
