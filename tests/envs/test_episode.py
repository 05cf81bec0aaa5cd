"""`collect_episode`: the transitions of each player in a whole game."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests.support.games import DRAW, O_WINS, X_WINS
from tests.support.refusals import all_raise
from ttt_env import Position, Transition, collect_episode


def rows_of(cells: list[int], **settings: Any) -> dict[Any, list[Transition]]:
    def play(position: Position) -> int:
        return cells[position.ply]

    return collect_episode(ttt_env.make("tictactoe-v0", **settings), {"X": play, "O": play})


@pytest.mark.parametrize("cells", [X_WINS, O_WINS, DRAW], ids=["X wins", "O wins", "draw"])
class TestRows:
    def test_rows_hold_moves_and_views_of_player(self, cells: list[int]) -> None:
        position, played = ttt_env.get_game("tictactoe-v0").start, rows_of(cells)
        rows = {seat: iter(of_seat) for seat, of_seat in played.items()}
        for cell in cells:
            row = next(rows[position.to_move])
            board = np.array(list(str(position).replace("/", ""))).reshape(3, 3)
            planes = row.observation["observation"]
            assert (planes[..., 0] == (board == position.to_move)).all()
            assert (planes[..., 1] == ((board != position.to_move) & (board != "."))).all()
            assert np.flatnonzero(row.observation["action_mask"]).tolist() == position.legal_cells
            assert row.action == cell
            position = position.play(cell)
        assert sum(map(len, played.values())) == len(cells)

    def test_rows_are_linked_and_last_is_terminal(self, cells: list[int]) -> None:
        final = ttt_env.GameRecord(ttt_env.get_game("tictactoe-v0"), cells).positions()[-1]
        for seat, of_seat in rows_of(cells, observation="planes").items():
            for row, following in pairwise(of_seat):
                assert (row.next_observation == following.observation).all()
            own = np.array(list(str(final).replace("/", ""))).reshape(3, 3) == seat
            assert (of_seat[-1].next_observation[..., 0] == own).all()
            assert [row.terminated for row in of_seat] == [False] * (len(of_seat) - 1) + [True]


@pytest.mark.parametrize(
    ("cells", "of_x"), [(X_WINS, 1.0), (O_WINS, -1.0), (DRAW, 0.0)], ids=["X wins", "O wins", "draw"]
)
def test_only_last_row_has_reward(cells: list[int], of_x: float) -> None:
    for misere, sign in ((False, 1), (True, -1)):
        rows = rows_of(cells, misere=misere)
        assert [rows[seat][-1].reward for seat in ("X", "O")] == [sign * of_x, -sign * of_x]
        assert not any(row.reward for of_seat in rows.values() for row in of_seat[:-1])
    rows = rows_of(DRAW, rewards={"draw": 0.5})
    assert [sum(row.reward for row in rows[seat]) for seat in ("X", "O")] == [0.5, 0.5]


def test_player_without_moves_has_no_rows() -> None:
    env = ttt_env.make("tictactoe-v0", start=Position.parse("XX./OO./..."))
    rows = collect_episode(env, {"X": lambda position: 2, "O": "random"})
    assert [row.reward for row in rows["X"]] == [1.0] and rows["O"] == []


def test_equal_seeds_give_equal_rows() -> None:
    env, other = (ttt_env.make("tictactoe-v0", observation="planes") for _ in range(2))
    agents = {"X": "random", "O": "minimax"}

    def actions(env: Any, seed: int) -> list[list[int]]:
        return [
            [row.action for row in of_seat] for of_seat in collect_episode(env, agents, seed=seed).values()
        ]

    episodes = [actions(env, seed) for seed in range(20)]
    assert episodes == [actions(other, seed) for seed in range(20)]
    assert len({str(episode) for episode in episodes}) > 10


def test_unseeded_episodes_differ() -> None:
    env = ttt_env.make("tictactoe-v0")
    ends = []
    for seed in (0, None, None, None, None):
        collect_episode(env, {"X": "random", "O": "random"}, seed=seed)
        ends.append(env.position)
    assert all(end.is_over for end in ends) and len(set(ends)) > 1


def test_bad_agents_or_seats_are_refused() -> None:
    env, of_square = ttt_env.make("tictactoe-v0"), ttt_env.make_agent("random", "square-v0")
    with pytest.raises(ttt_env.errors.UnknownAgentError, match="square-v0"):
        collect_episode(env, {"X": "random", "O": of_square})
    agents = [dict.fromkeys(names, "random") for names in ("X", "XOZ")]
    all_raise(ttt_env.errors.ParameterError, "O", lambda those: collect_episode(env, those), agents)
