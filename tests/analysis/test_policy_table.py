"""Policy tables: the answers of an agent, each queried once, and the results that follow from them."""

from collections import Counter

import numpy as np
import pytest

from tests.support.games import CONNECT_THREE, LOPSIDED, MISERE, TICTACTOE, TREE, lowest, open_boards
from tests.support.naive import twin
from ttt_env import Agent, Game, PolicyTable, Position, certify, exploitability, make_agent, match
from ttt_env.agent import checked_policies
from ttt_env.analysis.keyed import KeyNumbering, keys_of
from ttt_env.analysis.layers import reached_layers
from ttt_env.analysis.rows import NO_CELL, chances, compact, is_forfeit, join_rows, least_chance
from ttt_env.errors import FileError, ForfeitError, GameTooLargeError, ParameterError, PolicyError

AGENTS = (
    "random",
    "win-block",
    "minimax",
    "softmax:temperature=0.3",
    "epsilon:minimax,epsilon=0.25",
    "rules",
)
GAMES = ("tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=3,n=2,k=2", LOPSIDED, TREE)


class Reusing(Agent):
    """Answers every batch in one array of its own, which the next call overwrites."""

    is_stationary = True

    def __init__(self, game):
        super().__init__(game)
        self.other, self.array = make_agent("win-block", game), np.empty((1 << 15, self.game.n_cells))

    def policies(self, boards):
        answer = self.array[: len(boards)]
        answer[:] = self.other.policies(boards)
        return answer


class RarelyWrong(Agent):
    """Blunders at random with a small probability in any position."""

    def __init__(self, game):
        super().__init__(game)
        self.best, self.rng = make_agent("minimax", game), np.random.default_rng(0)

    def policy(self, position):
        return (self.best if self.rng.random() > 0.05 else make_agent("random", self.game)).policy(position)


class TestQueries:
    def test_reachable_positions_are_queried_once(self):
        asked = Counter()

        def choose(position):
            asked[position] += 1
            return position.legal_cells[0]

        table = PolicyTable.of(choose)
        assert set(asked.values()) == {1} and len(asked) == table.n_queries == certify(lowest).n_queries
        match(table, "minimax"), exploitability(table), certify(table), table.policy(TICTACTOE.start)
        assert set(asked.values()) == {1}

    @pytest.mark.parametrize("game", GAMES, ids=str)
    @pytest.mark.parametrize("name", AGENTS)
    def test_table_holds_policies_of_agent(self, game, name):
        agent = make_agent(name, game)
        table, everywhere = PolicyTable.of(agent), PolicyTable.of(agent, positions="all")
        boards = open_boards(agent.game)
        assert everywhere.n_queries == len(boards)
        assert np.array_equal(everywhere.policies(boards), checked_policies(agent, boards))
        for first_ply, seat in enumerate("XO"):
            for layer in table.layers(seat)[first_ply::2]:
                mine = layer.boards(layer.open_slots)
                assert np.array_equal(table.policies(mine), checked_policies(agent, mine))

    def test_table_copies_returned_arrays(self):
        due = certify("win-block", "mnk-v0:m=4,n=3,k=3")
        assert certify(Reusing("mnk-v0:m=4,n=3,k=3")) == due

    @pytest.mark.slow
    def test_results_of_random_agent_hold_for_its_table(self):
        found = certify(RarelyWrong(TICTACTOE))
        table = found.table
        assert found.is_sampled and "; it may answer differently next time." in str(found)
        assert certify(table) == found and certify(table).digest == found.digest
        assert match(table, "random", exact=True) == match(table, "random", exact=True)

        def policy(board):
            try:
                chances = table.policy(Position.parse("".join(board)))
            except PolicyError:  # This position is never reached.
                return twin(TICTACTOE).uniform(board)
            return {int(cell): chances[cell] for cell in np.flatnonzero(chances)}

        due = sum(twin(TICTACTOE).best_reply(seat, policy)[0] for seat in "XO")
        assert exploitability(table).nash_conv == pytest.approx(due)

    def test_invalid_policy_error_names_agent_and_position(self):
        class Half(Agent):
            def policy(self, position):
                return make_agent("random", self.game).policy(position) / 2

        with pytest.raises(
            PolicyError, match=r"<Half of tictactoe-v0> has no policy in \.\.\./\.\.\./\.\.\.: \[0\.05"
        ):
            certify(Half(TICTACTOE))

    def test_position_limit_is_enforced(self):
        with pytest.raises(GameTooLargeError, match="random as X: more than 2,000 positions of tictactoe-v0"):
            PolicyTable.of("random", most=2000)
        with pytest.raises(GameTooLargeError, match=r"queried in 1 positions until then"):
            PolicyTable.of("random", "qubic-v0", most=50)
        with pytest.raises(GameTooLargeError, match="4,520 open positions, more than most=4,000"):
            PolicyTable.of("random", positions="all", most=4000)
        with pytest.raises(GameTooLargeError, match="for a table of all positions"):
            PolicyTable.of("random", "qubic-v0", positions="all")

    def test_progress_reports_positions_and_bound(self):
        reports = []
        table = PolicyTable.of(lowest, progress=reports.append)
        assert reports[0].positions == 0 and all(each.at_most >= table.n_queries for each in reports)

    def test_invalid_arguments_are_refused(self):
        with pytest.raises(ParameterError, match="seats='Y': expected one of X, O, XO"):
            PolicyTable.of("random", seats="Y")
        with pytest.raises(ParameterError, match="positions='some': expected one of reachable, all"):
            PolicyTable.of("random", positions="some")
        with pytest.raises(
            ParameterError, match=r"answers=.* only answers of functions, programs and language models"
        ):
            PolicyTable.of("random", answers="answers.jsonl")


class TestAsAnAgent:
    def test_table_plays_as_labelled_agent(self):
        table = PolicyTable.of("win-block")
        assert table.is_stationary and table.label == "win-block" and table.game == TICTACTOE
        assert match(table, "random").as_x == match("win-block", "random").as_x

    def test_missing_position_raises_policy_error(self):
        table = PolicyTable.of("newell-simon", seats="X")
        with pytest.raises(
            PolicyError, match=r"is not in the table of newell-simon, which holds the positions .* as X"
        ):
            table.policy(Position.parse("X../.../..."))
        unreached = Position.parse("XO./.../...")
        with pytest.raises(PolicyError, match=r"XO./.../... is not in the table"):
            PolicyTable.of("newell-simon").policy(unreached)

    def test_illegal_answers_lose(self):
        table = PolicyTable.of(lambda position: 0)
        with pytest.raises(ForfeitError, match=r"plays 0 in X\.\./"):
            table.policy(Position.parse("X../.../..."))
        found = certify(table)
        assert found.worst_case == {"X": -1, "O": -1}
        assert len(found.refutations["O"].cells) == 1 and found.forfeits[0].outcome == "taken"
        assert match(table, "random", exact=True).as_o.loss > 0.1


class TestOnAnyBoard:
    """The cost depends on the agent, not on the size of the board."""

    @pytest.mark.parametrize("game", [TICTACTOE, CONNECT_THREE, TREE], ids=repr)
    def test_numberings_give_same_layers(self, game, monkeypatch):
        import ttt_env.analysis.layers as layers

        due = list(reached_layers(game))
        monkeypatch.setattr(layers, "is_enumerable", lambda game: False)
        for one, other in zip(due, reached_layers(game), strict=True):
            assert isinstance(other.numbering, KeyNumbering)
            for moves in other.moves():
                assert moves.cells.shape[1] == moves.boards.legal.sum(axis=1).max()
                assert (moves.legal == np.take_along_axis(moves.boards.legal, moves.cells, axis=1)).all()
            for kind in ("open_slots", "won_slots", "drawn_slots"):
                here, there = (each.boards(getattr(each, kind)) for each in (one, other))
                assert {*map(str, here)} == {*map(str, there)} and len(here) == len(there)

    @pytest.mark.parametrize("game", [TICTACTOE, TREE], ids=repr)
    @pytest.mark.parametrize("name", AGENTS)
    def test_numberings_give_same_results(self, monkeypatch, game, name):
        import ttt_env.analysis.evaluation as evaluation
        import ttt_env.analysis.layers as layers

        due, exact = exploitability(name, game), match(name, "random", game)
        worst = certify(name, game).worst_case
        for module in (layers, evaluation):
            monkeypatch.setattr(module, "is_enumerable", lambda game: False)
        assert exploitability(name, game).nash_conv == pytest.approx(due.nash_conv, abs=1e-12)
        assert match(name, "random", game, exact=True).score == pytest.approx(exact.score, abs=1e-12)
        assert certify(name, game).worst_case == worst

    def test_deterministic_agents_have_exact_result_on_large_board(self):
        played = match(Lowest("qubic-v0"), Lowest("qubic-v0"))
        assert played.exact and played.as_x.win == 1 and played.as_o.loss == 1
        assert not match("random", "random", "qubic-v0", games=4).exact

    @pytest.mark.slow
    def test_large_game_of_unknown_value_is_certified(self):
        found = certify(Lowest("qubic-v0"))
        assert found.worst_case == {"X": -1, "O": -1} and not found.is_complete and found.n_blunders is None
        assert found.unbeatable is False and found.refutations["X"].value("X") == -1
        assert found.game_value is None and found.refutations["O"] is None
        with pytest.raises(FileError, match="make it with complete=True"):
            found.table.save("unwritten.npz")

    @pytest.mark.slow
    def test_query_counts_match_published_ones(self):
        found = certify(Lowest("mnk-v0:m=4,n=4,k=4", "win-block"))
        assert found.n_queries == 10_022 + 27_722 and found.n_positions == {"X": 10_022, "O": 27_722}

    def test_win_proves_value_of_game(self):
        found = certify("best-response:random", "mnk-v0:m=3,n=2,k=2", seats="X")
        assert found.worst_case == {"X": 1} and found.unbeatable and found.value_from == "table"
        assert str(found).startswith("mnk-v0:m=3,n=2,k=2: UNBEATABLE as X.")

    def test_boards_of_more_than_32_cells_have_two_word_keys(self):
        masks = np.array([1, 1 << 63, 5], np.uint64), np.array([2, 1, 1 << 62], np.uint64)
        keys = np.sort(keys_of(64, *masks))
        numbering = KeyNumbering(Game("long", (64,), [(0, 63)]), 2, keys)
        assert set(zip(*map(np.ndarray.tolist, numbering.masks(np.arange(3))), strict=True)) == set(
            zip(*map(np.ndarray.tolist, masks), strict=True)
        )
        with pytest.raises(PolicyError, match="was not reached"):
            numbering.slots(np.array([3], np.uint64), np.array([4], np.uint64))


class Lowest(Agent):
    """Plays the lowest cell that another agent may play; by default the lowest legal cell."""

    is_stationary = True

    def __init__(self, game, of="random"):
        super().__init__(game)
        self.other = make_agent(of, self.game)

    def policies(self, boards):
        cells = (self.other.policies(boards) > 0).argmax(axis=1)
        return np.eye(self.game.n_cells)[cells]


class TestRows:
    CELLS = np.array([[0, 2, 5], [1, 3, 4]])

    def test_rows_take_smallest_type(self):
        one, uniform = np.array([[0, 1.0, 0], [1.0, 0, 0]]), np.array([[0.5, 0.5, 0], [0, 0, 1.0]])
        mixed = np.array([[0.25, 0.75, 0], [0, 0, 1.0]])
        for policy, kind in ((one, "u1"), (uniform, "u8"), (mixed, "f8")):
            rows = compact(policy, self.CELLS)
            assert rows.dtype == kind and np.array_equal(chances(rows, self.CELLS), policy)
            rows[...] = 0
            assert policy.any()

    def test_every_row_type_can_hold_forfeits(self):
        none = np.zeros(3)
        for policy in ([0, 1.0, 0], [0.5, 0.5, 0], [0.25, 0.75, 0]):
            rows = compact(np.array([none, policy]), self.CELLS)
            assert is_forfeit(rows).tolist() == [True, False] and not chances(rows, self.CELLS)[0].any()
        assert compact(np.array([none]), self.CELLS[:1]).tolist() == [NO_CELL]

    def test_rows_of_different_types_join_exactly(self):
        policies = [
            np.eye(3)[:2],
            np.array([[0.5, 0.5, 0], [0, 0, 0]]),
            np.array([[0.1, 0.9, 0], [0, 0, 1.0]]),
        ]
        rows = [compact(policy, self.CELLS) for policy in policies]
        for count in (1, 2, 3):
            found = join_rows(rows[:count], [self.CELLS] * count)
            due = np.concatenate(policies[:count])
            assert np.array_equal(chances(found, np.concatenate([self.CELLS] * count)), due)
        assert [least_chance(each) for each in rows] == [1.0, 0.5, 0.1]


class TestFiles:
    @pytest.mark.parametrize("game", GAMES, ids=str)
    @pytest.mark.parametrize("name", AGENTS)
    def test_saved_table_is_equal(self, tmp_path, game, name):
        table = PolicyTable.of(name, game)
        table.save(tmp_path / "table.npz")
        again = PolicyTable(table.game, str(tmp_path / "table.npz"))
        assert again.digest == table.digest and again.label == name and again.n_queries == table.n_queries
        assert certify(again) == certify(table) and exploitability(again) == exploitability(table)

    def test_bare_path_loads_table(self, tmp_path):
        path = tmp_path / "table.npz"
        PolicyTable.of("newell-simon").save(path)
        assert isinstance(make_agent(str(path)), PolicyTable) and certify(str(path)).unbeatable
        assert match(str(path), "minimax").score == 0

    def test_saved_table_keeps_forfeits(self, tmp_path):
        table = PolicyTable.of(lambda position: 9 if position.ply == 3 else position.legal_cells[0])
        table.save(tmp_path / "table.npz")
        again = PolicyTable("tictactoe-v0", str(tmp_path / "table.npz"))
        assert again.forfeits == table.forfeits and again.forfeits[0].reply == "9"
        assert certify(again) == certify(table)

    def test_file_holds_only_reachable_positions(self, tmp_path):
        PolicyTable.of("minimax", positions="all").save(tmp_path / "table.npz")
        assert (
            PolicyTable("tictactoe-v0", str(tmp_path / "table.npz")).n_queries == certify("minimax").n_queries
        )

    def test_damaged_or_foreign_file_is_refused(self, tmp_path):
        path = tmp_path / "table.npz"
        PolicyTable.of("minimax").save(path)
        with pytest.raises(FileError, match="not of tictactoe-v0:misere=true"):
            PolicyTable(MISERE, str(path))
        arrays = dict(np.load(path))
        for name, change in (
            ("positions_4", lambda array: array[1:]),
            ("positions_2", lambda array: array[::-1]),
            ("moves_0", lambda array: array * 0 + 9),
            ("seats", lambda array: np.array("X")),
            ("format", lambda array: np.array("ttt_env policy 0")),
        ):
            changed = arrays | {name: change(arrays[name])}
            if name == "positions_4":
                changed["moves_4"] = arrays["moves_4"][1:]
            np.savez_compressed(path, **changed)
            with pytest.raises(FileError, match=r"is not a (complete )?policy table"):
                PolicyTable("tictactoe-v0", str(path))
        np.savez_compressed(path, **arrays | {"supports": arrays["supports"] + 2})
        with pytest.raises(FileError, match="not of tictactoe-v0: other supports"):
            PolicyTable("tictactoe-v0", str(path))
