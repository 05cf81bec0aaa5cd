"""Softmax minimax against itself at two temperatures: how the game ends, over O's temperature, exactly.

The curves of Lachlan Gibson's "Making tic-tac-toe interesting with AI", computed instead of sampled.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ttt_env.analysis.evaluation import Result
from ttt_env.analysis.induction import backward_induction, softmax
from ttt_env.analysis.layers import reachable
from ttt_env.app.web.compare.chart import Axis, Chart, Line, chart
from ttt_env.app.web.controls import Control
from ttt_env.rules import Boards, get_game

GAME = get_game("tictactoe-v0")
SLIDERS = {
    seat: Control(seat, f"temperature of {seat.upper()}", 0, 2, 0.05, ("Precise", "Chaotic"), default=default)
    for seat, default in (("x", "1"), ("o", "0.5"))
}
OPENINGS = {"centre": 4, "corner": 0, "edge": 1}
_GRID = [round(0.05 * step, 2) for step in range(41)]  # the temperatures that the sliders stop at


@dataclass(frozen=True)
class Ends:
    """The result of the game between two temperatures, from X's side, and the value of its openings for X."""

    result: Result
    openings: dict[str, float]


def temperatures(fields: Mapping[str, str]) -> tuple[float, float]:
    """The temperatures of X and O on the sliders. Raises `ParameterError` if one is out of bounds."""
    x, o = (float(slider.checked(fields.get(seat, slider.default))) for seat, slider in SLIDERS.items())
    return x, o


def ends(x: float, o: float) -> Ends:
    """The result if both seats play softmax minimax and know the other's temperature: one sweep."""
    outcomes = backward_induction(reachable(GAME), softmax(x), softmax(o))
    win, loss = outcomes.start
    q = outcomes.values().q(Boards.start(GAME))[0]
    return Ends(Result(win, 1 - win - loss, loss), {name: float(q[cell]) for name, cell in OPENINGS.items()})


def curves(x: float, o: float) -> tuple[Ends, Chart, Chart]:
    """The ends at these temperatures; the chances, and the worth of the openings, over all of O's."""
    ends_at = {at: ends(x, at) for at in sorted({*_GRID, o})}
    across = Axis("temperature of O", _GRID[0], _GRID[-1])
    return (
        ends_at[o],
        _chances(ends_at, across, o),
        _worth(ends_at, across, o),
    )


def _chances(ends_at: Mapping[float, Ends], across: Axis, mark: float) -> Chart:
    lines = [
        Line(name, look, [(at, 100 * each.result[place]) for at, each in ends_at.items()])
        for place, (name, look) in enumerate([("X wins", "x"), ("draw", "draw"), ("O wins", "o")])
    ]
    return chart(across, Axis("probability, %", 0, 100), lines, mark)


def _worth(ends_at: Mapping[float, Ends], across: Axis, mark: float) -> Chart:
    lines = [
        Line(name, f"line-{place}", [(at, each.openings[name]) for at, each in ends_at.items()])
        for place, name in enumerate(OPENINGS)
    ]
    return chart(across, Axis("wins − losses of X", -1, 1), lines, mark)
