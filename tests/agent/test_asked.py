"""Agents outside the package: parallel queries, saved answers, and illegal answers that lose."""

import json
import subprocess
import sys
import threading
from collections import Counter
from functools import cache

import numpy as np
import pytest

import ttt_env
from tests.support import naive
from tests.support.faults import files_of_at_most
from tests.support.games import TICTACTOE, lowest
from tests.support.marks import slow, slow_unless
from ttt_env import GameRecord, PolicyTable, Position
from ttt_env.agent import Answer, AskedAgent
from ttt_env.analysis import policy_table
from ttt_env.analysis.asking import AnswerFile
from ttt_env.analysis.dossier import dossier
from ttt_env.errors import FileError, ParameterError
from ttt_env.rules.symmetry import canonical, symmetries, transform

GAMES = [TICTACTOE, ttt_env.get_game("tictactoe-v0:misere=true"), ttt_env.get_game("mnk-v0:m=3,n=2,k=2")]
PERFECT = ttt_env.make_agent("minimax:prefer=fast")


def perfect(position):
    return int(PERFECT.policy(position).argmax())


class Erring:
    """Answers by the position alone: a legal cell, or with probability `share` something illegal."""

    def __init__(self, seed, share):
        self.seed, self.share, self.asked = seed, share, Counter()

    def __call__(self, position):
        self.asked[position] += 1
        rng = np.random.default_rng((self.seed, position.mine, position.theirs))
        if rng.random() >= self.share:
            return int(rng.choice(position.legal_cells))
        taken = [cell for cell in range(position.game.n_cells) if position.occupied_mask >> cell & 1]
        return [position.game.n_cells, -1, None, "4", 0.5, *taken][rng.integers(5 + len(taken))]


class Counting:
    """Plays perfectly; may raise an error at one query."""

    def __init__(self, fails_at=None):
        self.asked, self.fails_at = Counter(), fails_at

    def __call__(self, position):
        self.asked[position] += 1
        if self.asked.total() == self.fails_at:
            raise ConnectionError("the line is down")
        return perfect(position)


def naive_facts(function, game, seat):
    """The best response's value, the agent's worst result, and the plies of a shortest refutation.

    It walks through all games.
    """

    def walk(position):
        """(value of the best response, ends as (plies, agent's result))"""
        if position.is_over:
            result = 0 if position.winner is None else 1 if position.winner == seat else -1
            return -result, frozenset({(position.ply, result)})
        if position.to_move == seat:
            cell = function(position)
            if type(cell) is not int or cell not in position.legal_cells:
                return 1, frozenset({(position.ply, -1)})
            return walk(position.play(cell))
        walks = [walk(position.play(cell)) for cell in position.legal_cells]
        return max(value for value, _ in walks), frozenset().union(*(ends for _, ends in walks))

    walk = cache(walk)
    value, ends = walk(game.start)
    of_game = ttt_env.solve(game).value * (1 if seat == "X" else -1)
    worse = [plies for plies, result in ends if result < of_game]
    return value, min(result for _, result in ends), min(worse, default=None)


FAST = [(TICTACTOE, 2), (GAMES[1], 1), *((GAMES[2], seed) for seed in range(4))]


@pytest.mark.parametrize(("game", "seed"), slow_unless(lambda *case: case in FAST, GAMES, range(4)))
class TestIllegalAnswersLose:
    SHARES = (0.0, 0.05, 0.3, 1.0)

    def test_certificate_matches_walk_through_all_games(self, game, seed):
        share = self.SHARES[seed]
        function = Erring(seed, share)
        certificate, worth = ttt_env.certify(function, game), ttt_env.exploitability(function, game)
        for seat, gain in zip("XO", (worth.as_x, worth.as_o), strict=True):
            value, worst, plies = naive_facts(Erring(seed, share), game, seat)
            record = certificate.refutations[seat]
            assert (gain, certificate.worst_case[seat]) == (value, worst)
            assert (None if record is None else len(record.cells)) == plies
            if record is not None and not record.is_over:
                assert certificate.forfeit_after(record).position == record.positions()[-1]
        for position, *_ in certificate.forfeits:
            assert Erring(seed, share)(position) not in position.legal_cells
        assert bool(certificate.forfeits) == (share > 0)

    def test_match_values_count_illegal_answers_as_losses(self, game, seed):
        share = self.SHARES[seed]
        function = Erring(seed, share)
        played = ttt_env.match(function, "minimax", game, exact=True)
        best = ttt_env.make_agent("minimax", game)

        @cache
        def expected(position, seat):
            if position.is_over:
                return 0.0 if position.winner is None else 1.0 if position.winner == seat else -1.0
            if position.to_move == seat:
                cell = Erring(seed, share)(position)
                legal = type(cell) is int and cell in position.legal_cells
                return expected(position.play(cell), seat) if legal else -1.0
            policy = best.policy(position)
            return sum(policy[cell] * expected(position.play(cell), seat) for cell in position.legal_cells)

        assert played.as_x.value == pytest.approx(expected(game.start, "X"))
        assert played.as_o.value == pytest.approx(expected(game.start, "O"))


class TestCertificate:
    def test_perfect_player_is_unbeatable(self):
        function = Counting()
        certificate = ttt_env.certify(function)
        assert certificate.unbeatable and certificate.shortest_refutation is None
        assert certificate.good_share == certificate.perfect_share == 1.0
        assert certificate.n_queries == len(function.asked) <= 850 and set(function.asked.values()) == {1}

    def test_good_and_perfect_shares_match_naive_search(self):
        function = Erring(5, 0.1)
        certificate = ttt_env.certify(function)
        assert certificate.n_queries == len(function.asked) == sum(certificate.n_positions.values())
        good = perfect_ones = 0
        rules = naive.twin(TICTACTOE)
        for position in function.asked:
            cell, board = Erring(5, 0.1)(position), naive.board_of(str(position))
            good += cell in rules.best_cells(board) or (
                cell not in position.legal_cells and rules.value(board) == -1
            )
            perfect_ones += cell in rules.perfect_cells(board)
        assert certificate.good_share == pytest.approx(good / len(function.asked))
        assert certificate.perfect_share == pytest.approx(perfect_ones / len(function.asked))

    @pytest.mark.parametrize("name", ["ppo", *map(slow, ("minimax", "dqn", "value-network"))])
    def test_inconsistent_policies_match_naive_count(self, name):
        agent = ttt_env.make_agent(name)
        certificate = ttt_env.certify(agent)
        classes = {}
        for position in naive_reachable(agent):
            orbit = min(
                tuple(np.round(transformed(agent.policy(position), motion), 6))
                for motion in symmetries(TICTACTOE)
                if transform(position, motion) == canonical(position)
            )
            classes.setdefault(canonical(position), []).append(orbit)
        assert certificate.n_symmetry_classes == sum(len(answers) > 1 for answers in classes.values())
        assert len(certificate.inconsistent) == sum(len(set(answers)) > 1 for answers in classes.values())
        for one, other in certificate.inconsistent:
            assert one != other and canonical(one) == canonical(other)
        assert (name == "minimax") <= (not certificate.inconsistent)

    def test_equivalent_cells_count_as_one_answer(self):
        # In a symmetric position, either of two mirrored corners is the same answer.
        function = {8: 1, 2: 1}
        certificate = ttt_env.certify(lambda position: function.get(position.ply, position.legal_cells[0]))
        assert certificate.inconsistent

    def test_certificate_round_trips_through_file(self, tmp_path):
        certificate = ttt_env.certify(Erring(7, 0.1))
        certificate.save(tmp_path / "c.json")
        again = ttt_env.Certificate.load(tmp_path / "c.json")
        assert again == certificate and again.forfeits == certificate.forfeits
        assert again.inconsistent == certificate.inconsistent

    def test_text_lists_forfeits_and_good_moves(self):
        text = str(ttt_env.certify(lambda position: 0))
        assert "then no legal move (taken: '0')" in text and "Good moves in" in text

    def test_forfeit_at_first_move_is_recorded(self):
        certificate = ttt_env.certify(lambda position: None)
        assert certificate.shortest_refutation == GameRecord(TICTACTOE, ())
        assert certificate.forfeits[0] == (TICTACTOE.start, "no cell", "None")
        assert certificate.n_positions == {"X": 1, "O": 9} and len(certificate.forfeits) == 10

    def test_dossier_queries_each_position_once(self):
        function = Erring(0, 0.0)

        class Outside(AskedAgent):
            def answer(self, position):
                return Answer.of(function(position), position)

        facts = dossier(Outside(TICTACTOE))
        assert facts["optimal_everywhere"] is None is facts["blunders_everywhere"]
        assert set(function.asked.values()) == {1} and facts["n_queries"] == len(function.asked)


def transformed(policy, motion):
    image = np.empty_like(policy)
    image[list(motion)] = policy
    return image


def naive_reachable(agent):
    found = set()
    for seat in "XO":
        frontier = {TICTACTOE.start}
        while frontier:
            position = frontier.pop()
            if position.is_over or (seat, position) in found:
                continue
            found.add((seat, position))
            likely = position.to_move != seat or agent.policy(position) > 0
            cells = position.legal_cells if likely is True else np.flatnonzero(likely).tolist()
            frontier |= {position.play(cell) for cell in cells}
    return [position for seat, position in found if position.to_move == seat]


class TestWorkers:
    def test_parallel_queries_give_same_certificate(self):
        together, most = threading.Barrier(4, timeout=20), Counter()

        class Slow(AskedAgent):
            def answer(self, position):
                most[threading.current_thread().name] += 1
                if position.ply == 2:
                    together.wait()  # It passes only with four queries at a time; ply 2 has eight.
                return Answer.of(perfect(position), position)

        certificate = ttt_env.certify(Slow(TICTACTOE), workers=4)
        assert certificate == ttt_env.certify(perfect) and 4 <= len(most)

    def test_forfeit_order_is_independent_of_timing(self):
        is_late = threading.Event()

        class Slow(AskedAgent):
            def answer(self, position):
                if position == TICTACTOE.start.play(0):
                    assert is_late.wait(20)
                if position == TICTACTOE.start.play(8):
                    is_late.set()
                return Answer(None, "unreadable", "Hm.")

        certificate = ttt_env.certify(Slow(TICTACTOE), workers=2)
        due = [TICTACTOE.start, *map(TICTACTOE.start.play, range(9))]
        assert [each.position for each in certificate.forfeits] == due
        assert certificate.refutations["O"].cells == (0,)

    @pytest.mark.parametrize("in_a_file", [True, False])
    def test_error_ends_run_and_keeps_answers(self, in_a_file, tmp_path):
        path, failing = tmp_path / "answers.jsonl", Counting(fails_at=40)
        options = {"answers": path, "workers": 3} if in_a_file else {}
        with pytest.raises(ConnectionError, match="the line is down"):
            ttt_env.certify(failing, **options)
        if in_a_file:
            assert len(path.read_text().splitlines()) - 1 == len(failing.asked) - 1 <= 42
        assert ttt_env.certify(failing, **options).unbeatable
        again = failing.asked.total() - len(failing.asked)
        assert again <= 1 + 20 if in_a_file else again == 40

    def test_analyses_of_one_table_share_answers(self, tmp_path):
        function = Erring(3, 0.02)
        table = PolicyTable.of(function, answers=tmp_path / "a.jsonl", workers=2)
        ttt_env.certify(table)
        ttt_env.exploitability(table)
        ttt_env.match(table, "minimax", exact=True)
        assert set(function.asked.values()) == {1} and table.n_queries == len(function.asked)

    def test_progress_bound_never_rises(self, monkeypatch):
        monkeypatch.setattr(policy_table, "_SHOWN_EVERY", 0.0)
        reports = []
        certificate = ttt_env.certify(perfect, progress=reports.append)
        bounds = [asked.at_most for asked in reports]
        assert bounds == sorted(bounds, reverse=True) and reports[0].at_most == 1_965
        assert reports[-1].positions == certificate.n_queries
        assert all(asked.at_most >= certificate.n_queries for asked in reports)


SCRIPT = """
import sys, time, ttt_env
best = ttt_env.make_agent("minimax:prefer=fast")
def perfect(position):
    print(position, flush=True)
    return int(best.policy(position).argmax())
print(ttt_env.certify(perfect, answers=sys.argv[1]).unbeatable, flush=True)
"""


@pytest.fixture
def answers(tmp_path):
    """The path of a file with the answers of a perfect player."""
    ttt_env.certify(perfect, answers=tmp_path / "answers.jsonl")
    return tmp_path / "answers.jsonl"


class TestAnswerFile:
    def test_answered_positions_are_not_queried_again(self, tmp_path):
        path = tmp_path / "new" / "answers.jsonl"
        first = ttt_env.certify(Erring(0, 0.1), answers=path)
        before, again = path.read_bytes(), Erring(0, 0.1)
        assert ttt_env.certify(again, answers=path) == first
        assert len(again.asked) == 20 and TICTACTOE.start in again.asked and path.read_bytes() == before
        header, *lines = map(json.loads, path.read_text().splitlines())
        assert header["format"] == "ttt_env answers 2" and len(lines) == first.n_queries
        assert len({line["position"] for line in lines}) == len(lines)

    @pytest.mark.parametrize("cut", [1, 999])
    def test_unfinished_line_is_queried_again(self, answers, cut):
        whole = answers.read_bytes()
        answers.write_bytes(whole[:cut])
        assert ttt_env.certify(perfect, answers=answers) == ttt_env.certify(perfect)
        assert sorted(answers.read_bytes().splitlines()) == sorted(whole.splitlines())

    def test_line_that_is_cut_anywhere_is_written_again(self, answers):
        whole = answers.read_bytes()
        header, first, second, *_ = whole.splitlines(keepends=True)
        for end in range(len(header + first + second)):
            answers.write_bytes(whole[:end])
            file = AnswerFile(answers, TICTACTOE, "perfect")
            n_lines = whole[:end].count(b"\n")
            assert len(file) == max(n_lines - 1, 0)
            for line in (first, second)[len(file) :]:
                answer = json.loads(line)
                file.add(Position.parse(answer.pop("position")), Answer(**answer))
            assert answers.read_bytes() == header + first + second

    @pytest.mark.parametrize("text", ["dear diary", "dear diary\n", '{"format": "ttt_env tournament 3"}\n'])
    def test_foreign_file_is_not_modified(self, tmp_path, text):
        path = tmp_path / "diary.txt"
        path.write_text(text)
        with pytest.raises(FileError, match=r"diary\.txt holds no answers"):
            ttt_env.certify(perfect, answers=path)
        assert path.read_text() == text

    @pytest.mark.parametrize(
        ("line", "message"),
        [("[1]", ""), ('{"a": NaN}', "it is not JSON: NaN"), ('{"a": 1', ""), ("", "")],
    )
    def test_invalid_lines_are_reported_by_number(self, answers, line, message):
        whole = answers.read_text()
        answers.write_text(f"{whole}{line}\n")
        number = whole.count("\n") + 1
        with pytest.raises(FileError, match=rf"answers\.jsonl, line {number}: {message}"):
            ttt_env.certify(perfect, answers=answers)

    def test_full_disk_is_reported_and_answers_are_kept(self, tmp_path):
        pytest.importorskip("resource")
        path = tmp_path / "answers.jsonl"
        with files_of_at_most(10_000), pytest.raises(FileError) as caught:
            ttt_env.certify(lowest, answers=path)
        assert "answers.jsonl cannot be written: File too large" in str(caught.value)
        assert 9_000 < path.stat().st_size <= 10_000
        assert ttt_env.certify(lowest, answers=path).n_queries == ttt_env.certify(lowest).n_queries

    @pytest.mark.parametrize("kills", [1, slow(10)])
    @pytest.mark.slow
    def test_killed_run_resumes(self, tmp_path, kills):
        path, rng, asked = tmp_path / "answers.jsonl", np.random.default_rng(kills), []
        for number in range(kills + 1):
            command = [sys.executable, "-c", SCRIPT, str(path)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                left = int(rng.integers(1, 800 // kills)) if number < kills else None
                lines = []
                for line in process.stdout:
                    lines.append(line.strip())
                    if len(lines) == left:
                        process.kill()
            # The last query may have been unfinished; all before it were answered.
            asked += lines[:-1]
        assert lines[-1] == "True"
        assert len(asked) - len(set(asked)) <= 20 * kills and len(set(asked)) <= 850

    def test_file_of_other_agent_or_game_is_refused(self, answers):
        before, of = answers.read_bytes(), "the answers of perfect on tictactoe-v0, not of "
        for function, game, other in (
            (Erring(0, 0.0), TICTACTOE, "Erring on tictactoe-v0"),
            (perfect, GAMES[2], "perfect on mnk-v0"),
        ):
            with pytest.raises(FileError, match=of + other):
                ttt_env.certify(function, game, answers=answers)
        assert answers.read_bytes() == before

    @pytest.mark.parametrize(
        ("at", "change"),
        [
            ("position", {"position": "X........"}),
            ("position", {"position": "XXX/OO./...", "cell": 8}),
            ("position", {"position": ".../.../...", "cell": 4, "reply": "twice"}),
            *(("cell", {"cell": cell}) for cell in (0, 9, True, None, "4")),
            ("cell", {"outcome": "taken"}),
            ("outcome", {"outcome": "won"}),
            ("reply", {"reply": 4}),
            ("outcome", None),
        ],
        ids=str,
    )
    def test_invalid_answers_are_refused(self, answers, at, change):
        position, rest = {"position": "OX./XX./..O"}, {"cell": 2, "outcome": "played", "reply": ""}
        with answers.open("a") as file:
            file.write(json.dumps(position if change is None else position | rest | change) + "\n")
        with pytest.raises(FileError, match=rf"answers\.jsonl, line \d+: {at}: "):
            ttt_env.certify(perfect, answers=answers)

    def test_changed_player_is_detected(self, tmp_path):
        """The name does not show what a player reads or imports, so some positions are queried again."""
        plays = {TICTACTOE.start: 4, Position.parse("X../.../..."): 4}

        def player(position):
            return plays.get(position, position.legal_cells[-1])

        path = tmp_path / "answers.jsonl"
        first = ttt_env.certify(player, answers=path)
        assert "answers from" not in str(first)
        again = ttt_env.certify(player, answers=path)
        assert f"{first.n_queries:,} answers from answers.jsonl of " in str(again) and again == first
        plays[TICTACTOE.start] = 0
        reports = r"answered cell 4 in \.\.\./\.\.\./\.\.\., and cell 0 now: name another file"
        with pytest.raises(FileError, match=reports):
            ttt_env.certify(player, answers=path)

    def test_answers_need_queried_agent_and_file_path(self, tmp_path):
        with pytest.raises(ParameterError, match=r"answers=.*functions, programs and language models"):
            ttt_env.certify("minimax", answers=tmp_path / "a")
        with pytest.raises(FileError, match="it is a folder"):
            ttt_env.certify(perfect, answers=tmp_path)


def test_illegal_answer_in_played_game_raises():
    position = Position.parse("X../.../...", TICTACTOE)

    class Silent(AskedAgent):
        def answer(self, position):
            return Answer(None, "unreadable", "Hm.")

    with pytest.raises(ttt_env.IllegalMoveError, match=r"names no cell in X.*unreadable.*: 'Hm.'; legal are"):
        Silent(TICTACTOE).choose(position, np.random.default_rng(0))
