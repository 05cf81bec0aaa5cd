"""UCI: our agents as engines, and engines as opponents."""

import pickle
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ttt_env
from tests.support.engines import LARGE, M433, OURS, Heard, dialogue, logged, shell
from tests.support.games import TICTACTOE, open_boards
from tests.support.refusals import all_raise
from ttt_env import Game, Position, errors
from ttt_env.engines.serving import patient_agent
from ttt_env.engines.uci import (
    UciAgent,
    UciEngine,
    format_move,
    position_command,
    read_move,
    read_position,
    thinking_seconds,
    variant_name,
    variants_file,
)
from ttt_env.text.players.process import Program

SQUARE = ttt_env.get_game("square-v0")
FIVE = ttt_env.get_game("mnk-v0:m=6,n=6,k=5")
LINE = Game("line", (5,), [(0, 1), (3, 4)])
FAIRY = shutil.which("fairy-stockfish") or shutil.which("/usr/games/fairy-stockfish")
needs_fairy = pytest.mark.skipif(FAIRY is None, reason="the program fairy-stockfish is not installed")


def said(agent, *lines, game=TICTACTOE):
    return dialogue(lambda heard: UciEngine(agent, game, heard, rng=0), *lines)


def last_move(lines, game=TICTACTOE):
    word, move = lines[-1].split()
    assert word == "bestmove"
    return read_move(move, game)


class TestNotation:
    @pytest.mark.parametrize("game", [TICTACTOE, M433, LINE, LARGE], ids=lambda game: game.name)
    def test_every_cell_has_a_square_of_its_own(self, game):
        squares = [format_move(cell, game) for cell in range(game.n_cells)]
        assert len(set(squares)) == game.n_cells
        assert [read_move(square, game) for square in squares] == list(range(game.n_cells))

    def test_squares_are_counted_from_the_lower_left(self):
        assert [format_move(cell, M433) for cell in (8, 11, 0, 3)] == ["P@a1", "P@d1", "P@a3", "P@d3"]
        assert read_move("d3", M433) == read_move("p@D3", M433) == 3

    def test_other_texts_are_no_moves(self):
        texts = ["", "P@", "P@a4", "P@d1", "P@a0", "P@a01", "N@a1", "a1a2", "P@a1 ", "P@á1"]
        all_raise(errors.NotationError, "a1 to c3", lambda text: read_move(text, TICTACTOE), texts)

    @pytest.mark.parametrize("game", [TICTACTOE, M433], ids=lambda game: game.name)
    def test_a_command_sets_up_each_position(self, game):
        rng = np.random.default_rng(0)
        positions = open_boards(game)
        for index in rng.choice(len(positions), 3000, replace=False):
            word, *words = position_command(positions[index]).split()
            assert word == "position" and read_position(words, game) == positions[index]

    @pytest.mark.parametrize(
        ("fen", "board"),
        [
            ("3/3/3[PPPPPppppp] w - - 0 1", ".../.../..."),
            ("3/1p1/P2[PPPPpppp] w - - 2 2", ".../.O./X.."),
            ("PpP/3/1p1 w", "XOX/.../.O."),
            ("PpP/3/3 b - - 0 1 moves b2", "XOX/.O./..."),
            ("3/P2/3", ".../X../..."),
        ],
    )
    def test_boards_of_fairy_stockfish_are_read(self, fen, board):
        assert str(read_position(["fen", *fen.split()], TICTACTOE)) == board

    def test_what_is_no_position_is_refused(self):
        texts = ["", "startpos a1", "startpos moves z9", "fen", "fen 3/3", "fen 3/3/4 w", "fen 3/3/2q w"]
        texts += ["fen 3/3/0111 w", "fen 3/3/2P w", "fen 3/3/1010 w", "fen 3/3/99999999999999999999 w"]
        texts.append(f"fen {'1' * 2000}x/3/3 w")  # tried once
        for error, wrong in {
            errors.NotationError: texts,
            errors.ImpossiblePositionError: ["fen 3/3/1PP b"],
            errors.IllegalMoveError: ["startpos moves a1 a1", "startpos moves a1 b1 a2 b2 a3 b3"],
        }.items():
            all_raise(error, "", lambda words: read_position(words.split(), TICTACTOE), wrong)

    def test_variants_have_the_rules_of_the_game(self):
        text = variants_file(M433)
        assert text.startswith("[mnk-v0-m-4-n-3-k-3]\n")
        start = "startFen = 4/4/4[PPPPPPpppppp] w - - 0 1"
        for line in ("maxRank = 3", "maxFile = 4", "connectN = 3", start):
            assert f"\n{line}\n" in text
        assert variant_name(TICTACTOE) == "tictactoe"

    def test_other_games_cannot_be_told(self):
        games = [SQUARE, ttt_env.get_game("tictactoe-v0:misere"), LINE]
        all_raise(errors.ParameterError, "k in a row", variants_file, games)


class TestEngine:
    def test_introduces_itself(self):
        lines = said("minimax", "uci", "isready")
        assert lines[0].startswith("id name ttt_env") and lines[0].endswith(" minimax")
        assert lines[-2:] == ["uciok", "readyok"]
        assert "option name UCI_Variant type combo default tictactoe var tictactoe" in lines

    def test_plays_the_position_that_it_is_told(self):
        block = "position startpos moves P@a1 P@b2 P@a2"
        assert last_move(said("minimax", block, "go movetime 100")) == read_move("a3", TICTACTOE)
        win = "position fen PP1/pp1/3 w - - 0 1"
        assert last_move(said("minimax:prefer=fast", win, "go")) == read_move("c3", TICTACTOE)

    def test_has_no_move_after_the_end(self):
        lines = said("minimax", "position startpos moves a1 b1 a2 b2 a3", "go infinite")
        assert lines == ["bestmove (none)"]

    @pytest.mark.parametrize(
        "line",
        [
            *("foo bar", "position", "position startpos moves a1 a1", "position fen 9/9/9 w", "setoption"),
            *(
                "setoption name Hash value 16",
                "setoption name UCI_Variant value chess",
                "go wtime soon btime",
            ),
            "\0\x1b[31m é",
        ],
    )
    def test_what_is_wrong_is_told_and_changes_nothing(self, line):
        before = "position startpos moves P@a1 P@b2 P@a2"
        lines = said("minimax", before, line, "isready", "go movetime 20")
        assert lines[0].startswith("info string error: ") and "\n" not in lines[0]
        assert "readyok" in lines
        assert last_move(lines) == read_move("a3", TICTACTOE) or line.startswith("go")

    @pytest.mark.parametrize(
        "line", ["", "   ", "ucinewgame", "stop", "debug on", "setoption name UCI_Variant value tictactoe"]
    )
    def test_what_is_right_is_done_without_a_word(self, line):
        assert said("minimax", line, "isready") == ["readyok"]

    @given(st.lists(st.lists(st.sampled_from(
        ["position", "startpos", "fen", "moves", "P@a1", "b2", "3/3/3", "PpP/3/3", "w", "b", "go", "stop",
         "uci", "wtime", "movetime", "infinite", "-1", "10", "1e3", "9" * 400, "setoption", "name", "value",
         "é", "\0"]
    ), max_size=6), max_size=8))  # fmt: skip
    @settings(max_examples=100)
    def test_nothing_that_is_sent_ends_it(self, commands):
        lines = said("rules", *map(" ".join, commands), "stop", "isready")
        assert lines[-1] == "readyok"
        starts = ("info string error: ", "id ", "option ", "uciok", "readyok", "bestmove ")
        assert all(line.startswith(starts) for line in lines)
        asked = [words for words in commands if words[:1] == ["go"]]
        assert sum(line.startswith("bestmove ") for line in lines) == len(asked)

    def test_nothing_is_heard_after_quit(self):
        assert said("minimax", "quit", "isready") == []

    def test_an_agent_that_fails_has_no_move(self):
        def failing(position):
            raise RuntimeError("no idea\nat all")

        told = "info string error: RuntimeError: 'no idea\\nat all'"
        assert set(said(failing, "go", "isready")) == {told, "bestmove (none)", "readyok"}

    def test_boards_without_squares_are_refused(self):
        games, text = [*map(ttt_env.get_game, ("qubic-v0", "mnk-v0:m=30,n=2,k=2"))], "UCI has boards of"
        all_raise(errors.ParameterError, text, lambda game: UciEngine("random", game, print), games)
        all_raise(errors.ParameterError, text, lambda game: UciAgent(game, "true"), games)


class TestTime:
    """No test here measures: an agent that is not told to move thinks for a day."""

    def test_endless_thinking_ends_by_stop_and_not_before(self):
        for agent in ("mcts", "rules"):  # one that thinks, one that knows its move at once
            heard = Heard()
            engine = UciEngine(agent, FIVE, heard, rng=0)
            engine.hear("go infinite")
            engine.hear("isready")
            assert heard == ["readyok"]
            engine.hear("stop")
            assert read_move(heard[-1].removeprefix("bestmove "), FIVE) in FIVE.start.legal_cells
            assert len(heard) == 2

    @pytest.mark.parametrize(
        "limits", ["movetime 100", "wtime 3000 btime 1 winc 10", "wtime 500 movestogo 5"]
    )
    @pytest.mark.parametrize("agent", ["mcts", "minimax"])
    def test_limits_end_the_thinking(self, agent, limits):
        heard = Heard()
        UciEngine(agent, FIVE, heard, rng=0).hear(f"go {limits}")
        assert heard.until("bestmove P@")

    def test_quit_ends_the_thinking(self):
        engine = UciEngine("mcts", FIVE, Heard(), rng=0)
        engine.hear("go infinite")
        assert not engine.hear("quit")
        assert not engine._mind._thread.is_alive()

    @pytest.mark.parametrize(
        ("limits", "plies", "least", "most"),
        [
            ({}, 0, 1, 1),
            ({"movetime": 2000}, 0, 1.9, 2),
            ({"movetime": 20}, 0, 0.01, 0.02),
            ({"movetime": 0}, 0, 0, 0),
            ({"movetime": 2000, "wtime": 1, "btime": 1}, 0, 1.9, 2),
            ({"wtime": 60_000, "btime": 1}, 0, 2, 6),
            ({"wtime": 1, "btime": 60_000}, 1, 2, 6),
            ({"btime": 60_000}, 0, 1, 1),  # not its own clock
            ({"wtime": 60_000, "movestogo": 1}, 0, 50, 60),
            ({"wtime": 60_000, "movestogo": 0}, 0, 50, 60),
            ({"wtime": 1000, "winc": 60_000}, 0, 0.5, 1),  # the increment comes after the move
            ({"wtime": 0}, 0, 0, 0),
            ({"btime": 60_000}, 35, 50, 60),  # the last move of the game
        ],
    )
    def test_a_share_of_the_clock_is_used(self, limits, plies, least, most):
        position = FIVE.start
        for cell in range(plies):
            position = position.child(cell)
        assert least <= thinking_seconds(limits, position) <= most

    def test_a_game_on_the_clock_does_not_run_out_of_time(self):
        left, position = 10.0, FIVE.start
        while position.legal_mask:
            limits = {"wtime": round(1000 * left), "btime": round(1000 * left)}
            left -= thinking_seconds(limits, position) if position.to_move == "X" else 0
            assert left > 0
            rng = np.random.default_rng((position.mine, position.theirs))
            position = position.child(int(rng.choice(position.legal_cells)))

    @pytest.mark.parametrize(
        ("spec", "game", "is_patient"),
        [
            ("mcts", FIVE, True),
            ("mcts:c=1.2", FIVE, True),
            ("minimax", FIVE, True),
            ("minimax", TICTACTOE, False),  # knows all positions
            ("mcts:threats=true", LARGE, True),
            ("minimax", LARGE, True),
            ("mcts:simulations=50", FIVE, False),
            ("mcts:seconds=0.01", FIVE, False),
            ("minimax:depth=2", FIVE, False),
            ("rules", FIVE, False),
        ],
    )
    def test_who_is_given_no_budget_searches_until_it_is_told(self, spec, game, is_patient):
        assert (patient_agent(spec, game).seconds_per_move > 1000) is is_patient

    def test_who_does_not_play_the_game_says_so(self):
        specs = ["alphazero", "lookup", "softmax"]
        all_raise(errors.GameTooLargeError, "", lambda spec: patient_agent(spec, LARGE), specs)


VARIANT = "option name UCI_Variant type combo default x var tictactoe"
GREETED = f'uci) echo "{VARIANT}"; echo uciok;; isready) echo readyok;;'
HANGS = '"position startpos moves"*) {};;'
LATER = TICTACTOE.start.play(0)


def engine(answer, greeted=GREETED, **settings):
    settings.setdefault("timeout", 60)
    return UciAgent(TICTACTOE, shell(f"{greeted} go*) {answer};;"), depth=1, **settings)


class TestPlayer:
    def test_plays_what_is_answered(self):
        with engine('echo "info depth 1 score cp 0"; echo "bestmove P@b2 ponder P@a1"') as agent:
            assert agent.answer(TICTACTOE.start) == (4, "played", "P@b2")
            assert agent.choose(TICTACTOE.start, np.random.default_rng(0)) == 4
            with pytest.raises(errors.IllegalMoveError, match="P@b2"):
                agent.choose(TICTACTOE.start.play(4), np.random.default_rng(0))

    @pytest.mark.parametrize(
        ("answer", "outcome"),
        [
            ("echo bestmove P@a1", "taken"),
            ("echo bestmove P@a9", "unreadable"),
            ("echo bestmove", "unreadable"),
            ('echo "bestmove (none)"', "unreadable"),
            ("exit 3", "crashed"),
            ("kill -SEGV $$", "crashed"),
        ],
    )
    def test_what_is_no_move_has_its_name(self, answer, outcome):
        with engine(answer) as agent:
            for _ in range(2):  # it is started again where it has ended
                assert agent.answer(Position.parse("XO./.../X..").play(4)).outcome == outcome

    def test_who_hangs_is_ended_and_started_again(self):
        with engine("echo bestmove b2", greeted=GREETED + HANGS.format("sleep 1000")) as agent:
            assert agent.answer(TICTACTOE.start).cell == 4
            agent.timeout = 0.2
            with pytest.raises(errors.NotJudgedError, match="timed out 3 times"):
                agent.answer(LATER)
            agent.timeout = 60
            assert agent.answer(TICTACTOE.start).cell == 4

    @pytest.mark.parametrize("check", ["next question", "end"])
    def test_a_move_too_many_is_told(self, check):
        with engine(r"printf 'bestmove b2\nbestmove a1\n'") as agent:
            assert agent.answer(TICTACTOE.start).cell == 4
            with pytest.raises(errors.UntrustedAnswersError, match="'bestmove a1'"):
                agent.answer(TICTACTOE.start) if check == "next question" else agent.check_asked()
            assert not agent._programs

    @pytest.mark.parametrize("check", ["next question", "end"])
    @pytest.mark.parametrize("late", [r"bestmove a1\nreadyok\n", r"readyok\ninfo\nbestmove a1\n"])
    def test_a_move_that_comes_with_readyok_is_told(self, late, check):
        ready = f"isready) [ $late ] && printf '{late}' || echo readyok;;"
        with engine("late=1; echo bestmove b2", greeted=f"{GREETED.partition('isready')[0]}{ready}") as agent:
            assert agent.answer(TICTACTOE.start).cell == 4
            with pytest.raises(errors.UntrustedAnswersError, match="'bestmove a1'"):
                agent.answer(TICTACTOE.start) if check == "next question" else agent.check_asked()

    def test_a_move_that_begins_before_the_question_and_ends_after_it_is_told(self):
        greeted = GREETED.replace("echo readyok", r"printf 'readyok\n'$half")
        with engine('echo ${move:-bestmove b2}; half=bestm; move="ove a1"', greeted) as agent:
            assert agent.answer(TICTACTOE.start).cell == 4
            with pytest.raises(errors.UntrustedAnswersError, match="'a1'"):
                agent.answer(TICTACTOE.start)

    def test_a_move_before_the_first_question_is_told(self):
        with engine("echo bestmove b2", greeted=GREETED.replace("uci)", "uci) echo bestmove a1;")) as agent:
            with pytest.raises(errors.UntrustedAnswersError, match="'bestmove a1'"):
                agent.answer(TICTACTOE.start)

    def test_other_lines_may_come_at_any_time(self):
        """Also in two parts, the second of which would be a move."""
        cases = GREETED.replace("echo readyok", r"printf 'info\nreadyok\ninfo\ninfo string '")
        with engine("echo bestmove a1; echo info; echo bestmove b2; printf 'info string '", cases) as agent:
            for _ in range(2):
                assert agent.answer(TICTACTOE.start).cell == 4
            agent.check_asked()

    def test_a_move_that_comes_after_readyok_is_told_in_the_end(self):
        """Each move arrives once the next question is asked: the answers are shifted by one."""
        cases = GREETED + 'go*) [ "$before" ] && echo bestmove $before; before=b2;; quit) echo bestmove c3;;'
        with UciAgent(TICTACTOE, shell(cases), depth=1, timeout=0.2, startup=60) as agent:
            with pytest.raises(errors.NotJudgedError):  # the first question has no answer
                agent.answer(TICTACTOE.start)
        with engine("echo bestmove b2; (sleep 0.05; echo bestmove a1) &") as agent:
            with pytest.raises(errors.UntrustedAnswersError, match="'bestmove "):
                ttt_env.certify(agent)

    def test_an_engine_is_ended_in_the_middle_of_a_conversation(self, monkeypatch):
        """A question after an interrupt is answered by an engine that has heard nothing else."""
        with engine("echo bestmove b2") as agent:
            with monkeypatch.context() as patch:
                patch.setattr(Program, "read", pytest.fail)
                with pytest.raises(pytest.fail.Exception):
                    agent.answer(TICTACTOE.start)
            assert not agent._programs
            assert agent.answer(TICTACTOE.start).cell == 4

    def test_its_start_has_a_clock_of_its_own(self):
        with engine("echo bestmove b2", greeted=f"uci) sleep 0.6; {GREETED[4:]}", timeout=0.4) as agent:
            assert agent.answer(TICTACTOE.start).cell == 4

    @pytest.mark.parametrize(
        ("command", "settings", "why"),
        [
            (shell(GREETED.replace("tictactoe", "chess")), {}, "reads no files of variants"),
            (shell(GREETED), {"variant": "gomoku"}, "no variant 'gomoku'; it has tictactoe"),
            (shell("uci) echo uciok;;"), {"variant": "gomoku"}, "has no option UCI_Variant"),
            (shell(GREETED), {"options": "Hash=1"}, "has no option 'Hash'; it has uci_variant"),
        ],
        ids=["variants", "variant", "option", "options"],
    )
    def test_who_cannot_be_set_up_is_no_player(self, command, settings, why):
        with UciAgent(TICTACTOE, command, **settings) as agent, pytest.raises(errors.PlayerError, match=why):
            agent.answer(TICTACTOE.start)

    @pytest.mark.parametrize(
        ("command", "outcome"),
        [("true", "crashed"), (shell("uci) echo hello; exit;;"), "crashed"), ("cat", "timed out"),
         (["cat", "/dev/zero"], "flooded"), (["sh", "-c", "cat /dev/zero >&2"], "flooded")],
        ids=["ends", "greets wrongly", "echoes", "floods", "floods errors"],
    )  # fmt: skip
    def test_who_never_greets_loses_its_games(self, command, outcome):
        with UciAgent(TICTACTOE, command, startup=0.2 if outcome == "timed out" else 60) as agent:
            match = ttt_env.match(agent, "random", TICTACTOE, games=2, rng=0)
        assert match.as_x.loss == match.as_o.loss == 1
        assert [(lost.outcome, lost.games) for lost in match.forfeits[0]] == [(outcome, 2)]

    def test_a_simple_engine_needs_no_variants(self):
        with engine("echo bestmove a1", greeted="uci) echo uciok;; isready) echo readyok;;") as agent:
            assert agent.answer(TICTACTOE.start).cell == 6

    @pytest.mark.parametrize(
        ("settings", "named"),
        [
            ({"depth": 0}, "depth=0"),
            ({"nodes": True}, "nodes=True"),
            ({"seconds": 0}, "seconds=0"),
            ({"seconds": float("inf")}, "seconds=inf"),
            ({"timeout": -1}, "timeout=-1"),
            ({"options": "Hash"}, "options='Hash'"),
            ({"options": "Hash=1\nquit"}, "options="),
            ({"variant": "x\nquit"}, "variant="),
            ({"variants": "/no/such/file"}, "variants='/no/such/file'"),
            ({"command": "no-such-program-anywhere"}, "no-such-program-anywhere"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_parameters_are_checked(self, settings, named):
        with pytest.raises(errors.ParameterError) as refused:
            UciAgent(TICTACTOE, **({"command": "true"} | settings))
        assert named in str(refused.value)

    def test_it_runs_in_its_folder_with_its_memory_and_so_does_a_copy(self, tmp_path):
        (tmp_path / "move").write_text("b2")
        answer = "[ $(ulimit -v) = 262144 ] && echo bestmove $(cat move)"
        with engine(answer, folder=tmp_path, memory=256) as agent:
            with pickle.loads(pickle.dumps(agent)) as copy:
                assert repr(copy) == repr(agent) == "<UciAgent sh depth=1 of tictactoe-v0>"
                assert copy.answer(TICTACTOE.start).cell == agent.answer(TICTACTOE.start).cell == 4

    def test_answers_are_kept_under_the_command_and_the_settings(self):
        agents = [
            UciAgent(TICTACTOE, command, depth=depth) for command in ("true a", "true b") for depth in (1, 2)
        ]
        assert len({agent.identity for agent in agents}) == 4
        assert UciAgent(TICTACTOE, "true a", depth=1).identity == agents[0].identity
        assert "true a" not in agents[0].identity  # an argument may be secret

    def test_limits_and_options_are_sent(self, tmp_path):
        log = tmp_path / "log"
        *_, loop = shell(f"{GREETED} go*) echo bestmove a1;;")
        command = ["sh", "-c", f"tee {log} | ({loop})"]
        spec = UciAgent(TICTACTOE, command, seconds=0.25, depth=3, nodes=10, options="UCI_Variant=tictactoe")
        with spec as agent:
            assert agent.seconds_per_move == 0.25
            agent.answer(Position.parse("X../.O./..."))
            lines = logged(log, 7)
        assert lines == [
            "uci",
            "setoption name UCI_Variant value tictactoe",
            "setoption name UCI_Variant value tictactoe",
            "isready",
            "isready",
            "position startpos moves P@a3 P@b2",
            "go movetime 250 depth 3 nodes 10",
        ]

    def test_our_engine_is_our_opponent(self):
        spec = f"uci:({' '.join(OURS)} minimax --protocol uci),seconds=0.1"
        match = ttt_env.match(spec, "random", TICTACTOE, games=4, rng=0)
        assert match.as_x.loss == match.as_o.loss == 0


@needs_fairy
class TestFairyStockfish:
    @pytest.mark.parametrize(
        "game", ["tictactoe-v0", "mnk-v0:m=4,n=3,k=3", "mnk-v0:m=5,n=5,k=4", "mnk-v0:m=8,n=8,k=5"]
    )  # fmt: skip
    def test_plays_games_of_k_in_a_row(self, game):
        match = ttt_env.match(f"uci:{FAIRY},depth=4", "random", game, games=4, rng=0)
        assert match.games == 4

    def test_is_certified_unbeatable(self):
        with UciAgent(TICTACTOE, [FAIRY], depth=12) as agent:
            assert ttt_env.certify(agent).unbeatable

    def test_is_made_weaker_by_its_options(self):
        with UciAgent(TICTACTOE, [FAIRY], depth=1, options="Skill Level=-20;Threads=1") as agent:
            assert not ttt_env.certify(agent).unbeatable

    def test_reads_a_file_of_the_user(self, tmp_path):
        file = tmp_path / "my.ini"
        file.write_text(variants_file(M433).replace(f"[{variant_name(M433)}]", "[mine]"))
        settings = {"variants": str(file), "variant": "mine", "depth": 5}
        with UciAgent(M433, [FAIRY], **settings) as agent:
            assert agent.answer(M433.start).cell is not None
        with (
            UciAgent(SQUARE, [FAIRY], depth=1) as agent,
            pytest.raises(errors.ParameterError, match="k in a row"),
        ):
            agent.answer(SQUARE.start)

    @pytest.mark.slow
    @pytest.mark.parametrize(("game", "n_positions"), [(TICTACTOE, 4520), (M433, 1000)], ids=["3×3", "4,3,3"])
    def test_agrees_with_our_values(self, game, n_positions):
        """Its move keeps the value, and its score says who wins, in every position of 3×3."""
        positions, solution = open_boards(game), ttt_env.solve(game)
        if len(positions) > n_positions:
            chosen = np.random.default_rng(0).choice(len(positions), n_positions, replace=False)
            positions = [positions[index] for index in chosen]
        assert len(positions) == n_positions
        with ScoringAgent(game, [FAIRY], depth=20) as agent:
            for position in positions:
                assert agent.answer(position).cell in solution.best_cells(position), str(position)
                assert agent.value == solution.value_of(position), str(position)


class ScoringAgent(UciAgent):
    """Keeps the value that the engine's last score says, from the side to move."""

    def _ask(self, program, position):
        read, lines = program.read, []
        program.read = lambda: lines.append(read()) or lines[-1]
        answer = super()._ask(program, position)
        program.read = read
        words = next(line for line in reversed(lines) if " score " in line).split()
        at = words.index("score")
        kind, number = words[at + 1], int(words[at + 2])
        self.value = 0 if kind == "cp" and number == 0 else int(np.sign(number)) if kind == "mate" else None
        return answer


@pytest.mark.slow
@pytest.mark.parametrize("game", ["tictactoe-v0", "mnk-v0:m=5,n=5,k=4"])
def test_a_thousand_games_without_an_error(game, tmp_path):
    log = tmp_path / "log"
    command = ["sh", "-c", f"{' '.join(OURS)} random --protocol uci --game {game} --seed 0 | tee {log}"]
    with UciAgent(ttt_env.get_game(game), command, seconds=1) as agent:
        match = ttt_env.match(agent, "random", game, games=1000, rng=0)
    lines = log.read_text().splitlines()
    assert match.games == 1000 and match.forfeits == ((), ())
    assert not [line for line in lines if "error" in line]
    said = [line for line in lines[lines.index("readyok") :] if line != "readyok"]
    assert len(said) > 3000 and all(line.startswith("bestmove P@") for line in said)


@needs_fairy
@pytest.mark.slow
def test_a_thousand_games_of_fairy_stockfish():
    match = ttt_env.match(f"uci:{FAIRY},depth=9", "random", "tictactoe-v0", games=1000, rng=0)
    assert match.forfeits == ((), ()) and match.games == 1000
    assert match.as_x.loss == match.as_o.loss == 0
