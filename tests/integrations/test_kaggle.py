"""Submissions for kaggle-environments without it; a script plays in its loop."""

from typing import Any

import pytest

import ttt_env
from ttt_env.integrations.kaggle import KaggleAgent, submission


def test_a_certificate_of_a_submission() -> None:
    assert ttt_env.certify(KaggleAgent(submission("lookup", 0))).unbeatable
    first = KaggleAgent(lambda seen, _: {"submission": seen["observationString"].replace("\n", "").find(".")})
    assert not ttt_env.certify(first).unbeatable


@pytest.mark.parametrize(
    "seen", [{"step": 0}, {"observationString": "...\n...\n...", "currentPlayer": 0, "playerId": 1}]
)
def test_it_waits_for_its_turn(seen: dict[str, Any]) -> None:
    assert submission("minimax")(seen, {}) == {"submission": -1}
