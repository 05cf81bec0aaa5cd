"""`collect_episode`: each player's own rows of a whole game."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ttt_env
from ttt_env import Position, Transition, collect_episode

X_WINS = [0, 3, 1, 4, 2]
O_WINS = [0, 3, 1, 4, 8, 5]
DRAW = [4, 0, 8, 2, 1, 7, 3, 5, 6]


def moves_of(cells: list[int]) -> Callable[[Position], int]:
    return lambda position: cells[position.ply]


def rows_of(cells: list[int], **settings: Any) -> dict[Any, list[Transition]]:
    play = moves_of(cells)
    return collect_episode(ttt_env.make("tictactoe-v0", **settings), {"X": play, "O": play})


@pytest.mark.parametrize("cells", [X_WINS, O_WINS, DRAW], ids=["X wins", "O wins", "draw"])
class TestRows:
    def test_hold_each_players_moves(self, cells: list[int]) -> None:
        rows = rows_of(cells)
        assert [row.action for row in rows["X"]] == cells[0::2]
        assert [row.action for row in rows["O"]] == cells[1::2]

    def test_hold_each_players_view(self, cells: list[int]) -> None:
        position = ttt_env.get_game("tictactoe-v0").start
        rows = {seat: iter(of_seat) for seat, of_seat in rows_of(cells).items()}
        for cell in cells:
            row = next(rows[position.to_move])
            board = np.array(list(str(position).replace("/", ""))).reshape(3, 3)
            planes = row.observation["observation"]
            assert (planes[..., 0] == (board == position.to_move)).all()
            assert (planes[..., 1] == ((board != position.to_move) & (board != "."))).all()
            assert np.flatnonzero(row.observation["action_mask"]).tolist() == position.legal_cells
            position = position.play(cell)

    def test_lead_from_one_to_the_next(self, cells: list[int]) -> None:
        for of_seat in rows_of(cells, observation="planes").values():
            for row, following in pairwise(of_seat):
                assert (row.next_observation == following.observation).all()

    def test_end_with_the_end(self, cells: list[int]) -> None:
        final = ttt_env.GameRecord(ttt_env.get_game("tictactoe-v0"), cells).positions()[-1]
        for seat, of_seat in rows_of(cells, observation="planes").items():
            own = np.array(list(str(final).replace("/", ""))).reshape(3, 3) == seat
            assert (of_seat[-1].next_observation[..., 0] == own).all()
            assert [row.terminated for row in of_seat] == [False] * (len(of_seat) - 1) + [True]


@pytest.mark.parametrize(
    ("cells", "misere", "last"),
    [
        (X_WINS, False, {"X": 1.0, "O": -1.0}),
        (O_WINS, False, {"X": -1.0, "O": 1.0}),
        (DRAW, False, {"X": 0.0, "O": 0.0}),
        (X_WINS, True, {"X": -1.0, "O": 1.0}),
        (O_WINS, True, {"X": 1.0, "O": -1.0}),
    ],
    ids=["X wins", "O wins", "draw", "X loses", "O loses"],
)
def test_the_last_row_has_the_reward_and_no_other(
    cells: list[int], misere: bool, last: dict[str, float]
) -> None:
    rows = rows_of(cells, misere=misere)
    assert {seat: of_seat[-1].reward for seat, of_seat in rows.items()} == last
    assert not any(row.reward for of_seat in rows.values() for row in of_seat[:-1])


def test_a_draws_reward_is_told_to_both() -> None:
    rows = rows_of(DRAW, rewards={"draw": 0.5})
    assert [sum(row.reward for row in rows[seat]) for seat in ("X", "O")] == [0.5, 0.5]


def test_a_player_that_never_moved_has_no_rows() -> None:
    env = ttt_env.make("tictactoe-v0", start=Position.parse("XX./OO./..."))
    rows = collect_episode(env, {"X": lambda position: 2, "O": "random"})
    assert [row.reward for row in rows["X"]] == [1.0] and rows["O"] == []


def test_same_seed_same_rows() -> None:
    env, other = (ttt_env.make("tictactoe-v0", observation="planes") for _ in range(2))
    agents = {"X": "random", "O": "minimax"}

    def actions(env: Any, seed: int) -> list[list[int]]:
        return [
            [row.action for row in of_seat] for of_seat in collect_episode(env, agents, seed=seed).values()
        ]

    episodes = [actions(env, seed) for seed in range(20)]
    assert episodes == [actions(other, seed) for seed in range(20)]
    assert len({str(episode) for episode in episodes}) > 10


def test_episodes_follow_each_other_without_a_seed() -> None:
    env = ttt_env.make("tictactoe-v0")
    ends = []
    for seed in (0, None, None, None, None):
        collect_episode(env, {"X": "random", "O": "random"}, seed=seed)
        ends.append(env.position)
    assert all(end.is_over for end in ends) and len(set(ends)) > 1


@pytest.mark.parametrize("id", ["square-v0", "qubic-v0"])
def test_other_games(id: str) -> None:
    env = ttt_env.make(id)
    rows = collect_episode(env, {"X": "random", "O": "random"}, seed=0)
    assert len(rows["X"]) + len(rows["O"]) == env.position.ply
    winner = env.position.winner
    assert [rows[seat][-1].reward for seat in ("X", "O")] == [
        0.0 if winner is None else 1.0 if winner == seat else -1.0 for seat in ("X", "O")
    ]


def test_agents_of_another_game_are_refused() -> None:
    agents = {"X": "random", "O": ttt_env.make_agent("random", "square-v0")}
    with pytest.raises(ttt_env.errors.UnknownAgentError, match="square-v0"):
        collect_episode(ttt_env.make("tictactoe-v0"), agents)


@pytest.mark.parametrize("agents", [{"X": "random"}, {"X": "random", "O": "random", "Z": "random"}])
def test_agents_for_other_seats_than_x_and_o_are_refused(agents: Any) -> None:
    with pytest.raises(ttt_env.errors.ParameterError, match="O"):
        collect_episode(ttt_env.make("tictactoe-v0"), agents)
