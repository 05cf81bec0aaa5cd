"""The exact strength of every agent that needs no training on one game: the ladder.

Writes the tables of docs/results/agents.md (Markdown between two markers, one row an agent) and the heat map
of everyone against everyone (SVG and PNG). 3×3 takes seconds. On 4×4 boards (`--game square-v0`,
`--game mnk-v0:m=4,n=4,k=4`) a match is a walk over up to ten million positions: all of them take twenty
minutes and 2.2 GB.
"""

import argparse
from math import inf
from pathlib import Path

from panels import write

import ttt_env
from ttt_env.render.table import Table
from ttt_env.tournament import Tournament, tournament

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


def percent(share: float) -> str:
    """The share in percent; 0 and 100 only where it is exactly that."""
    if share in (0, 1):
        return f"{100 * share:.0f}"
    text = f"{100 * share:.1f}"
    return {"0.0": "<0.1", "100.0": ">99.9"}.get(text, text)


def results(played: Tournament, name: str, opponent: str) -> tuple[ttt_env.Result, ttt_env.Result]:
    """The result of the agent against the opponent, on each seat."""
    if name == opponent:
        match = ttt_env.match(name, name, played.game)
    else:
        match = played.matches[name, opponent]
    return match.as_x, match.as_o


def rows(played: Tournament, agents: list[str]) -> list[list[str]]:
    """The rows of the table, the least exploitable agents first."""
    table, found = [], played.exploitability
    nash_conv = {name: found[name].nash_conv if found[name] else inf for name in played.ranking}
    for name in sorted((name for name in played.ranking if name in agents), key=nash_conv.__getitem__):
        worst = found[name]
        against = ["/".join(map(percent, seat)) for seat in results(played, name, "random")]
        lost = [percent(seat.loss) for seat in results(played, name, "minimax")]
        exploited = [f"{value:.3f}" for value in (worst.as_x, worst.as_o)] if worst else ["?", "?"]
        table.append([name, *exploited, *lost, *against])
    figures = {name: row for name, *row in table}
    return [[name, *row] for name, *row in table if row != figures.get(SAME.get(name, ""))]


def main() -> None:
    """Write `ladder-GAME.md`, `.svg` and `.png`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder to write to")
    parser.add_argument("--game", default="tictactoe-v0")
    parser.add_argument("--agents", nargs="+", default=AGENTS, help="spec strings")
    arguments = parser.parse_args()
    agents = list(dict.fromkeys([*arguments.agents, *OPPONENTS]))
    played = tournament(agents, arguments.game, progress=True)
    table = Table.of(HEAD, rows(played, list(arguments.agents))).to_markdown(is_markup=True)
    name = f"ladder {played.game.name}"  # by these marks the copy on the page is found
    text = f"<!-- {name} -->\n{table}\n<!-- end of {name} -->\n"
    print(f"{played}\n\n{text}")
    stem = f"ladder-{played.game.name.replace(':', '-').replace(',', '-').replace('=', '')}"
    write(played.plot(), arguments.out, stem)
    (arguments.out / f"{stem}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
