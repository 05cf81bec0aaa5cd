"""mctx searches in a game as functions of JAX, measured beside Pgx's, until its moves are unbeatable.

Follows mctx's and Pgx's example of AlphaZero, whose recurrent function steps an environment inside the tree:
https://github.com/sotetsuk/pgx/blob/main/examples/alphazero/train.py
https://github.com/google-deepmind/mctx

What differs: the environment, and that a table takes the place of the network: priors are uniform, searches
look one move ahead, and the value of a position is what the search of the round before has found there, at
first 0. Each round searches from all positions at once, and the training ends when the exact certificate
says that nobody beats the moves. Before that the environments of Pgx and of this package are stepped in
turns, with Pgx's own `auto_reset` around both, in batches of 1, 1,024 and 65,536 games, on a GPU up to
1,048,576: in a scan that draws random legal moves.
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
from outcome import assert_unbeatable, is_unbeatable
from pgx.experimental import auto_reset

import ttt_env  # ttt_env
from ttt_env.analysis.layers import reachable  # ttt_env
from ttt_env.integrations.jax import JaxGame  # ttt_env

ON_CPU = jax.default_backend() == "cpu"
BATCHES = {1: 10_000, 1024: 200, 65_536: 8} if ON_CPU else {1024: 2_000, 65_536: 1_000, 1_048_576: 100}
# games: steps of a scan
ROUNDS = 7
SIMULATIONS = 18
ROUNDS_OF_SEARCH = 12
GAME = ttt_env.get_game("tictactoe-v0")  # ttt_env
FUNCTIONS = JaxGame(GAME)  # ttt_env


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


def numbers_of(observations):
    """The number of each board, from its two planes: `int[B]`."""
    return observations.reshape(-1, 9, 2) @ np.array([1, 2]) @ 3 ** np.arange(9)


@jax.jit
def search(values, states):
    """The move that a search chooses in each state, and the value of the best one that it found, `[B]`."""
    root = mctx.RootFnOutput(
        prior_logits=priors(states), value=values[numbers_of(states.observation)], embedding=states
    )
    output = mctx.gumbel_muzero_policy(
        params=values,
        rng_key=jax.random.key(0),
        root=root,
        recurrent_fn=stepped,
        num_simulations=SIMULATIONS,
        invalid_actions=~states.legal_action_mask,
        max_num_considered_actions=9,
        max_depth=1,
        gumbel_scale=0.0,
    )
    found = output.search_tree.summary()
    return output.action, jnp.where(found.visit_counts > 0, found.qvalues, -1.0).max(axis=1)


def stepped(values, key, cells, states):
    """The output of a step for mctx: values are for the player to move, so the discount is −1."""
    after = jax.vmap(FUNCTIONS.step)(states, cells)  # ttt_env
    output = mctx.RecurrentFnOutput(
        reward=jnp.take_along_axis(after.rewards, states.current_player[:, None], 1)[:, 0],
        discount=jnp.where(after.terminated, 0.0, -1.0),
        prior_logits=priors(after),
        value=jnp.where(after.terminated, 0.0, values[numbers_of(after.observation)]),
    )
    return output, after


def priors(states):
    """Logits of all free cells alike."""
    return jnp.where(states.legal_action_mask, 0.0, -1e9)


def main():
    """Compare, search until nobody beats the moves, and certify."""
    compare()
    layers = (layer.boards(layer.open_slots) for layer in reachable(GAME))  # ttt_env
    boards = ttt_env.Boards.joined(GAME, layers)  # ttt_env
    states, rows = FUNCTIONS.states_of(boards), numbers_of(boards.planes)  # ttt_env
    values, cells = np.zeros(3**9, np.float32), np.zeros(3**9, int)

    def chosen(planes):  # ttt_env
        return np.eye(9)[cells[numbers_of(planes)]]  # ttt_env

    for number in range(1, ROUNDS_OF_SEARCH + 1):
        cells[rows], values[rows] = search(values, states)
        agent = ttt_env.make_agent(chosen, GAME, observation="planes")  # ttt_env
        if is_unbeatable(agent, f"{number} rounds of searches"):  # ttt_env
            break
    assert_unbeatable(agent, ["jax", "pgx", "mctx"])


if __name__ == "__main__":
    main()
