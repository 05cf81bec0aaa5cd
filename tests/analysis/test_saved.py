"""Results as text, dictionaries, JSON and files."""

import dataclasses
import json
import re
import subprocess
import sys
from functools import cache
from html import unescape

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support.agents import FILES, cases_of, shipped
from tests.support.games import LOPSIDED, SHORT, highest, lowest
from ttt_env import Certificate, Match, Proof, TttEnvError
from ttt_env.analysis.dossier import dossier
from ttt_env.analysis.results import match_of
from ttt_env.errors import FileError
from ttt_env.storage import codec
from ttt_env.storage.codec import write_json

RESULTS = {
    "beatable": lambda: ttt_env.certify("weights"),
    "unbeatable": lambda: ttt_env.certify("minimax"),
    "misère": lambda: ttt_env.certify("random", SHORT),
    "own game": lambda: ttt_env.certify("random", LOPSIDED),
    "of a function": lambda: ttt_env.certify(lowest),
    "match": lambda: ttt_env.match("random", "minimax"),
    "sampled match": lambda: ttt_env.match("random", "random", exact=False, games=10),
    "match of a function": lambda: ttt_env.match(lowest, "random", exact=True),
    "exploitability": lambda: ttt_env.exploitability("random"),
    "tournament": lambda: ttt_env.tournament(["random", "minimax", "win-block"]),
    "tournament of functions": lambda: ttt_env.tournament({"lowest": lowest, "random": "random"}, width=1.0),
    "proof": lambda: ttt_env.prove("tictactoe-v0"),
    "unfinished proof": lambda: ttt_env.prove("qubic-v0", nodes=1),
    "proof of a position": lambda: ttt_env.prove(LOPSIDED, LOPSIDED.start.play(3)),
}


@cache
def result_of(name):
    return RESULTS[name]()


@pytest.fixture(params=RESULTS)
def result(request):
    return result_of(request.param)


class TestRoundTrips:
    def test_result_round_trips_through_dict_json_and_file(self, result, tmp_path):
        assert type(result).from_dict(json.loads(json.dumps(result.to_dict()))) == result
        assert type(result).from_json(result.to_json()) == result
        result.save(tmp_path / "result.json")
        again = type(result).load(tmp_path / "result.json")
        assert again == result and again.to_json() == result.to_json()
        text = str(result)
        assert len(text) < 900 and "array" not in text and "<" not in text
        assert len(repr(result)) < 400

    def test_notebook_shows_picture_or_text(self, result):
        if isinstance(result, Certificate):
            assert result._repr_html_() is None and result._repr_svg_() == result.picture().svg
        else:
            words = unescape(re.sub("<[^>]*>", " ", result._repr_html_()))
            assert set(str(result).split()) <= set(words.split())

    def test_missing_or_mistyped_fields_are_refused(self, result):
        data = result.to_dict()
        for key in data:
            if key not in result.DERIVED:
                with pytest.raises(FileError, match=f"not a saved {type(result).__name__}"):
                    type(result).from_dict({name: part for name, part in data.items() if name != key})
            for bad_value in ("x", [7], {"a": 1}):
                try:
                    type(result).from_dict(data | {key: bad_value})
                except TttEnvError as error:
                    assert isinstance(error, FileError)
        other = Match if not isinstance(result, Match) else Proof
        with pytest.raises(FileError, match="its format is not"):
            other.from_dict(data)


class TestFiles:
    def test_file_is_utf8_in_any_locale(self, tmp_path):
        path = tmp_path / "own.json"
        ttt_env.certify("random", dataclasses.replace(LOPSIDED, name="schräg−")).save(path)
        code = f"import ttt_env; print(ttt_env.Certificate.load({str(path)!r}).n_blunders)"
        run = subprocess.run([sys.executable, "-X", "utf8=0", "-c", code], env={"LC_ALL": "C"}, check=True)
        assert run.returncode == 0

    def test_long_lists_are_truncated_with_count(self, monkeypatch):
        monkeypatch.setattr(codec, "MOST_LISTED", 10)
        found = ttt_env.certify("random")
        again = Certificate.from_dict(found.to_dict())
        assert len(again.blunders) == 10 and again.n_blunders == len(found.blunders) > 3000
        assert again == found and again.unbeatable is False

    @pytest.mark.parametrize("path", cases_of(FILES))
    def test_shipped_certificates_load_and_match_certify(self, path):
        saved = Certificate.load(path.with_suffix(".certificate.json"))
        assert saved == ttt_env.certify(*shipped(path))

    def test_dossier_loads_as_certificate(self, tmp_path):
        facts = dossier("block", opponents=["random"])
        write_json(facts, tmp_path / "block.json")
        assert Certificate.load(tmp_path / "block.json") == ttt_env.certify("block")
        assert facts.items() >= ttt_env.certify("block").to_dict().items()


class TestText:
    def test_certificate_text_names_verdict_and_counts(self):
        found = ttt_env.certify("random")
        text = str(found)
        assert found.n_positions == reference.TO_BE_PLAYED_BY_SEAT
        assert text.startswith("tictactoe-v0: BEATABLE as X and as O. Asked once in 4,520 positions.\n")
        assert (
            f"\nShortest refutation as {found.refuted_as}: " in text and "\nWorst result as X: loss" in text
        )
        assert f"\nBlunders in {reference.CAN_BLUNDER:,} positions, " in text
        assert str(result_of("unbeatable")).startswith("tictactoe-v0: UNBEATABLE. Asked once in ")
        assert repr(result_of("unbeatable")) == "<Certificate of tictactoe-v0: UNBEATABLE>"
        asked = result_of("of a function")
        assert asked.n_queries == sum(asked.n_positions.values())
        assert f"Asked once in {asked.n_queries:,} positions; it may answer differently" in str(asked)
        assert "Asked once" in asked.picture().svg

    def test_common_failure_reason_comes_first(self):
        def broken(position):
            return bord[0]  # noqa: F821

        with pytest.raises(NameError):
            ttt_env.certify(broken)
        text = str(ttt_env.certify(lambda position: 9))
        assert text.startswith("no cell in all 10 positions: '9'\ntictactoe-v0: BEATABLE as X and as O")

    def test_text_says_that_value_is_not_computed(self):
        game = "mnk-v0:m=5,n=4,k=3,misere=true"
        found = ttt_env.certify(lowest, game, seats="O")
        assert found.unbeatable is found.game_value is None and not found.is_complete and not found
        assert "loses as O; the value of the game is not computed" in str(found)
        found = ttt_env.certify(lowest, game)
        assert found.unbeatable is False and found.game_value is None and not found.is_complete and not found
        text = str(found)
        assert ": BEATABLE as X or as O. " in text and "\nWhatever the value of the game is, " in text
        assert "counts are not complete" in str(found) and "Worst result as O: loss, by " in str(found)
        assert found.refutations == {"X": None, "O": None} and found.worst_games["X"].value("X") == -1

    def test_text_says_which_agent_gains(self):
        text = str(result_of("match"))
        assert text.startswith("Score −0.8726 for the first agent, computed: wins minus losses")
        assert "as O, moving second  wins 0%, draws" in text
        assert "sampled in 10 games, 10 different: with 95 % confidence in [" in str(
            result_of("sampled match")
        )
        text, found = str(result_of("exploitability")), result_of("exploitability")
        assert text.startswith(f"Exploitability {found.exploitability:.4f}, the mean over both seats.")
        assert f"A best response, moving first, gains  +{found.as_o:.4f} against it as O" in text
        assert "0.0000: no opponent gains anything" in str(ttt_env.exploitability("minimax"))
        assert "X to move: X draws.\nBest play begins: " in str(result_of("proof"))
        assert "too small to know more" in str(result_of("unfinished proof"))


class TestIntervals:
    """One win and one loss are added, so that identical results still leave some uncertainty."""

    @pytest.mark.parametrize(
        "counts", [[[50, 0, 0], [50, 0, 0]], [[0, 0, 50], [0, 0, 50]], [[0, 50, 0], [0, 50, 0]]]
    )
    def test_interval_is_not_empty_if_all_games_end_equally(self, counts):
        found = match_of(np.array(counts), 100)
        wins, losses = counts[0][0] + 1, counts[0][2] + 1
        mean = (wins - losses) / 52
        margin = 1.959964 * (((wins + losses) / 52 - mean**2) / 50 / 2) ** 0.5
        assert found.interval == pytest.approx((max(-1, found.score - margin), min(1, found.score + margin)))

    def test_interval_is_symmetric_in_wins_and_losses(self):
        low, high = match_of(np.array([[30, 10, 10], [20, 20, 10]]), 100).interval
        turned_low, turned_high = match_of(np.array([[10, 10, 30], [10, 20, 20]]), 100).interval
        assert (low, high) == pytest.approx((-turned_high, -turned_low))

    def test_repeated_games_have_no_interval(self):
        found = ttt_env.match("minimax:depth=1", lowest, games=40)
        assert not found.exact and found.distinct_games <= found.games
        same = ttt_env.match(lowest, highest, games=40)
        assert same.distinct_games == 2 and same.interval is None and same.width == 0
        assert "sampled in 40 games, 2 different." in str(same)
