"""The exact strength of every agent that needs no training on one game: the ladder.

Writes the tables of docs/results/agents.md (Markdown between two markers, one row an agent) and, on 3×3, the
heat map of everyone against everyone (SVG and PNG). 3×3 takes seconds. On 4×4 boards (`--game square-v0`,
`--game mnk-v0:m=4,n=4,k=4`) a match is a walk over up to ten million positions: all of them take ten
minutes and 2.2 GB.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

from panels import write

import ttt_env
from ttt_env.render.table import Table
from ttt_env.rules import Game, is_tabulated
from ttt_env.storage import as_file_name, write_atomically

AGENTS = (
    "random",
    "block",
    "win-block",
    "rules:centre+block",
    "newell-simon",
    "weights",
    "brute-force",
    "minimax",
    "minimax:prefer=fast",
    "minimax:depth=5",
    "softmax:temperature=0.2,opponent_temperature=1",
    "lookup",
    "best-response:random",
    "epsilon:minimax,epsilon=0.1",
    "mixture:random+minimax",
)
OPPONENTS = ("random", "minimax")
SAME = {"lookup": "minimax", "minimax:prefer=fast": "minimax", "rules:centre+block": "block"}
"""Agents without a row where they have the same figures as the other agent."""
HEAD = (
    "agent",
    *(f"{figure} as {seat}" for figure in ("exploited", "lost v minimax", "v random") for seat in "XO"),
)


class Row(NamedTuple):
    """A row of the table, as text."""

    name: str
    exploited_as_x: str
    exploited_as_o: str
    lost_as_x: str
    lost_as_o: str
    random_as_x: str
    random_as_o: str


def percent(share: float) -> str:
    """The share in percent; 0 and 100 only where it is exactly that."""
    if share in (0, 1):
        return f"{100 * share:.0f}"
    text = f"{100 * share:.1f}"
    return {"0.0": "<0.1", "100.0": ">99.9"}.get(text, text)


def row(name: str, game: Game) -> Row:
    """The row of an agent in the table of this game."""
    agent = ttt_env.make_agent(name, game)
    found = ttt_env.exploitability(agent)
    random, minimax = (ttt_env.match(agent, opponent, exact=True) for opponent in OPPONENTS)
    return Row(
        name,
        *(f"{value:.3f}" for value in (found.as_x, found.as_o)),
        *(percent(seat.loss) for seat in (minimax.as_x, minimax.as_o)),
        *("/".join(map(percent, seat)) for seat in (random.as_x, random.as_o)),
    )


def in_table(rows: list[Row]) -> list[Row]:
    """These rows, the least exploitable agents first, without those that have the figures of another one."""
    figures = {each.name: each[1:] for each in rows}
    distinct = [each for each in rows if each[1:] != figures.get(SAME.get(each.name, ""))]
    return sorted(distinct, key=lambda each: float(each.exploited_as_x) + float(each.exploited_as_o))


def main() -> None:
    """Write `ladder-GAME.md`, and on 3×3 `.svg` and `.png`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder to write to")
    parser.add_argument("--game", default="tictactoe-v0")
    parser.add_argument("--agents", nargs="+", default=AGENTS, help="spec strings")
    arguments = parser.parse_args()
    game = ttt_env.get_game(arguments.game)
    rows = in_table([row(name, game) for name in dict.fromkeys(arguments.agents)])
    name = f"ladder {game.name}"  # by these marks the copy on the page is found
    text = f"<!-- {name} -->\n{Table.of(HEAD, rows).to_markdown(is_markup=True)}\n<!-- end of {name} -->\n"
    print(text)
    stem = f"ladder-{as_file_name(game.name)}"
    write_atomically(arguments.out / f"{stem}.md", text.encode())
    if is_tabulated(game):
        names = list(dict.fromkeys([*arguments.agents, *OPPONENTS]))
        write(ttt_env.tournament(names, game).plot(), arguments.out, stem)


if __name__ == "__main__":
    main()
