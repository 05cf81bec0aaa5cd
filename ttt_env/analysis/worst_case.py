"""The worst result of an agent on one seat, over every game that its moves allow."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, AgentLike, checked_policies, game_of, make_agent
from ttt_env.analysis.declared import (
    check_answers,
    check_judged_as_played,
    is_surely_symmetric,
    surely_completes_sets,
)
from ttt_env.errors import GameTooLargeError, ParameterError, PolicyError
from ttt_env.render.words import RESULTS
from ttt_env.rules import (
    SEATS,
    Boards,
    Game,
    GameRecord,
    Masks,
    Position,
    Seat,
    as_integer,
    one_of,
    set_masks,
)
from ttt_env.rules.symmetry import automorphisms, transform

_AT_ONCE = 1024  # positions that an agent is asked about together
_COMPARED = 32  # positions of a ply in which the symmetry of an agent is looked at


@dataclass(frozen=True)
class WorstCase:
    """The worst end of all possible games with an agent on `seat`, whatever its opponent plays.

    `value` is 1 if the agent wins every game, 0 if it draws some but loses none, −1 if it can lose. `record`
    is a shortest game with this end, and `positions` is the number of positions in which the agent was asked.
    A `RecordedAgent` also loses where it names no free cell: `record` then ends before that move.
    """

    game: Game
    seat: Seat
    value: int
    record: GameRecord
    positions: int

    def __str__(self) -> str:
        worst = f"as {self.seat} it {RESULTS[self.value]} at worst, of all games that it can reach"
        forfeit = "" if self.record.is_over else "\nThen it names no free cell."
        return (
            f"{self.game.name}: {worst}. It was asked in {self.positions:,} positions. "
            f"A shortest game with this end:\n  {self.record}{forfeit}"
        )


class _Layer(NamedTuple):
    """Open positions of a ply, and of each one the row in the layer before and the cell that led to it."""

    boards: Boards
    rows: NDArray[np.intp]
    cells: NDArray[np.intp]


def worst_case(
    agent: AgentLike,
    seat: Seat,
    game: Game | str | None = None,
    *,
    most: int = 1_000_000,
    trusted: bool = False,
) -> WorstCase:
    """The worst result of an agent with a fixed policy on a seat, proved by trying every reply.

    This needs no solution of the game, so it also works on boards that cannot be enumerated, as long as the
    agent is asked in at most `most` positions: where it forces a win, these are few. A stochastic policy
    may make any move that it gives a probability above 0. The search ends with the first game that is lost.

    An agent that `is_symmetric`, such as `symmetric:alphazero`, is asked in one of all symmetric positions,
    and `positions` counts these. An agent that `completes_sets` is no longer asked where it can complete one,
    as soon as one game has ended so: only replies that stop it are followed. An agent from outside this
    package is asked everywhere, whatever it declares. If it is `trusted`, its declarations are followed too,
    and compared with its answers in some positions only: the result then holds as far as they are true.

    Raises `GameTooLargeError` where the agent would be asked in more than `most` positions; `ParameterError`
    for an agent that declares no fixed policy, `PolicyError` for a policy that is no distribution, or not as
    the agent declares it.
    """
    one_of("seat", seat, SEATS)
    as_integer("most", most, "worst_case", 1)
    played_game = game_of(game, agent)
    player = make_agent(agent, played_game)
    check_judged_as_played(player)
    if not player.is_fixed:
        raise ParameterError(f"{player!r} declares no fixed policy: its games can be played, but not proved")
    merges = is_surely_symmetric(player) or (trusted and player.is_symmetric)
    permutations = np.array(automorphisms(played_game) if merges else [], np.uint8)
    completes_sets = surely_completes_sets(player) or (trusted and player.completes_sets)
    layers = [_Layer(Boards.start(played_game), np.zeros(1, np.intp), np.zeros(1, np.intp))]
    worst, asked = 2, 0
    found: tuple[int, int, int | None] = 0, 0, None
    while len(boards := layers[-1].boards) and worst > -1:
        is_asked = SEATS[(len(layers) - 1) % 2] == seat
        asked += len(boards) if is_asked else 0
        if asked > most:
            raise GameTooLargeError(
                f"{player!r} as {seat} comes into more than {most:,} positions of {played_game.name}: "
                "these are too many to look at each"
            )
        if is_asked:
            check_answers(player, boards)
            _check_symmetric(player, boards, permutations)
        moves = _policies(player, boards) > 0 if is_asked else boards.legal
        if not (has_move := moves.any(axis=1)).all():
            worst, found = -1, (len(layers) - 1, int(has_move.argmin()), None)
            break
        if not is_asked and worst < 2 and completes_sets and not played_game.misere:
            stopping = moves & _stopping(boards)
            _check_completes(player, boards, moves & ~stopping)
            moves = stopping
        rows, cells = np.nonzero(moves)
        if not len(rows):
            break
        after = boards[rows].play(cells)
        results = np.where(after.is_won, -1 if played_game.misere else 1, 0) * (1 if is_asked else -1)
        at = int(np.where(after.is_over, results, worst).argmin())
        if after.is_over[at] and results[at] < worst:
            worst, found = int(results[at]), (len(layers) - 1, int(rows[at]), int(cells[at]))
        layers.append(_distinct(after, rows, cells, permutations))
    return WorstCase(played_game, seat, worst, _record(played_game, layers, *found), asked)


def _policies(agent: Agent, boards: Boards) -> NDArray[np.float64]:
    starts = range(0, max(1, len(boards)), _AT_ONCE)
    return np.concatenate([checked_policies(agent, boards[at : at + _AT_ONCE]) for at in starts])


def _stopping(boards: Boards) -> NDArray[np.bool_]:
    """The cells, `[B, cells]`, after which the other player can complete no set, or the game is over."""
    mine, theirs = _completing(boards)
    n_threats = np.bitwise_count(theirs)
    stopping = np.where(n_threats == 0, np.uint64(boards.game.full_mask), np.where(n_threats == 1, theirs, 0))
    return boards.cells(stopping | mine)


def _completing(boards: Boards) -> tuple[Masks, Masks]:
    """The empty cells, as masks `[B]`, that complete a set of the player to move, and one of the other."""
    from ttt_env.compiled.bits import completing_in  # imports numba: where it is wanted

    masks = set_masks(boards.game)
    return completing_in(boards.mine, boards.theirs, masks), completing_in(boards.theirs, boards.mine, masks)


def _check_completes(agent: Agent, boards: Boards, replies: NDArray[np.bool_]) -> None:
    """Raise `PolicyError` if the agent may do anything but complete a set after one of some replies."""
    rows = np.flatnonzero(replies.any(axis=1))[:_COMPARED]
    after = boards[rows].play(replies[rows].argmax(axis=1))
    completing = boards.cells(_completing(after)[0])
    for position, policy, completes in zip(after, _policies(agent, after), completing, strict=True):
        if (policy > 0)[~completes].any():
            raise PolicyError(f"{agent!r} says that it completes_sets, but does not in {position}")


def _distinct(
    after: Boards, rows: NDArray[np.intp], cells: NDArray[np.intp], permutations: NDArray[np.uint8]
) -> _Layer:
    """The positions in which the game goes on, each once, and one of those that a permutation maps to it."""
    is_open = np.flatnonzero(~after.is_over)
    _, first = np.unique(_images(after[is_open], permutations), axis=0, return_index=True)
    kept = is_open[first]
    return _Layer(after[kept], rows[kept], cells[kept])


def _images(boards: Boards, permutations: NDArray[np.uint8]) -> Masks:
    """The least image of each board, `[B, 2]`; without permutations the board itself."""
    masks = np.stack([boards.mine, boards.theirs], axis=1)
    if not len(permutations):
        return masks
    from ttt_env.compiled.canonical import merge  # imports numba: where it is wanted

    return merge(masks, permutations)[0]


def _check_symmetric(agent: Agent, boards: Boards, permutations: NDArray[np.uint8]) -> None:
    """Raise `PolicyError` if the moves in one of some positions and in an image lead to different classes."""
    some = boards[: _COMPARED if len(permutations) else 0]
    for number, position in enumerate(some):
        image = transform(position, tuple(permutations[-1 - number % len(permutations)].tolist()))
        here, there = (_classes_after(agent, one, permutations) for one in (position, image))
        if here != there:
            raise PolicyError(f"{agent!r} is_symmetric, but plays differently in {position} and in {image}")


def _classes_after(agent: Agent, position: Position, permutations: NDArray[np.uint8]) -> set[tuple[int, int]]:
    """The least images of the positions that the agent's moves lead to."""
    boards = Boards.of([position])
    cells = np.flatnonzero(_policies(agent, boards)[0] > 0)
    after = boards[np.zeros(len(cells), np.intp)].play(cells)
    return set(map(tuple, _images(after, permutations).tolist()))


def _record(game: Game, layers: list[_Layer], number: int, row: int, cell: int | None) -> GameRecord:
    """The game that comes to this row of a layer and ends there with this cell, or without a move."""
    moves = [] if cell is None else [cell]
    for layer in layers[number:0:-1]:
        moves.append(int(layer.cells[row]))
        row = int(layer.rows[row])
    return GameRecord(game, tuple(reversed(moves)))
