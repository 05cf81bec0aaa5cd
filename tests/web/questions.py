"""Questions to the process of the sweeps, which imports this module: as little as they need."""

import os
import stat
import time
from pathlib import Path

import numpy as np

from ttt_env.compiled.stopping import StoppedError, check_wanted

_HOARD = []


def think(told=None):
    """Go on until nobody waits for this any more: the file `told` says so, `told.begun` that it began."""
    if told is not None:
        Path(f"{told}.begun").touch()
    while True:
        time.sleep(0.01)
        try:
            check_wanted()
        except StoppedError:
            if told is not None:
                Path(told).touch()
            raise


def doze(seconds, name=None):
    """Go on for so long, unless nobody waits for this any more."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.002)
        check_wanted()
    return name


def has_made(roster, player, game):
    """True if the agent of a player has been made, in the process that is asked."""
    return roster._made.get(game, player) is not None


def hoard(megabytes):
    """Fill so much memory, and keep it."""
    _HOARD.append(np.ones(megabytes * 1_000_000, np.uint8))
    return megabytes


class SpokenError(Exception):
    """An error that is pickled and cannot be read again."""

    def __init__(self, where, what):
        super().__init__(f"{what} at {where}")


def fail_in_words():
    raise SpokenError("home", "nothing works")


def fall_silent():
    """End in the middle of an answer, as a process does that is killed."""
    open_files = [int(name) for name in os.listdir("/dev/fd") if Path(f"/dev/fd/{name}").exists()]
    answers = min(fd for fd in open_files if fd > 2 and stat.S_ISFIFO(os.fstat(fd).st_mode))
    os.write(answers, (1000).to_bytes(8) + b"half of it")
    os._exit(1)
