"""Games between two agents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ttt_env.agent import Agent, AgentLike, chosen_cell, game_of, make_agent
from ttt_env.rules import Game, GameRecord, as_generator


def play_game(
    x: AgentLike, o: AgentLike, game: Game | str | None = None, rng: np.random.Generator | int | None = None
) -> GameRecord:
    """One whole game between two agents.

    Args:
        x: The agent that moves first.
        o: The agent that moves second.
        game: The game, or its id; by default that which the agents play.
        rng: A generator or a seed; the same seed gives the same game.

    Returns:
        The record of the game.

    Raises:
        ForfeitError: A program, or another agent that is queried, names no free cell and so has lost.
        NoVerdictError: It cannot be queried.

    Example:
        >>> record = play_game("minimax", "random", rng=0)
        >>> str(record), record.positions()[-1].winner
        ('tictactoe-v0: 5 2 0 1 7 8 3 6 4', 'X')

    """
    game = game_of(game, x, o)
    x, o = make_agent(x, game), make_agent(o, game)
    return GameRecord(game, play_cells(x, o, as_generator(rng)))


def play_cells(x: Agent, o: Agent, rng: np.random.Generator) -> tuple[int, ...]:
    """The cells of one whole game: the moves that `play_game` records."""
    return tuple(moves_between(x, o, rng))


def moves_between(x: Agent, o: Agent, rng: np.random.Generator) -> Iterator[int]:
    """The cells of one game as they are played, up to its end or an error of the player to move."""
    position, mover, other = x.game.start, x, o
    while not position.is_over:
        cell = chosen_cell(mover, position, rng)
        position, mover, other = position.play(cell), other, mover
        yield cell
