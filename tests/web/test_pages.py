"""The pages as text: what is said, what is refused, what is recorded."""

import asyncio
import gc
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from urllib.parse import urljoin, urlsplit

import httpx2
import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.support.marks import slow
from tests.web.reading import cells_of, complaint, fields_of, links_of, move, moved, status, text_of
from tests.web.serving import Endless, Patient, Server, install
from ttt_env import GameRecord, get_game
from ttt_env.rules.sizes import ENUMERABLE_CELLS
from ttt_env.web.server import create_app

FINISHED = "moves=0.3.1.4.2"


def play(client, start, rng):
    """A whole game of a visitor who moves at random where an agent does not; every page of it is checked."""
    page = client.get(start)
    while not re.search("wins|You win|draw|lost it", status(page)):
        before = cells_of(page)
        free = sorted({*range(9)} - {*before})
        page = move(client, page.url, None if "thinking" in status(page) else rng.choice(free))
        assert page.status_code == 200 and cells_of(page)[:-1] == before
    return page


def test_finished_games_are_recorded_once_with_who_played(client, log):
    rng = np.random.default_rng(1)
    pages = [play(client, f"/play?{seats}", rng) for seats in ("x=person&o=minimax", "x=random&o=person")]
    assert [(game.record, game.x, game.o, game.source) for game in log.games("tictactoe-v0")] == [
        (GameRecord("tictactoe-v0", cells_of(pages[0])), "person", "minimax", "web"),
        (GameRecord("tictactoe-v0", cells_of(pages[1])), "random", "person", "web"),
    ]
    page = play(client, "/play?x=person&o=person", rng)
    assert len(log) == 3
    back = client.get(links_of(page)["undo"])
    assert move(client, back.url, cells_of(page)[-1]).status_code == 200 and len(log) == 3


@pytest.mark.parametrize("key", ["", "&key=AAAA-BBBBBBBBBBBB", "&key=-", "&key=%C3%BC"])
def test_what_was_not_played_here_is_not_recorded(key, client, log):
    page = client.get(f"/play?o=person&moves=0.3.1.4{key}")
    assert "not recorded" in page.text
    assert status(move(client, page.url, 2)) == "X wins" and len(log) == 0


def test_recording_can_be_turned_off(client, log):
    assert "Finished games are recorded" in client.get("/play").text
    play(client, "/play?x=person&o=random&unrecorded=1", np.random.default_rng(0))
    assert len(log) == 0 and "not recorded" in client.get("/play?unrecorded=1").text


def test_without_a_log_nothing_is_recorded_and_nobody_is_counted():
    with TestClient(create_app(), base_url="http://localhost") as client:
        page = play(client, "/play?x=person&o=random", np.random.default_rng(0))
        assert "Games are not recorded" in page.text
        assert "people" not in " ".join(re.findall(r'data-load="(.*?)"', client.get("/play").text))
        assert "Games are not recorded here" in text_of(client.get("/compare/people").text)
        assert client.get("/compare/people/agent?agent=minimax").text.strip() == ""


def test_the_imitation_agent_learns_from_the_log_of_this_server(log):
    with TestClient(create_app(log=log), base_url="http://localhost") as client:
        assert "11.11%" in client.get("/play/see?x=imitation&o=person").text
        assert status(moved(client, "/play?o=person", 6, 2, 4, 0, 8, 1)) == "O wins"
        shown = client.get("/play/see?x=imitation&o=person").text
    corner, other = "25%", "0%"
    chances = [corner, other, corner, other, other, other, corner, other, corner]
    assert re.findall(r'"chance"[^>]*>(.*?)</b>', shown) == chances


@pytest.mark.parametrize(
    ("url", "cell", "told"),
    [("/play?o=person&moves=4", 4, "taken"), ("/play?o=person&moves=4", 9, "not a cell"),
     ("/play?o=person&moves=4", "x", "no list of cells"), ("/play?o=person&moves=4", "", "one cell"),
     ("/play?o=person&moves=4", "0.1", "one cell"),
     ("/play?o=person&" + FINISHED, 8, "over"), ("/play?x=minimax&o=person", 4, "not your turn: minimax"),
     ("/play?x=person", None, "No agent is to move"), ("/play?x=random&" + FINISHED, None, "No agent"),
     ("/play?o=person&moves=4", "4" * 200, "one cell"), ("/play?o=person&moves=4.4", 5, "taken"),
     ("/play?game=qubic-v0&x=minimax&o=person", None, "minimax:depth=4")],  # it cannot play the game
)  # fmt: skip
def test_a_move_that_is_none_is_refused_and_nothing_is_lost(url, cell, told, client, log):
    page = move(client, url, cell)
    assert page.status_code == 400 and told in complaint(page)
    assert len(log) == 0 and 'id="cell-8"' in page.text and "data-after" not in page.text


WITH_THE_REPLY = {"prefer": "return=representation"}


def answered(client, url, cell):
    """The moves and the page that a script gets for a person's move: no redirection."""
    page = move(client, url, cell, headers=WITH_THE_REPLY, follow_redirects=False)
    assert page.status_code == 200
    moves = fields_of(page.headers["content-location"])["moves"]
    return [int(cell) for cell in moves.split(".")], page


def test_a_script_gets_the_reply_with_its_move_and_the_game_is_recorded(client, log):
    url, cells = "/play?x=person&o=minimax", []
    while "data-result" not in (page := client.get(url)).text:
        free = [cell for cell in range(9) if cell not in cells]
        before = len(cells)
        cells, page = answered(client, url, free[0])
        url = page.headers["content-location"]
        assert len(cells) == min(before + 2, 9) or "wins" in status(page)
    assert len(log) == 1


def test_a_script_gets_its_move_alone_where_the_reply_takes_longer(client, monkeypatch):
    for name, seconds in (("patient", 1.0), ("sluggish", 0.1)):
        install(monkeypatch, name, Patient)
        monkeypatch.setattr(Patient, "seconds_per_move", seconds)
        monkeypatch.setattr(Patient, "may_move", threading.Event())
        cells, page = answered(client, f"/play?x=person&o={name}", 4)
        assert cells == [4] and "thinking" in status(page)
        assert 'data-after="0"' in page.text  # the pause is over, or will be long before the reply
        Patient.may_move.set()
        assert cells_of(move(client, page.headers["content-location"])) == (4, 0)


def test_pages_are_compressed(client):
    page = client.get("/play", headers={"accept-encoding": "gzip"})
    assert page.headers["content-encoding"] == "gzip" and "</html>" in page.text
    assert "content-encoding" not in client.get("/play", headers={"accept-encoding": "identity"}).headers


def test_a_game_begun_before_a_restart_says_so(client, log):
    page = move(client, "/play?x=person&o=person", 4)
    with TestClient(create_app(log=log), base_url="http://localhost") as restarted:
        text = restarted.get(str(page.url)).text
    assert "Opened from a link" not in text and "restarted during this game" in text


def test_a_page_says_while_searches_are_compiled(client):
    told = "Searches are being compiled"
    assert told not in client.get("/play?game=qubic-v0").text
    client.app.state.services.is_warming_up = True
    assert told in client.get("/play?game=qubic-v0").text and told not in client.get("/play").text
    client.app.state.services._warm_up()
    assert told not in client.get("/play?game=qubic-v0").text


def test_a_log_that_fails_does_not_cost_the_game(client, log):
    log.close()
    page = moved(client, "/play?o=person", 0, 3, 1, 4, 2)
    assert status(page) == "X wins" and "could not be recorded" in complaint(page)
    assert "This game is not recorded." in page.text and str(log.path) not in page.text


OFFERED = ["tictactoe-v0", "qubic-v0"]
LARGE = ["tictactoe-v0:misere=true", "mnk-v0", "square-v0:n=5", "mnk-v0:m=8,n=8,k=5", "mnk-v0:m=4,n=3,k=3",
         "square-v0", "square-v0:misere=true", "mnk-v0:m=4,n=4,k=4", "mnk-v0:m=5,n=3,k=3"]  # fmt: skip


@pytest.mark.parametrize("game", [*OFFERED, *map(slow, LARGE)])
def test_whoever_is_offered_can_play_and_the_others_are_shown_with_the_reason(game, client):
    page = client.get(f"/play?game={game}")
    assert page.status_code == 200
    options = set(re.findall(r'<option value="([\w-]+)"(?: selected)?( disabled)? title="(.*?)">', page.text))
    assert {"person", "random", "mixture", "rules", "mcts", "ppo"} < {name for name, *_ in options}
    for name, is_refused, told in options - {("person", "", "")}:
        answer = move(client, f"/play?game={game}&x={name}&o=person", follow_redirects=False)
        assert answer.status_code == (400 if is_refused else 303), name
        if is_refused:
            shown = client.get(f"/play?game={game}&x={name}&o=person")
            assert shown.status_code == 400
            assert unescape(told) == complaint(shown) == complaint(answer)
    refused = {name for name, is_refused, _ in options if is_refused}
    assert ("minimax" in refused) == (get_game(game).n_cells > ENUMERABLE_CELLS)


def test_after_a_refused_move_the_agent_still_moves_by_itself(client):
    taken = move(client, "/play?x=person&o=minimax&moves=4.0", 4)
    assert "taken" in complaint(taken) and "pause" not in unescape(taken.text).replace('id="pause"', "")
    assert "data-after" in move(client, "/play?x=person&o=minimax&moves=4.0", 8).text
    malformed = client.get("/play?x=person&o=minimax&moves=4.4")
    assert status(malformed) == "minimax (O) is to move" and "data-after" not in malformed.text


def test_two_tabs_go_on_from_one_position_without_disturbing_each_other(client):
    shared = moved(client, "/play?x=person&o=person", 4)
    tabs = [move(client, shared.url, cell) for cell in (0, 8)]
    assert [cells_of(tab) for tab in tabs] == [(4, 0), (4, 8)]
    assert cells_of(client.get(tabs[0].url)) == (4, 0)


def test_the_form_sets_game_and_players(client):
    def sent(was, **fields):
        return client.get("/play/table", params={"was": was} | fields)

    page = sent("o=minimax&moves=4", kind="square-v0", n="5", misere="true")
    assert "game=square-v0:misere=true&x=person&o=minimax" in str(page.url) and cells_of(page) == ()
    page = sent("game=square-v0", kind="square-v0", n="5")
    assert "game=square-v0:n=5&" in str(page.url)
    page = sent("game=square-v0:n=5", kind="square-v0", n="5", tilted="false")
    assert "game=square-v0:n=5,tilted=false&" in str(page.url) and "square, upright, first" in page.text
    assert 'id="tilted" value="false" checked' in page.text
    page = sent("o=softmax", kind="qubic-v0", o="softmax")
    assert page.status_code == 200 and "o=mcts" in str(page.url)  # an opponent who can play it
    page = sent("game=square-v0:n=5,tilted=false", kind="mnk-v0", tilted="false")
    assert "game=mnk-v0:m=5,n=5,k=4&" in str(page.url) and 'id="tilted"' not in page.text
    page = sent("o=softmax&moves=4.0", o="softmax", **{"o.temperature": "0.5"})
    assert "o=softmax:temperature=0.5&moves=4.0" in str(page.url)
    page = sent("o=softmax&moves=4.0", o="mcts", **{"o.temperature": "0.5"})
    assert "o=mcts&moves=4.0" in str(page.url)
    page = sent("o=weights", o="softmax", **{"of-o": "softmax", "o.temperature": "0.3"})
    assert "o=softmax:temperature=0.3" in str(page.url)
    # What the slider at the game has set is kept.
    was = "x=person&o=softmax:temperature=0.2,opponent_temperature=0.4"
    page = sent(was, x="person", o="softmax", **{"o.opponent_temperature": "0.7"})
    assert "o=softmax:temperature=0.2,opponent_temperature=0.7" in str(page.url)
    page = sent("o=minimax&moves=4.0", o="minimax", **{"o.depth": "70"})
    assert page.status_code == 400 and "depth" in complaint(page) and "moves=4.0" in unescape(page.text)


def test_the_page_itself_is_answered_and_other_names_only_where_all_may_come(client):
    own = {"origin": "http://localhost"}
    page = client.post("/play/move?o=person", data={"cell": "4"}, headers=own, follow_redirects=False)
    assert page.status_code == 303
    with TestClient(create_app(is_local=False), base_url="http://elsewhere") as open_to_all:
        assert open_to_all.get("/play").status_code == 200


def test_a_page_needs_nothing_from_elsewhere(client):
    text = client.get("/play").text + client.get("/static/page.js").text + client.get("/static/page.css").text
    assert not re.findall(r"https?://(?!www\.w3\.org)", text)
    assert "script-src" not in client.get("/play").headers["content-security-policy"]


@pytest.mark.slow
def test_fifty_visitors_at_once_each_play_their_own_game(log):
    seats = ["x=person&o=minimax", "x=weights&o=person", "o=mcts:simulations=50", "x=random&o=newell-simon"]

    def visitor(number):
        with httpx2.Client(base_url=url, follow_redirects=True, timeout=300) as client:
            return cells_of(play(client, f"/play?{seats[number % 4]}", np.random.default_rng(number)))

    with Server(create_app(log=log)) as url, ThreadPoolExecutor(50) as visitors:
        played = list(visitors.map(visitor, range(50)))
    assert sorted(played) == sorted(record.cells for record in log.records("tictactoe-v0"))


def test_a_search_of_another_visitor_does_not_hold_up_the_moves(monkeypatch):
    install(monkeypatch, "patient", Patient)
    monkeypatch.setattr(Patient, "may_move", threading.Event())
    with (
        Server(create_app({"patient": "patient"})) as url,
        httpx2.Client(base_url=url, follow_redirects=True, timeout=300) as client,
        ThreadPoolExecutor(1) as visitor,
    ):
        search = visitor.submit(client.post, "/play/move?game=qubic-v0&x=model:patient&o=person")
        for _ in range(3):
            assert client.post("/play/move?x=minimax&o=person").status_code == 200
        assert not search.done()
        Patient.may_move.set()
        assert "moves=0" in str(search.result().url)


def test_quick_questions_are_answered_while_slow_ones_are_at_work(monkeypatch):
    """More searches than there are threads, and more sweeps than are done in the time of some clicks."""
    install(monkeypatch, "endless", Endless)
    search = "/play/move?game=qubic-v0&x=model:endless&o=person"
    sweeps = [f"/play/see?game=square-v0&o=softmax:temperature={t / 10}" for t in range(1, 31)]
    quick = ["see?o=random", "moves?moves=4.1", "see?o=mcts:simulations=20,seed=1&moves=4",
             "strength?game=tictactoe-v0&player=weights", "../inside?view=mcts&mcts.done=50",
             "../inside?game=qubic-v0&view=mcts&mcts.done=20", "../compare/softmax"]  # fmt: skip

    async def visit(url):
        async with httpx2.AsyncClient(base_url=url, timeout=300) as client:
            searching = [asyncio.create_task(client.post(search)) for _ in range((os.cpu_count() or 2) + 4)]
            sweeping = [asyncio.create_task(client.get(sweep)) for sweep in sweeps]
            await asyncio.sleep(0.1)
            for question in quick:
                assert (await client.get(urljoin("/play/", question))).status_code == 200
            moved = await client.post("/play/move?x=minimax&o=person")
            assert moved.status_code == 303
            assert not any(task.done() for task in searching) and not sweeping[-1].done()
            for task in (*searching, *sweeping):
                task.cancel()

    Endless.was_stopped.clear()
    with Server(create_app({"endless": "endless"})) as url:
        asyncio.run(visit(url))
        assert Endless.was_stopped.wait(300)  # its visitors have gone


@pytest.mark.slow
@pytest.mark.parametrize("n_games", [200, 1000])
def test_memory_stays_flat_over_many_games(client, n_games):
    def games(count):
        for _ in range(count):
            url = "/play?o=person&unrecorded=1"
            for cell in (0, 3, 1, 4, 2):
                url = move(client, url, cell, follow_redirects=False).headers["location"]
            assert status(client.get(url)) == "X wins"
            move(client, "/play?x=mcts:simulations=5&o=person", follow_redirects=False)
        gc.collect()
        return len(gc.get_objects())

    before = games(50)
    assert games(n_games) - before < n_games  # less than one object a game


def test_the_move_list_is_a_review_that_makes_no_move(client):
    start = "/play?x=person&o=minimax&moves=4.0.8.2"
    for at in range(1, 4):
        page = client.get(links_of(client.get(start))[f"move-{at}"])
        assert status(page) == f"Move {at} of 4: {'OX'[at % 2]} on {[4, 0, 8][at - 1]}"
        assert "data-after" not in page.text and 'type="submit"' not in page.text
        assert cells_of(page) == (4, 0, 8, 2) and 'id="move-4"' in page.text
        refused = move(client, page.url, None if at % 2 else 6)
        assert refused.status_code == 400 and "looked at" in complaint(refused)
        back, forth = (client.get(links_of(page)[name]) for name in ("undo", "redo"))
        assert f"at={at - 1}&review=1" in str(back.url)
        assert ("review" in str(forth.url)) == (at < 3)
        assert str(client.get(links_of(page)["latest"]).url).endswith("moves=4.0.8.2")
    assert "data-after" in client.get(start.replace(".2", "")).text
    judged = client.get("/play/moves?o=person&moves=4.1").text
    assert "A blunder: now O loses; it draws with 0 (a1), 2 (c1), 6 (a3) or 8 (c3)." in judged


def test_play_from_here_branches_and_its_game_is_recorded(client, log):
    page = moved(client, "/play?o=person", 0, 3, 1, 4)
    reviewed = client.get(links_of(page)["move-2"])
    branch = client.get(links_of(reviewed)["branch"])
    assert cells_of(branch) == (0, 3) and "review" not in str(branch.url)
    assert status(moved(client, branch.url, 8, 4, 7, 5)) == "O wins"
    assert [game.record.cells for game in log.games("tictactoe-v0")] == [(0, 3, 8, 4, 7, 5)]
    foreign = client.get("/play?x=person&o=person&moves=0.3.1.4&at=2&review=1")
    assert "key" not in fields_of(links_of(foreign)["branch"])


def test_an_agent_does_not_make_anew_what_was_taken_back(client):
    page = client.get("/play?x=random&o=person&moves=4&at=0")
    assert "data-after" not in page.text and "Let random move" in page.text
    watched = client.get("/play?x=random&o=random&moves=4.0.8&at=2")
    assert "data-after" not in watched.text and status(watched) == "random (X) is to move"
    assert cells_of(move(client, page.url)) != ()


@pytest.mark.parametrize("way", ["form", "preset"])
def test_another_opponent_in_mid_game_is_no_game_from_a_link(way, client, log):
    page = move(client, client.get("/play?x=person&o=minimax").url, 4)
    page = move(client, page.url)
    if way == "preset":
        page = client.get(links_of(page)["level-easy"])
    else:
        page = client.get("/play/table", params={"was": urlsplit(str(page.url)).query, "o": "random"})
    assert "o=random" in str(page.url) and len(cells_of(page)) == 2
    for _ in range(2):
        assert "changed during the game" in page.text and "from a link" not in page.text
        page = move(client, page.url, next(iter({*range(9)} - {*cells_of(page)})))
    fresh = client.get(links_of(page)["new"])
    assert "changed" not in str(fresh.url) and "Finished games are recorded" in fresh.text
    opened = client.get("/play?x=person&o=minimax&moves=4.0")
    assert "Opened from a link" in opened.text
    other = client.get("/play/table", params={"was": urlsplit(str(opened.url)).query, "o": "random"})
    assert "Opened from a link" in other.text


def test_a_game_in_mid_play_is_given_up_by_the_button_alone(client):
    assert "data-ask" not in client.get("/play").text
    assert "data-ask" not in client.get(f"/play?o=person&{FINISHED}").text
    page = client.get("/play?moves=4.0")
    assert "data-ask" in page.text and 'name="anew"' in page.text
    anew = {"was": "o=minimax&moves=4.0", "kind": "tictactoe-v0", "anew": "1"}
    given_up = client.get("/play/table", params=anew)
    assert cells_of(given_up) == () and "x=person&o=minimax" in str(given_up.url)


def test_what_is_not_there_is_a_page_that_leads_home(client):
    for method, path, code in [("GET", "/nowhere", 404), ("GET", "/play/../../etc/passwd", 404),
                               ("POST", "/play", 405)]:  # fmt: skip
        page = client.request(method, path)
        assert page.status_code == code and links_of(page)["home"] == "/play" and "<nav" in page.text


def test_a_match_is_computed_for_these_pages_and_whoever_types_it_but_not_for_a_link_of_another_site(client):
    def opened(address, site):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
        page = client.get(address, headers=headers)
        assert page.status_code == 200
        return page

    match = "/compare?game=tictactoe-v0&row=random&column=win-block"
    asked = opened(match, "cross-site")
    assert 'id="match"' not in asked.text
    assert 'id="match"' in opened(links_of(asked)["asked"], "same-origin").text
    assert 'id="match"' in opened(match, "none").text
