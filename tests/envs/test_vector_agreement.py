"""The vector environment tells of random games what the rules, the AEC env and the single env tell."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests.support.agents import Nth
from tests.support.marks import slow
from ttt_env import Position

LARGE = "mnk-v0:m=8,n=8,k=4"
MISERE = "square-v0:misere=true"
# Fast with 60 or 30 games; 10,000 are slow.
BATCHES = [
    *[(id, 60, 1) for id in ("square-v0", MISERE, "qubic-v0")],
    (LARGE, 30, 1),
    *[slow(id, 500, 20) for id in ("square-v0", MISERE, "qubic-v0")],
    slow(LARGE, 100, 20),
]


def recorded(envs: Any, seed: int) -> list[tuple[Any, ...]]:
    """Random games, begun together: for each step the cells, and what the vector env told, boards included.

    Now and then a cell is any cell. What is told of a sub-env after its end is of no interest.
    """
    rng, n = np.random.default_rng(seed), envs.num_envs
    envs.reset(seed=seed)
    steps, live = [], np.ones(n, np.bool_)
    while live.any():
        masks = envs.action_masks()
        cells = np.argmax(masks * rng.random(masks.shape), axis=1)
        cells = np.where(rng.random(n) < 0.012, rng.integers(envs.game.n_cells, size=n), cells)
        planes, rewards, over, _, info = envs.step(cells)
        steps.append((cells, planes, rewards, over, info, list(envs.boards)))
        live &= ~over
    return steps


def ends(position: Position) -> str:
    return position.winner or ("draw" if position.is_over else "taken")


@pytest.mark.parametrize("id, size, n_batches", BATCHES)
def test_both_sides_are_the_aec_env_and_the_rules(id: str, size: int, n_batches: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(n_batches):
        steps = recorded(ttt_env.make_vec(id, size, None), seed)
        seen.update(replayed_by_two(id, steps, at) for at in range(size))
    assert seen.total() == n_batches * size and {"X", "O", "taken"} <= set(seen)


def replayed_by_two(id: str, steps: list[tuple[Any, ...]], at: int) -> str:
    """The end of game `at`, after it was played once more in the AEC env and by `Position.play`."""
    aec = ttt_env.make(id)
    aec.reset()
    position = aec.position
    for cells, planes, rewards, over, info, boards in steps:
        cell, mover = int(cells[at]), position.to_move
        is_free = cell in position.legal_cells
        aec.step(cell)
        position = position.play(cell) if is_free else position
        looker = "XO"[info["seat"][at]]
        told = aec.observe(looker)
        assert looker == aec.agent_selection != mover
        assert boards[at] == aec.position == position
        assert planes[at].tobytes() == told["observation"].tobytes()
        assert (info["action_mask"][at] == (told["action_mask"] | over[at])).all()
        assert info["rewards"][at].tolist() == [aec.rewards["X"], aec.rewards["O"]]
        assert rewards[at] == aec.rewards[mover]
        assert over[at] == aec.terminations[mover] == (position.is_over or not is_free)
        if over[at]:
            return ends(position)
    raise AssertionError("the game has no end")


@pytest.mark.parametrize("id, size, n_batches", BATCHES)
def test_against_an_opponent_it_is_the_single_env(id: str, size: int, n_batches: int) -> None:
    opponent = Nth(ttt_env.get_game(id), 10_007)  # plays all over the board
    seen: Counter[str] = Counter()
    for seed in range(n_batches):
        seat = "XO"[seed % 2]
        steps = recorded(ttt_env.make_vec(id, size, opponent, play_as=seat), seed)
        single = ttt_env.make(id, opponent, play_as=seat)
        seen.update(replayed_by_one(single, steps, at) for at in range(size))
    assert seen.total() == n_batches * size and {"X", "O", "taken"} <= set(seen)


def replayed_by_one(single: Any, steps: list[tuple[Any, ...]], at: int) -> str:
    single.reset()
    for cells, planes, rewards, over, info, boards in steps:
        observation, reward, terminated, _, its_info = single.step(int(cells[at]))
        assert boards[at] == single.position
        assert planes[at].tobytes() == observation.tobytes()
        assert info["action_mask"][at].tobytes() == its_info["action_mask"].tobytes()
        assert (rewards[at], over[at]) == (reward, terminated)
        if terminated:
            return ends(single.position)
    raise AssertionError("the game has no end")
