"""Peers that play one game at a time, stepped by a loop in Python."""

import random
import warnings
from typing import Any

from speed.windows import N_GAMES, Window, games_window


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
