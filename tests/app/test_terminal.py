"""People at the terminal, played by lists of answers."""

import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import ttt_env
from tests.support.games import TICTACTOE, highest, lowest
from ttt_env.agents.learned.imitation import Imitation
from ttt_env.app.console import Interrupted, ProgressLine, _rich
from ttt_env.app.terminal.board import board
from ttt_env.app.terminal.play import Player, PlaySession, Terminal, players_for
from ttt_env.app.terminal.replay import records_of, replay_all
from ttt_env.errors import IllegalMoveError
from ttt_env.render.words import cell_name, cells_text, parse_cell
from ttt_env.rules.catalogue import CATALOGUE
from ttt_env.storage.game_log import GameLog


class Person:
    """A person who gives the answers of a list; an exception class in it is raised."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, prompt):
        self.asked.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, type):
            raise answer
        return answer


def play_session(*answers, players=("person", lowest), game="tictactoe-v0", **options):
    """The session after these answers, and its output. The person is called "you" here."""
    game, screen = ttt_env.get_game(game), StringIO()
    seated = tuple(
        Player("you", "person") if spec == "person" else Player("bot", "bot", ttt_env.make_agent(spec, game))
        for spec in players
    )
    session = PlaySession(game, seated, np.random.default_rng(0))
    person = Person(*answers)
    Terminal(session, Console(file=screen, width=100), person, **options).run()
    assert not person.answers
    return session, screen.getvalue()


def scores(session):
    return *session.wins, session.draws


NOTHING_TO_UNDO = "There is no move of yours to take back."
TWO = {"players": ("person", "person")}


def scripted(*cells):
    """A player that plays these cells."""
    script = iter(cells)
    return lambda position: next(script)


@pytest.mark.parametrize(
    ("answers", "options", "cells", "score", "counts"),
    [("4 2 6  4 2 6 n", {}, [0, 4, 1, 2, 3, 6], (2, 0, 0), {"You are X.": 1, "You win!": 2, "You are O.": 1}),
     ("0 3 6 n", {"players": ("person", highest), "game": "tictactoe-v0:misere=true"}, [0, 8, 3, 7, 6],
      (0, 1, 0), {"You lose.": 1, "*X*": 3}),
     ("0 1 6 5 8 n", {"players": ("person", scripted(4, 2, 3, 7))}, [0, 4, 1, 2, 6, 3, 5, 7, 8], (0, 0, 1),
      {"A draw.": 1}),
     ("undo 4 2 u 6 q", {}, [4, 0, 6, 1], (0, 0, 0), {NOTHING_TO_UNDO: 1}),  # and the reply with it
     ("u 4 u 5 q", {"players": (lowest, "person")}, [0, 5, 1], (0, 0, 0), {NOTHING_TO_UNDO: 1}),  # no opening
     ("0 1 2 u u q", TWO, [0], (0, 0, 0), {NOTHING_TO_UNDO: 0}),
     ("  q", {}, [], (0, 0, 0), {"┌": 3}),  # an empty answer shows the board again
     ("B2 \tc1\t a3 n", {}, [4, 0, 2, 1, 6], (1, 0, 0), {}),
     ("r y resign n", {}, [0], (0, 2, 0), {"You resign.": 2}),
     ("0 n", {"players": ("person", "process:sh -c 'exit 3'")}, [0], (1, 0, 0),
      {"makes no legal move (crashed) and loses": 1, "You win!": 1}),
     ("4 2 new 0 q", {}, [0, 1], (0, 0, 0), {"You are X.": 2}),
     ("r what 5 n", {}, [], (0, 1, 0), {"Type y or n.": 2}),
     ("r r r", {"games": 3}, [], (0, 3, 0), {"You resign.": 3})],
)  # fmt: skip
def test_session_of_answers(answers, options, cells, score, counts):
    session, output = play_session(*answers.split(" "), **options)
    assert (session.cells, scores(session)) == (cells, score)
    assert {text: output.count(text) for text in counts} == counts


def interrupt(position):
    raise KeyboardInterrupt


def test_leaving_during_game():
    for leaving in ("q", "quit", "exit", "QUIT ", EOFError):
        session, output = play_session("4", leaving, players=("person", lowest))
        assert scores(session) == (0, 0, 0) and session.cells == [4, 0]
        assert output.endswith("Goodbye. Final score: you 0, draws 0, bot 0.\n")


def test_ctrl_c_ends_with_score():
    for answers, bot in ((["4", KeyboardInterrupt], lowest), (["4"], interrupt)):
        with pytest.raises(Interrupted, match="interrupted: final score: you 0, draws 0, bot 0") as ended:
            play_session(*answers, players=("person", bot))
        assert ended.value.status == 130


NONSENSE = [*"9 -1 4.0 X b0 d1 1b2 ß \x00 b2b2 0x1 ² ١ hin [red] /".split(" "), "9" * 5000]


def test_invalid_answers_change_nothing():
    session, output = play_session("4", *NONSENSE, "4", "0", "b2", "q")
    assert session.cells == [4, 0]
    assert output.count("is not a cell") == len(NONSENSE)
    assert output.count("cell 4 of O../.X./... is taken") == 2
    assert output.count("cell 0 of O../.X./... is taken") == 1


def test_finished_game_does_not_change():
    people = Player("A", "person"), Player("B", "person")
    session = PlaySession(ttt_env.get_game("tictactoe-v0"), people, np.random.default_rng(0))
    for cell in (0, 3, 1, 4, 2):
        session.play(cell)
    for change in (session.undo, session.resign, lambda: session.play(8)):
        with pytest.raises(IllegalMoveError, match="over"):
            change()
    assert (session.cells, session.winner, scores(session)) == ([0, 3, 1, 4, 2], "X", (1, 0, 0))
    session.next_game()
    assert (session.cells, session.is_over, session.to_move) == ([], False, people[1])


def test_agents_play_given_number_of_games():
    bots = ("random", lowest)
    session, output = play_session(players=bots, games=5)
    assert sum(scores(session)) == 5
    assert output.count("Score: ") == 5
    assert sum(scores(play_session(players=bots)[0])) == 1


def test_hint():
    assert "X draws with best play: every move does." in play_session("h", "q")[1]
    session, output = play_session("0", "hint", "q")  # the bot has replied with 1, which loses
    best = ttt_env.solve("tictactoe-v0").best_cells(session.position)
    assert f"X wins with best play: {cells_text(best, session.game)}." in output
    output = play_session("0", "1", "4", "?", "h", "q", players=("person", "person"))[1]
    assert "O loses against best play: all moves lose." in output
    assert output.count("q quit") == 2


@pytest.mark.slow
def test_hint_on_a_large_board():
    moves = ("0", "h", "1", "2", "3", "h", "q")
    output = play_session(*moves, game="mnk-v0:m=8,n=8,k=5", players=("person", highest))[1]
    assert re.search(r"A tree search would play .*, and expects [+−-]\d\.\d\d for X", output)
    assert "X wins with best play: 4 (e1)." in output


def test_finished_games_are_recorded_and_imitated_at_once(tmp_path):
    with GameLog(tmp_path / "games.sqlite") as log:
        bot = Imitation(TICTACTOE, str(log.path), lowest)
        session, output = play_session(
            "r", "r", "4", "2", "6", "", "q", players=("person", bot), log=log, games=4
        )
        assert session.cells == [4]  # not 0, as X in the first game
        assert output.count("Recorded as game") == 1 and f"recorded in {log.path}" in output
        [logged] = log.games(TICTACTOE)
        record = ttt_env.GameRecord(TICTACTOE, (4, 0, 2, 1, 6))
        assert logged[:4] == (record, "person", "bot", "terminal") and str(record) in output


def test_seats():
    names = lambda *arguments: [(p.name, p.spec) for p in players_for(*arguments, TICTACTOE)]  # noqa: E731
    assert names(["random"], None) == [("you", "person"), ("random", "random")]
    assert names(["random"], "O") == [("random", "random"), ("you", "person")]
    assert names(["random", "person"], None) == [("random", "random"), ("you", "person")]
    assert names(["person"], None) == [("player A", "person"), ("player B", "person")]
    assert names(["block", "block"], None) == [("block A", "block"), ("block B", "block")]
    for bad_arguments in (["random"] * 3, None), (["random"] * 2, "X"):
        with pytest.raises(ttt_env.errors.ParameterError):
            players_for(*bad_arguments, TICTACTOE)


@pytest.mark.parametrize("game", [*CATALOGUE, "mnk-v0:m=30,n=2,k=2", "mnk-v0:m=1,n=12,k=3"])
def test_cell_names_are_parsed_again(game):
    game = ttt_env.get_game(game)
    names = [cell_name(cell, game) for cell in range(game.n_cells)]
    assert [parse_cell(name, game.start) for name in names] == list(range(game.n_cells))
    assert [parse_cell(str(cell), game.start) for cell in range(game.n_cells)] == list(range(game.n_cells))
    with pytest.raises(IllegalMoveError):
        parse_cell(str(game.n_cells), game.start)


@pytest.mark.parametrize(
    ("game", "columns"),
    [
        ("connect-four-v0", "a b c d e f g"),
        ("connect-four-v0:m=3,n=12,k=3", "a b c"),
        ("score-four-v0", "a1 b1 c1 d1 a2 b2 c2 d2 a3 b3 c3 d3 a4 b4 c4 d4"),
    ],
)
def test_column_is_cell_where_stone_lands(game, columns):
    game = ttt_env.get_game(game)
    for name, cells in zip(columns.split(), game.columns, strict=True):
        position = game.start
        for cell in cells:
            assert parse_cell(name.upper(), position) == cell
            position = position.play(cell)
            if position.is_over:
                break
    with pytest.raises(
        IllegalMoveError, match=f"; {columns[:2].strip()} to {columns[-2:].strip()} are columns"
    ):
        parse_cell("z", game.start)


def test_full_column_is_refused_and_other_games_have_no_columns():
    position = ttt_env.Position.parse("O../X../O../X..", ttt_env.get_game("connect-four-v0:m=3,n=4,k=3"))
    with pytest.raises(IllegalMoveError, match=r"cell 0 .* is taken"):
        position.play(parse_cell("a", position))
    with pytest.raises(IllegalMoveError, match=r"0 to 8 or a1 to c3 are$"):
        parse_cell("a", TICTACTOE.start)


def test_names_hold_layer_then_column_then_row():
    assert cell_name(5, TICTACTOE) == "c2"
    assert cell_name(16 + 8 + 1, ttt_env.get_game("qubic-v0")) == "2b3"


def test_board_is_readable_without_colour():
    position = ttt_env.Position.parse("XXX/OO./...")
    assert board(position, last=2, numbers=False).plain.count("*X*") == 3
    text = board(ttt_env.Position.parse("X../.O./..."), last=4)
    assert "│[O]│ 5 │" in text.plain
    assert {span.style for span in text.spans} >= {"bold red", "bold cyan"}


def test_lines_fit_terminal_width():
    start = ttt_env.get_game("qubic-v0").start
    for width, boards_abreast in ((110, 4), (80, 2), (30, 1)):
        lines = board(start, width=width).plain.split("\n")
        assert max(map(len, lines)) <= width
        assert lines[0].count("layer") == boards_abreast


def replay_output(text, ask=None):
    screen = StringIO()
    replay_all(records_of(text), Console(file=screen, width=80), ask)
    return screen.getvalue()


@pytest.mark.slow
def test_replay_marks_blunders_only_in_solvable_games():
    output = replay_output("tictactoe-v0: 4 1 0 8 2 6")
    assert output.count("┌") == 7
    assert output.count("A blunder") == 2
    assert "2. O 1 (b1)\nA blunder: O could draw with 0 (a1), 2 (c1), 6 (a3) or 8 (c3), and" in output
    assert "5. X 2 (c1)\nA blunder: X could win with 3 (a2) or 6 (a3), and now draws." in output
    assert "Unfinished: X is to move." in output
    assert "blunder" not in replay_output("mnk-v0:m=8,n=8,k=5: 0 1 2")
    assert "O wins." in replay_output("tictactoe-v0:misere=true: 0 4 1 8 2")


def test_replay_steps_forward_and_back():
    assert replay_output("tictactoe-v0: 4 1", Person("", "b", "b", "?", "", "", "")).count("┌") == 6
    assert replay_output("tictactoe-v0: 4 1", Person("", "q")).count("┌") == 2


def test_replay_of_file(tmp_path):
    path = tmp_path / "games.txt"
    path.write_text("tictactoe-v0: 4\n\nmnk-v0:m=4,n=3,k=3: 5 0\n", encoding="utf-8")
    assert replay_output(str(path)).count("Unfinished") == 2
    path.write_text("tictactoe-v0: 4\nnonsense\n", encoding="utf-8")
    with pytest.raises(ttt_env.errors.NotationError, match=r"games.txt, line 2: 'nonsense'"):
        records_of(str(path))
    with pytest.raises(ttt_env.errors.NotationError, match="neither a game record"):
        records_of("nonsense" * 1000)


def test_progress_line_fits_in_80_columns():
    for task, text in [
        ("solve", "does O win? 64 moves a position, 1,000,000,000,000 nodes"),
        ("certify " + "x" * 500, "123,456 of 654,321"),
    ]:
        screen, line = StringIO(), ProgressLine(task)
        line.say(text)
        with _rich(line, Console(file=screen, width=80, force_terminal=True, color_system=None)):
            pass
        assert text in screen.getvalue()
