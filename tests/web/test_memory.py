"""The memory that the server holds, over games of all kinds."""

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, cycle, islice
from multiprocessing import get_context

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.web.reading import cells_of, move, status
from ttt_env import get_game
from ttt_env.agents.mcts.search import Search, trees_of
from ttt_env.app.cli import web
from ttt_env.web import server
from ttt_env.web.services import Services
from ttt_env.web.sweeping import MAX_MB, MAX_SWEEP_MB, resident

SWEPT = ["square-v0", "mnk-v0:m=4,n=4,k=4", "square-v0:misere=true", "mnk-v0:m=5,n=3,k=3"]
OTHERS = ["tictactoe-v0", "qubic-v0", "mnk-v0:m=4,n=3,k=3", "tictactoe-v0:misere=true", "mnk-v0",
          "square-v0:n=5", "mnk-v0:m=8,n=8,k=5"]  # fmt: skip
GAMES = [*SWEPT, *OTHERS]


def opponents(services, game):
    """The agents that can play the game, and as often softmax at some temperature, which solves it anew."""
    offers = (offer.name for offer in services.roster.offers(game) if not offer.refusal)
    names = [name for name in offers if name != "person"]
    return names + ["softmax:temperature={}"] * (len(names) if "softmax" in names else 0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux alone")
@pytest.mark.parametrize("n_games", [22, 1000])
def test_the_memory_of_the_server_is_limited_whatever_is_played(n_games):
    # In a process that holds nothing of what other tests have computed.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert 0 < pool.submit(most_memory, n_games).result() < MAX_MB


def games(number):
    """So many games of all kinds: after the first 66, one in ten of those whose sweeps take seconds."""
    return islice(chain(6 * GAMES, cycle(9 * OTHERS + GAMES)), number)


def most_memory(n_games):
    """The most megabytes that the server and its process of sweeps hold after one of so many games."""
    opened, most = [], 0.0
    server.Services = lambda *parts: opened.append(Services(*parts)) or opened[0]
    rng = np.random.default_rng(0)
    with TestClient(server.create_app(), base_url="http://localhost") as client:
        for number, name in enumerate(games(n_games)):
            game, temperature = get_game(name), rng.integers(1, 60) / 20
            agent = rng.choice(opponents(opened[0], game)).format(temperature)
            page = play_some(client, f"/play?game={name}&o={agent}&unrecorded=1", game, rng)
            if number % 3 == 0:
                assert client.get(str(page.url).replace("/play?", "/play/see?")).status_code == 200
            if number % 5 == 0:
                tree = client.get(f"/inside?part=1&game={name}&x.temperature={temperature}")
                assert tree.status_code == 200
            pid = opened[0].sweeper.pid
            most = max(most, resident() + (resident(pid) if pid else 0.0))
    return most


def play_some(client, url, game, rng):
    """Two moves of a visitor at random, and the agent's replies."""
    page = client.get(url)
    for _ in range(2):
        page = move(client, page.url, rng.choice(sorted({*range(game.n_cells)} - {*cells_of(page)})))
        if "thinking" in status(page):
            page = move(client, page.url)
        assert page.status_code == 200
    return page


def test_the_limit_is_told_to_who_starts_the_server():
    assert f"up to {MAX_MB / 1000:g} GB of memory, {MAX_SWEEP_MB / 1000:g} GB of it for sweeps" in web.__doc__


def test_the_tree_of_a_search_is_limited():
    search = Search(get_game("qubic-v0").start, seed=0)
    with trees_of(1 << 13):
        assert search.run(simulations=20_000) == 20_000
    assert len(search._tree.nodes) == 1 << 13
    search.run(simulations=20_000)
    assert len(search._tree.nodes) > 1 << 13
