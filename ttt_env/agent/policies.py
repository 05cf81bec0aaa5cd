"""Answers in a position, one cell or a policy: the rules for each, and how moves are drawn."""

import re
from bisect import bisect_right
from functools import lru_cache
from math import inf
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import ForfeitError, IllegalMoveError, PolicyError, brief
from ttt_env.rules import Boards, Position, as_cell

if TYPE_CHECKING:
    from ttt_env.agent.interface import Agent

Floats = NDArray[np.float64]
ROUNDING = 1e-5
"""The largest distance of a policy's sum from 1. Sums of 64 probabilities of 32 bits are off by 1e-6."""
NEGLIGIBLE = 1e-30
"""A probability below this is 0: in play, in every analysis and in certificates. The product of ten such
probabilities is still above 0 in 64 bits, so larger ones have an effect in all of these."""
_EXACT = 1e-12  # sums nearer to 1 are not scaled: 64-bit rounding
_FLOAT64 = np.dtype(np.float64)
_SEED = 20  # of the random numbers for the policy of an agent that has only `choose`


def generator_of(position: Position) -> np.random.Generator:
    """A generator seeded by the position alone, for an agent that is queried for one move there."""
    return np.random.default_rng((_SEED, position.mine, position.theirs))


def checked_cell(agent: "Agent", position: Position, choice: object) -> int:
    """The agent's `choice` as a cell. Raises `IllegalMoveError` if it is not a free cell."""
    cell, _ = read_cell(choice, position)
    if cell is not None:
        return cell
    raise IllegalMoveError(f"{agent!r} plays {brief(choice)} in {position}; legal are {position.legal_cells}")


def chosen_cell(agent: "Agent", position: Position, rng: np.random.Generator) -> int:
    """The cell that the agent chooses. Raises `IllegalMoveError` if it is not free."""
    return checked_cell(agent, position, agent.choose(position, rng))


def sample(policy: Floats, draw: float) -> int:
    """The cell at which the summed probabilities first exceed `draw`, a number in [0, 1).

    >>> sample(np.array([0.25, 0.0, 0.75]), 0.3)
    2
    """
    total, last = 0.0, -1
    for cell, probability in enumerate(policy.tolist()):
        if probability > 0.0:
            total += probability
            last = cell
            if draw < total:
                break
    return last  # rounding may leave the sum below the draw: the last possible cell then


@lru_cache(maxsize=1 << 13)
def _cumulative(policy: bytes, n_cells: int, playable: int) -> tuple[list[float], list[int]] | None:
    """The cumulative probabilities of the cells that may be drawn, and these cells; None for a wrong policy.

    `draw_cell` draws from them as `sample` does. They are cached, so that a repeated policy is neither
    checked nor summed again.
    """
    probabilities, total = np.frombuffer(policy).tolist(), 0.0
    totals: list[float] = []
    cells: list[int] = []
    for cell, probability in enumerate(probabilities):
        if probability:
            if not probability > 0.0 or not playable >> cell & 1:
                return None
            if probability < NEGLIGIBLE:
                continue
            total += probability
            totals.append(total)
            cells.append(cell)
    if len(probabilities) != n_cells or not -_EXACT <= total - 1.0 <= _EXACT:
        return None
    totals[-1] = inf  # as in `sample`, against rounding
    return totals, cells


def draw_cell(agent: "Agent", position: Position, policy: object, draw: float) -> int:
    """The cell that `draw`, a number in [0, 1), selects from the agent's answer, as in `sample`.

    Raises `PolicyError` if the answer is not a distribution over the free cells.
    """
    game = agent.game
    if type(policy) is np.ndarray and policy.dtype is _FLOAT64 and policy.ndim == 1:
        table = _cumulative(policy.tobytes(), game.n_cells, game.playable(position.occupied_mask))
        if table is not None:
            totals, cells = table
            return cells[bisect_right(totals, draw)]
    return sample(checked_answer(agent, position, policy), draw)


def sample_each(policies: Floats, draws: Floats) -> NDArray[np.int64]:
    """`sample` for a batch: the cells, `[B]`, for policies `[B, cells]` and draws `[B]`."""
    totals = np.cumsum(policies, axis=1)
    counts = (totals <= draws[:, None]).sum(axis=1)
    last = policies.shape[1] - 1 - np.argmax(policies[:, ::-1] > 0, axis=1)
    cells: NDArray[np.int64] = np.minimum(counts, last)
    return cells


def checked_policies(agent: "Agent", boards: Boards) -> Floats:
    """The agent's `policies`, `[B, cells]`, each scaled to sum to 1 exactly.

    This is the one rule for what a policy is, in batches and single positions (`checked_policy`): real
    numbers of any type, ≥ 0, 0 on taken cells, whose sum is 1 to within `ROUNDING`. Numbers below
    `NEGLIGIBLE` become 0. Raises `PolicyError` for others.
    """
    answer = agent.policies(boards.copy())  # an agent may write into what it is given
    policies = _as_floats(agent, answer, boards.legal.shape, f"{len(boards)} positions")
    totals = policies.sum(axis=1)
    deviations = np.abs(totals - 1)
    # Comparisons with NaN are false, so a policy with NaN is always refused.
    if (
        not (deviations <= ROUNDING).all()
        or not policies.min(initial=0) >= 0
        or ((policies != 0) > boards.legal).any()
    ):
        is_valid = (policies >= 0) & (boards.legal | (policies == 0))
        first_wrong = int(np.argmin(is_valid.all(axis=1) & (deviations <= ROUNDING)))
        raise _policy_error(agent, boards[first_wrong], policies[first_wrong])
    is_negligible = (policies < NEGLIGIBLE) & (policies > 0)
    if is_negligible.any():
        policies = np.where(is_negligible, 0.0, policies)
    if (deviations > _EXACT).any():
        totals[deviations <= _EXACT] = 1.0
        policies = policies / totals[:, None]
    return policies


def checked_policy(agent: "Agent", position: Position) -> Floats:
    """The agent's `policy` in a position, `[cells]`, by the rule of `checked_policies`."""
    return checked_answer(agent, position, agent.policy(position))


def chances(agent: "Agent", position: Position) -> dict[int, float]:
    """The agent's `checked_policy` in a position by legal cell."""
    return of_legal_cells(position, checked_policy(agent, position))


def of_legal_cells(position: Position, numbers: NDArray[Any]) -> dict[int, float]:
    """The numbers `[cells]` of the legal cells, by cell."""
    return {cell: float(numbers[cell]) for cell in position.legal_cells}


def checked_answer(agent: "Agent", position: Position, answer: object) -> Floats:
    """An answer of an agent in a position as its policy, `[cells]`, by the rule of `checked_policies`."""
    policy = _as_floats(agent, answer, (agent.game.n_cells,), position)
    probabilities = policy.tolist()
    total, playable = sum(probabilities), position.game.playable(position.occupied_mask)
    is_good = all(p >= 0 and not (p and not playable >> cell & 1) for cell, p in enumerate(probabilities))
    if not (is_good and abs(total - 1) <= ROUNDING):
        raise _policy_error(agent, position, policy)
    if any(0 < p < NEGLIGIBLE for p in probabilities):
        policy = np.where(policy < NEGLIGIBLE, 0.0, policy)
    return policy / total if abs(total - 1) > _EXACT else policy


def _as_floats(agent: "Agent", answer: object, shape: tuple[int, ...], where: object) -> Floats:
    """An agent's answer as numbers of this shape. Raises `PolicyError` if it cannot be converted."""
    try:
        array = np.asarray(answer)
        is_text = array.dtype.kind == "O" and any(isinstance(each, str | bytes) for each in array.flat)
        if array.dtype.kind not in "biufO" or is_text or isinstance(answer, np.ma.MaskedArray):
            raise TypeError
        numbers: Floats = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # a RuntimeError: tensors with gradients
        raise PolicyError(f"{agent!r} has no policy in {where}, but {brief(answer):.200}") from None
    if numbers.shape != shape:
        raise PolicyError(f"{agent!r} has no policy in {where}: its shape is {numbers.shape}, not {shape}")
    return numbers


def _policy_error(agent: "Agent", position: Position, policy: Floats) -> PolicyError:
    if not policy.any():
        return PolicyError(f"{agent!r} has no policy in {position}: all legal moves have probability 0")
    return PolicyError(
        f"{agent!r} has no policy in {position}: {policy.round(6).tolist()} "
        "should sum to 1 over the free cells and be 0 elsewhere"
    )


Outcome = Literal["played", "unreadable", "several", "no cell", "taken", "raised", "crashed", "timed out"]
"""The outcome of a question: the cell of the answer was played; the answer names no cell in the agreed form;
it names different ones; its number is not a cell of the board; the cell is taken, or rests on a free one; the
player's own code raised an exception; its process ended; it did not answer in time."""
ACCIDENTS: tuple[Outcome, ...] = ("crashed", "timed out")
"""The outcomes that are not answers: they can lose a game that is played, and are never recorded."""

FORFEITS: tuple[Outcome, ...] = tuple(outcome for outcome in get_args(Outcome) if outcome != "played")
"""The outcomes that lose the game."""

_SAID = 1_000  # letters of a recorded answer
_QUOTED = 60  # letters of an answer that is shown
_REASON = 300  # letters of a shown reason of a failure
_FAILURES = ("raised", *ACCIDENTS)  # their reason is at the end of the output
_STATUS = re.compile(r"(?:(exit status -?\d+)(?:: |$))?(.*)", re.DOTALL)
_TRACED = re.compile(r'File "([^"]*)", line (\d+)')


def read_cell(choice: object, position: Position) -> tuple[int | None, Outcome]:
    """The cell that is chosen, None if it may not be played, and the outcome of the choice."""
    try:
        cell = as_cell(choice, position.game)
    except IllegalMoveError:
        return None, "no cell"
    may_be_played = position.game.playable(position.occupied_mask) >> cell & 1
    return (cell, "played") if may_be_played else (None, "taken")


class Answer(NamedTuple):
    """The answer in a position: a free cell, or None with the reason in `outcome`.

    `reply` is the answer itself, at most its first 1,000 letters.
    """

    cell: int | None
    outcome: Outcome
    reply: str = ""

    @classmethod
    def of(cls, choice: object, position: Position, reply: str | None = None) -> "Answer":
        """The answer that chooses this cell, or the reason why it cannot; `choice` is the default `reply`."""
        cell, outcome = read_cell(choice, position)
        return cls(cell, outcome, _storable(brief(choice) if reply is None else reply))

    @classmethod
    def failure(cls, outcome: Outcome, reply: str) -> "Answer":
        """The answer that plays no cell, for this reason."""
        return cls(None, outcome, _storable(reply))

    def refusal(self, agent: "Agent", position: Position) -> ForfeitError:
        """The error that ends the game in which this agent gave this answer, which names no free cell."""
        legal = f"legal are {position.legal_cells}"
        if self.outcome in ("no cell", "taken"):
            message = f"{agent!r} plays {self.reply} in {position}; {legal}"
        else:
            message = f"{agent!r} names no cell in {position} ({self.outcome}): {self.reply!r}; {legal}"
        return ForfeitError(message, Forfeit(position, self.outcome, self.reply))


def _storable(reply: str) -> str:
    """The start of an answer, with question marks for lone surrogates, which no file can hold."""
    return reply[:_SAID].encode("utf-8", "replace").decode()


class Forfeit(NamedTuple):
    """A position in which an agent named no free cell, and so loses: the reason, and its reply."""

    position: Position
    outcome: Outcome
    reply: str


def quote_reply(reply: str, outcome: Outcome) -> str:
    """The start of an answer in quotes, or the reason of a failure, in one line, without control characters.

    Of a traceback these are the last file and line, and the message.

    >>> quote_reply("I take the centre", "unreadable")
    "'I take the centre'"
    >>> error = 'exit status 1: File "/a/ben.py", line 7, in choose' + chr(10) + "NameError: no x"
    >>> quote_reply(error, "crashed")
    'exit status 1: ben.py, line 7: NameError: no x'
    """
    if outcome not in _FAILURES:
        if reply.startswith("returned "):  # of a function in a file
            return reply[:_REASON]
        text = repr(reply)
        return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"
    # The exit status, the place of the error and its message, as far as they are in the end of an output.
    status, rest = _STATUS.fullmatch(reply).groups("")  # type: ignore[union-attr]
    message = next((line.strip() for line in reversed(rest.splitlines()) if re.search(r"\w", line)), "")
    places = _TRACED.findall(rest)
    if places:
        path, line = places[-1]
        place = f"{PurePath(path.replace(chr(92), '/')).name}, line {line}"
        message = place if _TRACED.search(message) else f"{place}: {message}"
    reason = ": ".join(filter(None, [status, message]))
    escaped = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in reason)
    return escaped if len(escaped) <= _REASON else f"…{escaped[1 - _REASON :]}"
