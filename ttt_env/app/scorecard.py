"""The strength of agents, as text and as JSON."""

from collections.abc import Mapping

from ttt_env.agent import AgentLike
from ttt_env.analysis.certificate import Certificate
from ttt_env.analysis.dossier import Strength
from ttt_env.analysis.results import Result
from ttt_env.analysis.verdict import told, verdict_of
from ttt_env.render.table import Column, Table
from ttt_env.render.text import draw_game
from ttt_env.render.words import RESULTS, gain
from ttt_env.rules import SEATS, Game


def scorecard(agent: AgentLike | Strength, game: Game, name: str) -> str:
    """Exact results against two opponents, exploitability, and the certificate or the refuting games."""
    opponents, strength = ("random", "minimax"), Strength.of(agent, game)
    worst, matches = strength.exploitability, [strength.match(opponent) for opponent in opponents]
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
        verdict(strength.certificate),
    ]
    return "\n".join(lines)


def verdict(certificate: Certificate) -> str:
    """The certificate in words; where the agent can be beaten, the games that do it, board by board."""
    head, *seats = told(certificate)
    lines = [f"{verdict_of(certificate.unbeatable).upper()}.", *head.lines[1:]]
    for told_of_seat, record in seats:
        lines += ["", *told_of_seat, *([draw_game(record)] if record else [])]
    return "\n".join(lines)


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
