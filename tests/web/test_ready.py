"""Agents that look at all positions first begin with that while the visitor thinks about a move."""

import re

import pytest
from starlette.testclient import TestClient

from tests.web.serving import has_made
from ttt_env import get_game
from ttt_env.app.web.server import create_app

GAME = "mnk-v0:m=4,n=3,k=3"
TABLES = {
    f"game={GAME}&x=person&o=minimax": ["minimax"],
    f"game={GAME}&x=softmax:temperature=0.5&o=random&pause=1": ["softmax:temperature=0.5"],
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


@pytest.mark.parametrize("query", [query for query in TABLES if GAME in query])
def test_then_they_are_there_when_they_are_to_move(query):
    app = create_app()
    services, game = app.state.services, get_game(GAME)
    with TestClient(app, base_url="http://localhost") as client:

        def made(player):
            return client.portal.call(services.queues.move, "plan", has_made, services.roster, player, game)

        url = ready_url(client.get(f"/play?{query}").text)
        assert not any(map(made, TABLES[query]))
        assert client.get(url).text == ""
        assert all(map(made, TABLES[query]))


def test_agents_that_cannot_play_the_game_say_so_when_they_are_to_move(client):
    answer = client.get(f"/play/ready?game={GAME}&o=brute-force&x=q-learning")
    assert (answer.status_code, answer.text) == (200, "")
