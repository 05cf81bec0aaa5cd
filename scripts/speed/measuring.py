"""Windows of play, and rounds in which the contenders take turns.

A window is games of random legal moves, which are recorded beforehand and played again and again. It begins
all its games, plays them, and returns how many moves it made. Moves are not chosen while the time is taken,
except in a window of `drawing`. A machine that is slow for a while slows all contenders of a round.
"""

import time
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

import ttt_env

Key = TypeVar("Key", bound=Hashable)
Window = Callable[[], int]
Cells = NDArray[np.integer[Any]]
Masks = NDArray[Any]  # [B, actions], not zero where a move is legal
N_GAMES = 100
_SLOTS = 2520  # divisible by all numbers of legal cells, 1 to 9
_WEIGHTS = _SLOTS * np.float32(2) ** np.arange(9, dtype=np.float32)


class Batch(Protocol):
    """Games that are stepped together, and begin anew by themselves, always in the same way."""

    over: NDArray[np.bool_]  # [B], the games whose next step only begins a new one

    def start(self) -> Masks:
        """Begin all games."""

    def play(self, cells: Cells) -> Masks:
        """Play a cell in each game, and produce all that a learner wants; return the masks after it."""


def random_games() -> list[list[int]]:
    """The cells of random games, the same every time."""
    rng = np.random.default_rng(0)
    return [list(ttt_env.play_game("random", "random", "tictactoe-v0", rng).cells) for _ in range(N_GAMES)]


def games_window(play: Callable[[list[int]], Any]) -> Window:
    """A window of random games that are played one after the other."""
    games = random_games()
    n_moves = sum(map(len, games))

    def window() -> int:
        for cells in games:
            play(cells)
        return n_moves

    return window


@cache
def _cells_by_mask() -> NDArray[np.int8]:
    """A legal cell by the bits of a mask and a slot, flat; all legal cells have the same number of slots."""
    table = np.zeros((1 << len(_WEIGHTS), _SLOTS), np.int8)
    for bits in range(1, len(table)):
        cells = [cell for cell in range(len(_WEIGHTS)) if bits >> cell & 1]
        table[bits] = np.repeat(cells, _SLOTS // len(cells))
    return table.ravel()


def steps_of(n_games: int, n_moves: int = 400_000) -> int:
    """The steps of a window of `n_games` games, so many that it takes a fraction of a second."""
    return max(20, min(100, n_moves // n_games))


def drawn(masks: Masks, rng: np.random.Generator) -> Cells:
    """A random legal action of each game, `[B]`, by one look-up; of at most nine."""
    # Products of floats alone are fast; all sums are whole numbers that a float32 holds.
    rows = masks.astype(np.float32) @ _WEIGHTS[: masks.shape[1]] + rng.integers(
        _SLOTS, size=len(masks), dtype=np.uint16
    )
    return _cells_by_mask().take(rows.astype(np.int64)).astype(np.int64)


def recorded(batch: Batch, n_steps: int) -> tuple[list[Cells], int]:
    """Random legal moves of so many steps from the start, and how many moves these are.

    A game that is over is not moved in: its step only begins the next one.
    """
    rng = np.random.default_rng(0)
    masks, steps, n_moves = batch.start(), [], 0
    for _ in range(n_steps):
        steps.append(drawn(masks, rng))
        n_moves += int((~batch.over).sum())
        masks = batch.play(steps[-1])
    return steps, n_moves


def replaying(batch: Batch, n_steps: int) -> Window:
    """A window that plays the recorded moves."""
    steps, n_moves = recorded(batch, n_steps)

    def window() -> int:
        batch.start()
        for cells in steps:
            batch.play(cells)
        return n_moves

    return window


def drawing(batch: Batch, n_steps: int) -> Window:
    """A window that draws each move from the mask before it: always the same ones as were recorded."""
    _, n_moves = recorded(batch, n_steps)

    def window() -> int:
        rng, masks = np.random.default_rng(0), batch.start()
        for _ in range(n_steps):
            masks = batch.play(drawn(masks, rng))
        return n_moves

    return window


def measured(
    contenders: Mapping[Key, Any], speed: Callable[[Any, float, int], float], seconds: float, rounds: int
) -> dict[Key, list[float]]:
    """The speeds of each contender, round by round; `speed` takes a contender, the seconds and the round."""
    speeds: dict[Key, list[float]] = {key: [] for key in contenders}
    for round in range(-1, rounds):  # round −1 warms up
        for key, contender in contenders.items():
            measured_speed = speed(contender, seconds, round)
            if round >= 0:
                speeds[key].append(measured_speed)
    return speeds


def moves_per_second(window: Window, seconds: float, round: int) -> float:
    """The moves a second of a window that is played again and again for about so many seconds."""
    n_moves, begin = 0, time.perf_counter()
    while (spent := time.perf_counter() - begin) < seconds or not n_moves:
        n_moves += window()
    return n_moves / spent


def timed(act: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """The seconds that one call takes."""
    begin = clock()
    act()
    return clock() - begin


def verdict(reached: bool) -> str:
    """The word for the table: reached or missed."""
    return "reached" if reached else "MISSED"
