"""The site of the documentation is accessible, and its links work.

`make docs` builds the site; without it these tests are skipped.
"""

import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("selenium")

from tests.support.documents import ROOT
from tests.support.marks import slow_unless
from tests.web.axe import MEDIA, emulate, violations

DOCS, SITE = ROOT / "docs", ROOT / "build" / "docs"
APP = SITE / "try" / "index.html"
WRITTEN = {  # by the build itself
    "changelog", "contributing", "frameworks", "reference/commands",
    "genindex", "search",
}  # fmt: skip
PAGES = sorted({path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")} | WRITTEN)
# One of each kind: boards, charts, screens, tables of figures, commands, an API, pages of the build itself.
KINDS = {
    "index", "install", "games/qubic", "guide/playing", "learn/certified", "reference/agents",
    "reference/api/analysis", "reference/commands", "reference/errors", "reference/files",
    "results/claims", "results/leaderboard", "results/performance", "results/values", "search",
    "understand/definitions", "understand/sweep",
}  # fmt: skip
LINKS = {"a": "href", "link": "href", "area": "href", "object": "data"}  # elsewhere it is `src`

pytestmark = pytest.mark.browser  # these run after the site is built


@pytest.fixture(autouse=True)
def require_site():
    if not (SITE / "index.html").is_file():
        pytest.skip("the site is not built: `make docs` builds it")


@pytest.fixture
def visit(open_page):
    """A function that opens a page of the site in a window of this width."""
    return lambda page, width=1200: open_page(f"{SITE.as_uri()}/", f"{page}.html", width, MEDIA["light"])


@pytest.mark.parametrize(("page",), slow_unless(KINDS.__contains__, PAGES))
def test_axe_finds_no_violations_in_light_and_dark(page, visit):
    visitor = visit(page)
    assert violations(visitor) == []
    emulate(visitor.browser, MEDIA["dark"])  # only the colours change
    assert violations(visitor, runOnly=["color-contrast"]) == []


def too_wide(visitor):
    """The elements that make a page scroll sideways: they reach beyond it, and no frame scrolls them."""
    script = """const frame = document.querySelector('.content');
        if (Math.max(document.documentElement.scrollWidth, frame.scrollWidth) <= innerWidth) return [];
        const scrolls = (each) => each !== frame
          && (getComputedStyle(each).overflowX !== 'visible' || scrolls(each.parentElement));
        return [...frame.querySelectorAll('*')]
          .filter((each) => each.getBoundingClientRect().right > innerWidth && !scrolls(each.parentElement))
          .map((each) => each.localName);"""
    return visitor.run(script)


@pytest.mark.parametrize("page", PAGES)
def test_pages_fit_on_phone(page, visit):
    assert too_wide(visit(page, width=390)) == []


@pytest.mark.parametrize("width", [390, 1440])
def test_front_page_frames_whole_training_board(width, visit):
    visitor = visit("index", width)
    visitor.run("document.querySelector('.try').scrollIntoView()")  # it is loaded when it comes into view
    visitor.browser.switch_to.frame(visitor.find(".try iframe"))
    visitor.until("return document.querySelectorAll('.map .dot').length > 500")
    assert visitor.run("return document.body.scrollHeight <= innerHeight")
    assert not visitor.find(".top").is_displayed()


def test_every_page_links_to_app(visit):
    visitor = visit("learn/certified")
    visitor.click(".sidebar-try")
    visitor.until("return document.querySelectorAll('.map .dot').length > 500")
    assert visitor.find(".top").is_displayed()


def test_heading_click_sorts_table(visit):
    visitor = visit("results/leaderboard")
    script = """const table = document.querySelector('table.sortable');
        const heading = [...table.tHead.rows[0].cells].find((each) => each.textContent.trim() === 'steps');
        heading.querySelector('button').click();
        const cells = [...table.tBodies[0].rows].map((row) => row.cells[heading.cellIndex]);
        return [heading.ariaSort, cells.map((cell) => cell.textContent.trim())];"""
    for order in ("ascending", "descending"):
        stated, texts = visitor.run(script)
        numbers = [int(text.replace(",", "")) for text in texts if text != "–"]
        assert stated == order and numbers == sorted(numbers, reverse=order == "descending")
        assert texts[len(numbers) :] == ["–"] * (len(texts) - len(numbers))


def test_checks_find_violations_and_wide_elements(visit):
    visitor = visit("index", width=390)
    visitor.run("document.querySelector('article').innerHTML += '<button></button><p style=width:500px>wide'")
    assert "button-name" in {rule for rule, *_ in violations(visitor)}
    assert too_wide(visitor) == ["p"]


class Anchors(HTMLParser):
    """The targets of a page's links, and the ids that links may refer to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links, self.ids = set(), set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.add(values.get("id"))
        self.links.add(values.get(LINKS.get(tag, "src")))


@cache
def anchors(path):
    return Anchors(path)


def broken_links(page):
    """The links of a page to files and ids of the site that do not exist."""
    for link in sorted(filter(None, anchors(page).links)):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        place = unquote(parts.fragment)
        if not target.is_file() or (place and target.suffix == ".html" and place not in anchors(target).ids):
            yield link


def test_links_within_site_work():
    pages = sorted(set(SITE.rglob("*.html")) - {APP})  # its fragments are views
    broken = {page.relative_to(SITE).as_posix(): list(broken_links(page)) for page in pages}
    assert {page: links for page, links in broken.items() if links} == {}
    assert sum(len(anchors(page).links) for page in pages) > len(pages)


def test_broken_links_are_found(tmp_path):
    here = tmp_path / "here.html"
    here.write_text('<a id="top" href="#top"></a><a href="#no"></a><a href="no.html"></a><img src="no.svg">')
    assert list(broken_links(here)) == ["#no", "no.html", "no.svg"]


def test_downloaded_notebooks_have_no_site_markup():
    notebooks = sorted((SITE / "_downloads").rglob("*.ipynb"))
    assert len(notebooks) > 10
    for path in notebooks:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        assert "{" not in re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL), path
        assert not re.search(r"\]\((?!\w+:)", text), path
