"""The planes that people give to their own networks."""

from typing import Any

import numpy as np
import pytest

import ttt_env
from ttt_env import Boards, Position
from ttt_env.analysis.layers import reachable

POSITIONS = [Position.parse(text) for text in (".../.../...", "XO./.X./...", "XO./.X./..O")]


def test_are_what_the_environments_show() -> None:
    env = ttt_env.make("tictactoe-v0", "random", play_as="random")
    for seed in range(30):
        (observation, info), over = env.reset(seed=seed), False
        while not over:
            assert (ttt_env.planes_of([env.position])[0] == observation).all()
            observation, _, over, _, info = env.step(np.flatnonzero(info["action_mask"])[-1])


@pytest.mark.parametrize("id", ["tictactoe-v0", "square-v0", "qubic-v0", "mnk-v0:m=5,n=2,k=3"])
def test_have_the_movers_stones_first(id: str) -> None:
    game = ttt_env.get_game(id)
    position = game.start.play(0).play(1).play(3)
    planes = ttt_env.planes_of([game.start, position])
    assert planes.shape == (2, *game.shape, 2) and planes.dtype == np.int8
    assert not planes[0].any()
    flat = planes[1].reshape(game.n_cells, 2)
    assert np.flatnonzero(flat[:, 0]).tolist() == [1] and np.flatnonzero(flat[:, 1]).tolist() == [0, 3]


def test_are_the_same_of_boards_positions_and_one_position() -> None:
    planes = ttt_env.planes_of(Boards.of(POSITIONS))
    assert (ttt_env.planes_of(POSITIONS) == planes).all()
    assert (ttt_env.planes_of(iter(POSITIONS)) == planes).all()
    assert all((ttt_env.planes_of(one)[0] == row).all() for one, row in zip(POSITIONS, planes, strict=True))


def test_of_every_position_are_different() -> None:
    game = ttt_env.get_game("tictactoe-v0")
    boards = Boards.joined(game, (layer.boards(layer.open) for layer in reachable(game)))
    planes = ttt_env.planes_of(boards)
    assert len(np.unique(planes.reshape(len(boards), -1), axis=0)) == len(boards) == 4520


BAD: dict[str, Any] = {
    "none": [],
    "text": "XO./.../...",
    "texts": ["XO./.../..."],
    "a list of lists": [[0, 1]],
    "of two games": [POSITIONS[0], ttt_env.get_game("square-v0").start],
}


@pytest.mark.parametrize("positions", BAD.values(), ids=BAD)
def test_things_that_have_none(positions: Any) -> None:
    with pytest.raises(ttt_env.ImpossiblePositionError):
        ttt_env.planes_of(positions)
