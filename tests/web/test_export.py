"""The page as files: what is written, and where it may be written."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urldefrag

import pytest

from tests.support.running import ttt
from ttt_env import certify
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.errors import ParameterError
from ttt_env.web.compare.agents import ENTRANTS
from ttt_env.web.export import AGENTS, GAME, LIST, agent_page, exported, facts_of, write_folder
from ttt_env.web.roster import Roster, named_models, presets


class Links(HTMLParser):
    """The references of a page, and its inline scripts, which a strict policy would not allow."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.inline, self.tags = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        fields = dict(attributes)
        self.tags.append((tag, fields))
        self.links += [fields[name] for name in ("href", "src", "action") if fields.get(name)]
        self.ids.add(fields.get("id"))
        self.inline += [name for name in fields if name.startswith("on")]
        self.inline += ["script"] if tag == "script" and "src" not in fields else []


def test_every_page_links_to_files_beside_it_holds_no_script_and_says_what_needs_the_program(exported_files):
    check_links(exported_files, ["random", "weights"])


@pytest.mark.slow
def test_every_link_of_a_whole_export_leads_to_a_file(exported_folder):
    check_links({file.name: file.read_bytes() for file in exported_folder.iterdir()}, ENTRANTS)


def check_links(exported_files, ladder):
    pages = {name: Links(text.decode()) for name, text in exported_files.items() if name.endswith(".html")}
    levels = (preset.player for preset in presets(GAME))
    assert pages.keys() > {agent_page(agent) for agent in (*levels, *ladder, "newell-simon", "softmax")}
    for name, page in pages.items():
        note = re.search(r"larger games.*?<code>ttt web</code>", exported_files[name].decode(), re.S)[0]
        assert all(what in note for what in ("Monte Carlo", "record", "pip install")), name
        assert not page.inline
        for link in page.links:
            target, fragment = urldefrag(link)
            assert (target or name) in exported_files
            state = dict(parse_qsl(fragment))
            assert not fragment or state or fragment in page.ids or re.fullmatch(r"[XO](-\d)?", fragment)
        head = [tag for tag in page.tags if tag[0] in ("meta", "link", "script")]
        at = next(at for at, (_, fields) in enumerate(head) if "http-equiv" in fields)
        assert all(tag == "meta" for tag, _ in head[:at])
        policy = head[at][1]["content"]
        assert "script-src" not in policy and "default-src 'self'" in policy


def test_it_is_small(exported_files, roster):
    """The size of the files needed to play; `ttt web --export` prints the size of the whole."""
    tables = {player: facts_of(roster, player, GAME) for player in (*AGENTS, "epsilon:minimax")}
    assert len(json.dumps(tables)) < 60_000
    needed = ["index.html", "page.css", "play.css", "theme.js", "icon.svg", "ttt.js"]
    assert sum(len(exported_files[name]) for name in needed) < 100_000


def test_certificates_are_those_of_certify(exported_files):
    for agent in ("win-block", "minimax"):
        saved = json.loads(exported_files[agent_page(agent).replace(".html", ".json")])
        expected = json.loads(json.dumps(certify(agent, GAME).to_dict()))
        for key in ("unbeatable", "worst_case", "refutations", "blunders"):
            assert saved[key] == expected[key], key


def test_models_whose_pages_would_have_one_name_are_told(tmp_path):
    for stem in ("a+b", "a-b"):
        Lookup.of("block", GAME).save(tmp_path / f"{stem}.npz")
    models = named_models([str(tmp_path / "a+b.npz"), str(tmp_path / "a-b.npz")])
    with pytest.raises(ParameterError, match=r"'model:a-b' and 'model:a\+b' would both be agent-model-a-b"):
        exported(Roster(models))


@pytest.mark.slow
def test_the_same_packages_write_the_same_bytes(tmp_path):
    written = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        command = [sys.executable, "-m", "ttt_env.app", "web", "--export", str(folder)]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True)
        written.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert written[0] == written[1]
    assert sum(map(len, written[0].values())) < 2_000_000


def test_a_later_export_replaces_an_earlier_one_and_nothing_else(tmp_path):
    folder = tmp_path / "docs" / "ttt"
    write_folder(folder, {"index.html": b"1", "old.html": b"1"})
    (folder / "CNAME").write_text("example.org")
    write_folder(folder, {"index.html": b"2", "new.html": b"2"})
    with pytest.raises(ParameterError, match=re.escape("CNAME' is not of an earlier export")):
        write_folder(folder, {"index.html": b"3", "CNAME": b"3"})
    held = {file.name: file.read_bytes() for file in folder.iterdir() if file.name != LIST}
    assert held == {"index.html": b"2", "new.html": b"2", "CNAME": b"example.org"}


@pytest.mark.parametrize(
    "listing",
    [None, "no JSON", "[]", "[" * 100_000, '{"files": ["notes.txt"]}',
     '{"made_by": "ttt web --export", "files": ["../notes.txt"]}',
     '{"made_by": "ttt web --export", "files": "notes.txt"}'],
)  # fmt: skip
def test_a_folder_that_is_not_its_own_is_left_alone(listing, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    if listing is not None:
        (tmp_path / LIST).write_text(listing)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(ParameterError, match=re.escape(repr(str(tmp_path)))):
        write_folder(tmp_path, {"index.html": b""})
    run = ttt("web", "--export", tmp_path)  # which says so before it computes anything
    assert run.returncode == 2 and "no folder of an earlier export" in run.stderr
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
