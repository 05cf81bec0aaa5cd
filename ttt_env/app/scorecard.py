"""The strength of agents, as text."""

from collections.abc import Mapping

from ttt_env.analysis.certificate import Certificate
from ttt_env.analysis.dossier import Strength
from ttt_env.analysis.known import blunders_of, judge
from ttt_env.analysis.results import Result
from ttt_env.analysis.verdict import paragraphs, verdict_line, verdict_of
from ttt_env.app.options import replay_command
from ttt_env.render.table import Column, Table
from ttt_env.render.text import draw_game
from ttt_env.render.words import RESULTS, gain
from ttt_env.rules import GameRecord, is_enumerable


def scorecard(strength: Strength, name: str) -> str:
    """The verdict, then exploitability and exact results on small games, and the refutations."""
    certificate = strength.certificate
    head, *seats = paragraphs(certificate)
    verdict = verdict_line(certificate)
    if strength.names_no_cell:  # all answers have failed
        return "\n".join([f"{name}: {head.lines[0]}", verdict])
    lines = [f"{name} on {verdict}", *head.lines[1:]]
    if is_enumerable(certificate.game):
        exploited = strength.exploitability
        mean = gain(exploited.exploitability, 4).lstrip("+")
        means = "no opponent gains anything"
        if exploited.exploitability != 0:
            as_x, as_o = (gain(each, 4) for each in (exploited.as_x, exploited.as_o))
            means = f"a best response scores {as_x} against it as X, {as_o} as O"
        lines += [f"Exploitability {mean}: {means}.", "", *_results(strength)]
    for paragraph, record in seats:
        lines += ["", *paragraph, *(_refutation(record) if record else [])]
    return "\n".join(lines)


def _refutation(record: GameRecord) -> list[str]:
    """The boards of a game, its blunders in words, and the command that shows it move by move."""
    positions, blunders = record.positions(), blunders_of(record)
    sentences = [
        f"{number}. {judge(positions[number - 1], record.cells[number - 1]).sentence}" for number in blunders
    ]
    return [draw_game(record, blunders), *sentences, f"Move by move: {replay_command(record)}"]


def _results(strength: Strength) -> list[str]:
    """The exact results against two opponents."""
    opponents = ("random", "minimax")
    matches = [strength.match(opponent) for opponent in opponents]
    columns = [Column("", [f"against {opponent}" for opponent in opponents], is_left=True)]
    for seat, results in (("as X", [m.as_x for m in matches]), ("as O", [m.as_o for m in matches])):
        for end in Result._fields:
            columns.append(Column(f"{end} {seat}", [getattr(each, end) for each in results], "{:.4f}".format))
    return Table(columns).lines


def verdicts(certificates: Mapping[str, Certificate]) -> Table:
    """The certificates of several agents, a row each, with the worst result on each seat."""
    head = ("agent", "verdict", "worst result as X", "as O", "blunders in")
    rows = [
        (
            name,
            verdict_of(certificate),
            *(RESULTS[result] for result in certificate.worst_case.values()),
            "not known" if certificate.n_blunders is None else f"{certificate.n_blunders:,} positions",
        )
        for name, certificate in certificates.items()
    ]
    return Table.of(head, rows, "lllll")
