"""Ask agents for their moves: a declared policy at any time, others once in each position."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from threading import RLock
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import (
    Agent,
    AgentLike,
    Answer,
    AskedAgent,
    Floats,
    Forfeit,
    checked_policies,
    checked_policy,
    chosen_cell,
    game_of,
    generator_of,
    make_agent,
    sample,
)
from ttt_env.analysis.asking import AnswerFile, answers_of
from ttt_env.analysis.declared import check_answers, check_judged_as_played, is_own
from ttt_env.analysis.grid import Slots, grid
from ttt_env.analysis.layers import Layer
from ttt_env.errors import ParameterError, PolicyError, UntrustedAnswersError, shown
from ttt_env.rules import Boards, Game, Position, as_callback, as_integer, check_enumerable, is_tabulated

Source = Literal["declared", "recorded", "sampled"]
"""The ground of a result: the policy that an agent declares to be fixed, which is believed as far as
`analysis.declared` compares its answers; the answers that it gave; or games played."""

COMPUTED: tuple[Source, ...] = ("declared", "recorded")
"""The sources of what is computed."""

_SHOWN_EVERY = 0.1  # seconds
_LOGGED_EVERY = 10.0
_BATCH = 1024  # positions between two looks at the clock
_MOST_WORKERS = 256
_logger = logging.getLogger(__name__)


class Asked(NamedTuple):
    """The number of positions in which an agent has been asked, and an upper bound on the final number.

    The bound falls as the answers come: they rule out the positions after other answers.
    """

    positions: int
    at_most: int


Asking = Callable[[Asked], None]
"""A function to show progress: called before the first question, then about ten times a second."""


class RecordedAgent(Agent):
    """Plays by the answers of another agent, which is asked once in each position and never again.

    So this is a fixed policy, whatever the other agent does. An agent that declares a policy is asked for it;
    any other one for its `policy` or, if it is a function or defines `choose`, for its move, with random
    numbers that depend on the position alone. `asked` counts the positions.

    An `AskedAgent`, such as a function, is asked `workers` questions at a time, in as many threads, and every
    answer is kept in the file `answers` as it comes, if that is given: whoever asks later, in this run or
    after one that was killed, goes on from there. An answer that names no free cell loses the game, and the
    policy is 0 on all cells there: see `forfeits`. Accidents are no answers: they raise `NotJudgedError`. If
    a line too many shows that answers may belong to other questions, all of them are forgotten, also in the
    file, and `UntrustedAnswersError` is raised.

    `progress` is called while the agent is asked; without it, a warning is logged every ten seconds.

    Raises `GameTooLargeError` for a game that cannot be enumerated, `ResultFileError` for a file that does
    not hold this agent's answers or that another run writes to, `ParameterError` for `answers` of an
    agent that is no `AskedAgent`.

    >>> fixed = RecordedAgent(make_agent(lambda position: position.legal_cells[0], "tictactoe-v0"))
    >>> fixed.is_fixed, fixed.asked
    (True, 0)
    """

    is_fixed = True
    may_forfeit = True

    def __init__(
        self,
        agent: AgentLike,
        progress: Asking | None = None,
        *,
        workers: int = 1,
        answers: str | Path | None = None,
    ) -> None:
        agent = make_agent(agent, game_of(None, agent))
        super().__init__(agent.game)
        check_enumerable(agent.game)
        as_callback("progress", progress, "an agent that is asked")
        self.agent, self.asked = agent, 0
        self._workers = checked_workers(workers)
        self._file: AnswerFile | None = None
        if answers is not None:
            if not isinstance(agent, AskedAgent):
                raise ParameterError(
                    f"answers={shown(answers)}: a file keeps the answers of functions and programs, "
                    f"and {agent!r} is neither"
                )
            self._file = AnswerFile(answers, agent.game, agent.identity)
        self._rows: dict[int, NDArray[np.int32]] = {}
        self._answers: dict[int, Floats] = {}
        self._forfeits: dict[tuple[int, int], Answer] = {}
        self._expected: dict[int, int] = {}
        self._lock = RLock()
        self._watch = _Watch(self._count, repr(agent), progress)

    def __repr__(self) -> str:
        return repr(self.agent)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_watch")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self._watch = RLock(), _Watch(self._count, repr(self.agent), None)

    @property
    def source(self) -> Source:
        """The ground of the answers: "declared" if the agent declares its policy, else "recorded"."""
        return source_of(self.agent)

    @property
    def forfeits(self) -> list[Forfeit]:
        """The positions in which it named no free cell, by ply, with what it answered."""
        forfeits = [
            Forfeit(Position(self.game, *key), answer.outcome, answer.said)
            for key, answer in sorted(self._forfeits.items())
        ]
        return sorted(forfeits, key=lambda forfeit: forfeit.position.ply)

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        policies = np.empty((len(boards), self.game.n_cells))
        for ply, at in boards.by_ply():
            policies[at] = self._of_one_ply(boards[at] if len(at) < len(boards) else boards, ply)
        return policies

    def release(self) -> None:
        """Let other runs write to the file of the answers, until the agent is asked again."""
        if self._file is not None:
            self._file.release()

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        """A cell drawn from `policy`. Raises `ForfeitError` where it has named no free cell."""
        policy = self.policy(position)
        if (answer := self._forfeits.get((position.mine, position.theirs))) is not None:
            raise answer.refusal(self, position)
        return sample(policy, rng.random())

    def _of_one_ply(self, boards: Boards, ply: int) -> Floats:
        slots = grid(self.game.n_cells, ply).slots(boards.mine, boards.theirs)
        with self._lock:
            if ply not in self._rows:
                self._rows[ply] = np.full(grid(self.game.n_cells, ply).n_slots, -1, np.int32)
                self._answers[ply] = np.empty((0, self.game.n_cells))
            rows = self._rows[ply]
            if (rows[slots] < 0).any():
                try:
                    self._ask(boards, slots, ply)
                except UntrustedAnswersError:
                    self._forget()
                    raise
            answers: Floats = self._answers[ply][rows[slots]]
        return answers

    def check_asked(self) -> None:
        """`Agent.check_asked` of the agent; after it the answers so far count as those to the questions."""
        try:
            self.agent.check_asked()
        except UntrustedAnswersError:
            self._forget()
            raise
        if self._file is not None:
            self._file.confirm()

    def _forget(self) -> None:
        """Forget all answers, also those that this run has added to the file."""
        self._rows.clear()
        self._answers.clear()
        self._forfeits.clear()
        self._expected.clear()
        self.asked = 0
        if self._file is not None:
            self._file.withdraw()

    def _ask(self, boards: Boards, slots: Slots, ply: int) -> None:
        """Ask the agent in the positions in which it was not asked before, and keep its answers.

        If it raises an error, the answers that it has given by then are kept.
        """
        rows, old = self._rows[ply], self._answers[ply]
        distinct, index = np.unique(slots, return_index=True)
        index = index[rows[distinct] < 0]
        self._expected[ply] = len(old) + len(index)
        self._watch.begin()
        answers = np.full((len(index), self.game.n_cells), np.nan)
        try:
            for start in range(0, len(index), _BATCH):
                part = slice(start, start + _BATCH)
                self._fill(answers[part], boards[index[part]])
                self._watch.look()
        finally:
            is_given = ~np.isnan(answers[:, 0])
            given = answers if is_given.all() else answers[is_given]
            rows[slots[index[is_given]]] = len(old) + np.arange(len(given), dtype=np.int32)
            self._answers[ply] = np.concatenate([old, given])

    def _fill(self, answers: Floats, boards: Boards) -> None:
        """Write the agent's answers in these positions into `answers`, `[B, cells]`."""
        if speaks_by_batches(self.agent):
            answers[:] = checked_policies(self.agent, boards)
            self.asked += len(boards)
        elif isinstance(self.agent, AskedAgent):
            positions = list(boards)
            for row, answer in answers_of(self.agent, positions, self._workers, self._file):
                answers[row] = 0.0
                if answer.cell is None:
                    self._forfeits[positions[row].mine, positions[row].theirs] = answer
                else:
                    answers[row, answer.cell] = 1.0
                self._count_one()
        else:
            for row, position in enumerate(boards):
                if self.agent.plays_by == "choose":
                    cell = chosen_cell(self.agent, position, generator_of(position))
                    answers[row], answers[row, cell] = 0.0, 1.0
                else:
                    answers[row] = checked_policy(self.agent, position)
                self._count_one()

    def _count_one(self) -> None:
        self.asked += 1
        self._watch.look()

    def _count(self) -> Asked:
        """The number of positions asked so far, and an estimate of the number of all, which is never too low.

        Where the answer is one cell, a board leads to no more boards two plies later than there are replies.
        """
        n_cells, bounds = self.game.n_cells, list[int]()
        for ply in range(n_cells):
            bound = grid(n_cells, ply).n_slots
            if ply > 1 and self.agent.plays_by == "choose":
                bound = min(bound, bounds[ply - 2] * (n_cells + 1 - ply))
            bounds.append(self._expected.get(ply, bound))
        return Asked(self.asked, sum(bounds))


class _Watch:
    """Reports from time to time the number of positions in which an agent has been asked."""

    def __init__(self, count: Callable[[], Asked], name: str, progress: Asking | None) -> None:
        self._count, self._name, self._progress = count, name, progress
        self._pause = _LOGGED_EVERY if progress is None else _SHOWN_EVERY
        self._next = inf
        if progress is not None:
            progress(count())

    def begin(self) -> None:
        """Start the clock, unless it runs: an agent may be asked long after it was made."""
        if self._next == inf:
            self._next = time.monotonic() + self._pause

    def look(self) -> None:
        """Report how many were asked, if the last report is long enough ago."""
        if time.monotonic() < self._next:
            return
        asked = self._count()
        if self._progress is not None:
            self._progress(asked)
        else:
            _logger.warning(
                "asked %s in %s positions of at most %s; progress= shows how far this is",
                self._name,
                f"{asked.positions:,}",
                f"{asked.at_most:,}",
            )
        self._next = time.monotonic() + self._pause


def speaks_by_batches(agent: Agent) -> bool:
    """True if an agent may be asked for `policies`: it is fixed, or `policies` is all that it defines."""
    return agent.plays_by == "policies" or (agent.is_fixed and agent.plays_by == "policy")


@contextmanager
def asking(*agents: Agent) -> Iterator[None]:
    """A block in which these agents are asked; at its end they are checked by `check_asked`.

    They are checked after an error of the block too, which may rest on an answer to another question; what
    the check raises goes before it. Only an interrupt of the user stays what it is. After the block other
    runs may write to the files in which the answers are kept.
    """
    passed_over: tuple[type[Exception], ...] = ()
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception):
            passed_over = (UntrustedAnswersError,)
        raise
    finally:
        try:
            for agent in agents:
                with suppress(*passed_over):
                    agent.check_asked()
        finally:
            for agent in agents:
                if isinstance(agent, RecordedAgent):
                    agent.release()


def source_of(*agents: Agent) -> Source:
    """The ground of a result about these agents: "declared" if all declare a policy, else "recorded"."""
    are_declared = (
        agent.source == "declared" if isinstance(agent, RecordedAgent) else agent.is_fixed for agent in agents
    )
    return "declared" if all(are_declared) else "recorded"


def answering(
    agent: AgentLike,
    game: Game | str | None,
    progress: Asking | None = None,
    workers: int = 1,
    answers: str | Path | None = None,
) -> Agent:
    """The agent if it declares its policy, else one that keeps its answers: a `RecordedAgent`.

    With `progress` the answers of an agent that declares its policy are kept as well, on games that are small
    enough, so that a slow one is asked only once in each position. `game` is by default the one that the
    agent plays; `workers` and `answers` are those of `RecordedAgent`.

    Raises, before the agent is asked, `GameTooLargeError` for a game that cannot be enumerated, `PolicyError`
    for an agent that plays by other methods than it is judged by, and the other errors of `RecordedAgent`.
    """
    workers = checked_workers(workers)
    player = make_agent(agent, game_of(game, agent))
    check_enumerable(player.game)
    check_judged_as_played(player)
    as_callback("progress", progress, "an agent that is asked")
    is_kept = answers is not None or (progress is not None and is_tabulated(player.game))
    if player.is_fixed and speaks_by_batches(player) and not is_kept:
        return player
    if isinstance(player, RecordedAgent) and answers is None:
        return player
    return RecordedAgent(player, progress, workers=workers, answers=answers)


def checked_workers(workers: object) -> int:
    """The number of questions asked at a time. Raises `ParameterError` unless it is from 1 to 256."""
    return as_integer("workers", workers, "an agent that is asked", 1, _MOST_WORKERS)


def answering_both(
    one: Agent, two: Agent, game: Game, progress: Asking | None = None, workers: int = 1
) -> tuple[Agent, Agent]:
    """Both agents as `answering` gives them; if they are one and the same, it is asked only once.

    `progress` is called with the sums over both.
    """
    if one is two:
        both = answering(one, game, progress, workers)
        return both, both
    counts: list[Asked] = [Asked(0, 0)] * 2

    def progress_of(number: int) -> Asking | None:
        def report(count: Asked) -> None:
            counts[number] = count
            if progress is not None:
                progress(Asked(*map(sum, zip(*counts, strict=True))))

        return None if progress is None else report

    first, second = (
        answering(agent, game, progress_of(number), workers) for number, agent in enumerate((one, two))
    )
    return first, second


def declared_agent(agent: AgentLike, game: Game | str) -> Agent:
    """The agent, if it declares a fixed policy. Raises `PolicyError` otherwise.

    This is for callers that cannot wait until an agent has been asked in every position.
    """
    player = make_agent(agent, game)
    if not player.is_fixed:
        raise PolicyError(f"{player!r} declares no fixed policy (is_fixed): give it a seed= if it has one")
    return player


def check_declared(agent: Agent, layers: Iterable[Layer]) -> None:
    """`check_answers` of an agent that declares its policy, in the open positions of these layers."""
    if not is_own(agent):
        for layer in layers:
            check_declared_in(agent, layer.boards(layer.open))


def check_declared_in(agent: Agent, boards: Boards) -> None:
    """`check_answers` of an agent that declares its policy. Recorded answers are what a result is about."""
    if source_of(agent) == "declared":
        check_answers(agent.agent if isinstance(agent, RecordedAgent) else agent, boards, agent)
