"""The pictures of the documentation: what agents show of themselves in a notebook.

Writes the policy of softmax minimax in the position of Lachlan Gibson's "Making tic-tac-toe interesting with
AI" and the game tree below it, the certificate of a beatable agent (each as SVG and PNG), and the game that
beats it, as a diagram and as an animated GIF.
"""

import argparse
from pathlib import Path

import ttt_env
from ttt_env.agents.planning.planners import Softmax
from ttt_env.analysis.known import blunders_of
from ttt_env.render.svg import draw_diagram

GAME = ttt_env.get_game("tictactoe-v0")
POSITION = ttt_env.Position.parse("XX./OO./XO.", GAME)
TEMPERATURE, OPPONENT_TEMPERATURE = 0.2, 1.0
BEATABLE = "win-block"


def main() -> None:
    """Write all pictures and print their paths."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder to write to")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    agent = Softmax(GAME, TEMPERATURE, OPPONENT_TEMPERATURE)
    certificate = ttt_env.certify(BEATABLE, GAME)
    pictures = {
        "policy": agent.picture(POSITION),
        "tree": agent.tree(POSITION, depth=3).picture(),
        "certificate": certificate.picture(),
    }
    for name, picture in pictures.items():
        for suffix in ("svg", "png"):
            picture.save(out / f"{name}.{suffix}")
            print(out / f"{name}.{suffix}")
    record = certificate.refutations["O"]
    assert record is not None, f"{BEATABLE} can be beaten"
    blunders = blunders_of(record)
    record.save(out / "game.gif", blunders)
    (out / "game.svg").write_text(draw_diagram(record, blunders), "utf-8")
    print(out / "game.gif", out / "game.svg", sep="\n")


if __name__ == "__main__":
    main()
