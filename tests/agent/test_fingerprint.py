"""Functions that were edited have another fingerprint, and their answers are not continued with."""

import subprocess
import sys
from functools import partial

import pytest

import ttt_env
from ttt_env.agent import FunctionAgent, fingerprint
from ttt_env.errors import ResultFileError
from ttt_env.text import PromptAgent

SOURCE = """
DEPTH = 3

def worth(cell):
    return cell in {"a", "b", 4}

def choose(position, limit=7):
    def key(cell):
        return worth(cell) * DEPTH
    return max(position.legal_cells, key=key)
"""


def compiled(source):
    names = {"__name__": "bot"}
    exec(source, names)
    return names["choose"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("max(", "min("),
        ("DEPTH = 3", "DEPTH = 2"),
        ('"b", 4', '"b", 5'),
        ("legal_cells", "cells"),
        ("worth(cell) * DEPTH", "worth(cell) + DEPTH"),
        ("limit=7", "limit=8"),
    ],
)
def test_each_edit_changes_it(old, new):
    assert SOURCE.count(old) == 1
    assert fingerprint(compiled(SOURCE)) != fingerprint(compiled(SOURCE.replace(old, new)))


def test_lines_that_move_and_other_runs_do_not():
    command = f"from ttt_env.agent import fingerprint; names = {{'__name__': 'bot'}}; exec({SOURCE!r}, names)"
    command += "; print(fingerprint(names['choose']))"
    runs = [subprocess.check_output([sys.executable, "-c", command], text=True).strip() for _ in range(2)]
    assert {*runs, fingerprint(compiled(SOURCE)), fingerprint(compiled("\n\n# more" + SOURCE))} == {runs[0]}


def test_values_of_a_closure_are_looked_at_but_not_what_the_function_assigns():
    def player(place):
        n_asked = 0

        def choose(position):
            nonlocal n_asked
            n_asked += 1
            return position.legal_cells[place]

        return choose

    first = player(0)
    before = fingerprint(first)
    first(ttt_env.get_game("tictactoe-v0").start)
    assert fingerprint(first) == before != fingerprint(player(1))


def test_objects_that_are_called():
    class Bot:
        def __call__(self, position):
            return position.legal_cells[0]

        def last(self, position):
            return position.legal_cells[-1]

    assert len({*map(fingerprint, (Bot(), Bot().last, partial(max, 1), partial(max, 2), 1, 1.0))}) == 6


@pytest.mark.parametrize("agent_of", [FunctionAgent, PromptAgent])
def test_kept_answers_of_an_edited_function_are_refused(tmp_path, agent_of):
    game = ttt_env.get_game("mnk-v0:m=2,n=1,k=1")
    path = tmp_path / "answers.jsonl"
    ttt_env.certify(agent_of(game, lambda asked: 0), answers=path)
    with pytest.raises(ResultFileError, match="name another file"):
        ttt_env.certify(agent_of(game, lambda asked: 1), answers=path)
