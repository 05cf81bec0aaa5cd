"""The pages for a browser without JavaScript: what comes later elsewhere comes here with a reload."""

import re
from html import unescape

import pytest

from tests.support.marks import slow
from tests.web.reading import SMALL

WAITING = re.compile(r'<(?![^>]*data-later)[^>]*data-load="')
"""A part of a page that comes later, and not only once the visitor does something."""


def reloaded(client, address):
    """The page at an address, and the one that its link leads to."""
    page = client.get(address)
    links = re.findall(r'<noscript><p class="note">.*?<a class="whole" href="(.*?)"', page.text, re.S)
    assert len(links) == 1
    return page, client.get(unescape(links[0]))


@pytest.mark.parametrize(
    ("address", "known"),
    [("/play?x=minimax&o=person&moves=4&see=1", '<i class="loss">'),
     (f"/play?game={SMALL}&o=person&moves=5.1&see=1", 'class="course"'),
     ("/compare/agent?agent=weights&game=tictactoe-v0", "beatable"),
     ("/compare/agent?agent=weights", "4. O?"),
     (f"/inside?game={SMALL}", 'id="value"'),
     slow("/compare", 'class="heat"')],
)  # fmt: skip
def test_a_part_that_comes_later_comes_with_a_reload(address, known, client):
    page, whole = reloaded(client, address)
    assert known not in page.text and known in unescape(whole.text) and whole.status_code == 200
    assert not WAITING.search(whole.text) and "Checking every" not in whole.text


def test_see_stays_whole_from_move_to_move(client):
    _, whole = reloaded(client, "/play?x=person&o=person&moves=4.1&see=1")
    after = client.post(str(whole.url).replace("/play?", "/play/move?"), data={"cell": "0"})
    assert "moves=4.1.0" in str(after.url) and '<i class="loss">' in after.text
    over = client.get("/play?x=person&o=person&moves=0.3.1.4.2&see=1&whole=1")
    assert "X wins" in over.text and "now O loses" in over.text


def test_a_link_of_another_site_brings_the_page_without_its_parts(client):
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    for path in ("/compare/agent?agent=weights", "/compare?x=1", f"/inside?game={SMALL}"):
        assert WAITING.search(client.get(f"{path}&whole=1", headers=link).text), path
    seen = "/play?x=minimax&o=person&moves=4&see=1&whole=1"
    assert '<i class="loss">' not in client.get(seen, headers=link).text
    assert '<i class="loss">' in client.get(seen).text


def test_a_malformed_address_is_told_once_on_a_whole_page(client):
    page = client.get("/compare/agent?agent=nobody&whole=1")
    assert page.status_code == 400 and page.text.count('class="complaint"') == 1


@pytest.mark.parametrize(
    "path",
    ["/compare/agent?agent=weights", "/compare/people?", "/compare/softmax?", "/compare/runs?",
     slow("/compare?row=random&column=minimax")],
)  # fmt: skip
def test_whole_pages_lead_to_whole_pages(path, client):
    whole, plain = (client.get(path + more).text for more in ("&whole=1", ""))
    pages = {
        is_whole: re.findall(r'<a [^>]*href="(/compare(?:/agent|/softmax|/runs|/people)?(?:\?[^"]*)?)"', text)
        for is_whole, text in ((True, whole.partition("<main")[2]), (False, plain.partition("<main")[2]))
    }
    assert len(pages[True]) >= 4 and all("whole=1" in page for page in pages[True])
    assert sum("whole=1" in page for page in pages[False]) <= 1  # the one that reloads with the parts
    forms = [form for form in re.findall(r"<form.*?</form>", whole, re.DOTALL) if 'action="/compare' in form]
    assert all('name="whole"' in form or "?whole=1" in form for form in forms)


def test_the_agent_that_is_chosen_on_a_whole_page_comes_whole(client):
    fields = "was=weights&agent=win-block&game=tictactoe-v0&whole=1"
    page = client.get(f"/compare/agent?{fields}")
    assert "whole=1" in str(page.url) and "beatable" in page.text
