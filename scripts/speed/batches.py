"""Batches of games: vector environments of Gymnasium, of Stable-Baselines3, and Pgx."""

from functools import cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv

import ttt_env
from speed.windows import Cells, Masks, Window, recorded, steps_of

GAME = "tictactoe-v0"


class GymnasiumBatch:
    """A vector environment with the mask in its infos."""

    def __init__(self, envs: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
        self.envs = envs

    def start(self) -> Masks:
        """Begin all games, from the same seed."""
        return self.envs.reset(seed=0)[1]["action_mask"]

    def play(self, cells: Cells) -> Masks:
        """Step all games, and return the masks after it."""
        return self.envs.step(cells)[4]["action_mask"]


class SB3Batch:
    """Our `VecEnv`, its masks asked for as MaskablePPO does."""

    def __init__(self, n_games: int) -> None:
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


def synchronous(make_env: Any, n_games: int) -> GymnasiumBatch:
    """Gymnasium's loop over environments."""
    return GymnasiumBatch(SyncVectorEnv([make_env] * n_games))


class PgxBatch:
    """Pgx on the CPU, called step by step; observation, mask, rewards, ends come as NumPy arrays.

    Ended games begin anew by Pgx's `auto_reset`, whose keys are the same in all steps: they only decide who
    is called player 0, and drawing them would cost time.
    """

    def __init__(self, n_games: int) -> None:
        import jax
        import pgx
        from pgx.experimental import auto_reset

        jax.config.update("jax_platforms", "cpu")
        env = pgx.make("tic_tac_toe")
        keys = jax.random.split(jax.random.PRNGKey(0), n_games)
        step_all = jax.vmap(auto_reset(env.step, env.init))
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


pgx_batch = cache(PgxBatch)  # compiled once for each number of games


def pgx_scan(n_games: int) -> Window:
    """Pgx's steps in one compiled loop, with recorded moves."""
    import jax

    batch = pgx_batch(n_games)
    steps, n_moves = recorded(batch, steps_of(n_games))
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
