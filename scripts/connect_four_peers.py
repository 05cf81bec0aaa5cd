"""Compare Connect Four with its peers: the same games move for move, and the speeds.

Random games are played at the same time here and in OpenSpiel's `connect_four`, by the rules of Kaggle's
`connectx`, in Pgx's `connect_four` and in PettingZoo's `connect_four_v3`. After each move legal columns,
observations, ends and rewards must be the same. Then the speeds are measured, ours and theirs by turns; each
round gives a ratio of its own, and medians are printed. Peers that are not installed are left out.

    pip install ttt-env[peers] open-spiel pgx jax kaggle-environments
    python scripts/connect_four_peers.py --games 100000
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
from speed.contenders import PgxBatch, our_batch, scanning
from speed.measuring import Window, measured, moves_per_second, replaying, steps_of

import ttt_env

GAME = ttt_env.get_game("connect-four-v0")
ROWS, COLUMNS = GAME.shape
AT_ONCE = 10_000  # games that are kept in memory
Games = list[list[int]]


def random_games(n_games: int, seed: int) -> Games:
    """The columns of random games."""
    boards, rng = ttt_env.Boards.start(GAME, n_games), np.random.default_rng(seed)
    games: Games = [[] for _ in range(n_games)]
    rows = np.arange(n_games)
    while len(rows):
        cells = np.argmax(boards.legal * rng.random(boards.legal.shape), axis=1)
        for row, cell in zip(rows.tolist(), cells.tolist(), strict=True):
            games[row].append(GAME.column_of[cell])
        boards = boards.play(cells)
        boards, rows = boards[~boards.is_over], rows[~boards.is_over]
    return games


# --- The same games -----------------------------------------------------------------------------------------


def positions_of(game: list[int]) -> Iterator[tuple[int, ttt_env.Position]]:
    """Each column of a game, with the position after it."""
    position = GAME.start
    for column in game:
        (cell,) = {*GAME.columns[column]} & {*position.legal_cells}
        position = position.play(cell)
        yield column, position


def legal_columns(position: ttt_env.Position) -> list[int]:
    """The columns into which a stone may fall."""
    return sorted(GAME.column_of[cell] for cell in position.legal_cells)


def returns_of(position: ttt_env.Position) -> list[float]:
    """The results of X and of O."""
    won = {"X": 1.0, "O": -1.0, None: 0.0}[position.winner]
    return [won, -won]


def as_open_spiel(games: Games) -> None:
    """Legal columns, the mover's observation, ends and returns of OpenSpiel."""
    import pyspiel

    peer = pyspiel.load_game(f"connect_four(rows={ROWS},columns={COLUMNS},x_in_row=4)")
    for game in games:
        state = peer.new_initial_state()
        for column, position in positions_of(game):
            state.apply_action(column)
            assert state.is_terminal() == position.is_over and state.returns() == returns_of(position)
            assert state.legal_actions() == legal_columns(position)
            seen = np.reshape(state.observation_tensor(0), (3, ROWS, COLUMNS))[:, ::-1]  # row 0 is the lowest
            board = position.board
            assert np.array_equal(seen, np.stack([board == 1, board == -1, board == 0]))


def as_kaggle(games: Games) -> None:
    """Free columns and wins by the rules of Kaggle's connectx."""
    from kaggle_environments.envs.connectx import connectx
    from kaggle_environments.utils import structify

    config = structify({"rows": ROWS, "columns": COLUMNS, "inarow": 4})
    for game in games:
        board = [0] * GAME.n_cells
        for column, position in positions_of(game):
            mark = 1 if position.to_move == "O" else 2
            connectx.play(board, column, mark, config)
            assert board == [(number % 3) for number in position.board.ravel().tolist()]
            assert connectx.is_win(board, column, mark, config) == position.is_won
            free = [number for number in range(COLUMNS) if board[number] == 0]
            assert position.is_won or free == legal_columns(position)


def as_pgx(games: Games) -> None:
    """Legal columns, the mover's observation, ends and rewards of Pgx."""
    import pgx

    as_functions_of_jax(pgx.make("connect_four"), games)


def as_jax_game(games: Games) -> None:
    """The same of our own functions of JAX."""
    from ttt_env.integrations.jax import JaxGame

    as_functions_of_jax(JaxGame(GAME), games)


def as_functions_of_jax(env: Any, games: Games) -> None:
    """Compare an environment with the states of Pgx, all games at once."""
    import jax

    jax.config.update("jax_platforms", "cpu")
    states = jax.vmap(env.init)(jax.random.split(jax.random.PRNGKey(0), len(games)))
    step, first = jax.jit(jax.vmap(env.step)), np.asarray(states.current_player)
    histories = [list(positions_of(game)) for game in games]
    for ply in range(max(map(len, games))):
        at = [row for row, history in enumerate(histories) if len(history) > ply]
        columns = [history[min(ply, len(history) - 1)][0] for history in histories]
        states = step(states, jax.numpy.asarray(columns))
        after = ttt_env.Boards.of([histories[row][ply][1] for row in at])
        assert np.array_equal(np.asarray(states.observation)[at], after.planes.astype(bool))
        assert np.array_equal(np.asarray(states.terminated)[at], after.is_over)
        legal = after.legal.reshape(-1, ROWS, COLUMNS).any(axis=1)
        assert np.array_equal(np.asarray(states.legal_action_mask)[at][~after.is_over], legal[~after.is_over])
        rewards = np.array([returns_of(position) for position in after])
        swapped = np.where(first[at, None] == 0, rewards, rewards[:, ::-1])
        assert np.array_equal(np.asarray(states.rewards)[at], swapped)


def as_pettingzoo(games: Games) -> None:
    """Agents, observations, masks, rewards and ends of PettingZoo."""
    theirs, ours = pettingzoo_env(), ttt_env.connect_four_v0.env(agent_names=("player_0", "player_1"))
    for game in games:
        theirs.reset()
        ours.reset()
        for column in [*game, None]:
            (seen, *told, _), (own, *own_told, _) = theirs.last(), ours.last()
            assert theirs.agent_selection == ours.agent_selection and told == own_told
            assert np.array_equal(seen["observation"], own["observation"])
            if column is not None:
                assert np.array_equal(seen["action_mask"], own["action_mask"])
                theirs.step(column)
                ours.step(column)


def pettingzoo_env() -> Any:
    """PettingZoo's environment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from pettingzoo.classic.connect_four import connect_four
    return connect_four.env()


PEERS: dict[str, Callable[[Games], None]] = {
    "OpenSpiel": as_open_spiel,
    "Kaggle connectx": as_kaggle,
    "Pgx": as_pgx,
    "our functions of JAX": as_jax_game,
    "PettingZoo": as_pettingzoo,
}


# --- Speeds -------------------------------------------------------------------------------------------------


def aec_window(env: Any, games: Games) -> Window:
    """`last` and `step` of recorded games, without the steps of dead agents."""

    def window() -> int:
        for game in games:
            env.reset()
            for column in game:
                env.last()
                env.step(column)
            env.last()
        return sum(map(len, games))

    return window


def speeds() -> Iterator[tuple[str, str, dict[str, Window]]]:
    """The measurements: their names, the peers, and both windows."""
    games = random_games(200, seed=0)
    envs = {"ours": ttt_env.connect_four_v0.env(), "theirs": pettingzoo_env()}
    yield "AEC, moves", "PettingZoo", {name: aec_window(env, games) for name, env in envs.items()}
    import pgx

    from ttt_env.integrations.jax import JaxGame

    envs_of_jax = pgx.make("connect_four"), JaxGame(GAME)
    for size in (1_024, 16_384):
        theirs, in_jax = (PgxBatch(env, size) for env in envs_of_jax)
        n_steps = steps_of(size)
        windows = {
            "ours": replaying(our_batch(size, game=GAME), n_steps),
            "theirs": replaying(theirs, n_steps),
        }
        yield f"{size:,} games at once, moves", "Pgx, step by step", windows
        windows = {"ours": scanning(in_jax, n_steps), "theirs": scanning(theirs, n_steps)}
        yield f"{size:,} games in JAX, moves", "Pgx, one compiled loop", windows


def print_speeds(seconds: float, rounds: int) -> None:
    """Print the table of speeds."""
    print(f"\n{'per second':34}{'ttt_env':>12}{'peer':>12}{'ratio':>8}  peer; medians of {rounds} rounds")
    for what, peer, windows in speeds():
        found = measured(windows, moves_per_second, seconds, rounds)
        ratio = median(a / b for a, b in zip(found["ours"], found["theirs"], strict=True))
        print(
            f"{what:34}{median(found['ours']):>12,.0f}{median(found['theirs']):>12,.0f}{ratio:>8.1f}  {peer}"
        )


def main() -> None:
    """Compare, then measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=1_000, help="random games to compare with each peer")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each side in each round")
    parser.add_argument("--rounds", type=int, default=5, help="0: compare only")
    options = parser.parse_args()
    for name, compare in PEERS.items():
        begin, n_moves = time.perf_counter(), 0
        try:
            for first in range(0, options.games, AT_ONCE):
                games = random_games(min(AT_ONCE, options.games - first), seed=first)
                compare(games)
                n_moves += sum(map(len, games))
        except ImportError as error:
            print(f"{name} is left out: {error}")
            continue
        seconds = time.perf_counter() - begin
        print(
            f"{name}: {options.games:,} games, {n_moves:,} moves, all the same ({seconds:.0f} s)", flush=True
        )
    if options.rounds:
        print_speeds(options.seconds, options.rounds)


if __name__ == "__main__":
    main()
