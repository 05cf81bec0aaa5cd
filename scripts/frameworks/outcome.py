"""The last step of every script of this folder: the learned agent's exact strength, computed, not sampled."""

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import ttt_env
from ttt_env.agent import AgentLike

Report = Callable[[AgentLike], bool]


class MakeEnv:
    """The environments of a game, asked for as `scripts/leaderboard.py` lets an algorithm ask for them."""

    def __init__(self, game: ttt_env.Game) -> None:
        self.game = game

    def __call__(self, **options: Any) -> Any:
        """A vector environment with `num_envs`, else a single one."""
        make = ttt_env.make_vec if "num_envs" in options else ttt_env.make
        return make(self.game, **options)


def learned(
    train: Callable[[MakeEnv, int, Report], Any], seed: int, game: str = "tictactoe-v0"
) -> ttt_env.Agent:
    """The policy that an algorithm of the leaderboard learns by itself, until nobody beats it."""

    def report(policy: AgentLike) -> bool:
        exact = ttt_env.exploitability(policy, game)
        print(f"the best response to X gets {exact.as_x:g}, to O {exact.as_o:g}", flush=True)
        return exact.exploitability <= 0

    return train(MakeEnv(ttt_env.get_game(game)), seed, report)


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
