"""Train a population, whose learners share past selves and best responses, beside the same learners alone.

Is a population worth more than its learners are alone? Prints Markdown: the exact exploitability of the least
exploitable model so far, at equal steps of each learner; then the exact table of the population's learners
and the certificate of the best.
"""

import argparse
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import ttt_env
from ttt_env.render.table import Table
from ttt_env.training import population
from ttt_env.training.recipe import recipe_names
from ttt_env.workers import Workers


def alone(game: str, algo: str, steps: int, seed: int) -> list[tuple[int, float]]:
    """Steps and exploitability at each evaluation of a learner that trains alone."""
    looks: list[tuple[int, float]] = []

    def report(evaluation):
        looks.append((evaluation.steps, evaluation.mistakes[0]))

    ttt_env.train(game, algo, seed=seed, steps=steps, until="budget", report=report)
    return looks


def main() -> None:
    """Train both, and print what they came to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algo", default="dqn", choices=recipe_names())
    parser.add_argument("--game", default="tictactoe-v0")
    parser.add_argument("--learners", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--round-steps", type=int, default=8192)
    parser.add_argument("--workers", type=int, help="processes that share the work; by default one")
    parser.add_argument("--ray", action="store_true", help="let Ray share the work out")
    parser.add_argument("--address", help="of a Ray cluster; by default this machine")
    parser.add_argument("--out", type=Path, help="folder of the population; kept, and gone on with")
    options = parser.parse_args()
    seeds, ends = range(options.learners), [n * options.round_steps for n in range(1, options.rounds + 1)]
    backend = "ray" if options.ray else "loky"
    where = {"workers": options.workers, "backend": backend, "address": options.address}
    with nullcontext(options.out) if options.out else TemporaryDirectory() as folder:
        together = population(
            options.game,
            options.algo,
            out=folder,
            seeds=seeds,
            rounds=options.rounds,
            round_steps=options.round_steps,
            until="budget",
            **where,
        )
        with Workers(**where) as pool:
            single = pool.run(alone, [(options.game, options.algo, ends[-1], seed) for seed in seeds])
        shared = [[(look.steps, look.exploitability) for look in looks] for looks in together.looks.values()]
        print(f"{options.game}, {options.algo}, {options.learners} learners\n")
        head = ("steps of each", "population: best", "median", "worst", "alone: best", "median", "worst")
        rows = []
        for end in ends:
            figures = []
            for group in (shared, single):
                values = [min(each for at, each in looks if at <= end) for looks in group]  # so far
                figures += [min(values), median(values), max(values)]
            rows.append([f"{end:,}", *(f"{value:.4f}" for value in figures)])
        print(Table.of(head, rows, "r").to_markdown())
        print(f"\n{together.table.to_markdown()}\n")
        verdict = "certified unbeatable" if together.certificate.unbeatable else "beatable"
        exploited = ttt_env.exploitability(together.agent()).exploitability
        print(f"The best learner, seed {together.best}: exploitability {exploited:.4f}, {verdict}.")


if __name__ == "__main__":
    main()
