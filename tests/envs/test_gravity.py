"""Connect Four in the environments: equal to PettingZoo move by move, and in every interface."""

from itertools import count, pairwise, zip_longest

import numpy as np
import pytest
from pettingzoo.classic.connect_four import connect_four

import ttt_env
from ttt_env import IllegalMoveError, Position, connect_four_v0
from ttt_env.envs.actions import Actions

GAME = ttt_env.get_game("connect-four-v0")
SMALL = "connect-four-v0:m=3,n=3,k=3"  # uses the table store


def play_both(n_games, seed):
    """Random games in PettingZoo's environment and in ours; the number of compared moves."""
    theirs = connect_four.env()
    ours = connect_four_v0.env(agent_names=("player_0", "player_1"))
    rng, moves = np.random.default_rng(seed), 0
    for _ in range(n_games):
        theirs.reset()
        ours.reset()
        for name in theirs.agent_iter():
            assert name == ours.agent_selection
            (expected, *others, _), (own, *ours_others, info) = theirs.last(), ours.last()
            assert np.array_equal(expected["observation"], own["observation"]) and others == ours_others
            if others[1]:
                theirs.step(None)
                ours.step(None)
                continue
            assert np.array_equal(expected["action_mask"], own["action_mask"])
            assert np.array_equal(info["action_mask"], own["action_mask"])
            action = int(rng.choice(np.flatnonzero(own["action_mask"])))
            theirs.step(action)
            ours.step(action)
            moves += 1
        assert not ours.agents
    return moves


def test_games_equal_pettingzoo():
    assert play_both(100, seed=0) > 1_000


@pytest.mark.slow
def test_ten_thousand_games_equal_pettingzoo():
    assert play_both(10_000, seed=1) > 100_000


def test_illegal_column_loses_like_in_pettingzoo(capsys):
    theirs, ours = connect_four.env(), connect_four_v0.env(agent_names=("player_0", "player_1"))
    theirs.reset()
    ours.reset()
    for action in [3] * 7:
        theirs.step(action)
        ours.step(action)
    assert theirs.rewards == ours.rewards == {"player_0": -1, "player_1": 0}
    assert all(ours.terminations.values()) and all(theirs.terminations.values())


@pytest.mark.parametrize("game", ["connect-four-v0", SMALL])
def test_column_is_cell_where_stone_lands(game):
    by_column = ttt_env.make(game, opponent="random", play_as="X")
    by_cell = ttt_env.make(game, opponent="random", play_as="X", actions="cells")
    rng = np.random.default_rng(0)
    for seed in range(20):
        (one, info), (other, _) = by_column.reset(seed=seed), by_cell.reset(seed=seed)
        for _ in count():
            assert np.array_equal(one, other) and by_column.position == by_cell.position
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            (cell,) = {*by_cell.game.columns[action]} & {*by_cell.position.legal_cells}
            one, reward, over, _, info = by_column.step(action)
            other, *same = by_cell.step(cell)
            assert same[:2] == [reward, over]
            if over:
                break


@pytest.mark.parametrize("game", ["connect-four-v0", SMALL])
def test_vector_env_equals_single_games(game):
    envs = ttt_env.make_vec(game, num_envs=16, opponent=None)
    _, infos = envs.reset(seed=0)
    positions, rng = list(envs.boards), np.random.default_rng(0)
    for _ in range(40):
        actions = np.argmax(infos["action_mask"] * rng.random(infos["action_mask"].shape), axis=1)
        over = np.array([position.is_over for position in positions])
        _, rewards, terminated, _, infos = envs.step(actions)
        for row, position in enumerate(positions):
            if over[row]:
                positions[row] = position.game.start
                continue
            (cell,) = {*position.game.columns[int(actions[row])]} & {*position.legal_cells}
            positions[row] = position.play(cell)
            assert terminated[row] == positions[row].is_over
            assert rewards[row] == (1 if positions[row].winner else 0)
        assert list(envs.boards) == positions


def test_full_column_and_floating_stone_are_refused():
    env = ttt_env.make("connect-four-v0", opponent="random", illegal="raise")
    full = Position.parse("X....../O....../X....../O....../X....../O......"[::-1], GAME)
    env.reset(options={"position": full, "play_as": full.to_move})
    with pytest.raises(IllegalMoveError, match=r"cell 6 of .* is taken"):
        env.step(6)
    with pytest.raises(
        IllegalMoveError, match="7 is not a column of connect-four-v0: expected an integer from 0 to 6"
    ):
        env.step(7)
    by_cell = ttt_env.make("connect-four-v0", opponent="random", illegal="raise", actions="cells")
    by_cell.reset(seed=0)
    with pytest.raises(IllegalMoveError, match=r"cell 0 of .* rests on cell 7, which is free"):
        by_cell.step(0)


@pytest.mark.parametrize("game", [SMALL, GAME])
def test_floating_stone_loses_in_vector_env(game):
    envs = ttt_env.make_vec(game, 2, opponent=None, actions="cells")
    envs.reset(seed=0)
    _, rewards, terminated, _, _ = envs.step([0, envs.single_action_space.n - 1])
    assert terminated.tolist() == [True, False] and rewards.tolist() == [-1, 0]


def test_columns_are_cells_without_gravity():
    for name in ("tictactoe-v0", "qubic-v0"):
        game = ttt_env.get_game(name)
        assert Actions(game, "columns").are_cells and Actions(game).n == game.n_cells


@pytest.mark.parametrize("game", [GAME, ttt_env.get_game("tictactoe-v0").with_gravity(1)], ids=str)
def test_agents_play_cells_in_collect_episode(game):
    env, asked_positions = ttt_env.make(game), []

    def lowest(position):
        asked_positions.append(position)
        return position.legal_cells[0]

    rows = ttt_env.collect_episode(env, {"X": lowest, "O": lowest}, seed=0)
    positions = [*asked_positions, env.position]
    assert all(before.play(before.legal_cells[0]) == after for before, after in pairwise(positions))
    actions = [row.action for pair in zip_longest(rows["X"], rows["O"]) for row in pair if row]
    assert actions == [game.column_of[position.legal_cells[0]] for position in asked_positions]
