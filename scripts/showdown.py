"""The five bots of Pascal Thormeier's "Self-built Tic-tac-toe AIs vs Human" against each other.

And against optimal play, which he did not have. Everything is computed, not sampled: the cross table as
Markdown and as a heat map (SVG and PNG), and for each bot and seat a shortest game that beats it, if there is
one.
"""

import argparse
from pathlib import Path

from panels import write

import ttt_env
from ttt_env.render.table import Table
from ttt_env.tournament import tournament

BOTS = ("random", "block", "win-block", "brute-force", "minimax:depth=5")
OPTIMAL = "minimax"


def beaten(game: str) -> str:
    """For each bot a shortest game that beats it on each seat, in Markdown."""
    rows = []
    for name in (*BOTS, OPTIMAL):
        records = ttt_env.certify(name, game).refutations.values()
        games = [f"`{' '.join(map(str, record.cells))}`" if record else "nobody" for record in records]
        rows.append([name, *games])
    return Table.of(("bot", "as X beaten by", "as O beaten by"), rows, "lll").to_markdown(is_markup=True)


def main() -> None:
    """Play the showdown, write `showdown.md`, `showdown.svg` and `showdown.png`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder to write to")
    parser.add_argument("--game", default="tictactoe-v0")
    arguments = parser.parse_args()
    played = tournament([*BOTS, OPTIMAL], arguments.game)
    print(played)
    text = f"{played.to_markdown()}\n\n{beaten(arguments.game)}\n"
    print(f"\n{text}")
    write(played.plot(), arguments.out, "showdown")
    (arguments.out / "showdown.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
