"""Comparing: the ladder, certificates with refutations, and training."""

import re

from ttt_env import certify, match
from ttt_env.analysis.known import blunders_of


def ladder(page):
    """The scores of the table by row and column, with the mean in each row."""
    names = page.all(".ladder thead th")
    rows = page.run(
        """return [...document.querySelectorAll('.ladder tbody tr')].map((row) =>
             [row.querySelector('a'), ...row.querySelectorAll('td')].map(({textContent}) => textContent));"""
    )
    return {name: dict(zip(names, scores, strict=True)) for name, *scores in rows}


def test_ladder_and_certificates_equal_package(page):
    page.go("#compare")
    page.until("return document.querySelector('.ladder')")
    scores = ladder(page)
    for row, column in [("minimax", "random"), ("win-block", "weights"), ("random", "newell-simon")]:
        exact = match(row, column).score
        assert scores[row][column] == f"{'+' if exact > 0 else '−'}{abs(exact):.2f}"
    unbeatable = page.all("tr:has(small) a")
    assert "minimax" in unbeatable and "win-block" not in unbeatable

    page.click("//section[@class='certificate']/following::a[text()='win-block']")
    page.until("return document.querySelector('.certificate .seal')")
    certificate = certify("win-block")
    assert page.count(".seal.beatable") == 1 and page.text(".certificate h1") == "win-block"
    games = [record for record in certificate.refutations.values() if record is not None]
    assert page.count(".refutation") == len(games) > 0
    descriptions = page.run(
        """return [...document.querySelectorAll('.refutation')].map((each) =>
             [...each.querySelectorAll('svg')].map(({ariaLabel}) => ariaLabel));"""
    )
    for record, labels in zip(games, descriptions, strict=True):
        assert [int(re.search(r"on (\d)", label)[1]) for label in labels] == list(record.cells)
        marked = [ply for ply, label in enumerate(labels, 1) if label.endswith("a blunder")]
        assert marked == list(blunders_of(record)) and page.count(".strip .blunder") >= len(marked)
    page.click(".refutation > a")
    page.until("return document.querySelector('.status')?.textContent.includes('lost it at move')")


def test_unbeatable_agent_has_no_refutation(page):
    page.go("#compare?agent=minimax")
    page.until("return document.querySelector('.certificate .seal.proved')")
    assert page.count(".refutation") == 0
    page.click("//a[text()='Play against it']")
    page.until("return document.querySelector('.status')?.textContent === 'Your turn: X'")


def test_any_agent_is_certified_on_request(live):
    live.go("#compare?game=mnk-v0:m=4,n=3,k=3")
    live.find("input[list]").send_keys("win-block\n")
    live.until("return document.querySelector('.seal.beatable')")
    assert live.text(".certificate h1") == "win-block" and live.count(".strip svg") > 3


def test_refused_request_shows_reason(live):
    live.go("#compare?game=square-v0&agent=process:rm")
    live.until("return !document.querySelector('.complaint').hidden")
    assert "arrived as data" in live.text(".complaint")
    assert all("400" in line for line in live.console_messages())


def test_learner_trains_until_unbeatable(live):
    live.go("#compare?game=square-v0")
    live.find("[aria-label=Algorithm]").send_keys("q-learning")
    live.click("//button[text()='Train']")
    live.until("return document.querySelector('[role=status]').textContent.includes('UNBEATABLE')")
    assert live.attribute(".curve.run path", "d").count("L") > 1
    assert not live.find("//button[text()='Stop']").is_displayed()


def test_training_can_be_stopped(live):
    live.go("#compare?game=square-v0")
    live.find("[aria-label=Algorithm]").send_keys("value-network")
    live.click("//button[text()='Train']")
    live.until("return document.querySelector('[role=status]')")
    live.click("//button[text()='Stop']")
    live.until("return document.querySelector('[role=status]').textContent === 'value-network: stopped'")
    assert not live.find("//button[text()='Stop']").is_displayed()
