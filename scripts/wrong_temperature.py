"""Compute the cost of taking an opponent for a hotter or a colder one than it is, exactly.

The opponent plays by softmax minimax at some temperature (Lachlan Gibson, "Making tic-tac-toe interesting
with AI"). A player who knows that temperature plays the best response to it; a player who ascribes another
one plays the best response to that. The table has the expected wins minus losses per game, averaged over both
seats, for each true temperature (rows) and each ascribed one (columns), and next to them the score of
`minimax`, which ascribes nothing, and of `adaptive`, which infers the temperature from the opponent's moves
in the game, by each of its two estimates.
"""

import argparse
from collections.abc import Sequence

import ttt_env
from ttt_env.agents.planning.adaptive import ESTIMATES, Adaptive
from ttt_env.agents.planning.planners import Softmax
from ttt_env.analysis.evaluation import best_response
from ttt_env.render.table import Table
from ttt_env.rules import Position

TEMPERATURES = (0.0, 0.1, 0.2, 0.5, 1.0, 3.0, float("inf"))


def value_of(agent: Adaptive, opponent: ttt_env.Agent, positions: Sequence[Position], parity: int) -> float:
    """The expected score of the agent, which moves at plies of this parity, from the last position on."""
    position = positions[-1]
    is_own = position.ply % 2 == parity
    if position.is_over:
        value = 0 if position.winner is None else 1
        return value if position.winner == "XO"[parity] else -value
    policy = agent.policy_in_game(positions) if is_own else opponent.policy(position)
    return sum(
        float(policy[cell]) * value_of(agent, opponent, [*positions, position.play(cell)], parity)
        for cell in position.legal_cells
        if policy[cell]
    )


def table(game: ttt_env.Game, temperatures: Sequence[float]) -> str:
    """The scores in Markdown: a row for each true temperature, the largest of the ascribed ones in bold."""
    opponents = [Softmax(game, temperature) for temperature in temperatures]
    answers = [best_response(opponent, game) for opponent in opponents]
    learners = {f"adaptive:{estimate}": Adaptive(game, estimate) for estimate in ESTIMATES}
    names = ["true", *(f"ascribed {temperature:g}" for temperature in temperatures), "minimax", *learners]
    rows = []
    for temperature, opponent in zip(temperatures, opponents, strict=True):
        scores = [ttt_env.match(answer, opponent, game).score for answer in answers]
        cells = [f"**{score:.4f}**" if score >= max(scores) - 1e-9 else f"{score:.4f}" for score in scores]
        others = [ttt_env.match("minimax", opponent, game).score]
        for learner in learners.values():
            others.append(sum(value_of(learner, opponent, [game.start], parity) for parity in (0, 1)) / 2)
        rows.append([f"{temperature:g}", *cells, *(f"{score:.4f}" for score in others)])
    return Table.of(names, rows, "r").to_markdown(is_markup=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="tictactoe-v0", help="a game of up to 9 cells")
    parser.add_argument("--temperatures", type=float, nargs="+", default=TEMPERATURES)
    arguments = parser.parse_args()
    print(table(ttt_env.get_game(arguments.game), arguments.temperatures))


if __name__ == "__main__":
    main()
