"""Rounds in which the contenders take turns: a machine that is slow for a while slows all of them."""

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from speed.windows import Window

Key = TypeVar("Key", bound=Hashable)


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
