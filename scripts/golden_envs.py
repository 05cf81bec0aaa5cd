"""The first transitions of every environment, as facts for `golden.py`.

Actions are drawn from a generator of this script: a free cell, or now and then any cell.
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ttt_env
from ttt_env.errors import IllegalMoveError

Facts = Iterator[tuple[str, object]]
Integers = NDArray[np.int64]
Transition = tuple[Any, Any, Any, Any, Any]
"""Observation, mask, reward, terminated and info."""

# By seed: the game, the opponent and the kind of observation.
CASES = {
    0: ("tictactoe-v0", "random", "planes"),
    1: ("tictactoe-v0:misere=true", "win-block", "dict"),
    2: ("mnk-v0:m=4,n=3,k=3", "epsilon:weights,epsilon=0.4", "flat"),
}
ILLEGAL = ("lose", "raise", "resample")
PLAY_AS = ("X", "O", "random", "alternate")
N_TRANSITIONS, N_ENVS = 200, 4


def pairs(values: Mapping[str, object]) -> str:
    """`name=value` for each of them."""
    return " ".join(f"{name}={value}" for name, value in values.items())


def arrays_in(value: Any) -> Iterator[NDArray[Any]]:
    """The flat arrays in an array, list, text or dict; of a dict the values, by their keys in order."""
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, list | tuple):
        for part in value:
            yield from arrays_in(part)
    elif value is not None:
        yield np.ravel(np.frombuffer(value.encode(), np.uint8) if isinstance(value, str) else value)


def integers(value: Any) -> Integers:
    """The numbers of `arrays_in`, `[n]`. Raises `ValueError` if they are not whole."""
    numbers = np.concatenate([np.empty(0, np.int8), *arrays_in(value)])
    whole = numbers.astype(np.int64)
    if (whole != numbers).any():
        raise ValueError(f"not integers: {numbers}")
    return whole


def digest(*values: Any) -> str:
    """A short hash of integers, whatever their type and the machine."""
    content = b"|".join(integers(value).astype("<i8").tobytes() for value in values)
    return sha256(content).hexdigest()[:12]


def keys_of(info: Any) -> set[str]:
    """The keys of an info and of the dicts in it."""
    if isinstance(info, list):
        return set().union(*map(keys_of, info))
    if not isinstance(info, dict):
        return set()
    return set(info).union(*map(keys_of, info.values()))


class Actor:
    """Draws the actions of a run, and counts those that raise `IllegalMoveError`."""

    def __init__(self, seed: int) -> None:
        self.rng, self.n_raised = np.random.default_rng(seed), 0

    def step(self, step: Callable[[Integers], Any], masks: NDArray[Any]) -> Any:
        """The result of `step` for cells `[B]`; `masks` `[B, cells]` are the free ones."""
        free = np.argmax(masks * self.rng.random(masks.shape), axis=1)
        anything = self.rng.integers(masks.shape[1], size=len(masks))
        cells = np.where(self.rng.random(len(masks)) < 0.25 / len(masks), anything, free)
        try:
            return step(cells)
        except IllegalMoveError:
            self.n_raised += 1
            return step(free)


def single(actor: Actor, seed: int, **settings: Any) -> Iterator[Transition]:
    """The transitions of the Gymnasium env, beginnings of episodes included."""
    game, opponent, kind = CASES[seed]
    env = ttt_env.make(game, opponent=opponent, observation=kind, **settings)
    observation, info = env.reset(seed=seed)
    while True:
        yield observation, env.action_masks(), 0, False, info
        over = False
        while not over:
            masks = info["action_mask"][None]
            observation, reward, over, _, info = actor.step(lambda cells: env.step(int(cells[0])), masks)
            yield observation, env.action_masks(), reward, over, info
        observation, info = env.reset()


def aec(actor: Actor, seed: int, **settings: Any) -> Iterator[Transition]:
    """The results of `last` before each step of PettingZoo's AEC env, and what the other agent observes."""
    game, _, kind = CASES[seed]
    env = ttt_env.make(game, observation=kind, **settings)
    env.reset(seed=seed)
    while True:
        for agent in env.agent_iter():
            observation, reward, over, _, info = env.last()
            other = env.observe("O" if agent == "X" else "X")
            yield [observation, other], env.action_masks(), reward, over, info
            if over:
                env.step(None)
            else:
                actor.step(lambda cells: env.step(int(cells[0])), info["action_mask"][None])
        env.reset()


def parallel(actor: Actor, seed: int, **settings: Any) -> Iterator[Transition]:
    """The transitions of PettingZoo's parallel env: of both agents, in the order of their names."""
    game, _, kind = CASES[seed]
    env = ttt_env.make(game, api="parallel", observation=kind, **settings)
    observations, infos = env.reset(seed=seed)
    while True:
        yield observations, [], 0, False, infos
        while env.agents:
            masks = sum(info["action_mask"] for info in infos.values())
            outcome = actor.step(lambda cells: env.step(dict.fromkeys("XO", int(cells[0]))), masks[None])
            observations, rewards, over, _, infos = outcome
            yield observations, masks, rewards, over, infos
        observations, infos = env.reset()


def vector(actor: Actor, seed: int, is_two_sided: bool = False, **settings: Any) -> Iterator[Transition]:
    """The transitions of Gymnasium's vector env; with `is_two_sided` both sides are stepped."""
    game, opponent, kind = CASES[seed]
    settings |= {"opponent": None if is_two_sided else opponent, "observation": kind}
    envs = ttt_env.make_vec(game, num_envs=N_ENVS, **settings)
    observations, infos = envs.reset(seed=seed)
    yield observations, envs.action_masks(), np.zeros(N_ENVS), np.zeros(N_ENVS), infos
    while True:
        observations, rewards, over, _, infos = actor.step(envs.step, infos["action_mask"])
        yield observations, envs.action_masks(), rewards, over, infos


def two_sided(actor: Actor, seed: int, **settings: Any) -> Iterator[Transition]:
    """The transitions of the vector env in which both sides are stepped."""
    return vector(actor, seed, is_two_sided=True, **settings)


def sb3(actor: Actor, seed: int, **settings: Any) -> Iterator[Transition]:
    """The transitions of the `VecEnv` of Stable-Baselines3, without the times of the episodes."""
    game, opponent, kind = CASES[seed]
    settings |= {"n_envs": N_ENVS, "seed": seed, "opponent": opponent, "observation": kind}
    envs = ttt_env.envs.sb3.make_vec_env(game, **settings)
    observations = envs.reset()
    yield observations, envs.env_method("action_masks"), np.zeros(N_ENVS), np.zeros(N_ENVS), []
    while True:
        masks = np.stack(envs.env_method("action_masks"))
        observations, rewards, over, infos = actor.step(envs.step, masks)
        for info in filter(None, infos):
            del info["episode"]["t"]
        yield observations, envs.env_method("action_masks"), rewards, over, infos


def transition_facts(run: Callable[..., Iterator[Transition]], has_seats: bool = True) -> Facts:
    """A fact for each way to treat illegal moves, seat and seed: digests, with plain numbers after them."""
    for illegal, play_as, seed in product(ILLEGAL, PLAY_AS if has_seats else (None,), CASES):
        settings = {"illegal": illegal} | ({"play_as": play_as} if play_as else {})
        actor = Actor(seed)
        parts = zip(*islice(run(actor, seed, **settings), N_TRANSITIONS), strict=True)
        by_name = dict(zip(("observation", "mask", "reward", "over", "info"), map(list, parts), strict=True))
        numbers = {
            "sum_of_rewards": integers(by_name["reward"]).sum(),
            "ends": integers(by_name["over"]).sum(),
            "raised": actor.n_raised,
            "info_keys": ",".join(sorted(keys_of(by_name["info"]))),
        }
        digests = {name: digest(values) for name, values in by_name.items()}
        yield pairs(settings | {"seed": seed}).replace(" ", ","), pairs(digests | numbers)
