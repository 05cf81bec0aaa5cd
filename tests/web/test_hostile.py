"""External texts stay texts, and the page works with restricted browser permissions."""

import json

import pytest

from tests.web.conftest import HOSTILE, contents, hosted
from ttt_env.web.build import in_one_file

VIEWS = ["#positions", "#play", "#inside", "#compare"]


def hostile_files():
    """The site with names of games, levels and agents that would become elements if read as HTML."""
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
    with hosted(hostile_files()) as url:
        yield url


@pytest.mark.parametrize(
    "address",
    [*VIEWS, f"#play?x={HOSTILE}&moves=4.0", f"#play?game={HOSTILE}&see={HOSTILE}", f"#play?moves={HOSTILE}",
     f"#inside?view={HOSTILE}&tx={HOSTILE}&moves=4", f"#compare?agent={HOSTILE}", f"#{HOSTILE}",
     f"#positions?seed={HOSTILE}&game={HOSTILE}", "#play?x=javascript:alert(1)&o=person"],
)  # fmt: skip
def test_no_name_or_address_becomes_element(address, hostile, chromium, open_page):
    chromium.get_log("browser")
    page = open_page(hostile, address.replace("<", "%3C").replace(">", "%3E"))
    if address in VIEWS:
        page.until("return document.body.innerHTML.includes('&lt;img src=x')")
    assert page.count("img, iframe, [onerror], script:not([src])") == 0
    assert page.run("return [...document.links].every(({protocol}) => protocol === 'http:')")
    assert not page.console_messages()


def test_certificate_of_hostile_name_is_text(hostile, chromium, open_page):
    chromium.get_log("browser")
    page = open_page(hostile, "#compare?agent=%3Cimg src=x onerror=alert(1)%3E")
    page.until("return document.querySelector('.seal')")
    assert page.text(".certificate h1") == page.text(".seal") == HOSTILE and page.count("img") == 0
    page.click(".refutation > a")
    page.until("return document.querySelector('.moves li:nth-child(6)')")
    assert page.count("img") == 0 and not page.console_messages()


FRAME = b"""<!doctype html><div id="page">
<iframe sandbox="allow-scripts" width="1100" height="850"></iframe></div>
<script>document.querySelector("iframe").src = `single.html${location.hash}`;</script>"""


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """The app as a single file."""
    path = tmp_path_factory.mktemp("single") / "index.html"
    path.write_bytes(in_one_file({name: each() for name, each in hostile_files().items()}))
    return path


@pytest.fixture(scope="session")
def framed(file):
    """The address of a page that shows the app in a sandboxed frame without storage."""
    with hosted({"index.html": FRAME.__bytes__, "single.html": file.read_bytes}) as url:
        yield url


def check_view(page, view):
    """Use a view and check that it responds."""
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
    assert not page.count("[class*=undefined]") and not page.console_messages()


@pytest.mark.parametrize("view", VIEWS)
def test_single_file_works_from_disk(view, file, chromium, open_page):
    chromium.get_log("browser")
    check_view(open_page(file.as_uri(), view), view)


@pytest.mark.parametrize("view", VIEWS)
def test_views_work_without_storage(view, framed, chromium, open_page):
    chromium.get_log("browser")
    page = open_page(framed, view)
    chromium.switch_to.frame(page.find("iframe"))
    script = "try { localStorage.length; return ''; } catch ({name}) { return name; }"
    assert page.run(script) == "SecurityError"
    check_view(page, view)
