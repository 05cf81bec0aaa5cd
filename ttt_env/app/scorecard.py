"""The strength of agents, as text and as JSON."""

from collections.abc import Mapping, Sequence

from ttt_env.agent import AgentLike, quoted
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.evaluation import Result, exploitability, match
from ttt_env.analysis.recorded import answering
from ttt_env.render.table import Column, Table
from ttt_env.render.text import draw_game
from ttt_env.render.words import RESULTS, gain, percent
from ttt_env.rules.game import SEATS, Game, Seat

_LISTED = 10  # wrong answers


def scorecard(
    agent: AgentLike, game: Game, name: str, opponents: Sequence[str] = ("random", "minimax")
) -> str:
    """Exact results against the opponents, exploitability, and the certificate or the refuting games."""
    player = answering(agent, game)
    worst = exploitability(player, game)
    matches = [match(player, opponent, game, exact=True) for opponent in opponents]
    columns = [Column("", [f"against {opponent}" for opponent in opponents], is_left=True)]
    for seat, results in (("as X", [m.as_x for m in matches]), ("as O", [m.as_o for m in matches])):
        for end in Result._fields:
            columns.append(Column(f"{end} {seat}", [getattr(each, end) for each in results], "{:.4f}".format))
    lines = [
        f"Scorecard of {name} on {game.name}: computed over all positions, not sampled",
        "",
        *Table(columns).lines,
        "",
        f"The best response gets {gain(worst.as_x, 4)} against it as X "
        f"and {gain(worst.as_o, 4)} against it as O:",
        f"exploitability {gain(worst.exploitability, 4).lstrip('+')} (0 is perfect play).",
        "",
        verdict(certify(player, game)),
    ]
    return "\n".join(lines)


def verdict(certificate: Certificate) -> str:
    """The certificate in words; where the agent can be beaten, the games that do it."""
    mistakes = certificate.n_blunders
    if certificate.unbeatable:
        told = (
            "CERTIFIED UNBEATABLE. In every game that can come up, on both seats, it gets at least the "
            f"value of the game.\nPositions in which it can still give value away: {mistakes}."
        )
    else:
        told = f"BEATABLE. It can give value away in {mistakes} positions that can come up."
    lines = [f"{_origin(certificate)}{told}", *_shares(certificate), *_wrong_answers(certificate)]
    if not certificate.unbeatable:
        lines += [line for seat in SEATS for line in _refutation(certificate, seat)]
    return "\n".join(lines)


def _origin(certificate: Certificate) -> str:
    """The sentence before the verdict on an agent that declares no fixed policy; else empty."""
    if certificate.source == "declared":
        return ""
    return (
        f"RECORDED: it was asked once in {certificate.asked:,} positions, and is judged by these answers.\n"
    )


def _shares(certificate: Certificate) -> list[str]:
    """The shares of good and of perfect moves, and of symmetric positions answered consistently."""
    if certificate.perfect_share is None or certificate.n_classes is None or certificate.inconsistent is None:
        return []
    good, perfect = percent(certificate.good_share), percent(certificate.perfect_share)
    n_alike = certificate.n_classes - len(certificate.inconsistent)
    return [
        f"Good moves, which give nothing away: {good}. Perfect moves, which also win as soon or lose as late "
        f"as they can: {perfect}.",
        f"Consistency: it answers {n_alike:,} of {certificate.n_classes:,} classes of symmetric positions "
        "alike.",
    ]


def _wrong_answers(certificate: Certificate) -> list[str]:
    """The positions where it named no free cell, each with its answer."""
    forfeits = certificate.forfeits
    if not forfeits:
        return []
    rest = len(forfeits) - _LISTED
    return [
        f"Wrong answers, by which it loses: {len(forfeits):,}.",
        *(f"  {at}  {outcome}: {quoted(said, outcome)}" for at, outcome, said in forfeits[:_LISTED]),
        *([f"  and {rest:,} more"] if rest > 0 else []),
    ]


def _refutation(certificate: Certificate, seat: Seat) -> list[str]:
    record = certificate.refutations[seat]
    if record is None:
        return [f"\nAs {seat} it is unbeatable."]
    forfeit = certificate.forfeit_after(record)
    if forfeit is None:
        return [f"\nAs {seat} it {RESULTS[record.value(seat)]} this game ({record}):", draw_game(record)]
    return [
        f"\nAs {seat} it loses this game ({record}), since it then names no free cell ({forfeit.outcome}):",
        f"  {quoted(forfeit.said, forfeit.outcome)}",
        draw_game(record),
    ]


def verdicts(certificates: Mapping[str, Certificate]) -> Table:
    """The certificates of several agents, a row each: what can happen to them on each seat."""
    head = ("agent", "verdict", "at worst as X", "as O", "may give value away in")
    rows = [
        (
            name,
            "unbeatable" if certificate.unbeatable else "beatable",
            *(RESULTS[certificate.worst_case[seat]] for seat in SEATS),
            f"{certificate.n_blunders:,} positions",
        )
        for name, certificate in certificates.items()
    ]
    return Table.of(head, rows, "lllll")
