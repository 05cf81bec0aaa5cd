"""Agents that look at all positions first begin with that while the visitor thinks about a move."""

import re

import pytest

from tests.web.questions import has_made
from ttt_env import get_game

UNPLAYED = "mnk-v0:m=2,n=5,k=3"
"""A game for which no other test has made agents ready."""
TABLES = {
    f"game={UNPLAYED}&x=person&o=minimax": ["minimax"],
    f"game={UNPLAYED}&x=softmax:temperature=0.5&o=random&pause=1": ["softmax:temperature=0.5"],
    "game=square-v0&x=person&o=epsilon:minimax": ["epsilon:minimax"],
    "game=square-v0": [],  # against rules
    "game=qubic-v0": [],  # against a search
    "": [],
}


def ready_url(text):
    """The first address that a page asks for later, if that one makes agents ready."""
    later = re.findall(r'data-later data-load="([^"]+)"', text)
    asked = [url for url in later if url.startswith("/play/ready")]
    assert asked in ([], later[:1])
    return asked[0].replace("&amp;", "&") if asked else None


@pytest.mark.parametrize("query", TABLES)
def test_a_page_asks_first_for_what_its_agents_need_before_they_move(query, client):
    url = ready_url(client.get(f"/play?{query}").text)
    assert (url is not None) == bool(TABLES[query])
    if url:
        moved = client.get(f"/play?{query}&moves=0")
        assert ready_url(moved.text) == url  # which a page that has asked before does not ask again


@pytest.mark.parametrize("query", [query for query in TABLES if UNPLAYED in query])
def test_then_they_are_there_when_they_are_to_move(query, client):
    services = client.app.state.services
    where = services.queues.move, "plan", has_made, services.roster
    [player] = TABLES[query]
    url = ready_url(client.get(f"/play?{query}").text)
    assert not client.portal.call(*where, player, get_game(UNPLAYED))
    assert client.get(url).text == ""
    assert client.portal.call(*where, player, get_game(UNPLAYED))


def test_agents_that_cannot_play_the_game_say_so_when_they_are_to_move(client):
    answer = client.get(f"/play/ready?game={UNPLAYED}&o=brute-force&x=q-learning")
    assert (answer.status_code, answer.text) == (200, "")
