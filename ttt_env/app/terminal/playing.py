"""`ttt play`: who sits down, and what is recorded."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress

import numpy as np
from rich.console import Console

from ttt_env.agent import Agent, make_agent
from ttt_env.app.terminal.prompt import Ask, Terminal
from ttt_env.app.terminal.session import Player, Session
from ttt_env.errors import ParameterError
from ttt_env.rules.checks import as_seat
from ttt_env.rules.game import Game
from ttt_env.storage.game_log import PERSON, GameLog


def seated(specs: Sequence[str], seat: str | None, game: Game) -> tuple[Player, Player]:
    """X and O of the first game: both as named, or a person on `seat` against the only one that is named.

    Raises `ParameterError` for more than two players, or a seat for two.
    """
    if len(specs) > 2 or (len(specs) == 2 and seat is not None):
        raise ParameterError("one player is your opponent, and --seat is yours; two players are X and O")
    if len(specs) == 1:
        specs = [PERSON, *specs] if as_seat((seat or "X").upper()) == "X" else [*specs, PERSON]
    x, o = (Player(name, spec, _agent(spec, game)) for name, spec in zip(_names(specs), specs, strict=True))
    return x, o


def _agent(spec: str, game: Game) -> Agent | None:
    return None if spec == PERSON else make_agent(spec, game)


def _names(specs: Sequence[str]) -> list[str]:
    """Names that tell the two apart."""
    if specs[0] != specs[1]:
        return ["you" if spec == PERSON else spec for spec in specs]
    kind = "player" if specs[0] == PERSON else specs[0]
    return [f"{kind} {letter}" for letter in "AB"]


def sit_down(
    game: Game, players: tuple[Player, Player], seed: int | None, games: int | None, record: bool
) -> None:
    """Play in this terminal, games recorded in the default log if `record`."""
    make_reading_robust()
    session = Session(game, players, np.random.default_rng(seed))
    with ExitStack() as stack:
        log = stack.enter_context(GameLog()) if record else None
        Terminal(session, Console(), input, log, games).run()


def ask_here() -> Ask | None:
    """What asks the person at this terminal; None if there is neither."""
    make_reading_robust()
    return input if sys.stdin.isatty() and sys.stdout.isatty() else None


def make_reading_robust() -> None:
    """Let `input` take any bytes and, at a terminal, edit lines."""
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    if sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401 - its import is what does it
