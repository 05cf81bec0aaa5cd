"""OpenSpiel's bots, policies and tournaments together with the agents and environments of this package.

Follows https://github.com/google-deepmind/open_spiel/blob/master/open_spiel/python/examples/mcts.py

What differs: a function gives OpenSpiel's state of a position, and two small classes make an agent of this
package a bot and a policy of OpenSpiel. First all 5,478 positions and all moves in them are compared: who
moves, what is legal, when it ends, the returns, and what is seen. Then OpenSpiel's Monte Carlo bot is the
opponent in the environment, `minimax` plays in OpenSpiel's `evaluate_bots` and never loses, and the
exploitability that both packages compute of one policy is the same to 1e-12. Nothing is trained here:
certified is OpenSpiel's Monte Carlo bot, with 1,000 simulations and its solver.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env", "open-spiel==2.0.2"]
# ///

from collections.abc import Callable
from itertools import chain, zip_longest

import numpy as np
import pyspiel
from open_spiel.python.algorithms.evaluate_bots import evaluate_bots
from open_spiel.python.algorithms.exploitability import exploitability
from open_spiel.python.policy import Policy
from outcome import assert_unbeatable

import ttt_env  # ttt_env

GAME = pyspiel.load_game("tic_tac_toe")
POSITIONS = 5_478


def state_of(position: ttt_env.Position) -> pyspiel.State:  # ttt_env
    """OpenSpiel's state of a position that goes on: its stones in turn, X first."""
    state = GAME.new_initial_state()  # ttt_env
    x, o = (np.flatnonzero(position.board == sign).tolist() for sign in (1, -1))  # ttt_env
    for cell in chain.from_iterable(zip_longest(x, o)):  # ttt_env
        if cell is not None:  # ttt_env
            state.apply_action(cell)  # ttt_env
    return state  # ttt_env


def position_of(state: pyspiel.State) -> ttt_env.Position:  # ttt_env
    """The position of OpenSpiel's state."""
    return ttt_env.Position.parse(str(state).upper().replace("\n", "/"))  # ttt_env


def cell_by(bot: pyspiel.Bot) -> Callable[[ttt_env.Position], int]:  # ttt_env
    """OpenSpiel's bot as an agent of this package."""
    return lambda position: bot.step(state_of(position))  # ttt_env


class AgentBot(pyspiel.Bot):  # ttt_env
    """An agent of this package as a bot of OpenSpiel."""

    def __init__(self, agent: ttt_env.Agent, rng: np.random.Generator) -> None:  # ttt_env
        pyspiel.Bot.__init__(self)  # ttt_env
        self.agent, self.rng = agent, rng  # ttt_env

    def restart_at(self, state: pyspiel.State) -> None:  # ttt_env
        """Nothing: the agent remembers no game."""

    def step(self, state: pyspiel.State) -> int:  # ttt_env
        """The cell that the agent chooses."""
        return self.agent.choose(position_of(state), self.rng)  # ttt_env


class AgentPolicy(Policy):  # ttt_env
    """An agent of this package as a policy of OpenSpiel."""

    def __init__(self, agent: ttt_env.Agent) -> None:  # ttt_env
        super().__init__(GAME, [0, 1])  # ttt_env
        self.agent = agent  # ttt_env

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None):  # ttt_env
        """The probability of each free cell."""
        policy = self.agent.policy(position_of(state)).tolist()  # ttt_env
        return {cell: policy[cell] for cell in state.legal_actions()}  # ttt_env


def compare() -> tuple[int, int]:
    """The numbers of positions and of moves in which both packages say the same, asserted."""
    env = ttt_env.make("tictactoe-v0")
    first = GAME.new_initial_state()
    seen, waiting, moves = {str(first)}, [first], 0
    while waiting:
        state = waiting.pop()
        compare_position(state)
        for cell in state.legal_actions():
            child = state.child(cell)
            env.reset(options={"position": position_of(state)})
            env.step(cell)
            compare_env(env, child)
            moves += 1
            if str(child) not in seen:
                seen.add(str(child))
                waiting.append(child)
    return len(seen), moves


def compare_position(state: pyspiel.State) -> None:
    """Both packages say the same of a position: the end, the mover, the legal cells and the planes."""
    position = position_of(state)
    assert position.is_over == state.is_terminal()
    assert state.is_terminal() or "XO"[state.current_player()] == position.to_move
    assert state.is_terminal() or str(state_of(position)) == str(state)
    assert (position.legal_cells if not position.is_over else []) == state.legal_actions()
    empty, o, x = np.reshape(state.observation_tensor(0), (3, 3, 3))
    planes = position.planes
    assert np.array_equal(planes, np.stack([x, o] if position.to_move == "X" else [o, x], axis=-1))
    assert np.array_equal(empty, position.board == 0)


def compare_env(env: ttt_env.envs.two_player.TwoPlayerEnv, state: pyspiel.State) -> None:
    """The environment is where OpenSpiel's state is, with its rewards and legal moves."""
    assert env.position == position_of(state)
    assert [env.rewards[seat] for seat in "XO"] == state.returns()
    assert all(env.terminations[seat] == state.is_terminal() for seat in "XO")
    if not state.is_terminal():
        assert env.agent_selection == "XO"[state.current_player()]
        mask = env.observe(env.agent_selection)["action_mask"]
        assert mask.tolist() == state.legal_actions_mask()


def mcts(seed: int) -> pyspiel.Bot:
    """OpenSpiel's Monte Carlo bot, as its example makes it."""
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    return pyspiel.MCTSBot(GAME, evaluator, 2.0, 1_000, 1, True, seed, False)


def main() -> None:
    """Compare, play, and say what OpenSpiel's Monte Carlo bot is worth."""
    positions, moves = compare()
    assert positions == POSITIONS
    print(f"{positions:,} positions and {moves:,} moves are the same in both packages", flush=True)

    env = ttt_env.make("tictactoe-v0", opponent=cell_by(mcts(seed=1)), play_as="X")  # ttt_env
    env.reset(seed=0)
    terminated = False
    while not terminated:
        _, reward, terminated, _, _ = env.step(env.position.legal_cells[0])
    print(f"Playing always the first free cell against OpenSpiel's Monte Carlo bot ends with {reward:+g}")

    rng = np.random.default_rng(0)
    minimax = AgentBot(ttt_env.make_agent("minimax", env.game), rng)  # ttt_env
    for player, name in enumerate("XO"):
        bots = [minimax, mcts(seed=2)] if player == 0 else [mcts(seed=2), minimax]
        returns = [evaluate_bots(GAME.new_initial_state(), bots, rng)[player] for _ in range(50)]
        print(
            f"minimax as {name} in evaluate_bots: {returns.count(1)} wins, {returns.count(0)} draws",
            flush=True,
        )
        assert min(returns) >= 0

    softmax = ttt_env.make_agent("softmax:temperature=0.3", env.game)
    theirs, ours = exploitability(GAME, AgentPolicy(softmax)), ttt_env.exploitability(softmax).exploitability
    print(f"exploitability of softmax: {theirs!r} by OpenSpiel, {ours!r} by this package", flush=True)
    assert abs(theirs - ours) <= 1e-12

    assert_unbeatable(cell_by(mcts(seed=0)), ["open-spiel"])


if __name__ == "__main__":
    main()
