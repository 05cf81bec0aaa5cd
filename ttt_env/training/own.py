"""Training the learners of this package as those by recipe are trained."""

from collections.abc import Callable, Mapping
from inspect import signature
from math import inf
from pathlib import Path
from typing import Any

from ttt_env.agents.learned import q_learning, value_network
from ttt_env.errors import ParameterError, unknown
from ttt_env.rules.game import Game
from ttt_env.training import alphazero
from ttt_env.training.alphazero_settings import settings_for
from ttt_env.training.evaluation import Report, Until, evaluate

_TRAIN: dict[str, Callable[..., Any]] = {"q-learning": q_learning.train, "value-network": value_network.train}
OWN_ALGORITHMS = (*_TRAIN, "alphazero")
_SET_HERE = {"game", "seed", "games", "seconds", "goal", "report"}


def check_own(game: Game, algo: str, hyperparameters: Mapping[str, Any]) -> None:
    """Raise `ParameterError` if the algorithm lacks one of the hyperparameters."""
    if algo == "alphazero":
        settings_for(game).adjusted(hyperparameters)
        return
    allowed = signature(_TRAIN[algo]).parameters.keys() - _SET_HERE
    for name in hyperparameters:
        if name not in allowed:
            raise ParameterError(unknown(f"hyperparameter of {algo}", name, allowed))


def train_own(
    game: Game,
    algo: str,
    *,
    hyperparameters: Mapping[str, Any],
    seconds: float | None,
    steps: int | None,
    seed: int,
    until: Until,
    out: Path,
    report: Report,
    resume: bool = False,
) -> None:
    """Train, and write the least exploitable agent to `out`, whenever one is less so than all before.

    A step is a game here. `report` is called after every evaluation. `resume` is for AlphaZero alone.
    """
    if algo == "alphazero":
        alphazero.train(
            game,
            seed=seed,
            steps=steps,
            seconds=seconds,
            until=until,
            hyperparameters=None if resume else hyperparameters,
            out=out,
            resume=resume,
            report=report,
        )
        return
    fewest_mistakes = inf, inf

    def look(snapshot: Any) -> bool:
        nonlocal fewest_mistakes
        # Q-learning checks by itself whether it is optimal.
        everywhere = until == "optimal" and algo == "value-network"
        evaluation = evaluate(snapshot.agent, {}, snapshot.games, snapshot.seconds, everywhere)
        if evaluation.mistakes <= fewest_mistakes:
            fewest_mistakes = evaluation.mistakes
            snapshot.agent.save(out)
        report(evaluation)
        return evaluation.reaches(until)

    budget: dict[str, Any] = {"seed": seed, "seconds": seconds, "report": look}
    if steps is not None or seconds is not None:
        budget["games"] = steps
    if algo == "q-learning":
        budget["goal"] = None if until == "budget" else until
    _TRAIN[algo](game, **budget, **hyperparameters)
