"""The page of claims: its figures equal newly computed ones."""

from pathlib import Path

import pytest
import truth
from claims import CLAIMS, Claim, found, fraction
from claims.systems import trainings
from marked import with_table
from value_network_figures import CHANGES

TEXT = truth.PAGE.read_text("utf-8")


@pytest.mark.slow
def test_page_equals_output_of_script() -> None:
    assert with_table(TEXT, truth.page(), "truth") == TEXT


@pytest.mark.slow
@pytest.mark.parametrize(
    "one", [one for one in CLAIMS if one.is_slow], ids=lambda one: one.name if isinstance(one, Claim) else ""
)
def test_measured_claim_is_reproduced(one: Claim) -> None:
    assert one.check() == truth.measured()[one.name]


def test_names_are_unique_and_slow_claims_were_measured() -> None:
    names = [one.name for one in CLAIMS]
    assert len(set(names)) == len(names)
    assert set(truth.measured()) == {one.name for one in CLAIMS if one.is_slow}


def test_measured_claims_are_saved_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(truth, "LINES", tmp_path / "lines.jsonl")
    of_name = {one.name: one for one in CLAIMS}
    for name in ("match-boxes", "board-code", "match-boxes"):
        truth.measure([of_name[name]])
    assert list(truth.measured()) == ["board-code", "match-boxes"]  # in the order of the page
    assert truth.measured()["match-boxes"] == ("304", "confirmed")
    assert capsys.readouterr().out.count("| 304 | confirmed |") == 2


def test_verdicts_and_fractions() -> None:
    assert found("1", True) == ("1", "confirmed")
    assert found("1", False, partly=True) == ("1", "in part")
    assert found("1", False) == ("1", "not confirmed")
    assert (fraction(7 / 945), fraction(1.0)) == ("1/135", "1")
    with pytest.raises(ValueError, match="not a fraction with a small denominator"):
        fraction(0.1234567891)


def test_table_of_trainings_is_parsed_completely() -> None:
    assert list(trainings()) == list(CHANGES)
    assert str(trainings()["usual"].good) == "95.2 (94 to 95.9)"
