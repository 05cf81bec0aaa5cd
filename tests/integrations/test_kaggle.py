"""Submissions for kaggle-environments without it; a script plays in its loop."""

from typing import Any

import pytest

import ttt_env
from ttt_env.integrations.kaggle import KaggleAgent, submission


def test_what_a_function_of_theirs_sees() -> None:
    """As kaggle-environments shows it: `step` counts from 1, after the one that sets up the game."""
    seen: list[dict[str, Any]] = []

    def theirs(observation: Any, configuration: Any) -> dict[str, int]:
        seen.append(dict(observation))
        return {"submission": observation["observationString"].replace("\n", "").find(".")}

    agent = KaggleAgent(theirs)
    for text in (".../.../...", "X../.../...", "X../.O./...", "XO./.X./..O"):
        agent.policy(ttt_env.Position.parse(text))
    players = [(each["currentPlayer"], each["playerId"], each["step"]) for each in seen]
    assert players == [(0, 0, 1), (1, 1, 2), (0, 0, 3), (0, 0, 5)]
    assert seen[-1]["observationString"] == "xo.\n.x.\n..o" and seen[-1]["isTerminal"] is False


@pytest.mark.slow
def test_a_certificate_of_a_submission() -> None:
    assert ttt_env.certify(KaggleAgent(submission("lookup", 0))).unbeatable
    first = KaggleAgent(lambda seen, _: {"submission": seen["observationString"].replace("\n", "").find(".")})
    assert not ttt_env.certify(first).unbeatable


@pytest.mark.parametrize(
    "answer", [{"submission": 99}, {"submission": 0.9}, {"submission": None}, {}, None, 4]
)
def test_an_answer_that_names_no_cell_loses_as_that_of_any_function(answer: Any) -> None:
    def theirs(observation: Any, configuration: Any) -> Any:
        return answer

    agent = KaggleAgent(theirs)
    certificate = ttt_env.certify(agent)
    assert certificate.worst_case == {"X": -1, "O": -1} and len(certificate.forfeits) == 10
    assert "theirs" in repr(agent)
    with pytest.raises(ttt_env.IllegalMoveError, match="theirs"):
        ttt_env.play_game(agent, "random")


@pytest.mark.parametrize(
    "seen", [{"step": 0}, {"observationString": "...\n...\n...", "currentPlayer": 0, "playerId": 1}]
)
def test_it_waits_for_its_turn(seen: dict[str, Any]) -> None:
    assert submission("minimax")(seen, {}) == {"submission": -1}


@pytest.mark.parametrize("player", [0, 1])
def test_it_plays_in_its_turn_on_both_seats(player: int) -> None:
    board = ("...\n...\n...", "x..\n...\n...")[player]
    seen = {"observationString": board, "currentPlayer": player, "playerId": player}
    position = ttt_env.Position.parse(board.replace("\n", "/").upper())
    assert submission("minimax", 0)(seen, {})["submission"] in ttt_env.solve("tictactoe-v0").best_cells(
        position
    )
