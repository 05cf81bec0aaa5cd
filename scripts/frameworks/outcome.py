"""How every script of this folder ends: what the learned agent is worth, computed and not sampled."""

import json
from importlib.metadata import version

import ttt_env
from ttt_env.agent import AgentLike


def outcome(
    agent: AgentLike, packages: list[str], *, autoreset: str | None = None, game: str = "tictactoe-v0"
) -> ttt_env.Certificate:
    """The certificate of an agent, printed with its exploitability; the last line is JSON, for the table.

    `packages` are the distributions whose versions belong to the result, the framework's own first;
    `autoreset` is the mode that the framework wants of a vector environment, None if it steps single ones.
    """
    certificate = ttt_env.certify(agent, game)
    exploitability = ttt_env.exploitability(agent, game)
    print(certificate)
    print(exploitability)
    result = {
        "versions": {package: version(package) for package in packages},
        "autoreset": autoreset,
        "unbeatable": certificate.unbeatable,
        "as_x": exploitability.as_x,
        "as_o": exploitability.as_o,
        "exploitability": exploitability.exploitability,
    }
    print(json.dumps(result))
    return certificate
