"""Rounds in which things to be timed take turns: a machine that is slow for a while slows all of them."""

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from speed.windows import Window

Key = TypeVar("Key", bound=Hashable)


def measured(
    things: Mapping[Key, Any], speed: Callable[[Any, float, int], float], seconds: float, rounds: int
) -> dict[Key, list[float]]:
    """The speed of each thing in each round; `speed` is told the thing, the seconds and the round."""
    speeds: dict[Key, list[float]] = {key: [] for key in things}
    for round in range(-1, rounds):  # round −1 warms up
        for key, thing in things.items():
            found = speed(thing, seconds, round)
            if round >= 0:
                speeds[key].append(found)
    return speeds


def moves_per_second(window: Window, seconds: float, round: int) -> float:
    """Play the window again and again for about so many seconds."""
    n_moves, begin = 0, time.perf_counter()
    while (spent := time.perf_counter() - begin) < seconds or not n_moves:
        n_moves += window()
    return n_moves / spent


def verdict(reached: bool) -> str:
    """The word for it."""
    return "reached" if reached else "MISSED"
