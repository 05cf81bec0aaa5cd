"""The app as files: a folder for any web server, or a single file."""

import gzip
import json
import re
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from ttt_env.errors import ParameterError
from ttt_env.web.build import build, in_one_file, single, site, static_files

_HTML = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|localStorage")
POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


@pytest.mark.slow
def test_folder_holds_all_files_of_page(tmp_path):
    build(tmp_path / "site")
    app = json.loads((tmp_path / "site/data/app.json").read_text())
    named = {name for game in app["games"] for name in [game["strength"], *game["policies"].values()]}
    assert all((tmp_path / "site/data" / name).is_file() for name in named | {"layout.json"})
    page = (tmp_path / "site/index.html").read_text()
    for name in re.findall(r'(?:href|src|content)="([\w.]+\.(?:js|css|svg|png))"', page):
        assert (tmp_path / "site" / name).is_file(), name
    for module in (tmp_path / "site").glob("*.js"):
        for name in re.findall(r'from "\./([\w.]+)"', module.read_text()):
            assert (tmp_path / "site" / name).is_file(), name


@pytest.mark.slow
def test_build_replaces_only_earlier_build(tmp_path):
    build(tmp_path)
    (tmp_path / "main.js").write_text("old")
    build(tmp_path)
    assert (tmp_path / "main.js").read_bytes() == static_files()["main.js"]
    (tmp_path / "thesis.txt").write_text("mine")
    (tmp_path / "main.js").write_text("old")
    with pytest.raises(ParameterError, match=r"thesis\.txt"):
        build(tmp_path)
    assert (tmp_path / "main.js").read_text() == "old"
    with pytest.raises(ParameterError, match="is a file"):
        build(tmp_path / "thesis.txt")


@pytest.mark.slow
def test_single_file_is_self_contained_and_restricted(tmp_path):
    single(tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    policy = POLICY.search(page).group(1)
    parts = {
        "script": re.findall(r"<script>(.*)</script>", page, re.DOTALL),
        "style": re.findall(r"<style>(.*)</style>", page, re.DOTALL),
    }
    for kind, [text] in parts.items():
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy and "default-src 'none'" in policy


def test_names_in_data_cannot_close_element():
    name = "</script><script>alert(1)</script>"
    content = static_files() | {"data/app.json": json.dumps({"title": name}).encode()}

    scripts = []

    class Scripts(HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag == "script":
                scripts.append(dict(attributes).get("id", ""))

    Scripts().feed(in_one_file(content).decode())
    assert scripts.count("") == 1 and "data/app.json" in scripts


def test_page_has_strict_content_security_policy():
    policy = POLICY.search(static_files()["index.html"].decode()).group(1)
    assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy


def test_scripts_never_write_html():
    for name, content in static_files().items():
        if name.endswith(".js"):
            assert not _HTML.search(content.decode()), name


@pytest.mark.slow
def test_first_visit_is_small():

    content = site()
    first = [
        *(name for name in content if "/" not in name and not name.endswith(".png")),
        "data/app.json",
        "data/layout.json",
    ]
    assert sum(len(gzip.compress(content[name])) for name in first) < 150_000


@pytest.mark.slow
def test_module_builds_from_command_line(tmp_path):
    command = [sys.executable, "-m", "ttt_env.web", "build", str(tmp_path / "one"), "--single"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert str(tmp_path / "one" / "index.html") in output and (tmp_path / "one" / "index.html").is_file()
