"""The exact strength of what a script of this folder learns, computed: on the way, and at its end."""

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import ttt_env
from ttt_env.agent import AgentLike

GAME = ttt_env.get_game("tictactoe-v0")
Report = Callable[[AgentLike], bool]


class MakeEnv:
    """The environments of a game, asked for as `scripts/leaderboard.py` lets an algorithm ask for them."""

    game = GAME

    def __call__(self, **options: Any) -> Any:
        """A vector environment with `num_envs`, else a single one."""
        make = ttt_env.make_vec if "num_envs" in options else ttt_env.make
        return make(self.game, **options)


def is_unbeatable(agent: AgentLike, done: str = "") -> bool:
    """True if nobody gains anything against the agent; printed behind what was done for it."""
    exact = ttt_env.exploitability(agent, GAME)
    told = f"the best response to X gets {exact.as_x:g}, to O {exact.as_o:g}"
    print(f"{done}: {told}" if done else told, flush=True)
    return exact.exploitability <= 0


def learned(train: Callable[[MakeEnv, int, Report], Any], seed: int) -> Any:
    """The policy that an algorithm of the leaderboard learns by itself, until nobody beats it."""
    return train(MakeEnv(), seed, is_unbeatable)


def outcome(agent: AgentLike, packages: list[str]) -> ttt_env.Certificate:
    """The certificate of an agent, printed with its exploitability; the last line is JSON, for the table.

    `packages` are the distributions whose versions belong to the result, the framework's own first.
    """
    certificate = ttt_env.certify(agent, GAME)
    exploitability = ttt_env.exploitability(agent, GAME)
    print(certificate)
    print(exploitability)
    result = {
        "versions": {package: version(package) for package in packages},
        "unbeatable": certificate.unbeatable,
        "as_x": exploitability.as_x,
        "as_o": exploitability.as_o,
        "exploitability": exploitability.exploitability,
    }
    print(json.dumps(result))
    return certificate


def assert_unbeatable(agent: AgentLike, packages: list[str]) -> None:
    """Print the `outcome` of an agent. Raises `AssertionError` unless it is certified unbeatable."""
    assert outcome(agent, packages).unbeatable
