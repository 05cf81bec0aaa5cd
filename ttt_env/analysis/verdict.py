"""A certificate in words: every sentence once, for text, pictures, the console, tables and the page.

The verdict comes first, in one line that suffices; its basis and the counts follow.
"""

from typing import TYPE_CHECKING, NamedTuple

from ttt_env.agent import Forfeit, quote_reply
from ttt_env.render.words import percent
from ttt_env.rules import GameRecord, Seat

if TYPE_CHECKING:
    from ttt_env.analysis.certificate import Certificate

_LISTED = 10  # forfeits to list
_VALUES = {1: "X wins", 0: "draw", -1: "O wins"}
_BASES = {
    "table": "shown by these answers themselves",
    "sweep": "computed from all its positions",
    "proof": "proved by a search",
}
_RESULT_NOUNS = {1: "win", 0: "draw", -1: "loss"}


class Paragraph(NamedTuple):
    """Lines about a certificate, and the game that they describe, if any."""

    lines: list[str]
    record: GameRecord | None = None


def verdict_of(certificate: "Certificate") -> str:
    """The verdict in a few words.

    >>> from ttt_env import certify
    >>> verdict_of(certify("minimax")), verdict_of(certify("brute-force"))
    ('UNBEATABLE', 'BEATABLE as O')
    """
    seats = tuple(certificate.worst_case)
    if certificate.unbeatable:
        return "UNBEATABLE" if len(seats) > 1 else f"UNBEATABLE as {seats[0]}"
    refuted = [seat for seat, record in certificate.refutations.items() if record is not None]
    if refuted:
        return f"BEATABLE {_seats_text(refuted)}"
    if certificate.unbeatable is False:
        return f"BEATABLE {_seats_text(seats, 'or')}"
    lost_seats = [seat for seat, result in certificate.worst_case.items() if result < 0]
    if lost_seats:
        return f"loses {_seats_text(lost_seats)}; the value of the game is not computed"
    return f"never loses {_seats_text(seats)}; the value of the game is not computed"


def _seats_text(seats: "list[Seat] | tuple[Seat, ...]", conjunction: str = "and") -> str:
    return f" {conjunction} ".join(f"as {seat}" for seat in seats)


def _blunders_line(n_blunders: int, n_missed: int) -> str:
    if n_blunders == 0:
        return "Blunders in no position."
    missed = f", {n_missed:,} of them missed wins" if n_missed else ""
    if 1 < n_missed == n_blunders:
        missed = ", all of them missed wins"
    return f"Blunders in {n_blunders:,} position{'s' if n_blunders > 1 else ''}{missed}."


def paragraphs(certificate: "Certificate") -> list[Paragraph]:
    """The certificate in words: its verdict with all counts, and what can happen on each seat."""
    lines = [
        *_common_reason(certificate),
        verdict_line(certificate),
    ]
    if (record := certificate.shortest_refutation) is not None:
        lines.append(f"Shortest refutation as {certificate.refuted_as}: {_cells(certificate, record)}")
    if certificate.n_blunders is not None:
        lines.append(_blunders_line(certificate.n_blunders, certificate.n_missed_wins or 0))
    if certificate.good_share is not None and certificate.perfect_share is not None:
        perfect = ", all of them perfect"
        if certificate.perfect_share != certificate.good_share:
            share = percent(certificate.perfect_share)
            perfect = f"; perfect ones, which also win as soon or lose as late as possible, in {share}"
        lines.append(f"Good moves in {percent(certificate.good_share)} of the positions{perfect}.")
    if certificate.n_symmetry_classes is not None and certificate.inconsistent is not None:
        n_consistent = certificate.n_symmetry_classes - len(certificate.inconsistent)
        lines.append(
            f"Consistent in {n_consistent:,} of {certificate.n_symmetry_classes:,} classes of symmetric "
            "positions."
        )
    lines += _value_lines(certificate)
    if not certificate.is_complete:
        lines.append("Stopped at the first lost game, a shortest one: counts are not complete.")
    if forfeits := certificate.forfeits:
        lines.append(f"Answers without a legal move, each a loss: {len(forfeits):,}.")
        lines += [f"  {each.position}  {_fault(each)}" for each in forfeits[:_LISTED]]
    if len(forfeits) > _LISTED:
        lines.append(f"  and {len(forfeits) - _LISTED:,} more")
    return [Paragraph(lines), *(_on_seat(certificate, seat) for seat in certificate.worst_case)]


def _value_lines(certificate: "Certificate") -> list[str]:
    """The value of the game, as far as the verdict depends on it."""
    if certificate.game_value is not None:
        value, basis = _VALUES[certificate.game_value], _BASES[certificate.value_from]
        return [f"Value of the game: {value}, {basis}."]
    if certificate.unbeatable is False and certificate.shortest_refutation is None:
        return ["Whatever the value of the game is, best play does better on one of these seats."]
    return []


def verdict_line(certificate: "Certificate") -> str:
    """The verdict with its game, and its basis."""
    return f"{certificate.game.name}: {verdict_of(certificate)}. {queries_of(certificate)}"


def queries_of(certificate: "Certificate") -> str:
    """A sentence on the answers that the certificate is about."""
    n_positions = f"{certificate.n_queries:,} position{'s' * (certificate.n_queries != 1)}"
    origin = f", {certificate.origin}" if certificate.origin else ""
    if certificate.is_sampled:
        return f"Asked once in {n_positions}{origin}; it may answer differently next time."
    return f"Asked once in {n_positions}{origin}."


def _common_reason(certificate: "Certificate") -> list[str]:
    """The reason why all answers failed, if it is the same for all."""
    reasons = {(each.outcome, each.reply) for each in certificate.forfeits}
    if len(certificate.forfeits) < certificate.n_queries or len(reasons) != 1:
        return []
    first = certificate.forfeits[0]
    return [
        f"{first.outcome} in all {certificate.n_queries} positions: {quote_reply(first.reply, first.outcome)}"
    ]


def _fault(forfeit: Forfeit) -> str:
    return f"{forfeit.outcome}: {quote_reply(forfeit.reply, forfeit.outcome)}"


def _cells(certificate: "Certificate", record: GameRecord) -> str:
    """The cells of a game, and how it ends if not on the board."""
    cells = " ".join(map(str, record.cells))
    if (forfeit := certificate.forfeit_after(record)) is None:
        return cells
    return f"{cells}{', then ' * bool(cells)}no legal move ({_fault(forfeit)})"


def _on_seat(certificate: "Certificate", seat: Seat) -> Paragraph:
    result, record = certificate.worst_case[seat], certificate.refutations[seat]
    if record is not None:
        is_shortest = seat == certificate.refuted_as
        game = "in the shortest refutation" if is_shortest else f"by {_cells(certificate, record)}"
        return Paragraph([f"Worst result as {seat}: {_RESULT_NOUNS[result]}, {game}."], record)
    if certificate.game_value is not None:
        return Paragraph([f"Worst result as {seat}: {_RESULT_NOUNS[result]}, as under best play."])
    worst = certificate.worst_games[seat]
    game = f", by {_cells(certificate, worst)}" if result < 1 else ""
    text = f"Worst result as {seat}: {_RESULT_NOUNS[result]}{game}."
    return Paragraph([text], worst if result < 0 else None)


def verdict_in_a_line(certificate: "Certificate") -> str:
    """The verdict, and the number of positions in which the agent was queried."""
    return f"{verdict_of(certificate)}, asked once in {certificate.n_queries:,} positions"


def summary_line(certificate: "Certificate") -> str:
    """The verdict with the shortest refuting game, in a line."""
    line = verdict_in_a_line(certificate)
    if (record := certificate.shortest_refutation) is None:
        return line
    return f"{line}; loses as {certificate.refuted_as}: {_cells(certificate, record)}"
