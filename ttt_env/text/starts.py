"""The starts of conversations: the rows of a data set to train or to judge a player on."""

from collections.abc import Iterator
from typing import TypedDict

from ttt_env.rules import Game, Position, Seat, as_integer, canonical


class StartRow(TypedDict):
    """The start of a game, for `TextEnv.reset(**row)`; no `position` is the start of the environment."""

    position: str | None
    play_as: Seat
    seed: int


def start_rows(game: Game, *, plies: int = 0, seeds: int = 1) -> Iterator[StartRow]:
    """The rows of a data set of games: the start on both seats, and the positions soon after it.

    A game starts with the player as X, with the player as O, and in every position with 1 to `plies` stones
    that can be reached and is not over, one of all symmetric ones, where the player is to move. Each of these
    comes with the seeds 0 to `seeds` − 1. They come ply by ply and are made when they are asked for. Raises
    `ParameterError` for numbers that are no integers or too small.

    >>> from ttt_env.rules.catalogue import get_game
    >>> [row["position"] for row in start_rows(get_game("tictactoe-v0"), plies=1)]
    [None, None, 'X../.../...', '.X./.../...', '.../.X./...']
    """
    plies = as_integer("plies", plies, "start_rows", 0)
    seeds = as_integer("seeds", seeds, "start_rows", 1)
    return _rows(game, plies, range(seeds))


def _rows(game: Game, plies: int, seeds: range) -> Iterator[StartRow]:
    seats: tuple[Seat, Seat] = ("X", "O")
    for seat in seats:
        for seed in seeds:
            yield {"position": None, "play_as": seat, "seed": seed}
    layer = [game.start]
    for _ in range(plies):
        layer = _next_layer(layer)
        for position in layer:
            for seed in seeds:
                yield {"position": str(position), "play_as": position.to_move, "seed": seed}


def _next_layer(layer: list[Position]) -> list[Position]:
    """The positions one move later that are not over, one of all symmetric ones, in a fixed order."""
    after = (position.play(cell) for position in layer for cell in position.legal_cells)
    return list(dict.fromkeys(canonical(position) for position in after if not position.is_over))
