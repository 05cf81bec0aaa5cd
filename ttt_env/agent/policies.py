"""Policies as arrays: the one rule for what they are, and how moves are drawn from them."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent.answers import read_cell
from ttt_env.errors import IllegalMoveError, PolicyError
from ttt_env.rules import Boards, Position

if TYPE_CHECKING:
    from ttt_env.agent.interface import Agent

Floats = NDArray[np.float64]
ROUNDING = 1e-5
"""The largest distance of a policy's sum from 1. Sums of 64 probabilities of 32 bits are off by 1e-6."""
NEGLIGIBLE = 1e-30
"""A probability below this is 0: in play, in every analysis and in certificates. What ten such moves in a row
are worth can still be told from 0 in 64 bits, so whatever has a larger one is seen by all of them."""
_EXACT = 1e-12  # sums nearer to 1 are left as they are: 64-bit rounding
_FLOAT64 = np.dtype(np.float64)
_SEED = 20  # of the random numbers for an agent that has only `choose` and is asked for its policy


def generator_of(position: Position) -> np.random.Generator:
    """A generator seeded by the position alone, for an agent that is asked for one move there."""
    return np.random.default_rng((_SEED, position.mine, position.theirs))


def checked_cell(agent: "Agent", position: Position, choice: object) -> int:
    """The agent's `choice` as a cell. Raises `IllegalMoveError` if it is no cell, or not a free one."""
    cell, _ = read_cell(choice, position)
    if cell is not None:
        return cell
    raise IllegalMoveError(f"{agent!r} plays {choice!r} in {position}; legal are {position.legal_cells}")


def chosen_cell(agent: "Agent", position: Position, rng: np.random.Generator) -> int:
    """The cell that the agent chooses. Raises `IllegalMoveError` for one that is not free."""
    return checked_cell(agent, position, agent.choose(position, rng))


def chosen_in_game(agent: "Agent", positions: Sequence[Position], rng: np.random.Generator) -> int:
    """The cell that the agent chooses in the last position of a game so far; raises as `chosen_cell` does."""
    return checked_cell(agent, positions[-1], agent.choose_in_game(positions, rng))


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
def _summed(policy: bytes, n_cells: int, occupied: int) -> tuple[list[float], list[int]] | None:
    """The cumulative probabilities of the cells that may be drawn, and these cells; None for a wrong policy.

    `drawn` draws from them as `sample` does. They are kept, so that a policy that comes again is
    neither checked nor summed again.
    """
    probabilities, total = np.frombuffer(policy).tolist(), 0.0
    totals: list[float] = []
    cells: list[int] = []
    for cell, probability in enumerate(probabilities):
        if probability:
            if not probability > 0.0 or occupied >> cell & 1:
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


def drawn(agent: "Agent", position: Position, policy: object, draw: float) -> int:
    """The cell that `draw`, a number in [0, 1), takes from the agent's answer, as `sample` does.

    Raises `PolicyError` if the answer is no distribution over the free cells.
    """
    if type(policy) is np.ndarray and policy.dtype is _FLOAT64 and policy.ndim == 1:
        table = _summed(policy.tobytes(), agent.game.n_cells, position.occupied_mask)
        if table is not None:
            totals, cells = table
            return cells[bisect_right(totals, draw)]
    return sample(_checked(agent, position, policy), draw)


def sample_each(policies: Floats, draws: Floats) -> NDArray[np.int64]:
    """`sample` for a batch: the cells, `[B]`, for policies `[B, cells]` and draws `[B]`."""
    totals = np.cumsum(policies, axis=1)
    cells = (totals <= draws[:, None]).sum(axis=1)
    last = policies.shape[1] - 1 - np.argmax(policies[:, ::-1] > 0, axis=1)
    drawn: NDArray[np.int64] = np.minimum(cells, last)
    return drawn


def checked_policies(agent: "Agent", boards: Boards) -> Floats:
    """The agent's `policies`, `[B, cells]`, each scaled to sum to 1 exactly.

    This is the one rule for what a policy is, in batches and single positions (`checked_policy`): numbers
    of any type, ≥ 0, 0 on taken cells, whose sum is 1 to within `ROUNDING`; or, in a batch of an agent that
    `may_forfeit`, 0 everywhere. Numbers below `NEGLIGIBLE` become 0. Raises `PolicyError` for others.
    """
    policies = _as_floats(agent, agent.policies(boards), boards.legal.shape, f"{len(boards)} positions")
    totals = policies.sum(axis=1)
    if agent.may_forfeit:
        totals[~policies.any(axis=1)] = 1.0
    deviations = np.abs(totals - 1)
    # Comparisons with NaN are false, so a policy with NaN is always refused.
    if (
        not (deviations <= ROUNDING).all()
        or not policies.min(initial=0) >= 0
        or ((policies != 0) > boards.legal).any()
    ):
        is_valid = (policies >= 0) & (boards.legal | (policies == 0))
        first_wrong = int(np.argmin(is_valid.all(axis=1) & (deviations <= ROUNDING)))
        raise _no_policy(agent, boards[first_wrong], policies[first_wrong])
    is_negligible = (policies < NEGLIGIBLE) & (policies > 0)
    if is_negligible.any():
        policies = np.where(is_negligible, 0.0, policies)
    if (deviations > _EXACT).any():
        totals[deviations <= _EXACT] = 1.0
        policies = policies / totals[:, None]
    return policies


def checked_policy(agent: "Agent", position: Position) -> Floats:
    """The agent's `policy` in a position, `[cells]`, by the rule of `checked_policies`."""
    return _checked(agent, position, agent.policy(position))


def chances(agent: "Agent", position: Position) -> dict[int, float]:
    """The agent's `checked_policy` in a position by legal cell."""
    return of_legal_cells(position, checked_policy(agent, position))


def of_legal_cells(position: Position, numbers: NDArray[Any]) -> dict[int, float]:
    """The numbers `[cells]` of the legal cells, by cell."""
    return {cell: float(numbers[cell]) for cell in position.legal_cells}


def _checked(agent: "Agent", position: Position, answer: object) -> Floats:
    policy = _as_floats(agent, answer, (agent.game.n_cells,), position)
    probabilities = policy.tolist()
    total, taken = sum(probabilities), position.occupied_mask
    is_good = all(p >= 0 and not (p and taken >> cell & 1) for cell, p in enumerate(probabilities))
    if not (is_good and abs(total - 1) <= ROUNDING):
        raise _no_policy(agent, position, policy)
    if any(0 < p < NEGLIGIBLE for p in probabilities):
        policy = np.where(policy < NEGLIGIBLE, 0.0, policy)
    return policy / total if abs(total - 1) > _EXACT else policy


def _as_floats(agent: "Agent", answer: object, shape: tuple[int, ...], where: object) -> Floats:
    """An agent's answer as numbers of this shape. Raises `PolicyError` if it cannot be that."""
    try:
        numbers: Floats = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(f"{agent!r} has no policy in {where}, but {answer!r:.200}") from None
    if numbers.shape != shape:
        raise PolicyError(f"{agent!r} has no policy in {where}: its shape is {numbers.shape}, not {shape}")
    return numbers


def _no_policy(agent: "Agent", position: Position, policy: Floats) -> PolicyError:
    return PolicyError(
        f"{agent!r} has no policy in {position}: {policy.round(6).tolist()} "
        "should sum to 1 over the free cells and be 0 elsewhere"
    )
