"""The vector environment agrees with the rules, the AEC env and the single env on random games."""

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


def record_games(envs: Any, seed: int) -> list[tuple[Any, ...]]:
    """Random games that start together: the cells and outputs of each step, and the boards.

    Occasionally a cell may be any cell. The outputs of a sub-env after its end are ignored.
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


def result_of(position: Position) -> str:
    return position.winner or ("draw" if position.is_over else "taken")


@pytest.mark.parametrize("id, size, n_batches", BATCHES)
def test_both_sides_agree_with_aec_env_and_rules(id: str, size: int, n_batches: int) -> None:
    results: Counter[str] = Counter()
    for seed in range(n_batches):
        steps = record_games(ttt_env.make_vec(id, size, None), seed)
        results.update(replay_in_aec_env(id, steps, at) for at in range(size))
    assert results.total() == n_batches * size and {"X", "O", "taken"} <= set(results)


def replay_in_aec_env(id: str, steps: list[tuple[Any, ...]], at: int) -> str:
    """The result of game `at`, replayed in the AEC env and by `Position.play`."""
    aec = ttt_env.make(id)
    aec.reset()
    position = aec.position
    for cells, planes, rewards, over, info, boards in steps:
        cell, mover = int(cells[at]), position.to_move
        is_free = cell in position.legal_cells
        aec.step(cell)
        position = position.play(cell) if is_free else position
        viewer = "XO"[info["seat"][at]]
        expected = aec.observe(viewer)
        assert viewer == aec.agent_selection != mover
        assert boards[at] == aec.position == position
        assert planes[at].tobytes() == expected["observation"].tobytes()
        assert (info["action_mask"][at] == (expected["action_mask"] | over[at])).all()
        assert info["rewards"][at].tolist() == [aec.rewards["X"], aec.rewards["O"]]
        assert rewards[at] == aec.rewards[mover]
        assert over[at] == aec.terminations[mover] == (position.is_over or not is_free)
        if over[at]:
            return result_of(position)
    raise AssertionError("the game has no end")


@pytest.mark.parametrize("id, size, n_batches", BATCHES)
def test_games_against_opponent_agree_with_single_env(id: str, size: int, n_batches: int) -> None:
    opponent = Nth(ttt_env.get_game(id), 10_007)  # plays all over the board
    results: Counter[str] = Counter()
    for seed in range(n_batches):
        seat = "XO"[seed % 2]
        steps = record_games(ttt_env.make_vec(id, size, opponent, play_as=seat), seed)
        single = ttt_env.make(id, opponent, play_as=seat)
        results.update(replay_in_single_env(single, steps, at) for at in range(size))
    assert results.total() == n_batches * size and {"X", "O", "taken"} <= set(results)


def replay_in_single_env(single: Any, steps: list[tuple[Any, ...]], at: int) -> str:
    single.reset()
    for cells, planes, rewards, over, info, boards in steps:
        observation, reward, terminated, _, its_info = single.step(int(cells[at]))
        assert boards[at] == single.position
        assert planes[at].tobytes() == observation.tobytes()
        assert info["action_mask"][at].tobytes() == its_info["action_mask"].tobytes()
        assert (rewards[at], over[at]) == (reward, terminated)
        if terminated:
            return result_of(single.position)
    raise AssertionError("the game has no end")
