"""Train learned agents until they are certified unbeatable, seed after seed.

How long does it take? Prints a Markdown table with one row for each training: when the least exploitable
model was found, and what is proved about it. Without options: MaskablePPO on 3×3, ten seeds. AlphaZero is
judged with each number of simulations that its settings name: on 3×3 its network alone and with 50, on 16
cells with 200.

With `--lines FILE` each training is a line of JSON in that file, and one that is there is not run again: a
run that was interrupted goes on, and the table is made from the lines. Seconds depend on what else the
machine does; those of the processor ("cpu") and the steps less so. `--write` runs nothing, and writes the
summary of all lines into docs/results/leaderboard.md.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from lines import change_lines, read_lines
from marked import write_table

import ttt_env
from ttt_env.agent import learner_names
from ttt_env.analysis.dossier import versions
from ttt_env.render.table import Table
from ttt_env.render.words import RESULTS
from ttt_env.training.evaluation import Evaluation

HEAD = ("game", "algorithm", "seed", "seconds", "cpu", "steps", "exploitability", "as X", "as O", "blunders")
SUMMARY_HEAD = ("game", "algorithm", "goal", "seeds", "CPU seconds", "steps", "blunders left")
FIGURES = ("cpu", "steps", "blunders")
PAGE = Path(__file__).parents[1] / "docs" / "results" / "leaderboard.md"
TRAINING = ("game", "algorithm", "seed", "until", "steps", "seconds")  # which one it is


def trained(training: dict[str, Any]) -> dict[str, Any]:
    """The result of a training, as a line of JSON has it: of its least exploitable model."""
    evaluations: list[Evaluation] = []
    cpu: list[float] = []

    def report(evaluation: Evaluation) -> None:
        evaluations.append(evaluation)
        cpu.append(time.process_time() - begin)

    ttt_env.solve(training["game"])
    begin = time.process_time()
    budget = {name: training[name] for name in ("seconds", "steps", "until")}
    game, algorithm, seed = (training[name] for name in ("game", "algorithm", "seed"))
    ttt_env.train(game, algorithm, seed=seed, report=report, **budget)
    at = min(range(len(evaluations)), key=lambda number: evaluations[number].criterion)
    best, proof = evaluations[at], evaluations[at].certificate
    return {
        **{f"training_{name}": value for name, value in training.items()},
        "seconds": round(best.seconds, 2),
        "cpu": round(cpu[at], 2),
        "steps": best.steps,
        "exploitability": best.criterion[0],
        "worst_case": proof.worst_case,
        "refutations": {seat: record and str(record) for seat, record in proof.refutations.items()},
        "unbeatable": proof.unbeatable,
        "blunders": proof.n_blunders,
        "positions": proof.n_positions,
        "everywhere": best.blunders_everywhere,
        "versions": versions(),
    }


def row(line: dict[str, Any]) -> str:
    """The line as a row of the table; "certified" where no game ends below the value of the game."""
    seats = [
        f"{'beatable' if line['refutations'][seat] else 'certified'}: {RESULTS[line['worst_case'][seat]]}"
        for seat in "XO"
    ]
    blunders = str(line["blunders"])
    if line["everywhere"] is not None:
        blunders += f", everywhere {line['everywhere']}"
    figures = [f"{line['seconds']:.1f}", f"{line['cpu']:.1f}", f"{line['steps']:,}"]
    names = [line["training_game"], line["training_algorithm"], str(line["training_seed"])]
    cells = [*names, *figures, f"{line['exploitability']:.4f}", *seats, blunders]
    return f"| {' | '.join(cells)} |"


def table(lines: Sequence[dict[str, Any]]) -> str:
    """The lines of each game, goal and algorithm as a row of a Markdown table: the median and the worst."""
    of_kind: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for line in lines:
        kind = tuple(line[f"training_{name}"] for name in ("game", "algorithm", "until"))
        of_kind.setdefault(kind, []).append(line)
    rows = []
    for (game, algorithm, until), group in of_kind.items():
        found = [line for line in group if has_reached(line)]
        goal = "optimal" if until == "optimal" else "certified"
        figures = [middle_and_worst([line[name] for line in found]) for name in FIGURES]
        figures[1] += " games" if found and algorithm == "alphazero" else ""  # of which its steps are
        rows.append((f"`{game}`", algorithm, goal, f"{len(found)} of {len(group)}", *figures))
    return Table.of(SUMMARY_HEAD, rows, "lll").to_markdown(is_markup=True) + "\n"


def middle_and_worst(numbers: Sequence[float]) -> str:
    """The median and the largest; a dash for no numbers."""
    if not numbers:
        return "–"
    shown = ",.1f" if isinstance(numbers[0], float) else ",.0f"
    return f"{median(numbers):{shown}} ({max(numbers):{shown}})"


def has_reached(line: dict[str, Any]) -> bool:
    """True if the training has reached its goal."""
    return bool(line["everywhere"] == 0 if line["training_until"] == "optimal" else line["unbeatable"])


def read(path: Path | None) -> dict[str, dict[str, Any]]:
    """The lines of a file by the training that they are about."""
    lines = [] if path is None else read_lines(path)
    return {key({name: line[f"training_{name}"] for name in TRAINING}): line for line in lines}


def key(training: dict[str, Any]) -> str:
    """The key of a training among the lines."""
    return json.dumps(training, sort_keys=True)


def main() -> None:
    """Print the table, row by row, and then the summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algo", nargs="+", default=["maskable-ppo"], choices=learner_names())
    parser.add_argument("--game", nargs="+", default=["tictactoe-v0"])
    parser.add_argument("--seeds", type=int, default=10, help="how many, from 0 on")
    parser.add_argument("--seconds", type=float, help="budget of a training; by default the recipe's")
    parser.add_argument("--steps", type=int, help="budget of a training, in moves of the agent or games")
    parser.add_argument("--until", default="unbeatable", choices=["unbeatable", "optimal", "budget"])
    parser.add_argument("--lines", type=Path, help="a file of JSON lines to keep the results in")
    parser.add_argument("--write", action="store_true", help="only write the table of all lines")
    options = parser.parse_args()
    known = read(options.lines)
    if options.write:
        if not known:
            parser.error("--write needs --lines, a file with the trainings of the table")
        write_table(PAGE, table(list(known.values())), "trainings")
        return
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", flush=True)
    shown = []
    for game in options.game:
        for algo in options.algo:
            for seed in range(options.seeds):
                values = (game, algo, seed, options.until, options.steps, options.seconds)
                training = dict(zip(TRAINING, values, strict=True))
                line = known.get(key(training)) or trained(training)
                if options.lines is not None and key(training) not in known:
                    change_lines(options.lines, lambda kept, line=line: [*kept, line])
                shown.append(line)
                print(row(line), flush=True)
    print(f"\n{table(shown)}", end="")


if __name__ == "__main__":
    main()
