"""The Compare page as text: its figures computed in another way, and what it refuses."""

import math
import re
from html import unescape
from itertools import pairwise
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.support.games import TICTACTOE
from tests.support.marks import slow
from tests.support.naive import NaiveGame, lines
from tests.web.reading import complaint, text_of
from ttt_env import GameRecord, certify, exploitability, get_game, make_agent, match
from ttt_env.analysis.dossier import dossier
from ttt_env.render.words import signed
from ttt_env.web.compare.curves import SLIDERS, Axis, Line, axis, chart, ends

AGENTS = ["random", "weights", "newell-simon", "softmax:temperature=0.2", "epsilon:minimax,epsilon=0.3"]


@pytest.fixture(scope="module")
def naive():
    return NaiveGame(9, lines((3, 3), 3))


def shares(text):
    """The shown wins, draws and losses, three a result."""
    found = [float(share) for share in re.findall(r"<b>([\d.]+)%</b>", text)]
    return [tuple(found[at : at + 3]) for at in range(0, len(found), 3)]


def percents(result):
    return tuple(round(100 * float(share), 2) + 0.0 for share in result)


def boards_of(text):
    """What is told of each board of a game, and the fields of the address to which it leads."""
    found = re.findall(r'<li><a href="(.*?)".*?>(.*?)</a></li>', text, re.S)
    return [(text_of(told), dict(parse_qsl(urlsplit(unescape(url)).query))) for url, told in found]


def strips(page):
    """`boards_of` each refuting game, by the agent's seat."""
    pattern = r'A game that beats it as (X|O)</h2>\s*<ol class="strip".*?>(.*?)</ol>'
    return {seat: boards_of(text) for seat, text in re.findall(pattern, page.text, re.S)}


@pytest.mark.parametrize(
    "game", ["mnk-v0:m=3,n=2,k=2,misere=true", *map(slow, ["tictactoe-v0", "tictactoe-v0:misere=true"])]
)
def test_every_number_of_the_ladder_is_the_score_of_its_match(game, client):
    text = client.get("/compare", params={"part": 1, "game": game}).text
    cells = re.findall(r'title="(.*?) against (.*?): (.*?)"[^>]*?>(.*?)</a>', text)
    names = {row for row, *_ in cells}
    assert names >= {"random", "minimax", "weights", "model:mine"}
    assert len(cells) == len(names) * (len(names) - 1)
    for row, column, precise, shown in cells:
        specs = (unescape(name).replace("model:mine", "weights") for name in (row, column))
        score = match(*specs, game).score
        assert float(precise.replace("−", "-")) == pytest.approx(score, abs=5.01e-4)
        assert float(shown.replace("−", "-")) == pytest.approx(score, abs=5.01e-3)


@pytest.mark.parametrize(("row", "column"), [*zip(AGENTS, AGENTS[::-1], strict=True)])
def test_the_match_shown_is_exact_on_both_seats(row, column, client):
    found = match(row, column)
    page = client.get("/compare", params={"row": row, "column": column})
    assert shares(page.text) == [percents(found.as_x), percents(found.as_o)]
    assert f"{row} scores {signed(found.score, 3)} per game" in text_of(page.text)


@pytest.mark.parametrize("seat", ["X", "O"])
def test_a_game_of_the_match_is_played_by_the_two_and_leads_to_the_page_to_play_on(seat, client):
    agents = {"row": "weights", "column": "softmax:temperature=0.2"}
    seen = set()
    for number in range(3):
        page = client.get("/compare", params={**agents, "seat": seat, "number": number})
        told, fields = boards_of(page.text.partition('class="strip"')[2])[-1]
        seats = tuple(agents.values()) if seat == "X" else tuple(agents.values())[::-1]
        assert (fields["x"], fields["o"], fields["pause"]) == (*seats, "1")
        record = GameRecord(TICTACTOE, tuple(map(int, fields["moves"].split("."))))
        players = [make_agent(agent) for agent in seats]
        for place, (position, cell) in enumerate(zip(record.positions(), record.cells, strict=False)):
            assert players[place % 2].policy(position)[cell] > 0
        assert record.is_over
        assert {None: "draw"}.get(record.winner, f"{record.winner} wins") in told
        assert client.get("/play", params=fields).status_code == 200
        seen.add(record.cells)
        assert client.get(str(page.url)).text == page.text
    assert len(seen) > 1


def softmax_ends(naive, temperatures):
    """The chances of (X wins, draw, O wins) by exponentials of differences of values, board by board."""
    found = {}
    for board in reversed(naive.boards()):
        cells = naive.moves(board)
        if not cells:
            found[board] = tuple(float(naive.result(board, "X") == end) for end in (1, 0, -1))
            continue
        seat = "XO"[board.count("X") != board.count("O")]
        after = [found[board[:cell] + seat + board[cell + 1 :]] for cell in cells]
        values = [(win - loss) * (1 if seat == "X" else -1) for win, _, loss in after]
        weights = [math.exp((value - max(values)) / temperatures[seat]) for value in values]
        found[board] = tuple(
            sum(w * end[i] for w, end in zip(weights, after, strict=True)) / sum(weights) for i in range(3)
        )
    return found


@pytest.mark.parametrize(("x", "o"), [(1, 0.5), (0.1, 1), slow(1, 1), slow(0.35, 2), slow(2, 0.05)])
def test_the_figures_of_the_temperatures_are_exact(x, o, client, naive):
    found = softmax_ends(naive, {"X": x, "O": o})
    text = client.get(f"/compare/softmax?x={x}&o={o}").text
    shown = [re.search(rf'id="{name}">(.*?)%', text)[1] for name in ("x-wins", "draws", "o-wins")]
    assert tuple(map(float, shown)) == percents(found[naive.empty])
    for name, cell in (("centre", 4), ("corner", 0), ("edge", 1)):
        win, _, loss = found["." * cell + "X" + "." * (8 - cell)]
        number = re.search(rf'id="opening-{name}">(.*?)<', text)[1].replace("−", "-")
        assert float(number) == pytest.approx(win - loss, abs=5e-4)


def test_the_published_findings_about_temperatures_come_out():
    for slider in SLIDERS.values():
        assert (slider.least, slider.most, slider.step) == (0, 2, 0.05)
    assert ends(1, 1).result.win > 0.5
    assert ends(1, 0.5).result.win == pytest.approx(ends(1, 0.5).result.loss, abs=0.02)
    assert all(ends(0.1, o / 10).result.loss < 0.01 for o in range(1, 11))
    hot, cold = ends(1, 0.5).openings, ends(0.1, 0.5).openings
    assert max(hot, key=hot.get) == "centre" and max(cold, key=cold.get) == "corner"


def test_the_curves_go_through_the_exact_figures_also_of_the_best_moves_alone(client):
    text = client.get("/compare/softmax?x=0.3&o=1.5").text
    paths = re.findall(r'class="line \w+" d="(.*?)"', text)[:3]
    shown = [100 - float(dict(re.findall(r"([\d.]+) ([\d.]+)", path))["75.00"]) for path in paths]
    assert shown == pytest.approx([100 * share for share in ends(0.3, 1.5).result], abs=0.01)
    assert 'class="mark" d="M75.00' in text
    assert 'id="draws">100%</td>' in client.get("/compare/softmax?x=0&o=0").text


@pytest.mark.parametrize("agent", ["random", "weights", "minimax", "epsilon:minimax"])
def test_the_certificate_is_that_of_certify(agent, client):
    found, worst = certify(agent), exploitability(agent)
    page = client.get("/compare/agent", params={"part": 1, "agent": agent})
    assert (">unbeatable</span>" in page.text) == found.unbeatable
    assert f'id="blunders">{found.n_blunders:,}<' in page.text
    for seat, value in (("X", worst.as_x), ("O", worst.as_o)):
        shown = re.search(rf'id="exploited-{seat}">(.*?)<', page.text)[1].replace("−", "-")
        assert float(shown) == pytest.approx(value, abs=5e-4)
    refutations = {seat: record for seat, record in found.refutations.items() if record is not None}
    assert strips(page).keys() == refutations.keys()
    for seat, record in refutations.items():
        _, review = strips(page)[seat][-1]
        assert review["moves"] == ".".join(map(str, record.cells)) and record.value(seat) < 0
        assert (review["x"], review["o"]) == ((agent, "person") if seat == "X" else ("person", agent))


def test_each_board_is_told_marks_a_mistake_and_leads_to_the_review(client, naive):
    record = certify("weights").refutations["O"]
    boards = [str(position).replace("/", "") for position in record.positions()]
    strip = strips(client.get("/compare/agent?part=1&agent=weights"))["O"]
    assert len(strip) == len(record.cells)
    for number, (told, review) in enumerate(strip, 1):
        cell = record.cells[number - 1]
        is_blunder = cell not in naive.best_cells(boards[number - 1])
        end = " · X wins" if number == len(strip) else ""
        assert told.startswith(f"{number}. {'OX'[number % 2]}{'?' * is_blunder}{end}")
        assert f"cell {cell}" in told and ("a blunder" in told) == is_blunder
        assert int(review.get("at", len(strip))) == number and ("review" in review) == (number < len(strip))
    reviewed = client.get("/play?" + urlencode(strip[2][1])).text
    assert "Move 3 of 7" in text_of(reviewed)


def test_the_certificate_can_be_saved(client):
    saved = client.get("/compare/certificate.json?agent=weights")
    assert saved.json() == dossier("weights", name="weights")
    assert "attachment" in saved.headers["content-disposition"]
    picture = client.get("/compare/certificate.svg?agent=weights")
    assert picture.text == certify("weights").picture().svg
    assert client.get("/compare/certificate.json?agent=mcts").status_code == 400
    assert "beatable" in client.get("/compare/agent?part=1&agent=model:mine").text  # of the command line


def test_the_form_chooses_an_agent_with_its_parameters(client):
    form = {"was": "softmax", "agent": "softmax", "game": "tictactoe-v0", "agent.temperature": "0.5"}
    assert "agent=softmax:temperature=0.5" in str(client.get("/compare/agent", params=form).url)
    assert str(client.get("/compare/agent", params=form | {"agent": "block"}).url).endswith("agent=block")
    page = client.get("/compare/agent", params=form | {"agent": "mcts"})
    assert str(page.url).endswith("agent=mcts:seed=0") and page.status_code == 200
    page = client.get("/compare/agent", params=form | {"agent.temperature": "9"})
    assert page.status_code == 400 and "temperature" in complaint(page)


def test_who_cannot_play_the_game_is_listed_with_the_reason(client, roster):
    game = get_game("mnk-v0:m=4,n=3,k=3")
    page = client.get(f"/compare/agent?agent=minimax&game={game.name}").text
    options = re.findall(r'<option( selected)?( disabled title="([^"]+)")?>([\w-]+)</option>', page)
    told = {name: unescape(reason) for _, _, reason, name in options}
    refused = {offer.name: offer.refusal for offer in roster.offers(game) if offer.name != "person"}
    assert refused.items() <= told.items() and {name for name in refused if refused[name]} >= {"ppo", "dqn"}
    reasons = re.search(r'<details id="refused">(.*?)</details>', page, re.S)[1]
    assert all(f"<li><b>{name}</b> " in reasons for name, reason in refused.items() if reason)
    assert "cannot play" not in client.get("/compare/agent?agent=minimax").text


def test_who_has_no_fixed_policy_is_told_why_it_has_no_certificate(client):
    assert "seed=" in client.get("/compare/agent?part=1&agent=mcts").text
    seeded = client.get("/compare/agent?part=1&agent=mcts:simulations=20,seed=0&game=mnk-v0:m=4,n=3,k=3")
    assert "up to 9 cells" in seeded.text
    page = client.get("/compare?row=mcts&column=random")
    assert page.status_code == 400 and "seed=" in complaint(page)


@pytest.mark.parametrize(
    ("path", "query"),
    [("", "game=qubic-v0"), ("", "game=mnk-v0:m=9999999"), ("", "row=person&column=random"),
     ("", "row=%3Cscript%3E&column=block"), ("", "row=mcts:simulations=1001,seed=0&column=random"),
     ("", "row=random&column=block&number=10000"),
     ("/agent", "was=lookup&agent=lookup&agent.path=/etc/passwd"), ("/softmax", "x="), ("/runs", "run=../x")],
)  # fmt: skip
def test_what_is_out_of_bounds_is_answered_with_a_clear_message(path, query, client):
    page = client.get(f"/compare{path}?{query}")
    assert page.status_code == 400 and len(complaint(page)) > 20
    assert "<script>" not in page.text and "Traceback" not in page.text and "Ladder" in page.text


class TestChart:
    """Places of lines, names and ticks."""

    def test_ticks_are_round_and_within_the_ends(self):
        for high in (0.03, 1, 2, 7, 100, 12345, 4_000_000):
            made = axis("x", [high])
            places = [tick.at for tick in made.ticks]
            assert places[0] == 0 and 0 < places[-1] <= 100 and 2 < len(places) < 8
            assert len({tick.text for tick in made.ticks}) == len(places)
        assert [tick.text for tick in Axis("y", -1, 1).ticks] == ["−1.0", "−0.5", "0.0", "0.5", "1.0"]
        assert [tick.text for tick in axis("steps", [200_000]).ticks] == ["0", "50k", "100k", "150k", "200k"]

    def test_names_of_lines_do_not_overlap_and_stay_beside_the_plot(self):
        for heights in ([0] * 8, [1] * 8, [0.5, 0.5, 0.51, 1], [0, 0.01, 0.99, 1]):
            drawn = [Line(str(place), "", [(0, 0), (1, height)]) for place, height in enumerate(heights)]
            made = chart(axis("x", [1]), axis("y", [1]), drawn)
            places = sorted(line.label_at for line in made.lines)
            assert 0 <= places[0] and places[-1] <= 100
            assert all(b - a > 6.9 for a, b in pairwise(places))

    def test_a_long_line_is_thinned_and_keeps_its_end(self):
        points = [(n, n % 7) for n in range(100_000)]
        made = chart(axis("x", [99_999]), axis("y", [6]), [Line("a", "", points), Line("none", "", [])])
        (line,) = made.lines
        assert line.path.endswith(f"L100.00 {100 - 100 * (99_999 % 7) / 6:.2f}")
        assert line.path.count("L") <= 2_000
