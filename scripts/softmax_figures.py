"""Redo the four softmax plots of Lachlan Gibson's "Making tic-tac-toe interesting with AI", exactly.

X and O play by softmax, each with its temperature and knowing the other's. Against O's temperature, for a
hot X (1) and a cold one (0.1): the probabilities of the three ends (`softmax-chances`), and what each
opening is worth to X (`softmax-openings`). Lines are computed; the dots beside them follow his method: a
thousand sampled games for each point. Writes both as SVG and PNG and prints the numbers.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from panels import with_grid, write

import ttt_env
from ttt_env.analysis.induction import Outcomes, backward_induction, softmax
from ttt_env.analysis.layers import reachable
from ttt_env.render.charts import new_figure
from ttt_env.render.table import Table

GAME = ttt_env.get_game("tictactoe-v0")
TEMPERATURES = np.round(np.linspace(0.1, 1.0, 10), 1)  # of O, where games are sampled
FINE = np.round(np.linspace(0.1, 1.0, 91), 2)
HOT, COLD = 1.0, 0.1  # X
ENDS = {"X wins": ("#0072b2", "o"), "draw": ("#777777", "s"), "O wins": ("#d55e00", "^")}
OPENINGS = {"centre": (4, "#0072b2"), "corner": (0, "#d55e00"), "edge": (1, "#009e73")}
DASHES = {"centre": "-", "corner": "--", "edge": ":"}


def outcomes(x: float, o: float) -> Outcomes:
    """The sweep of the whole game in which both seats play by softmax with these temperatures."""
    return backward_induction(reachable(GAME), softmax(x), softmax(o))


def chances(x: float, o: float) -> tuple[float, float, float]:
    """The probabilities that X wins, that nobody does, that O does."""
    x_wins, o_wins = outcomes(x, o).start
    return x_wins, 1 - x_wins - o_wins, o_wins


def openings(x: float, o: float) -> list[float]:
    """The expected win − loss of X after each of `OPENINGS`."""
    q = outcomes(x, o).values().q(ttt_env.Boards.start(GAME))[0]
    return [float(q[cell]) for cell, _ in OPENINGS.values()]


def sampled(x: float, o: float, games: int, rng: np.random.Generator) -> list[float]:
    """The shares of the same ends among games that the two agents play."""
    player_x = ttt_env.make_agent(f"softmax:temperature={x},opponent_temperature={o}", GAME)
    player_o = ttt_env.make_agent(f"softmax:temperature={o},opponent_temperature={x}", GAME)
    values = [ttt_env.play_game(player_x, player_o, GAME, rng).value("X") for _ in range(games)]
    return [values.count(value) / games for value in (1, 0, -1)]


def two_panels(title: str, label: str) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for the hot X and one for the cold X."""
    figure = new_figure(9.5, 4.3)
    panels = list(figure.subplots(1, 2, sharey=True))
    for panel, temperature in zip(panels, (HOT, COLD), strict=True):
        panel.set_title(f"temperature of X: {temperature:g}", fontsize=11)
        with_grid(panel, xlabel="temperature of O", xticks=TEMPERATURES)
    panels[0].set_ylabel(label)
    figure.suptitle(title, fontsize=12)
    return figure, panels


def draw_chances(games: int) -> Figure:
    """The probabilities of the three ends against O's temperature, computed and sampled."""
    figure, panels = two_panels("Softmax against softmax: how the game ends", "probability")
    for seed, (panel, x) in enumerate(zip(panels, (HOT, COLD), strict=True)):
        exact = np.array([chances(x, o) for o in FINE])
        rng = np.random.default_rng(seed)
        dots = np.array([sampled(x, o, games, rng) for o in TEMPERATURES])
        for place, (name, (colour, marker)) in enumerate(ENDS.items()):
            panel.plot(FINE, exact[:, place], color=colour, label=f"{name}, exact")
            panel.plot(
                TEMPERATURES, dots[:, place], marker, ms=6, mfc="white", color=colour,
                label=f"{name}, {games:,} games a point",
            )  # fmt: skip
    panels[0].set_ylim(-0.03, 1.03)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def draw_openings() -> Figure:
    """The value of each opening for X, against O's temperature."""
    figure, panels = two_panels("Softmax against softmax: what X's first move is worth", "win − loss of X")
    closer = panels[1].inset_axes((0.47, 0.1, 0.5, 0.42), xlim=(0.6, 1), ylim=(0.85, 0.97))
    closer.set_title("enlarged", fontsize=9)
    closer.tick_params(labelsize=8)
    for panel, x in (panels[0], HOT), (panels[1], COLD), (closer, COLD):
        exact = np.array([openings(x, o) for o in FINE])
        panel.axhline(0, color="#999999", linewidth=0.8)
        for place, (name, (_, colour)) in enumerate(OPENINGS.items()):
            panel.plot(FINE, exact[:, place], color=colour, linestyle=DASHES[name], linewidth=2, label=name)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def table() -> str:
    """The exact numbers at the author's points, in Markdown."""
    names = ["T of X", "T of O", *ENDS, *OPENINGS]
    rows = [
        [f"{x:g}", f"{o:g}", *(f"{number:.4f}" for number in (*chances(x, o), *openings(x, o)))]
        for x in (HOT, COLD)
        for o in TEMPERATURES
    ]
    return Table.of(names, rows, "r").to_markdown()


def main() -> None:
    """Draw both figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder to write to")
    parser.add_argument("--games", type=int, default=1000, help="sampled games a point")
    arguments = parser.parse_args()
    write(draw_chances(arguments.games), arguments.out, "softmax-chances")
    write(draw_openings(), arguments.out, "softmax-openings")
    print(table())


if __name__ == "__main__":
    main()
