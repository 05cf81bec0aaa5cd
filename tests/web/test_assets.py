"""The files beside the pages: few, small, asked for at once, and kept by browsers until they change."""

import re
from pathlib import Path

import pytest

from ttt_env.web.services import edition

STATIC = Path(__file__).parents[2] / "ttt_env/web/static"
PAGES = ["/play", "/play?game=square-v0&see=1", "/inside", "/inside?view=tree", "/compare", "/compare/people",
         "/train"]  # fmt: skip
MAX_KILOBYTES = 64  # of all the files that a page takes along


def names(text):
    """The files that a page names."""
    return re.findall(r'(?:href|src)="/static/\w+/([\w.]+)"', text)


def imports(name):
    """The scripts that a script imports, and those that they do."""
    direct = re.findall(r'from "\./(\w+\.js)"', (STATIC / name).read_text(encoding="utf-8"))
    return set(direct).union(*map(imports, direct))


@pytest.mark.parametrize("address", PAGES)
def test_a_page_takes_along_two_styles_one_small_script_and_modules_that_wait_for_nothing(address, client):
    text, script = client.get(address).text, "train_page.js" if address == "/train" else "page.js"
    styles = re.findall(r'<link rel="stylesheet"[^>]*/([\w.]+)">', text)
    assert len(styles) == 2 and styles[0] == "page.css"
    scripts = re.findall(r"<script[^>]*>", text)
    # A script holds the page up unless it is a module.
    assert [name for script in scripts if "module" not in script for name in names(script)] == ["theme.js"]
    later = {"life.js"} if address.startswith("/play") else set()  # of games
    assert set(re.findall(r'rel="modulepreload"[^>]*/(\w+\.js)"', text)) == imports(script) | later
    files = dict.fromkeys(names(text))
    assert len(files) <= 12
    assert sum((STATIC / name).stat().st_size for name in files) <= MAX_KILOBYTES * 1000


def test_browsers_keep_what_a_page_names_and_ask_again_for_anything_else(client):
    kept = client.get(f"/static/{edition()}/page.js")
    assert "immutable" in kept.headers["cache-control"] and kept.content == (STATIC / "page.js").read_bytes()
    current = client.get("/static/page.js")
    assert current.headers["cache-control"] == "no-cache" and current.content == kept.content
    same = client.get("/static/page.js", headers={"if-none-match": current.headers["etag"]})
    assert same.status_code == 304


def test_there_is_nothing_beside_the_files(client):
    within = ("", "/", "/%2e%2e/%2e%2e/server.py", f"/{edition()}/page.js")
    for path in ("", "000000000000/page.js", *(edition() + path for path in within)):
        assert client.get(f"/static/{path}").status_code == 404, path


def test_the_edition_changes_with_any_file(tmp_path, monkeypatch):
    edition.cache_clear()
    monkeypatch.setattr("ttt_env.web.services.files", lambda package: tmp_path)
    (tmp_path / "static").mkdir()
    editions = []
    for content in ("a", "b"):
        (tmp_path / "static/page.js").write_text(content)
        editions.append(edition())
        edition.cache_clear()
    assert len(set(editions)) == 2
