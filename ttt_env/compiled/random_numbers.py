"""Random numbers in compiled code: SplitMix64 (Steele, Lea and Flood, Fast splittable PRNGs, 2014).

The state of a generator is an array of one number, so that the same seed gives the same numbers everywhere.
"""

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.compiler import inner

Random = NDArray[np.uint64]

_11, _27, _30, _31, _32 = (np.uint64(n) for n in (11, 27, 30, 31, 32))
_2_TO_MINUS_53 = 2.0**-53
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inner
def next_bits(random: Random) -> np.uint64:
    """The next 64 random bits."""
    random[0] += _GAMMA
    bits = random[0]
    bits = (bits ^ bits >> _30) * _MIX_1
    bits = (bits ^ bits >> _27) * _MIX_2
    return np.uint64(bits ^ bits >> _31)


@inner
def draw_below(random: Random, n: int) -> int:
    """A number from 0 to n − 1: the upper half of the next 64 bits, times n, over 2³²."""
    return np.int64((next_bits(random) >> _32) * np.uint64(n) >> _32)  # type: ignore[return-value]


@inner
def draw_share(random: Random) -> float:
    """A number from [0, 1): the upper 53 of the next 64 bits, over 2⁵³."""
    return float(next_bits(random) >> _11) * _2_TO_MINUS_53


@inner
def seed_by(random: Random, seed: np.uint64, mine: np.uint64, theirs: np.uint64) -> None:
    """Seed the generator by a seed and a position."""
    random[0] = seed
    random[0] = next_bits(random) ^ mine
    random[0] = next_bits(random) ^ theirs
