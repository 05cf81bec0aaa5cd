"""mctx searches in our games as functions of JAX, beside Pgx's tic-tac-toe, until its moves are unbeatable.

Follows mctx's and Pgx's example of AlphaZero, whose recurrent function steps an environment inside the tree:
https://github.com/sotetsuk/pgx/blob/main/examples/alphazero/train.py
https://github.com/google-deepmind/mctx

What differs: the environment, and that no network guides the search: priors are uniform, and a leaf is worth
the mean of a few random games from it, played on by `step` inside the search. Before that the environments
of Pgx and of this package are stepped in turns, with Pgx's own `auto_reset` around both, in batches of 1,
1,024 and 65,536 games: in a scan that draws random legal moves. The number of simulations doubles until the
exact certificate says that nobody beats the search.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[jax]", "jax==0.10.2", "pgx==2.6.0", "mctx==0.0.71"]
#
# [tool.frameworks]
# tests = ["tests/integrations/test_jax.py"]
# ///

import time
from statistics import median

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pgx
from outcome import outcome
from pgx.experimental import auto_reset

import ttt_env  # ttt_env
from ttt_env.integrations.jax import JaxGame  # ttt_env

BATCHES = {1: 10_000, 1024: 200, 65_536: 8}  # games: steps of a scan
ROUNDS = 7
AT_ONCE = 512
PLAYOUTS = 4


def scan(env, n_games, n_steps):
    """A compiled function of a key that steps a batch of games by random legal moves."""
    step = jax.vmap(auto_reset(env.step, env.init))

    def body(states, key):
        key_of_moves, key_of_steps = jax.random.split(key)
        logits = jnp.where(states.legal_action_mask, 0.0, -jnp.inf)
        cells = jax.random.categorical(key_of_moves, logits, axis=-1)
        states = step(states, cells, jax.random.split(key_of_steps, n_games))
        return states, states.terminated.sum()

    @jax.jit
    def run(key):
        states = jax.vmap(env.init)(jax.random.split(key, n_games))
        return jax.lax.scan(body, states, jax.random.split(key, n_steps))[1].sum()

    return run


def compare():
    """Print the steps a second of both environments, and the median ratio of rounds taken in turns."""
    for n_games, n_steps in BATCHES.items():
        envs = {"Pgx": pgx.make("tic_tac_toe"), "ttt_env": JaxGame("tictactoe-v0")}  # ttt_env
        runs = {name: scan(env, n_games, n_steps) for name, env in envs.items()}
        finished = {name: int(run(jax.random.key(0))) for name, run in runs.items()}
        assert finished["Pgx"] == finished["ttt_env"]  # the same moves, the same games
        speeds = {name: [] for name in runs}
        for number in range(ROUNDS):
            for name, run in runs.items():
                started = time.perf_counter()
                run(jax.random.key(number)).block_until_ready()
                speeds[name].append(n_games * n_steps / (time.perf_counter() - started))
        ratio = median(ours / theirs for ours, theirs in zip(speeds["ttt_env"], speeds["Pgx"], strict=True))
        told = ", ".join(f"{name} {median(of_rounds):,.0f}" for name, of_rounds in speeds.items())
        print(f"{n_games:,} games, steps a second: {told}: {ratio:.2f} times", flush=True)


class Search(ttt_env.Agent):  # ttt_env
    """Plays the most visited cell of a search by mctx."""

    def __init__(self, game, simulations):
        super().__init__(game)
        self.functions, self.simulations = JaxGame(game), simulations  # ttt_env
        self._visits = jax.jit(self._search)

    def policies(self, boards):
        """All of the probability on the most visited cell; batches have one size, which is compiled once."""
        policies = np.zeros((len(boards), self.game.n_cells))
        for first in range(0, len(boards), AT_ONCE):
            rows = np.arange(first, min(first + AT_ONCE, len(boards)))
            visits = self._visits(self.functions.states_of(boards[np.resize(rows, AT_ONCE)]))  # ttt_env
            policies[rows, np.argmax(visits, axis=1)[: len(rows)]] = 1.0
        return policies

    def _search(self, states):
        root = mctx.RootFnOutput(
            prior_logits=self._priors(states), value=jnp.zeros(AT_ONCE), embedding=states
        )
        return mctx.muzero_policy(
            params=(),
            rng_key=jax.random.key(0),
            root=root,
            recurrent_fn=self._stepped,
            num_simulations=self.simulations,
            invalid_actions=~states.legal_action_mask,
            dirichlet_fraction=0.0,
            temperature=0.0,
        ).action_weights

    @staticmethod
    def _priors(states):
        return jnp.where(states.legal_action_mask, 0.0, -1e9)

    def _stepped(self, params, key, cells, states):
        """The output of a step for mctx: values are for the player to move, so the discount is −1."""
        after = jax.vmap(self.functions.step)(states, cells)  # ttt_env
        rewards = jnp.take_along_axis(after.rewards, states.current_player[:, None], 1)[:, 0]
        values = jax.vmap(self._worth)(after)
        is_over = after.terminated
        output = mctx.RecurrentFnOutput(
            reward=rewards,
            discount=jnp.where(is_over, 0.0, -1.0),
            prior_logits=self._priors(after),
            value=jnp.where(is_over, 0.0, values),
        )
        return output, after

    def _worth(self, state):
        """The mean result of random games from here, which are drawn by the observation alone."""
        number = state.observation.ravel() @ 2 ** jnp.arange(state.observation.size)
        keys = jax.random.split(jax.random.key(number), PLAYOUTS)
        return jnp.mean(jax.vmap(lambda key: self._playout(key, state))(keys))

    def _playout(self, key, state):
        """The result of a random game from here, for the player to move."""

        def move(state, key):
            cell = jax.random.categorical(key, self._priors(state))
            state = self.functions.step(state, cell)  # ttt_env
            return state, state.rewards

        keys = jax.random.split(key, self.game.n_cells - 1)
        _, rewards = jax.lax.scan(move, state, keys)
        return rewards.sum(0)[state.current_player]


def main():
    """Compare, search with more and more simulations, and certify."""
    compare()
    game = ttt_env.get_game("tictactoe-v0")  # ttt_env
    for simulations in (64, 128, 256, 512, 1024):
        agent = ttt_env.RecordedAgent(Search(game, simulations))  # ttt_env
        exact = ttt_env.exploitability(agent)  # ttt_env
        print(f"{simulations} simulations: exploitability {exact.exploitability:.4f}", flush=True)
        if exact.exploitability <= 0:
            break
    certificate = outcome(agent, ["jax", "pgx", "mctx"])
    assert certificate.unbeatable


if __name__ == "__main__":
    main()
