"""The data with which the browser computes figures of softmax minimax by itself, while a slider moves."""

from dataclasses import dataclass

from ttt_env.app.web.roster import PERSON
from ttt_env.app.web.table import PlayTable
from ttt_env.rules import SEATS, Game, is_instant, split_spec

_SOFTMAX = "softmax"


@dataclass(frozen=True)
class LiveSweep:
    """A game after the `played` cells, and the ids of the sliders that hold the temperatures of X and O."""

    game: Game
    played: tuple[int, ...]
    x: str
    o: str

    @property
    def facts(self) -> dict[str, object]:
        """The sweep as `live.js` reads it."""
        game = {"cells": self.game.n_cells, "sets": self.game.winning_sets, "misere": self.game.misere}
        return {"game": game, "played": self.played, "x": self.x, "o": self.o}


def sweep_of(game: Game, played: tuple[int, ...], x: str, o: str) -> LiveSweep | None:
    """The sweep of these sliders; None for a game that is too large to be swept between two frames."""
    return LiveSweep(game, played, x, o) if is_instant(game) else None


def sweep_at(table: PlayTable) -> LiveSweep | None:
    """The sweep for the agent whose chances are shown at a table; None if that is not softmax minimax.

    The agent moves by its own temperature, and ascribes the other one to whoever moves next.
    """
    mover, other = SEATS[table.at % 2], SEATS[(table.at + 1) % 2]
    seat = other if table.player(mover) == PERSON else mover
    if split_spec(table.player(seat)).name != _SOFTMAX:
        return None
    own, ascribed = f"{seat.lower()}-temperature", f"{seat.lower()}-opponent_temperature"
    x, o = (own, ascribed) if mover == "X" else (ascribed, own)
    return sweep_of(table.game, table.record.cells, x, o)
