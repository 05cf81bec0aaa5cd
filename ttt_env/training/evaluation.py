"""The strength of a learner: computed where the game can be enumerated, else sampled."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ttt_env.agent import Agent
from ttt_env.analysis.certificate import Certificate, blunders_everywhere, certify
from ttt_env.analysis.evaluation import exploitability, match
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.analysis.results import Exploitability, Match
from ttt_env.analysis.solution import solve
from ttt_env.render.words import RESULTS
from ttt_env.rules import SEATS, Boards, is_enumerable

Until: TypeAlias = Literal["unbeatable", "optimal", "budget"]
_SAMPLED_GAMES = 200


@dataclass(frozen=True)
class Evaluation:
    """The strength of a learner after some agent steps and seconds.

    Attributes:
        steps: The steps so far, as the algorithm counts them.
        seconds: The seconds of training so far.
        results: The matches against some opponents, by name; sampled on a game that cannot be enumerated.
        certificate: The certificate; None on a game that cannot be enumerated.
        exploitability: The exploitability; None on a game that cannot be enumerated.
        everywhere: All positions of the game in which the learner may blunder; None if not computed.

    Example:
        >>> import ttt_env
        >>> evaluations = []
        >>> agent = ttt_env.train("tictactoe-v0", "q-learning", report=evaluations.append)
        >>> print(evaluations[-1])
        2,500 steps, exploitability 0.0000, worst: X draws, O draws

    """

    steps: int
    seconds: float
    results: dict[str, Match]
    certificate: Certificate | None = None
    exploitability: Exploitability | None = None
    everywhere: Boards | None = None

    def __str__(self) -> str:
        """The steps and the strength, in a line short enough for a terminal."""
        text = f"{self.steps:,} steps"
        if self.certificate is not None:
            worst = self.certificate.worst_case
            text += f", exploitability {self.criterion[0]:.4f}"
            text += ", worst: " + ", ".join(f"{seat} {RESULTS[worst[seat]]}" for seat in SEATS)
        sampled = {name: result for name, result in self.results.items() if not result.exact}
        return text + "".join(f", about {result.score:+.2f} v {name}" for name, result in sampled.items())

    @property
    def blunders_everywhere(self) -> int | None:
        """The number of all positions of the game where the learner may blunder; None if not computed."""
        return None if self.everywhere is None else len(self.everywhere)

    @property
    def blunders(self) -> Boards | None:
        """The positions in which the learner may blunder; only reachable ones if `everywhere` is None."""
        if self.everywhere is not None or self.certificate is None:
            return self.everywhere
        return self.certificate.blunders

    @property
    def criterion(self) -> tuple[float, float]:
        """The exploitability and the number of blunders everywhere, to minimise; infinite where not known."""
        exploitable = math.inf if self.exploitability is None else self.exploitability.exploitability
        return exploitable, math.inf if self.blunders_everywhere is None else self.blunders_everywhere

    def reaches(self, until: Until) -> bool:
        """True if the learner has reached the goal `until`; always False for "budget"."""
        if until == "optimal":
            return self.blunders_everywhere == 0
        return until == "unbeatable" and bool(self.certificate)

    def scalars(self) -> dict[str, float]:
        """The figures by the names in the log, computed ones as `exact/…`, estimates as `sampled/…`."""
        scalars: dict[str, float] = {}
        for name, result in self.results.items():
            kind = "exact" if result.exact else "sampled"
            scalars |= {f"{kind}/{name} as X": result.as_x.value, f"{kind}/{name} as O": result.as_o.value}
        if self.exploitability is not None:
            scalars |= {
                "exact/exploitability": self.exploitability.exploitability,
                "exact/exploitable as X": self.exploitability.as_x,
                "exact/exploitable as O": self.exploitability.as_o,
            }
        if self.certificate is not None:
            scalars["exact/blunders"] = float(self.certificate.n_blunders or 0)
        if self.blunders_everywhere is not None:
            scalars["exact/blunders everywhere"] = self.blunders_everywhere
        return scalars


Report: TypeAlias = Callable[[Evaluation], None]


def evaluate(
    learner: Agent, opponents: Mapping[str, Agent], steps: int, seconds: float, everywhere: bool
) -> Evaluation:
    """The evaluation of a learner that is a fixed policy; `everywhere` also counts blunders everywhere."""
    game = learner.game
    results = {
        name: match(learner, agent, game, games=_SAMPLED_GAMES, rng=steps)
        for name, agent in opponents.items()
    }
    if not is_enumerable(game):
        return Evaluation(steps, seconds, results)
    table = PolicyTable.of(learner, game)
    return Evaluation(
        steps,
        seconds,
        results,
        certify(table),
        exploitability(table),
        blunders_everywhere(learner, game) if everywhere else None,
    )


def costly_blunders(learner: Agent, boards: Boards) -> Boards:
    """The blunders of a learner after which it may end below the value of the game for its seat."""
    solution = solve(learner.game)
    worth = np.where(boards.ply % 2, -solution.value, solution.value)
    q = np.where(learner.policies(boards) > 0, solution.values.q(boards), np.inf).min(axis=1, initial=np.inf)
    costly_only: Boards = boards[(solution.values.of(boards) >= worth) & (q < worth)]
    return costly_only
