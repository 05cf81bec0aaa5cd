"""Our agents as bots that are asked by lines of JSON, and the command that runs engines of all protocols."""

import json
import subprocess
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ttt_env
from tests.support.engines import OURS, dialogue
from tests.support.games import TICTACTOE
from tests.support.running import ttt
from ttt_env import Position
from ttt_env.engines.serving import JsonEngine
from ttt_env.engines.uci import read_move
from ttt_env.errors import GameTooLargeError
from ttt_env.text.protocol import Question

QUBIC = ttt_env.get_game("qubic-v0")
BLOCK = Position.parse("XX./.O./...")


def said(agent, *lines, game=None):
    answers = dialogue(lambda heard: JsonEngine(agent, game, heard, rng=0), *lines)
    return [json.loads(answer) for answer in answers]


class TestEngine:
    def test_answers_each_question(self):
        questions = [Question(position, 5.0).line for position in (TICTACTOE.start.play(0), BLOCK)]
        assert said("minimax", *questions) == [{"cell": 4}, {"cell": 2}]

    def test_questions_may_be_of_several_games(self):
        games = ["mnk-v0:m=4,n=3,k=3", "tictactoe-v0", "qubic-v0", "tictactoe-v0:misere=true"]
        positions = [ttt_env.get_game(game).start for game in games]
        answers = said("mcts:simulations=10", *(Question(position, 5.0).line for position in positions))
        assert all(
            answer["cell"] in position.legal_cells
            for answer, position in zip(answers, positions, strict=True)
        )

    def test_only_the_position_has_to_be_there(self):
        assert said("minimax", '{"position": "XX./.O./..."}') == [{"cell": 2}]
        position = Position.parse("XXX./OOO./.X../....", "square-v0")
        (answer,) = said("random", f'{{"position": "{position}"}}', game=position.game)
        assert answer["cell"] in position.legal_cells

    @pytest.mark.parametrize(
        "line",
        ["move!", '{"position": "XX./.O./...", "seconds": -1}', "[" * 100_000],  # the others: `test_bots.py`
    )
    def test_what_is_wrong_is_told_and_it_goes_on(self, line):
        error, answer = said("minimax", line, Question(BLOCK, 5.0).line)
        assert list(error) == ["error"] and error["error"]
        assert answer == {"cell": 2}

    def test_an_agent_that_does_not_play_the_game_says_so(self):
        error, answer = said("lookup", Question(QUBIC.start, 1.0).line, Question(BLOCK, 1.0).line)
        assert "qubic-v0 has 64 cells" in error["error"]
        assert answer == {"cell": 2}
        with pytest.raises(GameTooLargeError):
            JsonEngine("lookup", QUBIC, print)

    def test_empty_lines_are_passed_over(self):
        assert said("minimax", "", "  ") == []

    def test_the_time_of_the_question_ends_the_thinking(self):
        (answer,) = said("mcts", Question(QUBIC.start, 0.1).line)  # else it thinks for a day
        assert answer["cell"] in range(64)

    @given(st.lists(st.text(max_size=30), max_size=5))
    @settings(max_examples=30)
    def test_nothing_that_is_sent_ends_it(self, lines):
        lines = [" ".join(line.split()) for line in lines]
        assert len(said("rules", *lines, Question(BLOCK, 1.0).line)) == len(list(filter(None, lines))) + 1


class TestCommand:
    def test_runs_an_engine_of_each_protocol(self):
        run = ttt("engine", "minimax", answers=Question(BLOCK, 1.0).line + "\n")
        assert (run.returncode, run.stdout) == (0, '{"cell": 2}\n')
        block = "position startpos moves P@a3 P@b2 P@b3\ngo\n"
        run = ttt("engine", "minimax", "--protocol", "uci", answers=block)
        assert read_move(run.stdout.removeprefix("bestmove ").strip(), TICTACTOE) == 2
        block = "START 3\nBOARD\n0,0,2\n1,1,1\n1,0,2\nDONE\n"
        run = ttt("engine", "minimax", "--protocol", "piskvork", "--game", "tictactoe-v0", answers=block)
        assert (run.returncode, run.stdout) == (0, "OK\n2,0\n")

    def test_the_same_seed_plays_alike(self):
        lines = f"{Question(QUBIC.start, 1.0).line}\n" * 5
        runs = [ttt("engine", "random", "--seed", seed, answers=lines).stdout for seed in (1, 1, 2)]
        assert runs[0] == runs[1] != runs[2]

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["nobody", "--game", "tictactoe-v0"], "unknown agent 'nobody'"),
            (["minimax", "--protocol", "xboard"], "unknown protocol 'xboard'"),
            (["minimax", "--protocol", "uci", "--game", "qubic-v0"], "UCI has boards of rows and columns"),
            (["minimax", "--game", "chess"], "unknown game 'chess'"),
        ],
    )
    def test_a_mistake_is_told_on_standard_error(self, arguments, told):
        run = ttt("engine", *arguments)
        assert run.returncode == 2 and not run.stdout and told in run.stderr

    def test_bytes_that_are_no_text_are_a_wrong_line(self):
        run = ttt("engine", "minimax", answers=f"\udcff\udcfe\n{Question(BLOCK, 1.0).line}\n")
        error, answer = map(json.loads, run.stdout.splitlines())
        assert "error" in error and answer == {"cell": 2}
        assert run.returncode == 0 and not run.stderr

    def test_ends_quietly_when_nobody_listens(self):
        lines = (Question(BLOCK, 1.0).line + "\n") * 200
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen([*OURS, "minimax"], **pipes, text=True) as process:
            process.stdout.close()
            with suppress(BrokenPipeError):
                process.stdin.write(lines)
                process.stdin.close()
            assert "Traceback" not in process.stderr.read()
            assert process.wait(60) is not None
