"""A certificate in words: every sentence once, for text, pictures, the console, tables and the page."""

from typing import TYPE_CHECKING, NamedTuple

from ttt_env.agent import quoted
from ttt_env.render.words import RESULTS, percent
from ttt_env.rules import SEATS, GameRecord, Seat

if TYPE_CHECKING:
    from ttt_env.analysis.certificate import Certificate

_LISTED = 10  # wrong answers


class Paragraph(NamedTuple):
    """Lines about a certificate, and the game that they are about, if they are about one."""

    lines: list[str]
    record: GameRecord | None = None


def verdict_of(unbeatable: bool) -> str:
    """The verdict in a word or two."""
    return "certified unbeatable" if unbeatable else "beatable"


def told(certificate: "Certificate") -> list[Paragraph]:
    """The certificate in words: its verdict with all counts, and what can happen on each seat."""
    as_x, as_o = (f"{certificate.positions[seat]:,} as {seat}" for seat in SEATS)
    n_blunders, n_missed = certificate.n_blunders, certificate.n_missed_wins
    lines = [
        f"{certificate.game.name}: {verdict_of(certificate.unbeatable)}",
        f"Recorded: it was asked once in {certificate.asked:,} positions, and is judged by these answers."
        if certificate.source == "recorded"
        else "Declared: it is judged by the policy that it declares to be fixed.",
        f"Positions that it can reach with the move: {as_x}, {as_o}.",
        f"In {n_blunders:,} of them it may give value away, in {n_missed:,} a win.",
    ]
    if certificate.perfect_share is not None:
        lines += [
            f"Good moves, which give nothing away: {percent(certificate.good_share)}.",
            "Perfect moves, which also win as soon or lose as late as they can: "
            f"{percent(certificate.perfect_share)}.",
        ]
    if certificate.n_classes is not None and certificate.inconsistent is not None:
        n_consistent = certificate.n_classes - len(certificate.inconsistent)
        lines.append(
            f"Consistency: it plays the same way in {n_consistent:,} of {certificate.n_classes:,} classes of "
            "symmetric positions."
        )
    if forfeits := certificate.forfeits:
        lines.append(f"Wrong answers, by which it loses: {len(forfeits):,}.")
        lines += [f"  {at}  {outcome}: {quoted(said, outcome)}" for at, outcome, said in forfeits[:_LISTED]]
    if len(forfeits) > _LISTED:
        lines.append(f"  and {len(forfeits) - _LISTED:,} more")
    return [Paragraph(lines), *(_on_seat(certificate, seat) for seat in SEATS)]


def _on_seat(certificate: "Certificate", seat: Seat) -> Paragraph:
    worst = f"As {seat} it {RESULTS[certificate.worst_case[seat]]} at worst."
    record = certificate.refutations[seat]
    if record is None:
        return Paragraph([worst, "Nobody gets more against it than best play by both sides gives."])
    lines = [worst, f"A shortest game that ends worse for it than best play: {record}"]
    if (forfeit := certificate.forfeit_after(record)) is not None:
        said = quoted(forfeit.said, forfeit.outcome)
        lines.append(f"Then it names no free cell ({forfeit.outcome}): {said}")
    return Paragraph(lines, record)


def told_in_a_line(certificate: "Certificate") -> str:
    """The verdict with the shortest refuting game, in a line."""
    answers = f" by the answers that it gave in {certificate.asked:,} positions"
    origin = answers if certificate.source == "recorded" else ""
    seat, record = certificate.refuted_as, certificate.shortest_refutation
    if seat is None or record is None:
        return f"unbeatable, proved{origin}"
    forfeit = certificate.forfeit_after(record)
    if forfeit is not None:
        why = f", as it then names no free cell ({forfeit.outcome}: {quoted(forfeit.said, forfeit.outcome)})"
        return f"loses this game as {seat}{origin}{why}: {record}"
    return f"{RESULTS[record.value(seat)]} this game as {seat}{origin}: {record}"
