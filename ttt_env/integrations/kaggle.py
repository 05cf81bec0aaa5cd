"""Agents of kaggle-environments as ours, and ours as its submissions, for its tic-tac-toe of OpenSpiel.

    from kaggle_environments import make
    from ttt_env.integrations.kaggle import KaggleAgent, submission

    env = make("open_spiel_tic_tac_toe")
    env.run([submission("minimax"), "random"])       # ours plays there
    ttt_env.certify(KaggleAgent(their_function))     # theirs is certified here

Their agents are functions `(observation, configuration)`; nothing here imports kaggle-environments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from ttt_env.agent import AgentLike, FunctionAgent, chosen_cell, make_agent
from ttt_env.rules import Game, Position, get_game

__all__ = ["KaggleAgent", "submission"]

GAME = "tictactoe-v0"
KaggleFunction = Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, int]]


class KaggleAgent(FunctionAgent):
    """A function of kaggle-environments as an agent; it sees the board as `observationString`.

    It may depend on more than the board, so it is queried once in each position and judged by its answers,
    like any function. An answer without a `submission` names no cell.
    """

    def __init__(self, function: KaggleFunction, game: Game | str = GAME) -> None:
        super().__init__(get_game(game), update_wrapper(partial(_submitted_cell, function), function))


def _submitted_cell(function: KaggleFunction, position: Position) -> Any:
    player = position.ply % 2
    observation = {
        "observationString": str(position).replace("/", "\n").lower(),
        "currentPlayer": player,
        "playerId": player,
        "isTerminal": False,
        "step": position.ply + 1,
    }
    answer = function(observation, {})
    return answer.get("submission") if isinstance(answer, Mapping) else None


def submission(agent: AgentLike, seed: int | None = None) -> KaggleFunction:
    """A function that plays as the agent, for `env.run` of kaggle-environments."""
    player, rng = make_agent(agent, GAME), np.random.default_rng(seed)

    def act(observation: Mapping[str, Any], configuration: Mapping[str, Any]) -> dict[str, int]:
        board = observation.get("observationString")
        if not board or observation["currentPlayer"] != observation["playerId"]:
            return {"submission": -1}  # the set-up of a game, and the turns of the other
        position = Position.parse(board.replace("\n", "/").upper(), player.game)
        return {"submission": chosen_cell(player, position, rng)}

    return act
