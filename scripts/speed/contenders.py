"""The environments of the table, and how many times faster than which peer ours have to be."""

from collections.abc import Callable
from typing import NamedTuple

import ttt_env
from speed import loops
from speed.batches import (
    GAME,
    EmptyEnv,
    GymnasiumBatch,
    SB3Batch,
    pgx_batch,
    pgx_drawing_scan,
    pgx_scan,
    synchronous,
)
from speed.windows import Window, drawing, replaying, steps_of

SIZES = (1, 64, 1_024, 4_096, 16_384)
LOOP_SIZES = (1, 64, 1_024)  # a loop over environments gets no faster with more of them
ONE = (1,)


class Contender(NamedTuple):
    """A contender: its timed loop, the numbers of games, and the colour of its line in the chart, if any."""

    name: str
    window: Callable[[int], Window]
    sizes: tuple[int, ...] = SIZES
    colour: str | None = None


class Goal(NamedTuple):
    """Ours with `size` games should be `times` as fast as the peer with `peer_size`; None: no goal."""

    ours: str
    size: int
    peer: str
    peer_size: int
    times: float | None = None


class Quoted(NamedTuple):
    """Ours with `size` games should be faster than the moves/s that others have published for a peer."""

    ours: str
    size: int
    peer: str
    speed: float


def both_sides(n_games: int) -> GymnasiumBatch:
    """Our vector environment, both sides stepped."""
    return GymnasiumBatch(ttt_env.make_vec(GAME, n_games, opponent=None))


def against_random(n_games: int) -> GymnasiumBatch:
    """Our vector environment against an opponent."""
    return GymnasiumBatch(ttt_env.make_vec(GAME, n_games, opponent="random"))


def _sync(make_env: Callable[[], object]) -> Callable[[int], Window]:
    return lambda n: replaying(synchronous(make_env, n), steps_of(n, 20_000))


BOTH, RANDOM = "ttt_env, both sides", "ttt_env, against random"
BOTH_DRAWN, SCAN_DRAWN = "ttt_env, both sides; draws moves", "Pgx, scan; draws moves"
SCAN, CALLS = "Pgx, scan", "Pgx, step by step"
SYNC, SYNC_NOTHING = "SyncVectorEnv of our env", "SyncVectorEnv of an empty env"
SPIEL_BARE, SPIEL, SPIEL_RL = "OpenSpiel, bare", "OpenSpiel", "OpenSpiel rl_environment"
SPIEL_DRAWN = "OpenSpiel, bare; draws moves"
CONTENDERS = (
    Contender(BOTH, lambda n: replaying(both_sides(n), steps_of(n)), colour="#0072b2"),
    Contender(RANDOM, lambda n: replaying(against_random(n), steps_of(n)), colour="#d55e00"),
    Contender(
        "ttt_env, SB3 VecEnv", lambda n: replaying(SB3Batch(n), steps_of(n, 200_000)), colour="#009e73"
    ),
    Contender(SCAN, pgx_scan, colour="#777777"),
    Contender(CALLS, lambda n: replaying(pgx_batch(n), steps_of(n)), colour="#777777"),
    Contender(SYNC_NOTHING, _sync(EmptyEnv), LOOP_SIZES, "#777777"),
    Contender(SYNC, _sync(lambda: ttt_env.make(GAME, opponent="random")), LOOP_SIZES, "#777777"),
    Contender(SPIEL_BARE, lambda n: loops.open_spiel_bare(), ONE),
    Contender(SPIEL, lambda n: loops.open_spiel(), ONE, "#777777"),
    Contender(SPIEL_RL, lambda n: loops.open_spiel_rl(), ONE, "#777777"),
    Contender("PettingZoo", lambda n: loops.pettingzoo(), ONE, "#777777"),
    Contender("PettingZoo for SB3", lambda n: loops.pettingzoo_single(), ONE, "#777777"),
    Contender(BOTH_DRAWN, lambda n: drawing(both_sides(n), steps_of(n))),
    Contender(SCAN_DRAWN, pgx_drawing_scan),
    Contender(SPIEL_DRAWN, lambda n: loops.open_spiel_drawing(), ONE),
)
GOALS = (
    Goal(BOTH_DRAWN, 16_384, SCAN_DRAWN, 16_384, 4),
    Goal(BOTH, 16_384, SCAN, 16_384),
    Goal(BOTH, 64, CALLS, 64, 15),
    Goal(BOTH, 64, SYNC_NOTHING, 64, 10),
    Goal(RANDOM, 64, SYNC_NOTHING, 64, 10),
    Goal(RANDOM, 64, SYNC, 64),
    Goal(BOTH_DRAWN, 16_384, SPIEL_DRAWN, 1, 30),
    Goal(BOTH, 16_384, SPIEL_BARE, 1),
    Goal(BOTH, 16_384, SPIEL, 1),
    Goal(BOTH, 16_384, SPIEL_RL, 1),
)
QUOTED = (
    Quoted(BOTH, 64, "PufferLib's Ocean, in C", 5.3e6),
    Quoted(BOTH, 4_096, "PufferLib's Ocean, in C", 7.8e6),
)
