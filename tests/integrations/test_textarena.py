"""The texts of two-player games in TextArena; scripts/frameworks runs TextArena itself."""

import pytest

import ttt_env
from tests.support.games import TICTACTOE
from ttt_env.agent import Outcome
from ttt_env.text import TextEnv, prompt_text
from ttt_env.text.env import MoveRecord
from ttt_env.text.wording import fault_text, intro_text, turn_text


@pytest.mark.parametrize("text", [".../.../...", "X../.O./...", "XO./.X./..."])
def test_prompt_joins_introduction_and_turn(text: str) -> None:
    position = ttt_env.Position.parse(text)
    introduction = intro_text(TICTACTOE, position.to_move)
    assert prompt_text(position, "line") == f"{introduction}\n\n{turn_text(position, 'line', '[{cell}]')}"
    assert prompt_text(position, last=0).startswith(f"{introduction} ")


@pytest.mark.parametrize("reply, outcome", [("?", "unreadable"), ("[1] [2]", "several"), ("[9]", "no cell")])
def test_faults_use_texts_of_text_env(reply: str, outcome: Outcome) -> None:
    env = TextEnv()
    env.reset()
    assert fault_text(outcome, "[0]", TICTACTOE) in env.reply(reply) and env.outcome == outcome


def test_every_fault_has_its_own_text() -> None:
    outcomes: list[Outcome] = ["unreadable", "several", "no cell", "taken"]
    faults = [fault_text(outcome, "<0>", TICTACTOE) for outcome in outcomes]
    assert len(set(faults)) == 4 and faults[0].endswith(" <0>")


@pytest.mark.parametrize(
    "text, cell, values",
    [
        ("XX./OO./...", 2, (1, 1)),  # wins at once
        ("XX./OO./...", 8, (1, -1)),  # lets O win
        ("XX./OO./...", None, (1, -1)),  # gives no move and loses a won game
        ("X../.../...", 4, (0, 0)),  # the one reply that draws
        ("X../.../...", 1, (0, -1)),
    ],
)
def test_move_record_holds_lost_value(text: str, cell: int | None, values: tuple[int, int]) -> None:
    record = MoveRecord.of(ttt_env.Position.parse(text), cell, 0)
    assert record == (cell, *values) and record.regret == values[0] - values[1]


def test_unknown_values_of_large_game_are_none() -> None:
    start = ttt_env.get_game("qubic-v0").start
    assert MoveRecord.of(start, 0, 0) == (0, None, None) and MoveRecord.of(start, 0, 0).regret is None
    assert MoveRecord.of(start, None, 0) == (None, None, -1)
