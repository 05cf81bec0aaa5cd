"""Submissions for kaggle-environments, tested without it; a script plays in its loop."""

from typing import Any

import pytest

import ttt_env
from ttt_env.integrations.kaggle import KaggleAgent, submission


def test_observation_of_submission() -> None:
    """As kaggle-environments gives it: `step` counts from 1, after the step that sets up the game."""
    observations: list[dict[str, Any]] = []

    def theirs(observation: Any, configuration: Any) -> dict[str, int]:
        observations.append(dict(observation))
        return {"submission": observation["observationString"].replace("\n", "").find(".")}

    agent = KaggleAgent(theirs)
    for text in (".../.../...", "X../.../...", "X../.O./...", "XO./.X./..O"):
        agent.policy(ttt_env.Position.parse(text))
    players = [(each["currentPlayer"], each["playerId"], each["step"]) for each in observations]
    assert players == [(0, 0, 1), (1, 1, 2), (0, 0, 3), (0, 0, 5)]
    assert (
        observations[-1]["observationString"] == "xo.\n.x.\n..o" and observations[-1]["isTerminal"] is False
    )


@pytest.mark.slow
def test_submission_can_be_certified() -> None:
    assert ttt_env.certify(KaggleAgent(submission("lookup", 0))).unbeatable
    first = KaggleAgent(
        lambda observation, _: {"submission": observation["observationString"].replace("\n", "").find(".")}
    )
    assert not ttt_env.certify(first).unbeatable


@pytest.mark.parametrize(
    "answer", [{"submission": 99}, {"submission": 0.9}, {"submission": None}, {}, None, 4]
)
def test_answer_without_legal_cell_loses(answer: Any) -> None:
    def theirs(observation: Any, configuration: Any) -> Any:
        return answer

    agent = KaggleAgent(theirs)
    certificate = ttt_env.certify(agent)
    assert certificate.worst_case == {"X": -1, "O": -1} and len(certificate.forfeits) == 10
    assert "theirs" in repr(agent)
    with pytest.raises(ttt_env.IllegalMoveError, match="theirs"):
        ttt_env.play_game(agent, "random")


@pytest.mark.parametrize(
    "observation", [{"step": 0}, {"observationString": "...\n...\n...", "currentPlayer": 0, "playerId": 1}]
)
def test_submission_waits_for_its_turn(observation: dict[str, Any]) -> None:
    assert submission("minimax")(observation, {}) == {"submission": -1}


@pytest.mark.parametrize("player", [0, 1])
def test_submission_plays_on_both_seats(player: int) -> None:
    board = ("...\n...\n...", "x..\n...\n...")[player]
    observation = {"observationString": board, "currentPlayer": player, "playerId": player}
    position = ttt_env.Position.parse(board.replace("\n", "/").upper())
    assert submission("minimax", 0)(observation, {})["submission"] in ttt_env.solve(
        "tictactoe-v0"
    ).best_cells(position)
