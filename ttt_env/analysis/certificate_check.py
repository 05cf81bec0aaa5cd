"""The parts of a certificate against each other and against the rules of its game.

Nothing here asks the agent: a certificate that passes need not belong to any real agent.
"""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ttt_env.analysis.layers import reachable
from ttt_env.analysis.solution import solve
from ttt_env.errors import ResultFileError
from ttt_env.rules import (
    SEATS,
    Boards,
    Position,
    Seat,
    canonical_boards,
    check_enumerable,
    is_tabulated,
    n_placements,
)

if TYPE_CHECKING:
    from ttt_env.analysis.certificate import Certificate


def check_certificate(certificate: "Certificate", most_listed: int) -> None:
    """Raise `ResultFileError`, which names the part, unless all parts agree.

    Of more than `most_listed` positions a file lists that number.
    """
    check_enumerable(certificate.game)
    _check_value(certificate)
    _check_listed("blunders", certificate.blunders, certificate.n_blunders, most_listed)
    _check_listed("missed_wins", certificate.missed_wins, certificate.n_missed_wins, most_listed)
    positions = [forfeit.position for forfeit in certificate.forfeits]
    is_over = any(position.is_over for position in positions)
    _refuse_if(is_over, "forfeits", "the game is over in one of them")
    _refuse_if(len(set(positions)) < len(positions), "forfeits", "a position is there twice")
    for seat in SEATS:
        _check_worst_case(certificate, seat)
        _check_positions(certificate, seat)
    _check_blunders(certificate)
    _check_missed_wins(certificate)
    _check_given_away(certificate)
    _check_totals(certificate)
    _check_pairs(certificate)


def _refuse_if(is_wrong: bool, part: str, why: str) -> None:
    if is_wrong:
        raise ResultFileError(f"{part}: {why}")


def _check_value(c: "Certificate") -> None:
    value = solve(c.game).value if is_tabulated(c.game) else None
    is_other = value is not None and value != c.game_value
    _refuse_if(is_other, "game.value", f"{c.game_value}, and {c.game.name} has the value {value}")
    is_stolen = c.game_value < 0 and not c.game.misere  # Hales and Jewett 1963: O's strategy can be stolen
    _refuse_if(is_stolen, "game.value", f"{c.game_value}, and X never loses where a winning set wins")


def _check_listed(part: str, boards: Boards, count: int, most: int) -> None:
    due = min(count, most)
    _refuse_if(len(boards) != due, f"{part}.positions", f"{len(boards):,} of them, where {due:,} are due")
    _refuse_if(bool(boards.is_over.any()), f"{part}.positions", "the game is over in one of them")
    _refuse_if(len(set(boards)) < len(boards), f"{part}.positions", "one of them is there twice")


def _check_worst_case(c: "Certificate", seat: Seat) -> None:
    """The worst result, and the game that shows it, replayed."""
    worst, record = c.worst_case[seat], c.refutations[seat]
    value = c.game_value if seat == "X" else -c.game_value
    part = f"refutations.{seat}"
    _refuse_if(worst > value, f"worst_case.{seat}", f"{worst}, and nobody is sure of more than {value}")
    _refuse_if((record is None) != (worst == value), part, f"it does not go with a worst result of {worst}")
    loses = any(forfeit.position.to_move == seat for forfeit in c.forfeits)
    _refuse_if(loses and worst > -1, f"worst_case.{seat}", f"{worst}, and a forfeit loses")
    if record is None:
        return
    end = record.positions()[-1]
    is_forfeited = end in {forfeit.position for forfeit in c.forfeits} and end.to_move == seat
    _refuse_if(not (record.is_over or is_forfeited), part, f"{record}, which does not end")
    result = record.value(seat) if record.is_over else -1
    _refuse_if(not worst <= result < value, part, f"{record}, which ends with {result} for the agent")
    if len(c.blunders) < c.n_blunders:
        return
    positions, listed = record.positions(), set(c.blunders)
    own = [position for position in positions if position.to_move == seat and not position.is_over]
    _refuse_if(listed.isdisjoint(own), part, f"{record}, in which no listed blunder occurs")
    if is_tabulated(c.game):
        value_of = solve(c.game).value_of
        for before, after in pairwise(positions):
            gives_away = before.to_move == seat and -value_of(after) < value_of(before)
            is_missing = gives_away and before not in listed
            _refuse_if(is_missing, part, f"{record}, whose blunder in {before} is not listed")


def _check_positions(c: "Certificate", seat: Seat) -> None:
    """The number of positions: those that are named are among them, and the game has no more."""
    record = c.refutations[seat]
    named = [*c.blunders, *(forfeit.position for forfeit in c.forfeits)]
    named += [] if record is None else record.positions()
    least = len({position for position in named if position.to_move == seat and not position.is_over})
    least = max(least, _least_positions(c, seat))
    first_ply = SEATS.index(seat)
    if is_tabulated(c.game):
        most = sum(len(layer.open) for layer in reachable(c.game)[first_ply::2])
    else:  # counting them takes long
        most = n_placements(c.game.n_cells, range(first_ply, c.game.n_cells, 2))
    number = c.positions[seat]
    is_wrong = not least <= number <= most
    _refuse_if(is_wrong, f"positions.{seat}", f"{number:,}, where it can be {least:,} to {most:,}")


def _least_positions(c: "Certificate", seat: Seat) -> int:
    """The positions after the first moves that the other player may choose from, which all have to be met."""
    start = c.game.start
    if seat == "O":
        return _n_open_after(start)
    is_forfeited = any(forfeit.position == start for forfeit in c.forfeits)
    after = [] if is_forfeited else [start.play(cell) for cell in start.legal_cells]
    return 1 + min((0 if each.is_over else _n_open_after(each) for each in after), default=0)


def _n_open_after(position: Position) -> int:
    return sum(not position.play(cell).is_over for cell in position.legal_cells)


def _check_blunders(c: "Certificate") -> None:
    """In each blunder a move gives value away, or a forfeit does; every such forfeit is a blunder."""
    forfeits = {forfeit.position for forfeit in c.forfeits}
    is_forfeit = np.array([position in forfeits for position in c.blunders], bool)
    part = "blunders.positions"
    if not is_tabulated(c.game):
        is_wrong = ~is_forfeit & (c.blunders.legal.sum(axis=1) < 2)
        _refuse_if(bool(is_wrong.any()), part, "one of them leaves no choice")
        return
    values = solve(c.game).values
    q = values.q(c.blunders)
    highest, lowest = np.nanmax(q, axis=1, initial=-2), np.nanmin(q, axis=1, initial=2)
    is_wrong = highest == np.where(is_forfeit, -1, lowest)
    told = "".join(str(position) for position in c.blunders[is_wrong][:1])
    _refuse_if(bool(is_wrong.any()), part, f"in {told} there is no value to give away")
    if len(c.blunders) == c.n_blunders:
        lost = [each for each in forfeits - set(c.blunders) if solve(c.game).value_of(each) > -1]
        _refuse_if(bool(lost), part, f"the forfeit in {''.join(map(str, lost[:1]))} is missing")


def _check_missed_wins(c: "Certificate") -> None:
    """They are the blunders in positions that are won."""
    part = "missed_wins"
    _refuse_if(c.n_missed_wins > c.n_blunders, f"{part}.count", "more than there are blunders")
    if len(c.blunders) < c.n_blunders:
        return
    if is_tabulated(c.game):
        won = list(c.blunders[solve(c.game).values.of(c.blunders) == 1])
        _refuse_if(won != list(c.missed_wins), part, "they are not the blunders in positions that are won")
    _refuse_if(not set(c.missed_wins) <= set(c.blunders), part, "one of them is no blunder")


def _check_given_away(c: "Certificate") -> None:
    """No seat is sure of more than a blunder leaves it: a loss in a drawn position, a draw in a won one."""
    least, n_drawn = min(c.worst_case.values()), c.n_blunders - c.n_missed_wins
    is_wrong = (c.n_blunders > 0 and least > 0) or (n_drawn > 0 and least > -1)
    _refuse_if(is_wrong, "worst_case", f"{least} or more, with {n_drawn:,} blunders in drawn positions")
    if len(c.blunders) < c.n_blunders:
        return
    won = set(c.missed_wins)
    for position in c.blunders:
        left, seat = 0 if position in won else -1, position.to_move
        is_wrong = c.worst_case[seat] > left
        _refuse_if(is_wrong, f"worst_case.{seat}", f"{c.worst_case[seat]}, and {position} is a blunder")


def _check_totals(c: "Certificate") -> None:
    total = sum(c.positions.values())
    due = total if c.source == "recorded" else 0
    _refuse_if(c.asked != due, "asked", f"{c.asked:,}, where the source {c.source!r} gives {due:,}")
    is_close = c.source == "recorded" or is_tabulated(c.game)
    facts = {"imperfect": c.n_imperfect, "symmetry_classes": c.n_classes, "inconsistent": c.inconsistent}
    for part, fact in facts.items():
        _refuse_if((fact is None) == is_close, part, f"null is {'not ' * is_close}due here")
    least, most = c.n_blunders, total
    is_wrong = c.n_imperfect is not None and not least <= c.n_imperfect <= most
    _refuse_if(is_wrong, "imperfect", f"{c.n_imperfect}, where it can be {least:,} to {most:,}")
    _refuse_if(c.n_blunders > total, "blunders.count", f"{c.n_blunders:,} of {total:,} positions")
    _refuse_if(len(c.forfeits) > total, "forfeits", f"{len(c.forfeits):,} of {total:,} positions")


def _check_pairs(c: "Certificate") -> None:
    """Check that each pair shows a class of its own, and two different positions of it."""
    if c.inconsistent is None or c.n_classes is None:
        return
    most = sum(c.positions.values()) // 2
    is_wrong = not len(c.inconsistent) <= c.n_classes <= most
    _refuse_if(is_wrong, "symmetry_classes", f"{c.n_classes}, of {len(c.inconsistent):,} to {most:,}")
    if not c.inconsistent:
        return
    ones, others = (canonical_boards(Boards.of(side))[0] for side in zip(*c.inconsistent, strict=True))
    part = "inconsistent"
    is_same = list(ones) == list(others) and all(one != other for one, other in c.inconsistent)
    _refuse_if(not is_same, part, "two positions of a pair are the same, or not symmetric")
    _refuse_if(len(set(ones)) < len(ones), part, "a class is there twice")
    is_over = any(one.is_over for one, _ in c.inconsistent)
    _refuse_if(is_over, part, "the game is over in one of them")
