"""Asking agents: those that declare a policy for it, others once in each position, their answers kept."""

import logging
import time
from collections.abc import Callable
from threading import RLock
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import (
    ROUNDING,
    Agent,
    AgentLike,
    BatchAgent,
    Floats,
    checked_policies,
    checked_policy,
    chosen_cell,
    game_of,
    generator_of,
    make_agent,
)
from ttt_env.analysis.grid import Slots, grid
from ttt_env.analysis.layers import Layer
from ttt_env.errors import PolicyError
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game, Position
from ttt_env.rules.sizes import check_enumerable, is_tabulated, n_placements

Source = Literal["policy", "recorded", "sampled"]
"""What a result speaks of: the policy that an agent declares, the answers that it gave, or games played."""

_SHOWN_EVERY = 0.1  # seconds
_LOGGED_EVERY = 10.0
_BATCH = 1024  # positions between two looks at the clock
_OWN = f"{__name__.partition('.')[0]}."
_logger = logging.getLogger(__name__)


class Asked(NamedTuple):
    """How far the asking is: so many positions so far, of at most so many."""

    positions: int
    at_most: int


Asking = Callable[[Asked], None]
"""Called before the first question and then about ten times a second."""


class Recorded(BatchAgent):
    """Plays by the answers that another agent gave: it is asked once in each position, and never again.

    So it is a fixed policy whatever the agent does. An agent that declares a policy is asked for that; any
    other one for its `policy` or, if it is written as a function or by `choose`, for its move, with random
    numbers that depend on the position alone. `asked` counts the positions.

    `progress` is called while the agent is asked. Without it, asking that takes longer than ten seconds says
    so in the log.

    Raises `GameTooLargeError` for a game that cannot be enumerated.
    """

    is_fixed = True

    def __init__(self, agent: Agent, progress: Asking | None = None) -> None:
        super().__init__(agent.game)
        check_enumerable(agent.game)
        self.agent, self.asked = agent, 0
        self._rows: dict[int, NDArray[np.int32]] = {}
        self._answers: dict[int, Floats] = {}
        self._lock = RLock()
        self._watch = _Watch(agent, progress)

    def __repr__(self) -> str:
        return repr(self.agent)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_watch")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self._watch = RLock(), _Watch(self.agent, None)

    @property
    def source(self) -> Source:
        """Whether the answers are those of a policy that the agent declares."""
        return source_of(self.agent)

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        found = np.empty((len(boards), self.game.n_cells))
        for ply in np.unique(boards.ply).tolist():
            at = np.flatnonzero(boards.ply == ply)
            found[at] = self._of_one_ply(boards[at] if len(at) < len(boards) else boards, ply)
        return found

    def _of_one_ply(self, boards: Boards, ply: int) -> Floats:
        slots = grid(self.game.n_cells, ply).slots(boards.mine, boards.theirs)
        with self._lock:
            if ply not in self._rows:
                self._rows[ply] = np.full(grid(self.game.n_cells, ply).n_slots, -1, np.int32)
                self._answers[ply] = np.empty((0, self.game.n_cells))
            rows = self._rows[ply]
            if (rows[slots] < 0).any():
                self._ask(boards, slots, ply)
            answers: Floats = self._answers[ply][rows[slots]]
        return answers

    def _ask(self, boards: Boards, slots: Slots, ply: int) -> None:
        """Ask in those of the positions where nothing is known, and keep the answers."""
        rows = self._rows[ply]
        wanted, first = np.unique(slots, return_index=True)
        first = first[rows[wanted] < 0]
        parts = []
        for start in range(0, len(first), _BATCH):
            parts.append(self._asked_now(boards[first[start : start + _BATCH]]))
            self._watch.look(self.asked)
        before = self._answers[ply]
        rows[slots[first]] = len(before) + np.arange(len(first), dtype=np.int32)
        self._answers[ply] = np.concatenate([before, *parts])

    def _asked_now(self, boards: Boards) -> Floats:
        if speaks_by_batches(self.agent):
            self.asked += len(boards)
            return checked_policies(self.agent, boards)
        answers = np.empty((len(boards), self.game.n_cells))
        for row, position in enumerate(boards):
            answers[row] = _answer(self.agent, position)
            self.asked += 1
            self._watch.look(self.asked)
        return answers


def _answer(agent: Agent, position: Position) -> Floats:
    """How an agent says that it plays in one position: its policy, or its choice."""
    if agent.plays_by != "choose":
        return checked_policy(agent, position)
    answer = np.zeros(agent.game.n_cells)
    answer[chosen_cell(agent, position, generator_of(position))] = 1.0
    return answer


class _Watch:
    """Tells from time to time how far the asking is."""

    def __init__(self, agent: Agent, progress: Asking | None) -> None:
        self._agent, self._progress = agent, progress
        # Nobody is asked on a full board.
        self._at_most = n_placements(agent.game.n_cells)
        self._pause = _LOGGED_EVERY if progress is None else _SHOWN_EVERY
        self._next = time.monotonic() + self._pause
        if progress is not None:
            progress(Asked(0, self._at_most))

    def look(self, asked: int) -> None:
        """Tell, if it is time."""
        if time.monotonic() < self._next:
            return
        if self._progress is not None:
            self._progress(Asked(asked, self._at_most))
        else:
            _logger.warning(
                "asked %r in %s positions of at most %s; progress= shows how far this is",
                self._agent,
                f"{asked:,}",
                f"{self._at_most:,}",
            )
        self._next = time.monotonic() + self._pause


def speaks_by_batches(agent: Agent) -> bool:
    """Whether `policies` says how the agent plays: it is fixed, or `policies` is all that it has."""
    return agent.plays_by == "policies" or (agent.is_fixed and agent.plays_by == "policy")


def source_of(*agents: Agent) -> Source:
    """Whether all agents declare a policy: "policy", else "recorded"."""
    are_declared = (a.source == "policy" if isinstance(a, Recorded) else a.is_fixed for a in agents)
    return "policy" if all(are_declared) else "recorded"


def asked_of(*agents: Agent) -> int:
    """How many positions these agents were asked in, of those whose answers are recorded."""
    return sum(agent.asked for agent in agents if isinstance(agent, Recorded) and agent.source == "recorded")


def answering(agent: AgentLike, game: Game | str | None, progress: Asking | None = None) -> Agent:
    """The agent if it declares its policy, else one that keeps its answers: a `Recorded`.

    With `progress` the answers of a declared agent are kept as well, on games that are small enough: a slow
    one is asked once in each position. Without a game it is that of the agent.

    Raises `GameTooLargeError`, before anybody is asked, for a game that cannot be enumerated.
    """
    made = make_agent(agent, game_of(game, agent))
    check_enumerable(made.game)
    is_kept = progress is not None and is_tabulated(made.game)
    if made.is_fixed and speaks_by_batches(made) and not is_kept:
        return made
    return made if isinstance(made, Recorded) else Recorded(made, progress)


def answering_both(one: Agent, two: Agent, game: Game, progress: Asking | None = None) -> tuple[Agent, Agent]:
    """Both agents as `answering` has them; one that is given twice is asked once.

    `progress` is told of the questions to both together.
    """
    if one is two:
        asked = answering(one, game, progress)
        return asked, asked
    told: list[Asked] = [Asked(0, n_placements(game.n_cells))] * 2

    def telling(number: int) -> Asking | None:
        def tell(now: Asked) -> None:
            told[number] = now
            if progress is not None:
                progress(Asked(*map(sum, zip(*told, strict=True))))

        return None if progress is None else tell

    return answering(one, game, telling(0)), answering(two, game, telling(1))


def declared_agent(agent: AgentLike, game: Game | str) -> Agent:
    """The agent, if it declares a fixed policy. Raises `PolicyError` otherwise.

    For whoever cannot wait until an agent has been asked in every position.
    """
    made = make_agent(agent, game)
    if not made.is_fixed:
        raise PolicyError(f"{made!r} declares no fixed policy (is_fixed): give it a seed= if it has one")
    return made


def check_single_answers(agent: Agent, layers: list[Layer], each: int) -> None:
    """Raise `PolicyError` if a declared policy is another one for single positions than for batches.

    The agent is asked for its `policy` in up to `each` positions of a layer, evenly spread. The package's own
    agents are not: the tests hold all of them to this contract, and they are asked thousands of times.
    """
    asked = agent.agent if isinstance(agent, Recorded) else agent
    if source_of(agent) != "policy" or is_own(asked):
        return  # what was recorded was asked once, and this is what the result is about
    for layer in layers:
        if len(layer.open):
            places = np.unique(np.linspace(0, len(layer.open) - 1, each).astype(np.int64))
            check_single_answer(agent, layer.boards(layer.open[places]))


def is_own(agent: Agent) -> bool:
    """Whether the agent is one of this package."""
    return type(agent).__module__.startswith(_OWN)


def check_single_answer(agent: Agent, boards: Boards) -> None:
    """Raise `PolicyError` if `policy` differs from `policies` in one of these positions."""
    asked = agent.agent if isinstance(agent, Recorded) else agent
    for position, among in zip(boards, checked_policies(agent, boards), strict=True):
        alone = _answer(asked, position)
        if np.abs(alone - among).max() > ROUNDING:
            raise PolicyError(
                f"{agent!r} is no fixed policy: in {position} its policies gave {among.round(6).tolist()}, "
                f"its policy gives {alone.round(6).tolist()}"
            )
