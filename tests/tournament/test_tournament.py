"""Tournaments: cross table, ratings, sampling, and worker processes."""

import csv
import io
import re
import sys
from itertools import permutations, product
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from tests.support import faults
from tests.support.games import TICTACTOE, highest, lowest
from tests.support.marks import slow
from ttt_env import Game, exploitability, make_agent, match
from ttt_env.agent import Agent
from ttt_env.analysis.results import match_of
from ttt_env.errors import FileError, ParameterError, UnknownAgentError
from ttt_env.tournament import Tournament, tournament
from ttt_env.tournament.standings import bradley_terry

TRIO = ["random", "minimax", "win-block"]


class UndeclaredRandom(Agent):
    """A random agent that does not declare itself stationary: its matches must be sampled."""

    is_stationary = False

    def policy(self, position):
        free = np.isin(np.arange(9), position.legal_cells)
        return free / free.sum()


class NeverQueried(Agent):
    is_stationary = True

    def policy(self, position):
        raise AssertionError("was asked")


@pytest.fixture(scope="module")
def trio() -> Tournament:
    return tournament(TRIO)


@pytest.fixture(scope="module")
def sampled() -> Tournament:
    agents = {
        "unsaid": UndeclaredRandom(TICTACTOE),
        "minimax": "minimax",
        "lowest": lowest,
        "win-block": "win-block",
    }
    return tournament(agents, width=0.2)


def test_entries_equal_match_of_each_pair(trio: Tournament) -> None:
    assert set(trio.matches) == set(permutations(TRIO, 2))
    for (first, second), result in trio.matches.items():
        assert result == match(first, second)
    assert all(result == match(*pair) for pair, result in trio.pairs.items())


def test_table_and_scores(trio: Tournament) -> None:
    for (i, row), (j, column) in product(enumerate(TRIO), repeat=2):
        expected = np.nan if i == j else match(row, column).score
        np.testing.assert_equal(trio.table[i, j], expected)
    both = match("minimax", "random"), match("minimax", "win-block")
    assert trio.scores["minimax"] == sum(each.score for each in both) / 2
    assert trio.ranking == ["minimax", "win-block", "random"]
    assert list(trio.ratings) == list(trio.scores) == TRIO


def test_exploitability_of_each_agent(trio: Tournament) -> None:
    assert trio.exploitability == {name: exploitability(name) for name in TRIO}
    without = tournament(TRIO, exploitability=False)
    assert without.exploitability == dict.fromkeys(TRIO)
    assert "exploited" in str(trio) and "exploited" not in str(without)


class TestRatings:
    def scores_of(self, ratings: list[float]) -> np.ndarray:
        lead = np.subtract.outer(ratings, ratings)
        scores = 2 / (1 + 10 ** (-lead / 400)) - 1
        np.fill_diagonal(scores, np.nan)
        return scores

    def test_ratings_are_recovered_from_predicted_scores(self) -> None:
        known = [-250.0, -100.0, 0.0, 50.0, 300.0]
        ratings = bradley_terry(self.scores_of(known))
        np.testing.assert_allclose(ratings, known, rtol=0.03, atol=0.5)
        assert abs(ratings.sum()) < 1e-9

    def test_ratings_maximize_posterior_on_grid(self) -> None:
        scores = np.array([[np.nan, 0.3, 0.9], [-0.3, np.nan, 0.5], [-0.9, -0.5, np.nan]])

        def posterior(ratings: tuple[float, ...]) -> float:
            total = sum(-(r**2) / (2 * 1737.1779**2) for r in ratings)
            for i, j in permutations(range(3), 2):
                total += (1 + scores[i, j]) / 2 * -np.log1p(10 ** ((ratings[j] - ratings[i]) / 400))
            return float(total)

        steps = np.arange(-400, 401, 5.0)
        grid = [(a, b, -a - b) for a, b in product(steps, steps)]
        np.testing.assert_allclose(bradley_terry(scores), max(grid, key=posterior), atol=5)

    def test_ratings_are_finite_for_winners_and_equal_for_equals(self) -> None:
        always = np.array([[np.nan, 1.0, 1.0], [-1.0, np.nan, 0.0], [-1.0, 0.0, np.nan]])
        best, *others = bradley_terry(always)
        # The gap between the two wins and their predicted probability balances the pull of the prior.
        assert 2 / (1 + 10 ** ((best - others[0]) / 400)) == pytest.approx(0.01 * best * np.log(10) / 400)
        np.testing.assert_allclose(others, -best / 2, rtol=1e-6)

    def test_order_of_the_agents_does_not_matter(self, trio: Tournament) -> None:
        assert tournament(TRIO[::-1]).ratings == pytest.approx(trio.ratings, abs=1e-4)


class TestSampling:
    @pytest.mark.slow
    def test_samples_only_when_needed_and_once_per_pair(self, sampled: Tournament) -> None:
        assert sampled.matches["win-block", "minimax"].exact
        for undeclared in ("unsaid", "lowest"):
            assert not sampled.matches[undeclared, "minimax"].exact
            assert sampled.exploitability[undeclared] is None
        assert sampled.exploitability["win-block"] == exploitability("win-block")
        there, back = sampled.matches["unsaid", "minimax"], sampled.matches["minimax", "unsaid"]
        assert there.as_x == back.as_o[::-1] and there.as_o == back.as_x[::-1]
        assert there.interval == (-back.interval[1], -back.interval[0]) and there.games == back.games

    @pytest.mark.parametrize("width", [0.3, slow(0.1)])
    def test_sampling_continues_until_interval_is_narrow(self, width: float) -> None:
        played = tournament({"unsaid": UndeclaredRandom(TICTACTOE), "random": "random"}, width=width)
        result = played.matches["random", "unsaid"]
        assert result.width <= width and not played.imprecise_pairs
        assert result.width > width / 2  # and no longer
        assert result.interval[0] <= result.score <= result.interval[1]

    def test_sampling_stops_at_max_games_and_reports_it(self) -> None:
        played = tournament(
            {"unsaid": UndeclaredRandom(TICTACTOE), "random": "random"}, width=0.01, max_games=151
        )
        result = played.matches["random", "unsaid"]
        assert result.games == 150 and result.width > 0.01
        assert played.imprecise_pairs == [("unsaid", "random")]
        assert "stopped by max_games at intervals wider than 0.01: unsaid v random" in str(played)

    def test_pooled_games_have_the_interval_of_match(self) -> None:
        result = match(UndeclaredRandom(TICTACTOE), "minimax", games=300, rng=4)
        pooled = match_of(
            np.rint(np.array([result.as_x, result.as_o]) * 150).astype(int), result.distinct_games
        )
        assert pooled.as_x == result.as_x and pooled.as_o == result.as_o and pooled.games == 300
        assert pooled.interval == pytest.approx(result.interval)

    def test_margin_reaches_farther_end(self) -> None:
        always = match_of(np.array([[50, 0, 0], [50, 0, 0]]), 60)
        low, high = always.interval
        assert high == always.score == 1 and always.margin == 1 - low == always.width

    def test_samples_depend_only_on_seed_and_names(self) -> None:
        trio = {name: UndeclaredRandom(TICTACTOE) for name in "abc"}
        of_three = tournament(trio, width=0.8).matches
        of_two = tournament({"c": trio["c"], "a": trio["a"]}, width=0.8).matches
        assert of_three["a", "c"] == of_two["a", "c"]
        assert of_three["a", "c"] != of_three["a", "b"]
        other_seed = tournament(trio, width=0.8, rng=1).matches
        assert other_seed["a", "c"] != of_three["a", "c"]


@pytest.mark.slow  # on tic-tac-toe it is said below
def test_number_of_processes_does_not_matter_without_enumeration() -> None:
    agents = {"a": "random", "b": "random", "c": "random"}
    one, two = (tournament(agents, "qubic-v0", width=0.4, workers=workers) for workers in (1, 2))
    assert one.matches == two.matches and one.exploitability == two.exploitability


class TestOtherProcesses:
    @pytest.mark.slow
    def test_workers_agree_and_slow_agent_stays_in_one(self, tmp_path: Path) -> None:
        """Whether games are sampled, as for a function, or computed."""

        class Recording(Agent):
            is_stationary = True

            def __init__(self, folder):
                super().__init__(TICTACTOE)
                self.folder = folder

            def policy(self, position):
                (self.folder / f"{position.mine}-{position.theirs}-{uuid4().hex}").touch()
                return np.eye(9)[position.legal_cells[0]]

        agents = {"random": "random", "minimax": "minimax", "lowest": faults.agent_that(lambda _: None)}
        one = tournament(agents | {"noted": Recording(tmp_path)}, width=0.8)
        for path in tmp_path.iterdir():
            path.unlink()
        two = tournament(agents | {"noted": Recording(tmp_path)}, width=0.8, workers=2)
        assert one.to_dict() == two.to_dict()
        assert not one.matches["lowest", "random"].exact and one.matches["noted", "random"].exact
        queries = [path.name.rpartition("-")[0] for path in tmp_path.iterdir()]
        assert len(queries) == len(set(queries)) > 100

    @pytest.mark.parametrize("workers", [1, 2])
    @pytest.mark.slow
    def test_error_names_agent_and_pairing(self, workers: int) -> None:
        agents = {"random": "random", "bad": faults.agent_that(faults.raises(lambda: KeyError("no idea")))}
        with pytest.raises(KeyError, match="no idea") as caught:
            tournament(agents, workers=workers)
        assert caught.value.__notes__[0] == "raised by the agent 'bad'"
        assert caught.value.__notes__[1].startswith("in 'bad' v ")


class TestTexts:
    def test_table_for_terminal(self, sampled: Tournament) -> None:
        lines = str(sampled).splitlines()
        assert lines[0].startswith("tictactoe-v0: ")
        assert [line.split()[1] for line in lines[2:6]] == sampled.ranking
        margin = f"±{sampled.matches['unsaid', 'lowest'].margin:.2f}"
        assert margin in str(sampled) and "sampled" in lines[-1]

    def test_markdown_table(self, trio: Tournament) -> None:
        head, rule, *rows = trio.to_markdown().splitlines()
        assert head == "| agent | rating | score | exploited as X | as O | minimax | win-block | random |"
        assert rule.count("|") == head.count("|")
        score = match("minimax", "random").score
        assert [cell.strip() for cell in rows[0].split("|")][-2] == f"+{score:.2f}"
        assert "±" not in str(trio) + trio.to_markdown() and str(trio).endswith("all exact")

    def test_markdown_escapes_bar_in_name(self) -> None:
        text = tournament({"a|b": "random", "c": "random"}).to_markdown()
        assert all(line.replace("\\|", "").count("|") == 8 for line in text.splitlines())

    @pytest.mark.parametrize("kind", ["CSV", "data frame"])
    def test_exports_have_all_digits_by_ranking(self, kind: str, trio: Tournament) -> None:
        if kind == "CSV":
            rows = {row["agent"]: row for row in csv.DictReader(io.StringIO(trio.to_csv()))}
        else:
            frame = pytest.importorskip("pandas") and trio.to_dataframe()
            assert frame.index.name == "agent"
            rows = {name: dict(row) for name, row in frame.iterrows()}
        assert list(rows) == trio.ranking
        for name, row in rows.items():
            figures = [key for key in row if key != "agent"]
            assert figures == ["rating", "score", "exploited_as_x", "exploited_as_o", *trio.ranking]
            assert float(row["rating"]) == trio.ratings[name] and float(row["score"]) == trio.scores[name]
            assert float(row["exploited_as_o"]) == trio.exploitability[name].as_o
            assert np.isnan(float(row[name] or "nan"))
            for other in set(TRIO) - {name}:
                assert float(row[other]) == trio.matches[name, other].score

    @pytest.mark.parametrize("name", ["agent", "rating", "score", "exploited_as_o"])
    def test_agent_name_may_equal_column_name(self, name: str) -> None:
        pytest.importorskip("pandas")
        played = tournament({name: "minimax", f"against {name}": "random", "block": "block"})
        frame = played.to_dataframe()
        assert sorted(frame.index) == sorted(played.names) and frame.columns.is_unique
        assert frame["score"].to_dict() == played.scores and frame["rating"].to_dict() == played.ratings
        assert frame.loc["block", f"against against {name}"] == played.matches["block", name].score
        assert next(csv.reader(io.StringIO(played.to_csv()))) == ["agent", *frame.columns]

    def test_unknown_values_are_nan(self, sampled: Tournament) -> None:
        pytest.importorskip("pandas")
        assert np.isnan(sampled.to_dataframe().loc["unsaid", "exploited_as_x"])

    def test_missing_pandas_names_extra(self, trio: Tournament, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match=r"pip install \"\.\[dataframe\]\""):
            trio.to_dataframe()


class TestHeatMap:
    def test_heat_map_cells_names_and_order(self, sampled: Tournament) -> None:
        axes, _ = sampled.plot().axes
        names = [label.get_text().split()[0] for label in axes.get_yticklabels()]
        assert names == sampled.ranking
        texts = {tuple(text.get_position()): text.get_text() for text in axes.texts}
        assert len(texts) == 12
        for (row, first), (column, second) in permutations(enumerate(names), 2):
            result = sampled.matches[first, second]
            score, *margin = texts[column, row].split("\n")
            assert float(score.replace("−", "-")) == round(result.score, 2)
            assert bool(margin) != result.exact

    @pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
    @pytest.mark.slow
    def test_equal_table_gives_equal_file(self, suffix: str, tmp_path, trio: Tournament) -> None:
        for name in (f"first.{suffix}", f"second.{suffix.upper()}"):
            trio.plot(tmp_path / name)
        first, second = (path.read_bytes() for path in tmp_path.iterdir())
        assert first == second and len(first) > 1000

    @pytest.mark.parametrize(
        ("name", "error", "match"),
        [
            ("x.foo", ParameterError, r"'.*x\.foo' is not the name of a picture; .* \.svg or \.png or \.pdf"),
            ("heat", ParameterError, "heat' is not the name of a picture"),
            ("/dev/null/x.svg", FileError, r"/dev/null/x\.svg cannot be written: "),
        ],
    )
    def test_bad_path_is_refused(self, name: str, error, match, tmp_path, trio: Tournament) -> None:
        with pytest.raises(error, match=match):
            trio.plot(tmp_path / name)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("name", ["$x^$", "a$b$c", r"\$5"])
    def test_names_are_drawn_literally(self, name: str, tmp_path) -> None:
        game = Game(f"game {name}", (2, 3), [(0, 1, 2), (1, 3)])
        tournament({name: "random", "other": "minimax"}, game).plot(tmp_path / "a.svg")
        drawn = re.sub("<!--.*?-->", "", (tmp_path / "a.svg").read_text())
        assert f">{name}  " in drawn and f">game {name}: " in drawn

    def test_pyplot_is_not_imported(self, tmp_path, trio: Tournament, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # to import it is an error now
        trio.plot(tmp_path / "a.png")


class TestErrors:
    @pytest.mark.parametrize(
        ("agents", "match"),
        [
            ([], "at least two agents, got none"),
            (["random"], "at least two agents, got random"),
            ("random", "at least two agents, got random"),
            (["random", "minimax", "random"], "two agents are called 'random'"),
            ([lambda p: 0, lambda p: 1], "two agents are called '<lambda>': give each once"),
            ({1: "random", "b": "block"}, "the name of an agent is a str, not 1"),
            ({"\ud800": "random", "b": "block"}, "the name of an agent is text that UTF-8 can hold"),
            ({"a" * 10_001: "random", "b": "block"}, "has at most 10000 letters"),
        ],
    )
    def test_bad_agents_are_refused(self, agents: object, match: str) -> None:
        with pytest.raises(ParameterError, match=match):
            tournament(agents)

    @pytest.mark.parametrize(
        "bad_number",
        [*({"width": width} for width in (0, -1, np.nan, 1e7)), {"max_games": 1}, {"exploitability": 1}],
    )
    def test_bad_numbers_are_refused(self, bad_number: dict[str, float]) -> None:
        with pytest.raises(
            ParameterError, match=f"{next(iter(bad_number))}={next(iter(bad_number.values()))}"
        ):
            tournament(TRIO, **bad_number)

    def test_unknown_agent_is_reported_before_play(self) -> None:
        with pytest.raises(UnknownAgentError, match="did you mean minimax"):
            tournament([NeverQueried(TICTACTOE), "random", "minmax"])

    @pytest.mark.parametrize(
        ("package", "extra"),
        [
            ("loky", "tournament"),
            ("scipy.optimize", "tournament"),
            ("matplotlib.figure", "plot"),
        ],
    )
    def test_missing_package_names_extra(self, package: str, extra: str, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=rf"pip install \"\.\[{extra}\]\""):
            tournament(TRIO, workers=2 if package == "loky" else None).plot()

    def test_missing_extra_is_reported_before_play(self, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "scipy.optimize", None)
        with pytest.raises(ImportError, match='ratings need the extra "tournament"'):
            tournament([NeverQueried(TICTACTOE), "random"])


def test_names_of_agents_without_specs() -> None:
    played = tournament([lowest, highest, make_agent("minimax"), "random"], width=1)
    assert played.names == ("lowest", "highest", "Minimax", "random")
    assert played.matches["Minimax", "random"] == match("minimax", "random")


def test_progress_bar_counts_all_pairings(capsys) -> None:
    tournament(TRIO, progress=True)
    assert "6/6" in capsys.readouterr().err
    tournament(TRIO)
    assert capsys.readouterr().err == ""
