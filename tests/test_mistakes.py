"""A likely mistake raises an error that names the input and the remedy, and changes nothing."""

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import ttt_env
from tests.support.games import TICTACTOE, lowest
from ttt_env.envs.sb3 import make_vec_env
from ttt_env.text import TextEnv

ID, MNK = "tictactoe-v0", "mnk-v0"
OTHER = ttt_env.get_game(MNK, m=2, n=2, k=2)
CALLS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (ttt_env.get_game, {"game": "tictacto-v0"}, "unknown game 'tictacto-v0': did you mean tictactoe-v0"),
    (ttt_env.get_game, {"game": 3}, "a game is an id or a ttt_env.Game, not 3"),
    (ttt_env.get_game, {"game": MNK, "q": 3}, "unknown parameter 'q' of mnk-v0. Allowed: k, m, misere, n"),
    (ttt_env.get_game, {"game": MNK, "m": 0}, "m=0 of mnk-v0: expected an integer ≥ 1"),
    (ttt_env.get_game, {"game": MNK, "m": 3.0}, "m=3.0 of mnk-v0: expected an integer ≥ 1"),
    (ttt_env.get_game, {"game": MNK, "misere": "yes"}, "misere='yes' of mnk-v0: expected true or false"),
    (ttt_env.get_game, {"game": f"{MNK}:m=3,k=4,n=3"}, "k=4 of mnk-v0:m=3,n=3: expected at most 3"),
    (ttt_env.get_game, {"game": f"{MNK}:m=9,n=9,k=3"}, "has 81 cells; at most 64 are allowed"),
    (ttt_env.make_agent, {"spec": "minmax"}, "unknown agent 'minmax': did you mean minimax"),
    (ttt_env.make_agent, {"spec": "connect-four-v0"}, "connect-four-v0 is a game, not an agent"),
    (ttt_env.certify, {"agent": ttt_env.Agent}, "is a class: give an instance, as in Agent(game)"),
    (ttt_env.make_agent, {"spec": "minimax,depth=3"}, "parameters follow a colon, as in minimax:depth=3"),
    (ttt_env.make_agent, {"spec": "mcts:simulation=9"}, "'simulation' of mcts: did you mean simulations"),
    (
        ttt_env.make_agent,
        {"spec": "mcts:simulations=1e3"},
        "simulations='1e3' of mcts: expected an integer ≥ 1",
    ),
    (
        ttt_env.make_agent,
        {"spec": "mcts:simulations=0"},
        "simulations=0 of mcts: expected an integer ≥ 1",
    ),
    (ttt_env.make_agent, {"spec": "mcts:solve=maybe"}, "solve='maybe' of mcts: expected true or false"),
    (
        ttt_env.make_agent,
        {"spec": "mcts:playout=block"},
        "playout='block' of mcts: expected one of random, win-block; did you mean win-block?",
    ),
    (ttt_env.make_agent, {"spec": "softmax:-1"}, "temperature=-1.0 of softmax: expected a number ≥ 0"),
    (ttt_env.make_agent, {"spec": "softmax:nan"}, "temperature=nan of softmax: expected a number ≥ 0"),
    (
        ttt_env.make_agent,
        {"spec": "epsilon:minimax,epsilon=2"},
        "epsilon=2.0 of epsilon: expected a number",
    ),
    (ttt_env.make_agent, {"spec": "minimax", "game": "qubic-v0"}, "18 cells are the limit. minimax:depth=4"),
    (
        ttt_env.make_agent,
        {"spec": "models/none.zip"},
        "models/none.zip is not a model: there is no such file",
    ),
    (ttt_env.make_agent, {"spec": "dqn.pt"}, "call make_agent(network, game, observation='flat')"),
    (ttt_env.make_agent, {"spec": object}, "wrap it in a function that takes a ttt_env.Position"),
    (
        ttt_env.make_agent,
        {"spec": lowest, "game": OTHER, "temperature": -1},
        "temperature=-1: expected a number ≥ 0",
    ),
    (ttt_env.make, {"id": ID, "oponent": "random"}, "'oponent' of tictactoe-v0: did you mean opponent"),
    (ttt_env.make, {"id": ID, "opponent": "random", "play_as": "x"}, "play_as='x': expected one of X, O"),
    (ttt_env.make, {"id": ID, "play_as": "X"}, "play_as='X' needs an opponent, and none is given"),
    (
        ttt_env.make,
        {"id": ID, "opponent": "random", "illegal": "loose"},
        "illegal='loose': expected one of lose, raise, resample; did you mean lose?",
    ),
    (
        ttt_env.make,
        {"id": ID, "opponent": "random", "observation": "plane"},
        "observation='plane': expected one of planes, dict, flat; did you mean planes?",
    ),
    (ttt_env.make, {"id": ID, "opponent": "random", "rewards": (1, 0)}, "rewards=(1, 0)"),
    (
        ttt_env.make,
        {"id": ID, "opponent": "random", "start": OTHER.start},
        "not of tictactoe-v0",
    ),
    (ttt_env.make, {"id": ID, "opponent": ["random"], "opponent_weights": [1, 2]}, "opponent_weights=[1, 2]"),
    (
        ttt_env.make_vec,
        {"id": ID, "num_envs": 0},
        "num_envs=0: expected an integer from 1 to",
    ),
    (
        ttt_env.make_vec,
        {"id": ID, "num_envs": 4, "device": "cuda"},
        "integrations.jax has one for GPUs",
    ),
    (make_vec_env, {"id": ID, "n_envs": 2.5}, "n_envs=2.5 of make_vec_env: expected an integer from 1 to"),
    (
        ttt_env.match,
        {"first": "random", "second": "minimax", "games": 1},
        "games=1: expected an integer",
    ),
    (
        ttt_env.match,
        {"first": "random", "second": "minimax", "rng": -1},
        "rng=-1: expected a numpy.random.Generator or",
    ),
    (ttt_env.certify, {"agent": "random", "seats": "XX"}, "seats='XX': expected one of X, O, XO"),
    (
        ttt_env.certify,
        {"agent": "random", "game": OTHER, "most": 0},
        "most=0: expected an integer ≥ 1",
    ),
    (ttt_env.tournament, {"agents": ["random"]}, "a tournament needs at least two agents, got random"),
    (
        ttt_env.tournament,
        {"agents": ["random", "block"], "width": 0},
        "width=0: expected a number",
    ),
    (ttt_env.train, {"game": ID, "algo": "pppo"}, "unknown algorithm 'pppo': did you mean ppo"),
    (
        ttt_env.train,
        {"game": ID, "algo": "dqn", "steps": 0},
        "steps=0 of dqn: expected an integer ≥ 1",
    ),
    (
        ttt_env.train,
        {"game": ID, "algo": "q-learning", "alpha": 2},
        "alpha=2 of q-learning: expected a number",
    ),
    (ttt_env.prove, {"game": ID, "nodes": 0}, "nodes=0: expected a number > 0"),
    (
        ttt_env.Position.parse,
        {"text": "XXX/.../..."},
        "3 X and 0 O, but X has as many stones",
    ),
    (ttt_env.Position.parse, {"text": "XO./..."}, "XO./..."),
    (ttt_env.GameRecord.parse, {"text": "tictactoe-v0: 4 4"}, "cell 4 of"),
    (
        TextEnv,
        {"game": ID, "board": "grids"},
        "board='grids': expected one of grid, coordinates, line; did you mean grid",
    ),
    (TextEnv, {"game": ID, "retries": -1}, "retries=-1: expected an integer ≥ 0"),
]


@pytest.mark.parametrize(
    ("function", "arguments", "message"), CALLS, ids=[repr(message) for _, _, message in CALLS]
)
def test_error_names_input_and_remedy(
    function: Callable[..., Any], arguments: dict[str, Any], message: str, tmp_path: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ttt_env.TttEnvError, match=re.escape(message)):
        function(**arguments)
    assert not [*tmp_path.iterdir()]


def after_reset(env: Any) -> Any:
    env.reset(seed=0)
    return env


ENVS: dict[str, Callable[[], Any]] = {
    "single": lambda: after_reset(ttt_env.make(ID, lowest, play_as="X", illegal="raise")),
    "two players": lambda: after_reset(ttt_env.make(ID, illegal="raise")),
    "vector": lambda: after_reset(ttt_env.make_vec(ID, 2, lowest, play_as="X", illegal="raise")),
    "table": lambda: after_reset(ttt_env.make_vec(ID, 2, "random", play_as="X", illegal="raise")),
    "both sides": lambda: after_reset(ttt_env.make_vec(ID, 2, None, illegal="raise")),
    "text": lambda: after_reset(TextEnv(ID, "random", play_as="X", illegal="raise")),
}
SEEDS = (-1, 1.5, "0")
POSITIONS = ["XX./...", "XXX/OO./...", "XX./.../...", OTHER.start, 3]
OF_ONE_PLAYER = ("single", "vector", "table")
ACTS = {
    **{
        f"reset(seed={seed!r})": partial(lambda seed, env: env.reset(seed=seed), seed)
        for seed in (-1, 1.5, "0")
    },
    **{
        f"reset(position={position})": partial(
            lambda position, env: (
                env.reset(position=position)
                if isinstance(env, TextEnv)
                else env.reset(options={"position": position})
            ),
            position,
        )
        for position in POSITIONS
    },
}
STEPS = {f"step({cell!r})": cell for cell in (9, -1, 4.5, "4", math.nan, True, [[4]])}


def state_of(env: Any) -> str:
    """The state that determines all later outputs of an environment."""
    rng = (env._env if isinstance(env, TextEnv) else env).np_random
    names = ["seat", "seats", "play_as", "illegal", "opponent", "opponents", "agent_selection", "rewards"]
    state = {name: repr(getattr(env, name)) for name in names if hasattr(env, name)}
    boards = list(map(str, env.boards)) if hasattr(env, "boards") else str(env.position)
    return repr((boards, rng.bit_generator.state, sorted(state.items())))


def acts_of(name: str) -> dict[str, Callable[[Any], Any]]:
    acts: dict[str, Callable[[Any], Any]] = dict(ACTS)
    if name in ("single", "two players"):
        acts |= {
            description: partial(lambda cell, env: env.step(cell), cell)
            for description, cell in STEPS.items()
        }
        acts["a taken cell"] = lambda env: env.step(4)
    if name in ("vector", "table", "both sides"):
        acts |= {
            description: partial(lambda cell, env: env.step([0, cell]), cell)
            for description, cell in STEPS.items()
        }
        acts["too few actions"] = lambda env: env.step([0])
        acts["reset_mask"] = lambda env: env.reset(options={"reset_mask": [True]})
    if name in OF_ONE_PLAYER:
        acts["play_as"] = lambda env: env.reset(options={"play_as": "x"})
        acts["options"] = lambda env: env.reset(options={"positions": TICTACTOE.start})
        acts["opponent"] = lambda env: env.set_opponent("minmax")
        acts["weights"] = lambda env: env.set_opponent(["random", "block"], [0, 0])
    return acts


@pytest.mark.parametrize("name", ENVS)
def test_failed_call_leaves_environment_unchanged(name: str) -> None:
    env = ENVS[name]()
    if name in ("single", "two players"):
        env.step(4)
    before, failures = state_of(env), []
    for description, act in acts_of(name).items():
        try:
            act(env)
            failures.append(f"{description} works")
        except ttt_env.TttEnvError:
            pass
        if state_of(env) != before:
            failures.append(f"{description} changes it")
            break
    assert not failures
