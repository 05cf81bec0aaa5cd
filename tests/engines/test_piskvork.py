"""Piskvork: our agents as engines of Gomocup, and engines of Gomocup as opponents."""

import itertools
import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from select import select

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ttt_env
from tests.support.engines import LARGE, M433, OURS, Heard, dialogue, logged, shell
from tests.support.games import TICTACTOE
from tests.support.refusals import all_raise
from ttt_env import Position, errors
from ttt_env.engines.piskvork import (
    PiskvorkAgent,
    PiskvorkEngine,
    board_lines,
    format_cell,
    read_board,
    read_cell_name,
    thinking_seconds,
)
from ttt_env.rules.game import random_position

FIVE = ttt_env.get_game("mnk-v0:m=8,n=8,k=5")
CLIENT = Path(__file__).with_name("pygomo_games.py")
PATHS = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def said(agent, *lines, game=TICTACTOE):
    return dialogue(lambda heard: PiskvorkEngine(agent, game, heard, rng=0), *lines)


class TestNotation:
    @pytest.mark.parametrize("game", [TICTACTOE, M433, LARGE], ids=lambda game: game.name)
    def test_every_cell_has_a_name(self, game):
        names = [format_cell(cell, game) for cell in range(game.n_cells)]
        assert [read_cell_name(name, game) for name in names] == list(range(game.n_cells))

    def test_the_column_comes_first_and_rows_are_counted_from_the_top(self):
        assert format_cell(3, M433) == "3,0" and format_cell(8, M433) == "0,2"
        assert read_cell_name(" 1 , 2 ", M433) == 9

    def test_other_texts_are_no_cells(self):
        texts = ["", "1", "1,", "1 1", "-1,0", "1,1,1", "a,b", "3,0", "0,3", "²,1", "9999,0"]
        all_raise(errors.NotationError, "", lambda text: read_cell_name(text, TICTACTOE), texts)

    @pytest.mark.parametrize("game", [TICTACTOE, M433, LARGE], ids=lambda game: game.name)
    def test_boards_are_read_as_they_are_written(self, game):
        for seed in range(50 if game.n_cells < 100 else 8):
            position = random_position(game, seed)
            first, *stones, last = board_lines(position)
            assert (first, last) == ("BOARD", "DONE")
            assert read_board(stones, game) == position

    def test_the_stones_stand_in_the_order_of_a_game(self):
        position = Position.parse("XO./.X./..O").play(2)
        assert board_lines(position)[1:-1] == ["0,0,2", "1,0,1", "2,0,2", "2,2,1", "1,1,2"]

    def test_what_is_no_board_is_refused(self):
        no_boards = [["0,0"], ["0,0,3"], ["3,0,1"], ["x"], ["0,0,1", ""]]
        no_boards += [["0,0,1", "0,0,2"], ["0,0,2", "1,1,1", "0,0,2"]]
        impossible = [["0,0,1"], ["0,0,2", "1,0,2"]]
        all_raise(errors.NotationError, "", lambda stones: read_board(stones, TICTACTOE), no_boards)
        all_raise(
            errors.ImpossiblePositionError, "", lambda stones: read_board(stones, TICTACTOE), impossible
        )


class TestEngine:
    def test_plays_a_game(self):
        lines = said("newell-simon", "START 3", "BEGIN", "TURN 0,0", "TURN 0,1", "END", "ABOUT")
        assert lines[0] == "OK" and len(lines) == 4
        position = TICTACTOE.start
        for move, reply in itertools.zip_longest(lines[1:], ["0,0", "0,1"]):
            for name in filter(None, (move, reply)):
                position = position.play(read_cell_name(name, TICTACTOE))
        assert position.ply == 5

    def test_plays_on_from_a_board(self):
        block = ["BOARD", "0,0,2", "1,1,1", "1,0,2", "DONE"]
        assert said("minimax", "START 3", *block, "RESTART", *block) == ["OK", "2,0", "OK", "2,0"]

    def test_moves_are_taken_back(self):
        lines = said("minimax", "START 3", "BOARD", "0,0,2", "1,1,1", "1,0,2", "DONE",
                     "TAKEBACK 0,0", "TAKEBACK 2,0", "TAKEBACK 1,0", "TURN 2,2")  # fmt: skip
        assert lines[:2] == ["OK", "2,0"]
        assert lines[2].startswith("ERROR '0,0' is no stone")
        assert lines[3:5] == ["OK", "OK"]
        board = Position.parse("X../.O./..X")
        assert read_cell_name(lines[5], TICTACTOE) in ttt_env.solve(TICTACTOE).best_cells(board)

    def test_five_in_a_row_is_the_game_by_default(self):
        win = ["BOARD", *(f"{x},{y},{1 + y}" for x in range(1, 5) for y in range(2)), "DONE"]
        for start in ("START 8", "RECTSTART 8,7", "START 20"):
            lines = said("win-block", start, *win, game=None)
            assert lines[0] == "OK" and lines[1] in ("0,0", "5,0"), start
        lines = said("random", "START 20", *win, game=None)
        assert lines[0] == "OK" and read_cell_name(lines[1], LARGE) in range(400)

    @pytest.mark.slow
    @pytest.mark.parametrize("agent", ["mcts:simulations=50,threats=true", "minimax:depth=1"])
    def test_searches_complete_five_on_the_largest_board(self, agent):
        win = ["BOARD", *(f"{x},{y},{1 + y}" for x in range(1, 5) for y in range(2)), "DONE"]
        assert said(agent, "START 20", *win, game=None)[1] in ("0,0", "5,0")

    @pytest.mark.parametrize(
        ("agent", "game", "start", "why"),
        [
            ("alphazero", None, "START 15", "exact analysis and networks; 64 cells are the limit"),
            ("rules", None, "START 4", "k=5 does not fit"),
            ("rules", None, "START 21", "cells; games of up to 400"),
            ("rules", None, "START 0", "m=0"),
            ("rules", None, "START", "an integer"),
            ("rules", None, "START 15.0", "an integer"),
            ("rules", None, "RECTSTART 15", "two numbers"),
            ("rules", TICTACTOE, "START 15", "tictactoe-v0 has 3 columns and 3 rows"),
            ("rules", M433, "RECTSTART 3,4", "has 4 columns and 3 rows"),
        ],
    )
    def test_boards_that_it_does_not_play_are_refused(self, agent, game, start, why):
        lines = said(agent, start, "BEGIN", game=game)
        assert lines[0].startswith("ERROR") and why in lines[0]
        assert lines[1] == "ERROR there is no board yet: START comes first"

    @pytest.mark.parametrize(
        ("line", "answer"),
        [
            ("TURN 0,0", "ERROR cell 0 of"),
            ("TURN 3,0", "ERROR 3,0 is off the board"),
            ("TURN", "ERROR ''"),
            ("TURN x,y", "ERROR 'x,y'"),
            ("BEGIN", "ERROR BEGIN is for an empty board"),
            ("START 4", "ERROR tictactoe-v0 has"),
            ("TAKEBACK 8,8", "ERROR 8,8 is off the board"),
            ("SWAP2BOARD", "UNKNOWN command SWAP2BOARD"),
            ("\x00 é", "UNKNOWN command \x00"),
            ("INFO timeout_turn soon", "MESSAGE timeout_turn 'soon'"),
            ("INFO rule 1", "MESSAGE rule 1 is not played"),
        ],
    )
    def test_what_is_wrong_is_told_and_changes_nothing(self, line, answer):
        block = ["BOARD", "0,0,2", "1,1,1", "1,0,2", "2,0,1", "0,2,2", "DONE"]
        lines = said("minimax", "START 3", *block, line, "TURN 2,1")
        assert lines[0] == "OK" and lines[1] == "0,1"
        assert lines[2].startswith(answer)
        assert len(lines) == 4 and lines[3] in ("1,2", "2,2")

    @pytest.mark.parametrize(
        "stones",
        [["0,0,1"], ["0,0,9"], ["x"], ["0,0,1", "0,0,2"],
         ["0,0,2", "0,1,1", "1,0,2", "1,1,1", "2,0,2"]],
    )  # fmt: skip
    def test_a_wrong_board_is_told_and_changes_nothing(self, stones):
        lines = said("minimax", "START 3", "BOARD", *stones, "DONE", "BEGIN")
        assert lines[1].startswith("ERROR ") and len(lines) == 3
        assert read_cell_name(lines[2], TICTACTOE) in TICTACTOE.start.legal_cells

    @pytest.mark.parametrize(
        "line", ["", "INFO folder /tmp", "INFO evaluate 1,1", "INFO rule 0", "info max_memory 0"]
    )
    def test_what_has_no_answer_gets_none(self, line):
        assert said("minimax", line, "START 3") == ["OK"]

    def test_commands_are_read_in_small_letters_too(self):
        assert said("minimax", "start 3", "restart") == ["OK", "OK"]

    def test_the_end_of_the_game_has_no_move(self):
        almost = ["BOARD", "0,0,2", "0,1,1", "1,0,2", "1,1,1", "2,2,2", "2,0,1", "0,2,2", "DONE"]
        lines = said("minimax", "START 3", *almost, "TURN 0,0")
        assert lines[1] == "2,1"  # wins
        assert lines[2].startswith("ERROR") and "is over" in lines[2]

    def test_introduces_itself(self):
        (line,) = said("mcts:c=1.2", "ABOUT")
        assert line.startswith('name="ttt_env mcts:c=1.2", version="') and line.endswith('"')

    def test_an_agent_that_fails_has_no_move(self):
        def failing(position):
            raise RuntimeError("no idea")

        assert said(failing, "START 3", "BEGIN", "RESTART") == ["OK", "ERROR RuntimeError: 'no idea'", "OK"]

    @given(st.lists(st.lists(st.sampled_from(
        ["START", "RECTSTART", "BEGIN", "TURN", "BOARD", "DONE", "RESTART", "TAKEBACK", "INFO", "ABOUT", "3",
         "4,3", "0,0", "1,1", "2,2", "0,0,1", "1,1,2", "timeout_turn", "9" * 400, "-1", "é", "\0"]
    ), max_size=3), max_size=12))  # fmt: skip
    @settings(max_examples=100)
    def test_nothing_that_is_sent_ends_it(self, commands):
        lines = said("rules", "START 3", *map(" ".join, commands), "DONE", "RESTART")
        assert lines[-1] == "OK"
        starts = ("OK", "ERROR ", "UNKNOWN ", "MESSAGE ", 'name="')
        for line in lines:
            assert line.startswith(starts) or read_cell_name(line, TICTACTOE) in range(9)

    def test_boards_of_three_axes_are_refused(self):
        qubic = ttt_env.get_game("qubic-v0")
        with pytest.raises(errors.ParameterError, match="three axes"):
            PiskvorkEngine("random", qubic, print)
        with pytest.raises(errors.ParameterError, match="three axes"):
            PiskvorkAgent(qubic, "true")


class TestTime:
    @pytest.mark.parametrize("agent", ["mcts", "minimax"])
    def test_limits_end_the_thinking(self, agent):
        for limit in ("INFO timeout_turn 100", "INFO timeout_turn 0", "INFO time_left 500"):
            heard = Heard()
            engine = PiskvorkEngine(agent, None, heard, rng=0)
            for line in ("START 8", limit, "BEGIN"):
                engine.hear(line)
            heard.until(("0", "1", "2", "3", "4", "5", "6", "7"))

    def test_end_ends_the_thinking(self):
        engine = PiskvorkEngine("mcts", FIVE, Heard(), rng=0)
        for line in ("START 8", "INFO timeout_turn 1000000000", "BEGIN"):
            engine.hear(line)
        assert not engine.hear("END")
        assert not engine._thinker._thread.is_alive()

    @pytest.mark.parametrize(
        ("turn", "left", "least", "most"),
        [
            (2000, 0, 1.9, 2),
            (2000, 2**31 - 1, 1.9, 2),
            (0, 0, 0, 0),
            (2000, 2000, 0.05, 0.2),
            (10**9, 60_000, 2, 6),
            (10, 60_000, 0.005, 0.01),
        ],
    )
    def test_both_limits_are_kept(self, turn, left, least, most):
        limits = {"timeout_turn": turn, "time_left": left}
        assert least <= thinking_seconds(limits, FIVE.start) <= most


STARTED = 'START*) echo "MESSAGE hello"; echo "OK - fine";; RESTART) echo OK;;'


def engine(cases, started=STARTED, game=TICTACTOE, **settings):
    return PiskvorkAgent(game, shell(f"{started} {cases}"), **({"timeout": 60} | settings))


class TestPlayer:
    def test_plays_what_is_answered(self):
        with engine("BEGIN) echo DEBUG x; echo; echo 1,1;;") as agent:
            assert agent.answer(TICTACTOE.start) == (4, "played", "1,1")

    def test_is_told_the_moves_of_a_game_and_whole_boards_else(self, tmp_path):
        log = tmp_path / "log"
        command = ["sh", "-c", f"tee {log} | {' '.join(OURS)} minimax --protocol piskvork --game {M433.name}"]
        with PiskvorkAgent(M433, command, seconds=0.5) as agent:
            assert agent.seconds_per_move == 0.5
            opening = agent.answer(M433.start).cell
            first = M433.start.play(opening)
            reply = first.legal_cells[0]
            agent.answer(first.play(reply))
            other = M433.start.play(reply).play(opening)  # the stones exchanged, so that no move leads to it
            agent.answer(other)
            agent.answer(M433.start)
            lines = logged(log, 9 + 1 + len(board_lines(other)) + 2)
        assert lines[0] == "RECTSTART 4,3"
        assert lines[1] == "INFO timeout_turn 500" and all(line.startswith("INFO") for line in lines[1:7])
        assert lines[7:9] == ["BEGIN", f"TURN {format_cell(reply, M433)}"]
        assert lines[9:] == ["RESTART", *board_lines(other), "RESTART", "BEGIN"]

    @pytest.mark.parametrize(
        ("answer", "outcome"),
        [("echo 0,0", "taken"), ("echo 9,9", "unreadable"), ("echo ERROR no", "unreadable"),
         ("echo UNKNOWN", "unreadable"), ("exit 1", "crashed"), ("cat /dev/zero", "flooded")],
    )  # fmt: skip
    def test_what_is_no_move_has_its_name(self, answer, outcome):
        position = Position.parse("X../.O./...")
        with engine(f"DONE) {answer};; BEGIN) echo 1,1;;") as agent:
            assert agent.answer(position).outcome == outcome
            assert agent.answer(TICTACTOE.start).cell == 4

    @pytest.mark.parametrize(
        "late",
        ["BEGIN) echo 1,1; echo 0,0;;", "BEGIN) echo 1,1;; RESTART) echo 0,0; echo OK;;",
         r"BEGIN) echo 1,1;; RESTART) printf 'OK\n0,0\n';;",
         r"""BEGIN) printf "${half}1,1\n";; RESTART) printf 'OK\n0'; half=',0\n';;"""],
    )  # fmt: skip
    def test_a_move_too_many_is_told(self, late):
        started = 'START*) echo "MESSAGE hello"; echo "OK - fine";;'
        with engine(late, started) as agent:
            assert agent.answer(TICTACTOE.start).cell == 4
            with pytest.raises(errors.UntrustedAnswersError, match="'0,0'"):
                agent.answer(TICTACTOE.start)
            assert not agent._programs

    def test_a_move_too_many_that_is_begun_between_two_questions_is_told(self):
        cases = r"BEGIN) echo 1,1; sleep 0.05; printf 0;; RESTART) printf ',0\nOK\n';;"
        with engine(cases, "START*) echo OK;;") as agent:
            assert agent.answer(TICTACTOE.start).cell == 4
            (program,) = agent._idle
            assert select([program._out], [], [], 60)[0]  # its beginning has come
            with pytest.raises(errors.UntrustedAnswersError, match="'0,0'"):
                agent.answer(TICTACTOE.start)

    @pytest.mark.parametrize("late", ["END) echo DEBUG bye; echo 0,0;;", r"RESTART) printf 'OK\n0,0\n';;"])
    def test_a_move_too_many_is_told_at_the_end(self, late):
        with engine(f"BEGIN) echo 1,1;; {late}", STARTED.partition("RESTART)")[0]) as agent:
            assert agent.answer(TICTACTOE.start).cell == 4
            with pytest.raises(errors.UntrustedAnswersError, match="'0,0'"):
                agent.check_asked()

    def test_a_move_before_the_first_question_is_told(self):
        with engine("BEGIN) echo 1,1;;", r"START*) printf 'OK\n0,0\n';;") as agent:
            with pytest.raises(errors.UntrustedAnswersError, match="'0,0'"):
                agent.answer(TICTACTOE.start)

    def test_messages_may_come_at_any_time(self):
        """Also in two parts, the second of which would be a move."""
        cases = r"BEGIN) printf '0,0\nDEBUG\n1,1\nMESSAGE ';; RESTART) printf '0,0\nOK\nMESSAGE x\nDEBUG ';;"
        with engine(cases, r"START*) printf 'OK\nDEBUG ';;") as agent:
            for _ in range(2):
                assert agent.answer(TICTACTOE.start).cell == 4
            agent.check_asked()

    def test_a_board_that_was_not_answered_is_not_taken_for_the_one_before(self):
        """The engine has another board than the last one that it answered, so no TURN goes on from there."""
        cases = "BEGIN) echo 1,1;; DONE) echo 9,9;; TURN*) echo 2,0;;"
        with engine(cases) as agent:
            assert agent.answer(TICTACTOE.start).cell == 4
            assert agent.answer(Position.parse("X../.../.O.").play(4)).outcome == "unreadable"
            after = TICTACTOE.start.play(4).play(0)
            assert agent.answer(after).outcome == "unreadable"  # told by BOARD, not by TURN

    @pytest.mark.slow
    def test_several_processes_of_our_engine_have_a_board_each(self):
        game = ttt_env.get_game("mnk-v0:m=3,n=2,k=3")
        command = [*OURS, "minimax", "--protocol", "piskvork", "--game", game.name]
        with PiskvorkAgent(game, command, seconds=0.1) as agent:
            assert ttt_env.certify(agent, workers=2).unbeatable

    def test_who_knows_no_restart_is_started_anew(self):
        started = "START*) echo OK;; RESTART) echo UNKNOWN;;"
        with engine("DONE) echo 2,2;; BEGIN) echo 1,1;;", started) as agent:
            for _ in range(2):
                assert agent.answer(Position.parse("X../.O./...")).cell == 8
            assert agent.answer(TICTACTOE.start).cell == 4

    def test_who_does_not_play_on_the_board_is_no_player(self):
        with engine("", "START*) echo ERROR only 15;;") as agent:
            with pytest.raises(errors.PlayerError, match="answers 'ERROR only 15' to START 3"):
                agent.answer(TICTACTOE.start)

    def test_who_never_starts_loses_its_games(self):
        with engine("", "START*) exit 1;;") as agent:
            assert agent.answer(TICTACTOE.start)[:2] == (None, "crashed")

    @pytest.mark.parametrize("settings", [{"seconds": 0}, {"timeout": 0}, {"folder": "/no/such"}], ids=str)
    def test_parameters_are_checked(self, settings):
        with pytest.raises(errors.ParameterError, match=str(next(iter(settings.values())))):
            PiskvorkAgent(TICTACTOE, "true", **settings)

    def test_it_runs_in_its_folder_with_its_memory(self, tmp_path):
        (tmp_path / "engine.sh").write_text(shell(f"{STARTED} BEGIN) echo 1,$(($(ulimit -v) / 262144));;")[2])
        spec = f"piskvork:sh engine.sh,folder={tmp_path},memory=256"
        agent = ttt_env.make_agent(spec, TICTACTOE)
        with agent, pickle.loads(pickle.dumps(agent)) as copy:
            assert (copy.folder, copy.memory, repr(copy)) == (tmp_path, 256, repr(agent))
            assert agent.answer(TICTACTOE.start).said == copy.answer(TICTACTOE.start).said == "1,1"


@pytest.mark.slow
@pytest.mark.parametrize("game", ["tictactoe-v0", "mnk-v0:m=8,n=8,k=5"])
def test_a_thousand_games_without_an_error(game, tmp_path):
    log = tmp_path / "log"
    command = ["sh", "-c", f"{' '.join(OURS)} random --protocol piskvork --game {game} --seed 0 | tee {log}"]
    with PiskvorkAgent(ttt_env.get_game(game), command) as agent:
        match = ttt_env.match(agent, "random", game, games=1000, rng=0)
    lines = log.read_text().splitlines()
    assert match.games == 1000 and match.forfeits == ((), ()) and len(lines) > 4000
    assert all(line == "OK" or read_cell_name(line, ttt_env.get_game(game)) >= 0 for line in lines)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pygomo") is None, reason="pygomo-lib is not installed")
@pytest.mark.parametrize(("size", "n_games"), [(8, 1000), (15, 20)])
def test_an_independent_client_plays_with_our_engine(size, n_games):
    ours = [*OURS, "random", "--protocol", "piskvork", "--seed", "0"]
    command = [sys.executable, str(CLIENT), str(size), str(n_games), *ours]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ | PATHS)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{n_games} games\n"
