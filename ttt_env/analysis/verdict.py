"""A certificate in words: every sentence once, for text, pictures, the console, tables and the page.

The verdict comes first, in one line that suffices; what it rests on and the counts follow.
"""

from typing import TYPE_CHECKING, NamedTuple

from ttt_env.agent import Forfeit, quoted
from ttt_env.render.words import RESULTS, percent
from ttt_env.rules import GameRecord, Seat

if TYPE_CHECKING:
    from ttt_env.analysis.certificate import Certificate

_LISTED = 10  # wrong answers
_ENDS = {1: "a win for X", 0: "a draw", -1: "a win for O"}
_BASES = {
    "table": "is shown by these answers themselves",
    "sweep": "is computed from all its positions",
    "proof": "is proved by a search",
}


class Paragraph(NamedTuple):
    """Lines about a certificate, and the game that they are about, if they are about one."""

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
        return f"BEATABLE {_as(refuted)}"
    lost = [seat for seat, result in certificate.worst_case.items() if result < 0]
    if lost:
        return f"loses {_as(lost)}, and whether best play does is not known"
    return f"never loses {_as(seats)}, and the value of the game is not known"


def _as(seats: "list[Seat] | tuple[Seat, ...]") -> str:
    return " and ".join(f"as {seat}" for seat in seats)


def paragraphs(certificate: "Certificate") -> list[Paragraph]:
    """The certificate in words: its verdict with all counts, and what can happen on each seat."""
    lines = [
        *_common_reason(certificate),
        verdict_line(certificate),
    ]
    if (record := certificate.shortest_refutation) is not None:
        lines.append(f"Shortest refutation as {certificate.refuted_as}: {_cells(certificate, record)}")
    if certificate.n_blunders is not None:
        missed = f", {certificate.n_missed_wins:,} of them missed wins" if certificate.n_missed_wins else ""
        n_blunders = (
            f"{certificate.n_blunders:,} positions{missed}" if certificate.n_blunders else "no position"
        )
        lines.append(f"Blunders in {n_blunders}.")
    if certificate.good_share is not None and certificate.perfect_share is not None:
        lines.append(
            f"Moves that give nothing away in {percent(certificate.good_share)} of the positions; in "
            f"{percent(certificate.perfect_share)} they also win as soon, or lose as late, as they can."
        )
    if certificate.n_symmetry_classes is not None and certificate.inconsistent is not None:
        n_consistent = certificate.n_symmetry_classes - len(certificate.inconsistent)
        lines.append(
            f"The same move, up to symmetry, in {n_consistent:,} of {certificate.n_symmetry_classes:,} "
            "classes of symmetric positions."
        )
    if certificate.game_value is not None:
        lines.append(
            f"The value of the game, {_ENDS[certificate.game_value]}, {_BASES[certificate.value_from]}."
        )
    if not certificate.is_complete:
        lines.append("The asking ended at the first lost game, a shortest one: counts are not complete.")
    if forfeits := certificate.forfeits:
        lines.append(f"Answers that name no free cell, by which it loses: {len(forfeits):,}.")
        lines += [f"  {each.position}  {_fault(each)}" for each in forfeits[:_LISTED]]
    if len(forfeits) > _LISTED:
        lines.append(f"  and {len(forfeits) - _LISTED:,} more")
    return [Paragraph(lines), *(_on_seat(certificate, seat) for seat in certificate.worst_case)]


def verdict_line(certificate: "Certificate") -> str:
    """The verdict with its game, and what it rests on."""
    return f"{certificate.game.name}: {verdict_of(certificate)}. {queries_of(certificate)}"


def queries_of(certificate: "Certificate") -> str:
    """A sentence on the answers that the certificate is about."""
    n_positions = f"{certificate.n_queries:,} position{'s' * (certificate.n_queries != 1)}"
    kept = f", {certificate.origin}" if certificate.origin else ""
    if certificate.is_sampled:
        return f"One sample of an agent that is not stationary: asked once in {n_positions}{kept}."
    return f"Asked once in {n_positions}{kept}."


def _common_reason(certificate: "Certificate") -> list[str]:
    """The one reason why all answers failed, if they did."""
    reasons = {(each.outcome, each.reply) for each in certificate.forfeits}
    if len(certificate.forfeits) < certificate.n_queries or len(reasons) != 1:
        return []
    first = certificate.forfeits[0]
    return [f"{first.outcome} in all {certificate.n_queries} positions: {quoted(first.reply, first.outcome)}"]


def _fault(forfeit: Forfeit) -> str:
    return f"{forfeit.outcome}: {quoted(forfeit.reply, forfeit.outcome)}"


def _cells(certificate: "Certificate", record: GameRecord) -> str:
    """The cells of a game, and how it ends if not on the board."""
    cells = " ".join(map(str, record.cells))
    if (forfeit := certificate.forfeit_after(record)) is None:
        return cells
    return f"{cells}{', then ' * bool(cells)}it names no free cell ({_fault(forfeit)})"


def _on_seat(certificate: "Certificate", seat: Seat) -> Paragraph:
    result, record = certificate.worst_case[seat], certificate.refutations[seat]
    if record is not None:
        cells = "" if seat == certificate.refuted_as else f": {_cells(certificate, record)}"
        return Paragraph([f"As {seat} it {RESULTS[result]} at worst{cells}."], record)
    if certificate.game_value is not None:
        return Paragraph([f"As {seat} it {RESULTS[result]} at worst, as best play does."])
    game = f": {_cells(certificate, certificate.worst_games[seat])}" if result < 1 else ""
    return Paragraph([f"As {seat} it {RESULTS[result]} at worst{game}"])


def verdict_in_a_line(certificate: "Certificate") -> str:
    """The verdict, and in how many positions the agent was asked."""
    return f"{verdict_of(certificate)}, asked once in {certificate.n_queries:,} positions"


def summary_line(certificate: "Certificate") -> str:
    """The verdict with the shortest refuting game, in a line."""
    line = verdict_in_a_line(certificate)
    if (record := certificate.shortest_refutation) is None:
        return line
    return f"{line}; loses as {certificate.refuted_as}: {_cells(certificate, record)}"
