"""A population: several learners at once, who all meet everybody's past selves and best responses to them.

They learn in rounds. Whatever a learner meets in a round is known when the round begins, so that the same
seeds give the same models on any number of processes and machines, and after any interruption.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

from ttt_env.agent import Agent
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.agents.learned.sb3 import SB3
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.saved import write_json
from ttt_env.errors import ParameterError, ResultFileError, shown
from ttt_env.rules import (
    MAX_SEED,
    Game,
    as_callback,
    as_integer,
    as_path,
    check_tabulated,
    get_game,
    items_of,
    one_of,
)
from ttt_env.rules.sizes import TRIALS
from ttt_env.storage import Fields, game_to_dict, opened, parse_json, reason
from ttt_env.tournament import Tournament, tournament
from ttt_env.training.evaluation import Evaluation
from ttt_env.training.loop import TrainingOptions, one_thread
from ttt_env.training.recipe import recipe
from ttt_env.workers import Backend, Workers


@dataclass(frozen=True)
class Look:
    """One exact evaluation of a learner, after some steps and seconds."""

    steps: int
    seconds: float
    exploitability: float
    unbeatable: bool


@dataclass(frozen=True)
class PopulationPlan:
    """The plan of a population: a learner for each seed, all of one algorithm and with shared opponents."""

    game: Game
    algo: str
    seeds: tuple[int, ...]
    round_steps: int
    folder: Path

    def model(self, seed: int) -> Path:
        """The file of a learner's least exploitable model."""
        return self.folder / f"learner-{seed}.zip"

    def looks(self, seed: int, number: int) -> Path:
        """The file of a learner's evaluations in a round, which is written when all else of the round is."""
        return self.folder / f"learner-{seed}-round-{number}.json"

    def checkpoint(self, seed: int, number: int) -> Path:
        """The file from which a learner goes on after a round."""
        return self.folder / f"learner-{seed}-round-{number}.checkpoint"

    def shared(self, seed: int, number: int) -> list[Path]:
        """The tables that a learner puts into the pool after a round: itself, and the best response to it."""
        return [self.folder / f"learner-{seed}-round-{number}-{kind}.npz" for kind in ("self", "response")]

    def check(self) -> None:
        """Write down this population in its folder.

        Raises `ParameterError` if that holds another one, `ResultFileError` if it cannot be read.
        """
        path = self.folder / "population.json"
        described = {
            "format": "ttt_env population 1",
            "game": json.loads(json.dumps(game_to_dict(self.game))),
            "algorithm": self.algo,
            "seeds": list(self.seeds),
            "round_steps": self.round_steps,
        }
        if not path.exists():
            write_json(described, path)
        elif _read_json(path) != described:
            raise ParameterError(
                f"{self.folder} holds another population: see {path}, or name another folder"
            )


@dataclass(frozen=True)
class Population:
    """The results of a population: the evaluations of every learner, by its seed, in order."""

    plan: PopulationPlan
    looks: dict[int, tuple[Look, ...]]

    @property
    def best(self) -> int:
        """The seed of the least exploitable learner; of several, that of the one with the fewest steps."""
        return min(
            self.looks, key=lambda seed: min((one.exploitability, one.steps) for one in self.looks[seed])
        )

    def agent(self, seed: int | None = None) -> Agent:
        """The least exploitable model of this learner, by default of the best one, as an agent."""
        return SB3(self.plan.game, str(self.plan.model(self.best if seed is None else seed)))

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the best learner."""
        return certify(self.agent(), self.plan.game)

    @cached_property
    def table(self) -> Tournament:
        """The exact tournament of all learners."""
        return tournament({f"seed {seed}": self.agent(seed) for seed in self.looks}, self.plan.game)


def population(
    game: Game | str = "tictactoe-v0",
    algo: str = "maskable-ppo",
    *,
    out: str | Path,
    seeds: Sequence[int] = range(4),
    rounds: int = 16,
    round_steps: int = 16_384,
    until: Literal["unbeatable", "budget"] = "unbeatable",
    workers: int | None = None,
    backend: Backend = "loky",
    address: str | None = None,
    report: Callable[[int, dict[int, Look]], object] | None = None,
) -> Population:
    """Train a population for `rounds` rounds, or up to the first in which a learner is certified unbeatable.

    There is a learner for each seed, trained by the recipe `algo`: against the recipe's scripted opponents,
    its own past selves and the best responses to them. From the second round on it also meets every other
    learner as it was when the round began, and the best response to that. A round takes `round_steps` of each
    learner.

    Models and checkpoints are kept in the folder `out`; a population that was interrupted goes on with the
    round that was not done. Later rounds that the folder already holds are part of the result, because the
    models are. Rounds are shared out to `workers` processes, or by Ray, as in `tournament`; all machines must
    see the folder. `report` is called after every round with its number and the best evaluation of each
    learner so far, by seed.

    Raises `ParameterError` for arguments that cannot be, or a folder of another population,
    `GameTooLargeError` for a game of more than 12 cells, `ImportError` if an extra is missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = population("tictactoe-v0", "dqn", out=folder, seeds=range(2), rounds=1, round_steps=256)
    ...     print(found.certificate.unbeatable)
    False
    >>> [looks[-1].steps for looks in found.looks.values()]
    [256, 256]
    """
    game, folder = get_game(game), as_path("out", out, "a population").resolve()
    check_tabulated(game, "for learners that are kept as tables")
    recipe(algo).algorithm_class()
    given = items_of(seeds, TRIALS) or []
    numbers = tuple(as_integer("seed", seed, "a population", 0, MAX_SEED) for seed in given)
    if not 2 <= len(numbers) <= TRIALS or len(set(numbers)) < len(numbers):
        raise ParameterError(
            f"seeds={shown(seeds)}: a population has two learners or more (up to {TRIALS:,}), "
            "of different seeds"
        )
    round_steps = as_integer("round_steps", round_steps, "a population", 1)
    as_integer("rounds", rounds, "a population", 1)
    one_of("until", until, ["unbeatable", "budget"])
    as_callback("report", report, "a population")
    plan = PopulationPlan(game, algo, numbers, round_steps, folder)
    looks: dict[int, list[Look]] = {seed: [] for seed in plan.seeds}
    with Workers(workers, backend, address) as pool:
        plan.check()
        for number in count(1):
            is_unbeatable = any(look.unbeatable for found in looks.values() for look in found)
            is_enough = number > rounds or (until == "unbeatable" and is_unbeatable)
            if is_enough and not any(plan.looks(seed, number).exists() for seed in plan.seeds):
                break  # the models are of no later round
            done = pool.run(
                partial(_round, plan, number),
                [(seed,) for seed in plan.seeds],
                named=lambda seed: f"the learner of seed {seed}",
            )
            for seed, found in zip(plan.seeds, done, strict=True):
                looks[seed] += found
                plan.checkpoint(seed, number - 1).unlink(missing_ok=True)
            best = {seed: min(found, key=lambda look: look.exploitability) for seed, found in looks.items()}
            if report is not None:
                report(number, best)
    return Population(plan, {seed: tuple(found) for seed, found in looks.items()})


def _round(plan: PopulationPlan, number: int, seed: int) -> list[Look]:
    """Let a learner take part in a round, unless it has; what is written last says that it has.

    Returns its evaluations.
    """
    done = plan.looks(seed, number)
    if done.exists():
        kept = Fields(_read_json(done), str(done))
        return kept.read("looks", lambda looks: [Look(**look) for look in looks])
    looks: list[Look] = []

    def look(evaluation: Evaluation) -> None:
        proof = evaluation.certificate
        is_proved = proof is not None and proof.unbeatable
        looks.append(Look(evaluation.steps, evaluation.seconds, evaluation.mistakes[0], is_proved))

    before = _round(plan, number - 1, seed) if number > 1 else []
    steps = plan.round_steps + (before[-1].steps if before else 0)
    options = TrainingOptions(plan.game, plan.algo, seed, steps=steps, until="budget")
    with one_thread():
        training = options.begun(look, plan.checkpoint(seed, number - 1) if number > 1 else None)
        learner: Any = training.learner
        if number > 1:
            paths = [path for other in plan.seeds if other != seed for path in plan.shared(other, number - 1)]
            learner.pool.shared = [Lookup(plan.game, str(path)) for path in paths]
            learner.meet()
        training.run(options.budget)
        frozen = learner.pool.past[-1], learner.pool.responses[-1]
        for agent, path in zip(frozen, plan.shared(seed, number), strict=True):
            Lookup.of(agent).save(path)
        training.checkpoint = plan.checkpoint(seed, number)
        training.write()
        learner.trained(training.progress.kept)
        learner.save(plan.model(seed))
    write_json({"format": "ttt_env round 1", "looks": [asdict(each) for each in looks]}, done)
    return looks


def _read_json(path: Path) -> Any:
    try:
        with opened(path) as file:
            return parse_json(file.read())
    except (OSError, ResultFileError) as error:
        raise ResultFileError(f"{path} cannot be read: {reason(error)}") from error
