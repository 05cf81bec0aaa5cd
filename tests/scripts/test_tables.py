"""The tables of docs/results follow from the result files."""

import json

import benchmark_selfplay
import build_pretrained
import opening_trap
import proofs
import pytest
import train_unbeatable
from lines import read_lines
from marked import with_table

from tests.support.documents import ROOT
from ttt_env.agents.pretrained import FOLDER
from ttt_env.proofs.proof import prove

SCRIPTS = ROOT / "scripts"
PROVED = proofs.read(proofs.LINES)
FAST = [name for name, proved in PROVED.items() if proved["nodes"] < 20_000]


def make_line(seconds, *, unbeatable, everywhere=None, until="unbeatable"):
    return {
        "training_game": "tictactoe-v0",
        "training_algorithm": "dqn",
        "training_until": until,
        "cpu": seconds,
        "seconds": 2 * seconds,
        "steps": int(1000 * seconds),
        "blunders": 3,
        "unbeatable": unbeatable,
        "everywhere": everywhere,
    }


def test_table_of_trainings():
    lines = train_unbeatable.read(SCRIPTS / "figures" / "train-unbeatable.jsonl")
    text = train_unbeatable.PAGE.read_text(encoding="utf-8")
    assert with_table(text, train_unbeatable.table(list(lines.values())), "trainings") == text


def test_table_of_pretrained_agents():
    text = build_pretrained.PAGE.read_text(encoding="utf-8")
    assert with_table(text, build_pretrained.table(FOLDER), "pretrained") == text


def test_table_of_self_play():
    lines = read_lines(SCRIPTS / "figures" / "selfplay-speed.jsonl")
    text = benchmark_selfplay.PAGE.read_text(encoding="utf-8")
    assert with_table(text, f"{benchmark_selfplay.table(lines)}\n", "selfplay") == text


def test_table_of_openings():
    lines = read_lines(opening_trap.LINES)
    text = opening_trap.PAGE.read_text(encoding="utf-8")
    assert with_table(text, opening_trap.table(lines), "opening-trap") == text
    for line in lines:  # the statements of the page about all seeds
        last = line["looks"][-1]
        if line["way"] == "ppo":
            assert last["exploitability"] == 0.5 and last["chances"]["edge"] > 0.99
        else:
            assert last["exploitability"] == 0 and last["worth"]["centre"] >= 0


def test_table_of_values():
    text = proofs.VALUES.read_text(encoding="utf-8")
    assert with_table(text, proofs.table(PROVED.values()), "values") == text
    assert PROVED.keys() == proofs.GAMES.keys()


@pytest.mark.parametrize("name", FAST)
def test_values_are_proved_again(name):
    assert prove(proofs.game_of(name)).value == PROVED[name]["value"]


def test_last_line_of_game_counts(tmp_path):
    file = tmp_path / "a.jsonl"
    first = {"game": "cube", "value": None, "bounds": [0, 1], "by": ["search"], "nodes": 5000, "seconds": 1}
    last = first | {"value": 1, "bounds": [1, 1], "by": ["search", "sweep"], "seconds": 1.234}
    assert proofs.read(file) == {}
    file.write_text(f"{json.dumps(first)}\n{json.dumps(last)}\n")
    assert proofs.table(proofs.read(file).values()).splitlines()[2] == (
        "| 3×3×3 | X wins | 5,000 | [4 kB](../proofs/cube.npz) | Golomb and Hales 2002 |"
    )
    assert "unknown, from 0 to 1" in proofs.table([first])


def test_training_without_goal_does_not_count():
    lines = [
        make_line(1.0, unbeatable=True),
        make_line(3.0, unbeatable=True),
        make_line(9.0, unbeatable=False),
    ]
    row = train_unbeatable.table(lines).splitlines()[2]
    assert row == "| `tictactoe-v0` | dqn | certified | 2 of 3 | 2.0 (3.0) | 2,000 (3,000) | 3 (3) |"
    row = train_unbeatable.table(
        [make_line(1.0, unbeatable=True, everywhere=5, until="optimal")]
    ).splitlines()[2]
    assert row == "| `tictactoe-v0` | dqn | optimal | 0 of 1 | – | – | – |"


def test_text_without_place_for_table_is_refused():
    assert with_table("a\n<!-- t: begin -->\nold\n<!-- t: end -->\nb", "new\n", "t").split() == [
        *"a <!-- t: begin --> new <!-- t: end --> b".split()
    ]
    with pytest.raises(ValueError, match="there are 0 places for the table 'other'"):
        with_table("text", "rows", "other")
