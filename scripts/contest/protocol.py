"""The protocol of an algorithm: its input, the counts, and the judgement of its policy.

An algorithm is a function `(make_env, seed, report) -> policy`. The clock and the count of steps begin when
it is called, and pause while a policy is judged.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np

import ttt_env
from ttt_env.agent import Agent, AgentLike
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.layers import reachable
from ttt_env.analysis.policy_table import PolicyTable, Positions
from ttt_env.analysis.solution import distances, solve
from ttt_env.rules import SEATS, Boards, Game, is_tabulated

CPU_SECONDS = {"tictactoe-v0": 300.0, "tictactoe-v0:misere=true": 300.0, "mnk-v0:m=4,n=3,k=3": 600.0}
CPU_SECONDS_ELSE = 1_200.0
MOST_POSITIONS = 800_000  # in which a policy that is kept may come to move
MOST_ROWS = 100_000  # of its table, in which symmetric ones are merged if it plays alike in them
Ended = Literal["goal", "time", "returned"]


def cpu_seconds_of(game: Game) -> float:
    """The CPU seconds that a run on this game may take."""
    return CPU_SECONDS.get(game.name, CPU_SECONDS_ELSE)


def is_always_kept(game: Game) -> bool:
    """True if the game has so few positions that every policy is small enough to be kept."""
    return is_tabulated(game) and sum(len(layer.open_slots) for layer in reachable(game)) <= MOST_ROWS


class Finished(Exception):
    """Raised in the algorithm at its next step: it has reached its goal, or its time is up."""


class Steps:
    """The count of steps. A copy of an environment counts on with it, in the same process."""

    def __init__(self) -> None:
        self.n = 0
        self.is_finished: Callable[[], bool] = lambda: False

    def __deepcopy__(self, memo: object) -> "Steps":
        return self

    def add(self, steps: int) -> None:
        """Count these. Raises `Finished` if no more may be made."""
        if self.is_finished():
            raise Finished
        self.n += steps


class Clock:
    """Seconds on the clock, and of the processor in this process, since it was made; it can be paused."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """The seconds on the clock and of the processor."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let no time pass in this block."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self._wall += time.perf_counter() - wall
            self._cpu += time.process_time() - cpu


class _CountedStep:
    """Takes the place of an environment's `step`, and counts."""

    def __init__(self, env: Any, steps: Steps) -> None:
        self.step, self.steps = env.step, steps

    def __call__(self, action: Any) -> Any:
        self.steps.add(int(action is not None))  # an agent of PettingZoo that is out of the game passes
        return self.step(action)


class _CountedVectorStep:
    """The same for a vector environment: what it ignores of games that are over is not counted."""

    def __init__(self, envs: Any, steps: Steps) -> None:
        self.envs, self.step, self.steps, self.reset = envs, envs.step, steps, envs.reset
        self.waits = envs.autoreset_mode.name != "SAME_STEP"
        self.n_over = 0

    def __call__(self, actions: Any) -> Any:
        self.steps.add(self.envs.num_envs - self.n_over)
        stepped = self.step(actions)
        if self.waits:
            self.n_over = int((stepped[2] | stepped[3]).sum())
        return stepped

    def after_reset(self, *arguments: Any, **options: Any) -> Any:
        """Reset, after which no game is over."""
        self.n_over = 0
        return self.reset(*arguments, **options)


class MakeEnv:
    """The source of an algorithm's environments, and with them of the game.

    `make_env()` is `ttt_env.make` of the game: two players; `make_env(opponent=…)` one player against it;
    `make_env(num_envs=…, …)` is `ttt_env.make_vec`, and `make_env(n_envs=…, …)` the same as a `VecEnv` of
    Stable-Baselines3. Every one of them counts.
    """

    def __init__(self, game: Game, steps: Steps) -> None:
        self.game, self._steps = game, steps

    def __call__(self, **options: Any) -> Any:
        """An environment of the game."""
        if "n_envs" in options:
            envs = ttt_env.envs.sb3.make_vec_env(self.game, **options)
            self._count_vector(envs.envs)  # type: ignore[attr-defined]
            return envs
        if "num_envs" in options:
            return self._count_vector(ttt_env.make_vec(self.game, **options))
        env: Any = ttt_env.make(self.game, **options)
        env.step = _CountedStep(env, self._steps)
        return env

    def _count_vector(self, envs: Any) -> Any:
        counted = _CountedVectorStep(envs, self._steps)
        envs.step, envs.reset = counted, counted.after_reset
        return envs

    def count(self, steps: int) -> None:
        """Count the moves of an algorithm that makes them on boards of its own. May raise `Finished`."""
        self._steps.add(steps)


class Judged(NamedTuple):
    """The exact scores of a policy.

    `exploitability` is 0 if nobody gains anything against it. Of the positions that it can reach with itself
    to move, `good` is the share in which it surely gives no value away, `perfect` the share in which it also
    wins as soon, or loses as late, as best play allows.
    """

    exploitability: float
    good: float
    perfect: float


class Point(NamedTuple):
    """A report: how many steps and seconds an algorithm had used, and what its policy was worth."""

    steps: int
    seconds: float
    cpu_seconds: float
    exploitability: float
    good: float
    perfect: float


Report = Callable[[AgentLike], bool]
Train = Callable[[MakeEnv, int, Report], Any]


@dataclass(frozen=True)
class Attempt:
    """The attempt of one seed: the reports, the policy of the last one, and the reason why it ended.

    `policy` is None if it is too large to be kept: see `MOST_ROWS`. It `ended` at its "goal", an
    exploitability of 0 in time, because its "time" was up, or because the algorithm had "returned".
    """

    curve: list[Point]
    policy: Lookup | None
    ended: Ended


def attempt(train: Train, game: Game, seed: int, cpu_seconds: float, reports: float = inf) -> Attempt:
    """Let an algorithm learn until its policy has exploitability 0, or for so much time or so many reports.

    If it has reported nothing by then, it has learned nothing: random play is judged in its place.
    """
    referee = _Referee(game, cpu_seconds, reports)
    try:
        policy = train(MakeEnv(game, referee.steps), seed, referee.report)
    except Finished:
        policy = "random"
    if not referee.ended or not referee.curve:
        referee.report(policy)
    return Attempt(referee.curve, referee.policy, referee.ended or "returned")


class _Referee:
    """Takes the reports of one attempt, and says when it is over."""

    def __init__(self, game: Game, cpu_seconds: float, reports: float) -> None:
        self.game, self._cpu_seconds, self._reports = game, cpu_seconds, reports
        self.curve: list[Point] = []
        self.policy: Lookup | None = None
        self.steps = Steps()
        self.steps.is_finished = lambda: bool(self.ended)
        self._clock = Clock()

    @property
    def ended(self) -> Ended | None:
        """The reason why the attempt is over, None while it continues."""
        is_kept_in_time = self.policy is not None and self.curve[-1].cpu_seconds < self._cpu_seconds
        if is_kept_in_time and self.curve[-1].exploitability == 0:
            return "goal"
        is_out_of_time = self._clock.read()[1] >= self._cpu_seconds
        return "time" if is_out_of_time or len(self.curve) >= self._reports else None

    def report(self, policy: AgentLike) -> bool:
        """Judge a policy, and say whether the attempt is over. The algorithm may also go on, and is ended."""
        used = self._clock.read()
        if self.curve and self.ended:  # asked later, so only the first report can be a late one
            return True
        with self._clock.paused():
            self.policy, judged = judge(policy, self.game)
        self.curve.append(Point(self.steps.n, *used, *judged))
        return bool(self.ended)


def judge(policy: AgentLike, game: Game) -> tuple[Lookup | None, Judged]:
    """The scores of a policy, and its table: its answers in every position that it can reach on either seat.

    The table is judged, with its numbers of 32 bits, so that its readers find the same. If it would be too
    large to keep, the table is None and the policy itself is judged.
    """
    positions: Positions = "all" if is_tabulated(game) else "reachable"
    answers = _Answers(PolicyTable.of(policy, game, positions=positions, complete=True))
    table = answers.table()
    return table, answers.judged(answers.agent if table is None else table)


def judge_table(table: Lookup) -> Judged:
    """The scores of a table that `judge` has made."""
    return _Answers(PolicyTable.of(table, complete=True)).judged(table)


class _Answers:
    """The answers of an agent in all positions that can come up with it to move."""

    def __init__(self, agent: PolicyTable) -> None:
        self.agent, self.game = agent, agent.game
        self.n = self.n_good = self.n_perfect = 0
        self._positions: list[Boards] = []
        for first_ply, seat in enumerate(SEATS):
            for layer in agent.layers(seat)[first_ply::2]:
                for moves in layer.moves():
                    self._look(moves.boards)

    def _look(self, boards: Boards) -> None:
        policies = self.agent.policies(boards)
        q = solve(self.game).values.q(boards)
        is_best = q == np.nanmax(q, axis=1, keepdims=True)
        self.n += len(boards)
        self.n_good += int((is_best | (policies == 0)).all(axis=1).sum())
        is_perfect = distances(self.game).perfect_moves(boards) | (policies == 0)
        self.n_perfect += int(is_perfect.all(axis=1).sum())
        if self.n <= MOST_POSITIONS:
            self._positions.append(boards)

    def judged(self, player: Agent) -> Judged:
        """The figures of the answers, and the exploitability of who gives them."""
        exploited = ttt_env.exploitability(player, self.game).exploitability
        return Judged(exploited, self.n_good / self.n, self.n_perfect / self.n)

    def table(self) -> Lookup | None:
        """The answers as a table, None if it would be too large."""
        if self.n > MOST_POSITIONS:
            return None
        table = Lookup.of(self.agent, self.game, self._positions)
        return table if len(table) <= MOST_ROWS else None
