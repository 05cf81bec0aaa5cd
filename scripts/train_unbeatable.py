"""Train learned agents until they are certified unbeatable, seed after seed.

How long does it take? Prints a Markdown table with one row for each training: when the least exploitable
model was found, and what is proved about it. Without options: MaskablePPO on 3×3, ten seeds.
"""

import argparse
from statistics import median

import ttt_env
from ttt_env.agents.training.evaluation import Evaluation
from ttt_env.agents.training.recipe import recipe_names
from ttt_env.agents.training.run import train
from ttt_env.render.words import RESULTS

HEAD = ("algorithm", "seed", "seconds", "steps", "exploitability", "as X", "as O", "blunders", "everywhere")


def best_of(game: ttt_env.Game, algo: str, seed: int, options: argparse.Namespace) -> Evaluation:
    """The evaluation of the least exploitable model of a training."""
    evaluations: list[Evaluation] = []
    budget = {"seconds": options.seconds, "steps": options.steps, "until": options.until}
    train(game, algo, seed=seed, report=evaluations.append, **budget)
    return min(evaluations, key=lambda evaluation: evaluation.mistakes)


def row(algo: str, seed: int, best: Evaluation) -> list[str]:
    """The cells of the table; "certified" where no game ends below the value of the game."""
    proof = best.certificate
    seats = [
        f"{'certified' if proof.refutations[seat] is None else 'beatable'}: {RESULTS[proof.worst_case[seat]]}"
        for seat in "XO"
    ]
    everywhere = "" if best.blunders_everywhere is None else str(best.blunders_everywhere)
    figures = [f"{best.seconds:.1f}", f"{best.steps:,}", f"{best.mistakes[0]:.4f}"]
    return [algo, str(seed), *figures, *seats, str(len(proof.blunders)), everywhere]


def summary(algo: str, results: list[Evaluation], until: str) -> str:
    """How many of the trainings reached their goal, and the seconds that these took."""
    goal = {"optimal": "optimal everywhere"}.get(until, "certified unbeatable")
    reached = [
        best.seconds
        for best in results
        if (best.blunders_everywhere == 0 if until == "optimal" else best.certificate.unbeatable)
    ]
    text = f"{algo}: {len(reached)} of {len(results)} {goal}"
    return text + (f"; median {median(reached):.1f} s, worst {max(reached):.1f} s" if reached else "")


def main() -> None:
    """Print the table, row by row, and a summary of each algorithm."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algo", nargs="+", default=["maskable-ppo"], choices=recipe_names())
    parser.add_argument("--game", default="tictactoe-v0")
    parser.add_argument("--seeds", type=int, default=10, help="how many, from 0 on")
    parser.add_argument("--seconds", type=float, help="budget of a training; by default the recipe's")
    parser.add_argument("--steps", type=int, help="budget of a training, in moves of the agent")
    parser.add_argument("--until", default="unbeatable", choices=["unbeatable", "optimal", "budget"])
    options = parser.parse_args()
    game = ttt_env.get_game(options.game)
    print(f"{game.name}\n\n| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", flush=True)
    summaries = []
    for algo in options.algo:
        results = []
        for seed in range(options.seeds):
            results.append(best_of(game, algo, seed, options))
            print(f"| {' | '.join(row(algo, seed, results[-1]))} |", flush=True)
        summaries.append(summary(algo, results, options.until))
    print("", *summaries, sep="\n")


if __name__ == "__main__":
    main()
