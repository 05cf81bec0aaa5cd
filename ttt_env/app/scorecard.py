"""How strong agents are, as text and as JSON."""

from collections.abc import Mapping, Sequence

from ttt_env.agent import AgentLike
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.evaluation import Match, Result, exploitability, match
from ttt_env.analysis.recorded import answering
from ttt_env.render.text import draw_game
from ttt_env.render.words import RESULTS, signed
from ttt_env.rules.game import SEATS, Game


def scorecard(
    agent: AgentLike, game: Game, name: str, opponents: Sequence[str] = ("random", "minimax")
) -> str:
    """Exact results against the opponents, exploitability, and the certificate or the refuting games."""
    player = answering(agent, game)
    worst = exploitability(player, game)
    lines = [
        f"Scorecard of {name} on {game.name}: computed over all positions, not sampled",
        "",
        f"{'':22}{'as X':^24}   {'as O':^24}",
        f"{'':22}{'win':>8}{'draw':>8}{'loss':>8}   {'win':>8}{'draw':>8}{'loss':>8}",
        *(_row(f"against {opponent}", match(player, opponent, game, exact=True)) for opponent in opponents),
        "",
        f"The best response gets {signed(worst.as_x, 4)} against it as X "
        f"and {signed(worst.as_o, 4)} against it as O:",
        f"exploitability {worst.exploitability:.4f} (0 is perfect play).",
        "",
        verdict(certify(player, game)),
    ]
    return "\n".join(lines)


def _row(label: str, played: Match) -> str:
    return f"{label:22}{_cells(played.as_x)}   {_cells(played.as_o)}"


def _cells(result: Result) -> str:
    return "".join(f"{share:8.4f}" for share in result)


def verdict(certificate: Certificate) -> str:
    """The certificate in words; where the agent can be beaten, the games that do it."""
    mistakes = certificate.n_blunders
    if certificate.unbeatable:
        return _origin(certificate) + (
            "CERTIFIED UNBEATABLE. In every game that can come up, on both seats, it gets at least the "
            f"value of the game.\nPositions in which it can still give value away: {mistakes}."
        )
    lines = [
        f"{_origin(certificate)}BEATABLE. It can give value away in {mistakes} positions that can come up."
    ]
    for seat, record in certificate.refutations.items():
        if record is None:
            lines.append(f"\nAs {seat} it is unbeatable.")
        else:
            lines.append(f"\nAs {seat} it {RESULTS[record.value(seat)]} this game ({record}):")
            lines.append(draw_game(record))
    return "\n".join(lines)


def _origin(certificate: Certificate) -> str:
    """The sentence before the verdict on an agent that declares no fixed policy; else empty."""
    if certificate.source == "policy":
        return ""
    return (
        f"RECORDED: it was asked once in {certificate.asked:,} positions, and is judged by these answers.\n"
    )


def verdicts(certificates: Mapping[str, Certificate]) -> str:
    """The certificates of several agents, a line each: what can happen to them on each seat."""
    width = max(map(len, certificates))
    lines = [f"{'agent':{width}}  verdict     at worst as X  as O   may give value away in"]
    for name, certificate in certificates.items():
        verdict = "unbeatable" if certificate.unbeatable else "beatable"
        as_x, as_o = (RESULTS[certificate.worst_case[seat]] for seat in SEATS)
        mistakes = f"{certificate.n_blunders:,} positions"
        lines.append(f"{name:{width}}  {verdict:10}  {as_x:13}  {as_o:5}  {mistakes}")
    return "\n".join(lines)
