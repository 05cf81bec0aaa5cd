"""Submissions for kaggle-environments without it; a script plays in its loop."""

from typing import Any

import numpy as np
import pytest

import ttt_env
from ttt_env.analysis.layers import reachable
from ttt_env.integrations.kaggle import KaggleAgent, submission

GAME = ttt_env.get_game("tictactoe-v0")


def test_there_and_back_is_the_same_agent() -> None:
    there, rng = KaggleAgent(submission("lookup")), np.random.default_rng(0)
    best = ttt_env.solve(GAME)
    for layer in reachable(GAME):
        for position in list(layer.boards(layer.open))[::20] if len(layer.open) else []:
            assert there.choose(position, rng) in best.best_cells(position)


def test_a_certificate_of_a_submission() -> None:
    assert ttt_env.certify(KaggleAgent(submission("minimax", 0))).unbeatable
    first = KaggleAgent(lambda seen, _: {"submission": seen["observationString"].replace("\n", "").find(".")})
    assert not ttt_env.certify(first).unbeatable


@pytest.mark.parametrize(
    "seen", [{"step": 0}, {"observationString": "...\n...\n...", "currentPlayer": 0, "playerId": 1}]
)
def test_it_waits_for_its_turn(seen: dict[str, Any]) -> None:
    assert submission("minimax")(seen, {}) == {"submission": -1}
