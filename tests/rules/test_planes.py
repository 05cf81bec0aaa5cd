"""Planes: positions as input of networks."""

import numpy as np
import pytest

import ttt_env
from tests.support.games import open_boards
from ttt_env import Boards, Position


def test_planes_match_env_observations() -> None:
    env = ttt_env.make("tictactoe-v0", "random", play_as="random")
    for seed in range(30):
        (observation, info), over = env.reset(seed=seed), False
        while not over:
            assert (env.position.planes == observation).all()
            observation, _, over, _, info = env.step(np.flatnonzero(info["action_mask"])[-1])


@pytest.mark.parametrize(
    "id", ["tictactoe-v0", "square-v0", "qubic-v0", "mnk-v0:m=5,n=2,k=3", "mnk-v0:m=8,n=8,k=5"]
)
def test_planes_hold_movers_stones_first(id: str) -> None:
    game = ttt_env.get_game(id)
    position = game.start.play(0).play(1).play(3)
    planes = Boards.of([game.start, position]).planes
    assert planes.shape == (2, *game.shape, 2) and planes.dtype == np.int8
    assert not planes[0].any()
    flat = planes[1].reshape(game.n_cells, 2)
    assert np.flatnonzero(flat[:, 0]).tolist() == [1] and np.flatnonzero(flat[:, 1]).tolist() == [0, 3]


def test_planes_of_boards_match_positions() -> None:
    positions = [Position.parse(text) for text in (".../.../...", "XO./.X./...", "XO./.X./..O")]
    for position, planes in zip(positions, Boards.of(positions).planes, strict=True):
        assert position.planes.dtype == planes.dtype and np.array_equal(position.planes, planes)


def test_planes_distinguish_all_positions() -> None:
    boards = open_boards()
    assert len(np.unique(boards.planes.reshape(len(boards), -1), axis=0)) == len(boards) == 4520
