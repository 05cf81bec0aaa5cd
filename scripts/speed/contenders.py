"""The environments of the table, and how many times faster than which peer ours have to be.

Peers that play one game at a time are stepped by a loop in Python; batches of games are vector environments
of Gymnasium, of Stable-Baselines3, and Pgx.
"""

import random
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv

import ttt_env
from speed.measuring import (
    N_GAMES,
    Cells,
    Masks,
    Window,
    drawing,
    games_window,
    recorded,
    replaying,
    steps_of,
)

GAME = "tictactoe-v0"
SIZES = (1, 64, 1_024, 4_096, 16_384)
LOOP_SIZES = (1, 64, 1_024)  # a loop over environments gets no faster with more of them
ONE = (1,)


def pettingzoo_tictactoe() -> Any:
    """PettingZoo's module of the game. Raises `ImportError` without pygame."""
    with warnings.catch_warnings():
        # PettingZoo 1.27 deprecates this way of making its games; older ones have no other.
        warnings.simplefilter("ignore", DeprecationWarning)
        from pettingzoo.classic import tictactoe_v3
    return tictactoe_v3


def pettingzoo() -> Window:
    """`last` and `step`, without the steps of dead agents: PettingZoo looks faster than it is."""
    env = pettingzoo_tictactoe().env()

    def play(cells: list[int]) -> None:
        env.reset()
        for cell in cells:
            env.last()
            env.step(cell)
        env.last()

    return games_window(play)


def pettingzoo_single() -> Window:
    """PettingZoo as its tutorial on masked training with SB3 wraps it: one agent moves for both sides.

    A step returns the observation of the next player, and reward, ends and info of the one who moved. The
    mask is asked for before each move.
    """
    tictactoe = pettingzoo_tictactoe()
    from pettingzoo.utils import BaseWrapper

    class OneAgent(BaseWrapper):
        def reset(self, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed, options)
            return self.seen("observation"), {}

        def step(self, action: Any) -> Any:
            mover = self.agent_selection
            super().step(action)
            ends = self.terminations[mover], self.truncations[mover]
            return self.seen("observation"), self._cumulative_rewards[mover], *ends, self.infos[mover]

        def seen(self, part: str) -> Any:
            return self.observe(self.agent_selection)[part]

    env = OneAgent(tictactoe.env())

    def play(cells: list[int]) -> None:
        env.reset()
        for cell in cells:
            env.seen("action_mask")
            env.step(cell)

    return games_window(play)


def open_spiel_bare() -> Window:
    """Playouts of moves and checks for the end of the game, and nothing else."""
    import pyspiel

    game = pyspiel.load_game("tic_tac_toe")

    def play(cells: list[int]) -> None:
        state = game.new_initial_state()
        for cell in cells:
            state.apply_action(cell)
            state.is_terminal()

    return games_window(play)


def open_spiel_drawing() -> Window:
    """Playouts in which the moves are drawn from the legal ones."""
    import pyspiel

    game, rng = pyspiel.load_game("tic_tac_toe"), random.Random(0)

    def window() -> int:
        n_moves = 0
        for _ in range(N_GAMES):
            state = game.new_initial_state()
            while not state.is_terminal():
                legal = state.legal_actions()
                state.apply_action(legal[int(rng.random() * len(legal))])
                n_moves += 1
        return n_moves

    return window


def open_spiel() -> Window:
    """Playouts with what a learner wants of each step: observation, mask, rewards, end."""
    import pyspiel

    game = pyspiel.load_game("tic_tac_toe")

    def play(cells: list[int]) -> None:
        state = game.new_initial_state()
        for cell in cells:
            state.observation_tensor()
            state.legal_actions_mask()
            state.apply_action(cell)
            state.rewards()
            state.is_terminal()

    return games_window(play)


def open_spiel_rl() -> Window:
    """OpenSpiel's own environment, `rl_environment`."""
    from open_spiel.python import rl_environment

    env = rl_environment.Environment("tic_tac_toe")

    def play(cells: list[int]) -> None:
        env.reset()
        for cell in cells:
            env.step([cell])

    return games_window(play)


class GymnasiumBatch:
    """A vector environment with the mask in its infos."""

    def __init__(self, envs: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
        self.envs = envs

    def start(self) -> Masks:
        """Begin all games, from the same seed."""
        self.over = np.zeros(self.envs.num_envs, np.bool_)
        return self.envs.reset(seed=0)[1]["action_mask"]

    def play(self, cells: Cells) -> Masks:
        """Step all games, and return the masks after it."""
        _, _, self.over, _, infos = self.envs.step(cells)
        return infos["action_mask"]


class SB3Batch:
    """Our `VecEnv`, its masks asked for as MaskablePPO does."""

    def __init__(self, n_games: int) -> None:
        self.over = np.zeros(n_games, np.bool_)  # a step that ends a game begins the next one, too
        self.envs = ttt_env.envs.sb3.make_vec_env(GAME, n_games)

    def start(self) -> Masks:
        """Begin all games, from the same seed."""
        self.envs.seed(0)
        self.envs.reset()
        return self._masks()

    def play(self, cells: Cells) -> Masks:
        """Step, and ask for the masks."""
        self.envs.step(cells)
        return self._masks()

    def _masks(self) -> Masks:
        return np.stack(self.envs.env_method("action_masks"))


class EmptyEnv(gymnasium.Env[Any, Any]):
    """An environment in which nothing happens: its cost is that of the loop over environments."""

    observation_space = spaces.Box(0, 1, (3, 3, 2), np.int8)
    action_space = spaces.Discrete(9)

    def __init__(self) -> None:
        self.seen = np.zeros((3, 3, 2), np.int8)
        self.info = {"action_mask": np.ones(9, np.int8)}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """The same observation and info as always."""
        return self.seen, self.info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
        """The same step as always; it never ends."""
        return self.seen, 0.0, False, False, self.info


class PgxBatch:
    """A game of Pgx or of `JaxGame` on the CPU; observation, mask, rewards, ends come as NumPy arrays.

    Ended games begin anew by Pgx's `auto_reset`, whose keys are the same in all steps: they only decide who
    is called player 0, and drawing them would cost time.
    """

    def __init__(self, env: Any, n_games: int) -> None:
        import jax
        from pgx.experimental import auto_reset

        jax.config.update("jax_platforms", "cpu")
        self.over = np.zeros(n_games, np.bool_)  # a step that ends a game begins the next one, too
        keys = jax.random.split(jax.random.PRNGKey(0), n_games)
        step_all = jax.vmap(auto_reset(lambda state, cell, key: env.step(state, cell), env.init))
        self.first = jax.jit(jax.vmap(env.init))(keys)
        self.step = lambda state, cells: step_all(state, cells, keys)
        self._jitted_step = jax.jit(self.step)

    def start(self) -> Masks:
        """Begin all games."""
        self.state = self.first
        return np.asarray(self.state.legal_action_mask)

    def play(self, cells: Cells) -> Masks:
        """Step all games, and return the masks after it."""
        self.state = state = self._jitted_step(self.state, cells)
        for output in (state.observation, state.rewards, state.terminated):
            np.asarray(output)
        return np.asarray(state.legal_action_mask)


@cache  # compiled once for each number of games
def pgx_batch(n_games: int) -> PgxBatch:
    """Pgx's tic-tac-toe."""
    import pgx

    return PgxBatch(pgx.make("tic_tac_toe"), n_games)


def scanning(batch: PgxBatch, n_steps: int) -> Window:
    """A window that plays the recorded moves in one compiled loop."""
    import jax

    steps, n_moves = recorded(batch, n_steps)
    scan = jax.jit(lambda state, steps: jax.lax.scan(lambda *now: (batch.step(*now), None), state, steps))
    cells = jax.numpy.asarray(np.array(steps, np.int32))

    def window() -> int:
        jax.block_until_ready(scan(batch.first, cells))
        return n_moves

    return window


def pgx_drawing_scan(n_games: int) -> Window:
    """Pgx's steps in one compiled loop, in which the moves are drawn."""
    import jax

    batch = pgx_batch(n_games)

    def body(state: Any, key: Any) -> Any:
        logits = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
        return batch.step(state, jax.random.categorical(key, logits)), None

    scan = jax.jit(lambda state, keys: jax.lax.scan(body, state, keys))
    keys = jax.random.split(jax.random.PRNGKey(1), steps_of(n_games))

    def window() -> int:
        jax.block_until_ready(scan(batch.first, keys))
        return len(keys) * n_games

    return window


class Contender(NamedTuple):
    """A contender: its timed loop, the numbers of games, and the colour of its line in the chart, if any."""

    name: str
    window: Callable[[int], Window]
    sizes: tuple[int, ...] = SIZES
    colour: str | None = None


class Goal(NamedTuple):
    """Ours with `size` games should be `times` as fast as the peer with `peer_size`; None: no goal."""

    ours: str
    size: int
    peer: str
    peer_size: int
    times: float | None = None


def our_batch(n_games: int, opponent: str | None = None, game: str | ttt_env.Game = GAME) -> GymnasiumBatch:
    """Our vector environment, in which both sides are stepped, or one against an opponent."""
    return GymnasiumBatch(ttt_env.make_vec(game, n_games, opponent=opponent))


def _sync(make_env: Callable[[], Any]) -> Callable[[int], Window]:
    """Gymnasium's loop over environments."""
    return lambda n: replaying(GymnasiumBatch(SyncVectorEnv([make_env] * n)), steps_of(n, 20_000))


BOTH, RANDOM = "ttt_env, both sides", "ttt_env, against random"
BOTH_DRAWN, SCAN_DRAWN = "ttt_env, both sides; draws moves", "Pgx, scan; draws moves"
SCAN, CALLS = "Pgx, scan", "Pgx, step by step"
SYNC, SYNC_NOTHING = "SyncVectorEnv of our env", "SyncVectorEnv of an empty env"
SPIEL_BARE, SPIEL, SPIEL_RL = "OpenSpiel, bare", "OpenSpiel", "OpenSpiel rl_environment"
SPIEL_DRAWN = "OpenSpiel, bare; draws moves"
CONTENDERS = (
    Contender(BOTH, lambda n: replaying(our_batch(n), steps_of(n)), colour="#0072b2"),
    Contender(RANDOM, lambda n: replaying(our_batch(n, "random"), steps_of(n)), colour="#d55e00"),
    Contender(
        "ttt_env, SB3 VecEnv", lambda n: replaying(SB3Batch(n), steps_of(n, 200_000)), colour="#009e73"
    ),
    Contender(SCAN, lambda n: scanning(pgx_batch(n), steps_of(n)), colour="#777777"),
    Contender(CALLS, lambda n: replaying(pgx_batch(n), steps_of(n)), colour="#777777"),
    Contender(SYNC_NOTHING, _sync(EmptyEnv), LOOP_SIZES, "#777777"),
    Contender(SYNC, _sync(lambda: ttt_env.make(GAME, opponent="random")), LOOP_SIZES, "#777777"),
    Contender(SPIEL_BARE, lambda n: open_spiel_bare(), ONE),
    Contender(SPIEL, lambda n: open_spiel(), ONE, "#777777"),
    Contender(SPIEL_RL, lambda n: open_spiel_rl(), ONE, "#777777"),
    Contender("PettingZoo", lambda n: pettingzoo(), ONE, "#777777"),
    Contender("PettingZoo for SB3", lambda n: pettingzoo_single(), ONE, "#777777"),
    Contender(BOTH_DRAWN, lambda n: drawing(our_batch(n), steps_of(n))),
    Contender(SCAN_DRAWN, pgx_drawing_scan),
    Contender(SPIEL_DRAWN, lambda n: open_spiel_drawing(), ONE),
)
GOALS = (
    Goal(BOTH_DRAWN, 16_384, SCAN_DRAWN, 16_384, 4),
    Goal(BOTH, 16_384, SCAN, 16_384),
    Goal(BOTH, 64, CALLS, 64, 15),
    Goal(BOTH, 64, SYNC_NOTHING, 64, 10),
    Goal(RANDOM, 64, SYNC_NOTHING, 64, 10),
    Goal(RANDOM, 64, SYNC, 64),
    Goal(BOTH_DRAWN, 16_384, SPIEL_DRAWN, 1, 30),
    Goal(BOTH, 16_384, SPIEL_BARE, 1),
    Goal(BOTH, 16_384, SPIEL, 1),
    Goal(BOTH, 16_384, SPIEL_RL, 1),
)
