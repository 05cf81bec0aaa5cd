"""Texts from outside stay texts, and the page works where a browser allows it little."""

import json

import pytest

from tests.web.conftest import HOSTILE, contents, hosted
from ttt_env.web.build import in_one_file

VIEWS = ["#positions", "#play", "#inside", "#compare"]


def renamed():
    """The site with names of games, levels and agents that would be elements if they were read as HTML."""
    files = {name: content for name, content in contents().items() if "-strength" not in name}
    app = json.loads(files["data/app.json"]())
    for game in app["games"]:
        game["title"] += HOSTILE
        game["rule"] += HOSTILE
        for level in game["levels"]:
            level["name"] += HOSTILE
            level["manner"] += HOSTILE
        game["agents"].append(HOSTILE)
        game["strength"] = "strength.json"
    beaten = {"X": {"moves": [0, 3, 1, 4, 8, 5], "blunders": [5]}, "O": None}
    facts = {"agent": HOSTILE, "unbeatable": False, "verdict": HOSTILE, "lines": [HOSTILE]}
    strength = {"agents": [facts | {"scores": [0.0], "mean": 0.0, "refutations": beaten}]}
    written = {"app.json": app, "strength.json": strength}
    return files | {f"data/{name}": json.dumps(each).encode for name, each in written.items()}


@pytest.fixture(scope="session")
def hostile():
    with hosted(renamed()) as url:
        yield url


@pytest.mark.parametrize(
    "address",
    [*VIEWS, f"#play?x={HOSTILE}&moves=4.0", f"#play?game={HOSTILE}&see={HOSTILE}", f"#play?moves={HOSTILE}",
     f"#inside?view={HOSTILE}&tx={HOSTILE}&moves=4", f"#compare?agent={HOSTILE}", f"#{HOSTILE}",
     f"#positions?seed={HOSTILE}&game={HOSTILE}", "#play?x=javascript:alert(1)&o=person"],
)  # fmt: skip
def test_no_name_and_no_address_becomes_an_element(address, hostile, chromium, look):
    chromium.get_log("browser")
    page = look(hostile, address.replace("<", "%3C").replace(">", "%3E"))
    if address in VIEWS:
        page.until("return document.body.innerHTML.includes('&lt;img src=x')")
    assert page.count("img, iframe, [onerror], script:not([src])") == 0
    assert page.run("return [...document.links].every(({protocol}) => protocol === 'http:')")
    assert not page.complaints()


def test_a_certificate_of_a_hostile_name_is_text(hostile, chromium, look):
    chromium.get_log("browser")
    page = look(hostile, "#compare?agent=%3Cimg src=x onerror=alert(1)%3E")
    page.until("return document.querySelector('.seal')")
    assert page.text(".certificate h1") == page.text(".seal") == HOSTILE and page.count("img") == 0
    page.click(".refutation > a")
    page.until("return document.querySelector('.moves li:nth-child(6)')")
    assert page.count("img") == 0 and not page.complaints()


FRAME = b"""<!doctype html><div id="page">
<iframe sandbox="allow-scripts" width="1100" height="850"></iframe></div>
<script>document.querySelector("iframe").src = `single.html${location.hash}`;</script>"""


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """The app as one file."""
    path = tmp_path_factory.mktemp("single") / "index.html"
    path.write_bytes(in_one_file({name: each() for name, each in renamed().items()}))
    return path


@pytest.fixture(scope="session")
def framed(file):
    """The address of a page that shows the app in a frame that may keep nothing."""
    with hosted({"index.html": FRAME.__bytes__, "single.html": file.read_bytes}) as url:
        yield url


def works(page, view):
    """Use a view, and see that it answers."""
    page.until("return document.getElementById('page')?.childElementCount")
    if view == "#positions":
        page.until("return document.querySelector('.headline').textContent.includes('played')")
        page.until("return ['red', 'green'].every((colour) => document.querySelector(`.map .dot.${colour}`))")
    elif view == "#compare":
        page.until("return document.querySelector('.ladder tbody a')")
        page.click(".ladder tbody a")
        page.until("return document.querySelector('.seal')")
    else:
        page.click_at(".stage [data-cell='4']", 0, 0)
        page.until(
            "return document.querySelector('.stage .cell.x') && document.querySelector('.stage .open')"
        )
    assert not page.count("[class*=undefined]") and not page.complaints()


@pytest.mark.parametrize("view", VIEWS)
def test_one_file_works_from_the_disk(view, file, chromium, look):
    chromium.get_log("browser")
    works(look(file.as_uri(), view), view)


@pytest.mark.parametrize("view", VIEWS)
def test_everything_works_where_the_browser_keeps_nothing(view, framed, chromium, look):
    chromium.get_log("browser")
    page = look(framed, view)
    chromium.switch_to.frame(page.find("iframe"))
    script = "try { localStorage.length; return ''; } catch ({name}) { return name; }"
    assert page.run(script) == "SecurityError"
    works(page, view)
