"""The game on the table, without a web server."""

from dataclasses import replace
from urllib.parse import parse_qsl

import numpy as np
import pytest

from tests.support.games import TICTACTOE
from tests.support.refusals import all_raise
from tests.web.reading import SMALL
from ttt_env import GameRecord, get_game, play_game
from ttt_env.errors import IllegalMoveError, ParameterError, TttEnvError
from ttt_env.web.controls import spec_of_values
from ttt_env.web.games import form_of_game, game_of_form, parse_game
from ttt_env.web.roster import PERSON, Roster, named_models
from ttt_env.web.table import PlayTable, Tickets, Visit, read_table, read_visit

GAMES = ["tictactoe-v0", "tictactoe-v0:misere=true", "square-v0:n=5",
         "square-v0:n=5,tilted=false,misere=true", SMALL, "qubic-v0"]  # fmt: skip


def table_of(*cells, x=PERSON, o="minimax"):
    return PlayTable(TICTACTOE, x, o, cells, len(cells))


@pytest.mark.parametrize("game", GAMES)
def test_an_address_holds_all_there_is_to_a_visit_and_a_form_to_a_game(game, roster):
    record = play_game("random", "random", game, rng=3)
    assert parse_game(game_of_form(form_of_game(record.game), record.game)) == record.game
    for at in range(len(record.cells) + 1):
        table = PlayTable(record.game, "softmax:temperature=0.25", PERSON, record.cells, at)
        for flags in ({}, {"sees": True, "ticket": "a-b"}, {"is_paused": True, "is_unrecorded": True}):
            visit = Visit(table, **flags)
            assert read_visit(dict(parse_qsl(visit.query)), roster) == (visit, [])


def test_the_numbers_of_one_kind_of_game_are_none_of_another():
    form = form_of_game(get_game("mnk-v0:m=6,n=5,k=3")) | {"kind": "square-v0"}
    assert parse_game(game_of_form(form, get_game("mnk-v0:m=6,n=5,k=3"))) == get_game("square-v0")


def test_playing_follows_the_rules_of_the_game():
    rng = np.random.default_rng(0)
    for _ in range(50):
        record, table = play_game("random", "random", rng=rng), PlayTable(TICTACTOE)
        for cell, position in zip(record.cells, record.positions(), strict=False):
            assert table.position == position
            all_raise(IllegalMoveError, "", table.played, {*range(-1, 10)} - set(position.legal_cells))
            table = table.played(cell)
        assert table.record == record and table.last == record.cells[-1]


def trail(table, step):
    steps = []
    while (table := step(table)) is not None:
        steps.append(table)
    return steps


def test_undo_goes_back_to_the_last_turn_of_the_person_and_redo_returns():
    table = table_of(4, 0, 8, 2)
    assert [step.at for step in trail(table, PlayTable.undone)] == [2, 0]
    back = trail(table, PlayTable.undone)[-1]
    assert [step.at for step in trail(back, PlayTable.redone)] == [2, 4]
    assert table_of(4, 0, 8, 2, x="random").undone().at == 3
    assert table_of(4, 0, 8, x="random", o="random").undone().at == 2
    assert table_of(0, 3, 1, 4, 2).undone().at == 4  # the winning move is taken back

    assert table_of(4, 0, 8, 2).undone().played(3).cells == (4, 0, 3)  # which forgets what was taken back
    assert table_of(4, 0, 8, 2).undone().record == GameRecord(TICTACTOE, (4, 0))


@pytest.mark.parametrize(
    ("moves", "kept"),
    [("4.4", (4,)), ("4.0.9", (4, 0)), ("4..0", (4,)), ("x", ()), ("4.-1", (4,)), ("4 0", ()),
     ("0.3.1.4.2.5", (0, 3, 1, 4, 2)), ("4.99999999999999999999", (4,)), ("²", ())],
)  # fmt: skip
def test_of_moves_that_are_none_the_legal_start_stays(moves, kept, roster):
    table, complaints = read_table({"moves": moves}, roster)
    assert table.cells == kept and table.at == len(kept) and len(complaints) == 1


NESTED = "(" * 1500 + ")" * 1500


@pytest.mark.parametrize(
    "fields",
    [{"game": "chess"}, {"game": "mnk-v0:m=99999999,n=3,k=3"}, {"game": "mnk-v0:m=-3"}, {"o": "<script>"},
     {"game": "mnk-v0:m=1000000,n=1000000,k=3"}, {"game": NESTED}, {"o": NESTED},
     {"game": "mnk-v0:m=+500,n=5,k=3"}, {"game": "mnk-v0:m=1_6,n=5,k=3"}, {"x": "person:5"},
     {"game": "square-v0:n=15"}, {"game": "mnk-v0:m=6,n=3,k=3"}, {"game": "tictactoe-v0:k=1"},
     {"game": ""}, {"x": "nobody"}, {"at": "1"},
     {"at": "-1"}, {"o": "mcts:simulations=100001"}, {"o": "mcts:seconds=31"}, {"o": "mcts:seconds=nan"},
     {"o": "minimax:depth=7"}, {"o": "softmax:temperature=inf"}, {"o": "mcts:simulations=1e3"}],
)  # fmt: skip
def test_what_is_out_of_bounds_is_named_and_left_out(fields, roster):
    table, complaints = read_table(fields, roster)
    assert len(complaints) == 1 and table == PlayTable(TICTACTOE)
    (text,) = fields.values()
    assert "allowed" in complaints[0] or "there are" in complaints[0] or text[:8] in complaints[0]


PATHS = ["/etc/passwd", "../x.npz", "model.zip", "C:\\x", "path=/etc/passwd"]


READERS = [
    "lookup",
    "sb3",
    "imitation",
    "epsilon",
    "best-response",
    "os.system",
    "process",
]
NO_PARTS = ["mixture:nobody+random", "mixture:imitation", "mixture:epsilon:random", "mixture:mixture:random",
            "mixture:" + "random+" * 6 + "random", "mixture:random,weights=1+2x", "rules:win+win", "rules:wi",
            "mixture:lookup:/etc/passwd+random", "mixture:(lookup:/etc/passwd)"]  # fmt: skip


def test_no_text_reaches_the_file_system_and_what_cannot_be_a_part_is_refused(roster, monkeypatch):
    monkeypatch.setattr("pathlib.Path.open", lambda *_: pytest.fail("a file was opened"))
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a program was started"))
    for text in [*(f"{name}:{path}" for name in READERS for path in PATHS), *NO_PARTS]:
        all_raise(TttEnvError, "", roster.parse, (text, f"epsilon:{text}", f"epsilon:({text})"))
    assert "2 agents" in roster.refusal("mixture:weights+random,weights=1+2+3", TICTACTOE)


def test_no_offered_agent_takes_free_text(roster):
    wrong = (*PATHS, "", "+", "win+", "random+lookup:/etc/passwd", "1+nan", "-1", "1+" * 9, "x" * 999)
    for name in roster.names:
        for control in roster.controls(name).values():
            assert control.choices or control.least <= control.most
            assert control.name not in ("path", "fallback")
            all_raise(TttEnvError, "", control.checked, wrong if control.read is not None else ())


@pytest.mark.parametrize(
    ("text", "usual"),
    [("mixture", "mixture:weights+random"), ("mixture:agents=minimax + random", "mixture:minimax+random"),
     ("mixture:minimax+random,weights=7.0+3", "mixture:minimax+random,weights=7+3"),
     ("mixture:(softmax:0.20)+(mcts:seed=3,simulations=0100)",
      "mixture:softmax:temperature=0.2+(mcts:simulations=100,seed=3)"),
     ("rules", "rules"), ("rules:centre+block", "rules"), ("rules:win + fork", "rules:rules=win+fork"),
     ("softmax:1", "softmax"), ("softmax:temperature=0.20", "softmax:temperature=0.2"),
     ("epsilon:minimax,epsilon=0.1", "epsilon:minimax"), ("mcts:simulations=0100", "mcts:simulations=100"),
     ("epsilon:agent=random", "epsilon:random"), ("best-response", "best-response:random")],
)  # fmt: skip
def test_an_agent_has_one_usual_form(text, usual, roster):
    assert roster.parse(text) == usual == roster.parse(usual)
    assert roster.make(usual, TICTACTOE).policy(TICTACTOE.start).sum() == pytest.approx(1)
    name = usual.partition(":")[0]
    assert name == "softmax" or spec_of_values(name, roster.values(usual)) == usual  # it has two by default


def test_programs_come_from_the_command_line_alone(tmp_path):
    """A bot goes on running from move to move; an address can name it, but no other command."""
    bot = """echo $$ >> starts; while read l; do i=${l#*: }; c=${l#*legal*[}
        echo "{\\"id\\": ${i%%,*}, \\"cell\\": ${c%%[],]*}}"; done"""
    (tmp_path / "bot.sh").write_text(bot)
    command = f"process:sh bot.sh,folder={tmp_path}"
    roster = Roster(named_models([command]))
    assert roster.names[-1] == "model:sh-bot.sh" == roster.parse("model:sh-bot.sh")
    position = TICTACTOE.start
    for cell in range(3):
        assert roster.make("model:sh-bot.sh", TICTACTOE).choose(position, np.random.default_rng(0)) == cell
        position = position.play(cell)
    assert len((tmp_path / "starts").read_text().split()) == 1
    texts = command, "process:sh", "process", "model:process:sh", f"epsilon:({command}),epsilon=0.5"
    all_raise(TttEnvError, "", roster.parse, texts)
    with pytest.raises(ParameterError, match="no program"):
        named_models(["process:no-such-program"])


def test_models_are_known_by_name_alone(tmp_path):
    file = tmp_path / "my model.npz"
    file.touch()
    roster = Roster(named_models([str(file), f"lookup:{file}"]))
    assert roster.parse("model:my-model") == "model:my-model"
    assert roster.spec("model:my-model-2") == f"lookup:{file}"
    with pytest.raises(TttEnvError):
        roster.parse(f"model:{file}")
    with pytest.raises(ParameterError, match="no model"):
        named_models([str(tmp_path / "absent.zip")])


def test_fixed_agents_are_shared_and_searches_are_not(roster):
    assert roster.make("minimax", TICTACTOE) is roster.make("minimax", TICTACTOE)
    assert roster.make("mcts", TICTACTOE) is not roster.make("mcts", TICTACTOE)


def test_a_ticket_holds_for_the_table_it_was_made_for_alone():
    tickets, table, ticket = Tickets(), PlayTable(TICTACTOE), ""
    for cell in (4, 0, 8):
        after = table.played(cell)
        ticket, table = tickets.next(table, ticket, after), after
        assert tickets.holds(table, ticket)
    changed = table.undone().played(3), replace(table, o="random"), PlayTable(TICTACTOE, x="random")
    for other in (*changed, table_of()):
        assert not tickets.holds(other, ticket)
        assert tickets.next(other, ticket, other.played(7)) == ""
    assert not Tickets().holds(table, ticket)
    assert not tickets.holds(table_of(4), "")
    back = table.undone()
    assert tickets.holds(back, ticket)
    assert tickets.spend(ticket) and not tickets.spend(tickets.next(back, ticket, back.played(3)))


@pytest.mark.parametrize(
    ("player", "game", "lane"),
    [("person", "tictactoe-v0", "quick"), ("random", "tictactoe-v0", "quick"),
     ("weights", "square-v0", "quick"), ("minimax:seconds=2", "square-v0", "search"),
     ("minimax", "square-v0", "plan"),  # which solves the game first
     ("epsilon:(minimax:depth=3)", "square-v0", "plan"),
     ("mcts:simulations=5000,seed=0", "tictactoe-v0", "quick"),
     ("mcts:simulations=50000,seed=0", "tictactoe-v0", "search"),
     ("mcts:simulations=5000", "qubic-v0", "quick"), ("mcts:seconds=2", "qubic-v0", "search"),
     ("minimax:seconds=2", "tictactoe-v0", "search"), ("epsilon:(mcts:seconds=2)", "tictactoe-v0", "search"),
     ("minimax", "qubic-v0", "quick")],  # it refuses the game, and that at once
)  # fmt: skip
def test_the_moves_of_agents_wait_where_it_takes_as_long(player, game, lane):
    assert Roster({}).lane_of_move(player, get_game(game)) == lane


@pytest.mark.parametrize(
    ("players", "game", "lane"),
    [("person random", "tictactoe-v0", "quick"), ("person random", "square-v0", "sweep"),
     ("person mcts:simulations=5000,seed=0", "tictactoe-v0", "sweep"),
     ("person mcts:simulations=50,seed=0", "tictactoe-v0", "quick"),
     ("person random", SMALL, "sweep"), ("person random", "qubic-v0", "search"), ("", "square-v0", "sweep")],
)  # fmt: skip
def test_studies_wait_where_it_takes_as_long(players, game, lane):
    assert Roster({}).lane_of_study(get_game(game), *players.split()) == lane


def test_a_model_is_loaded_among_the_searches_and_quick_from_then_on():
    roster = Roster({"mine": "weights"})
    assert roster.lane_of_move("model:mine", TICTACTOE) == "search"
    assert roster.lane_of_study(TICTACTOE, "model:mine") == "search"
    roster.make("model:mine", TICTACTOE)
    assert roster.lane_of_move("model:mine", TICTACTOE) == "quick"
    assert roster.lane_of_study(TICTACTOE, "model:mine") == "quick"
