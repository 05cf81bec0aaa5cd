"""The web app as files, in a folder for any web server, or as one file that needs none."""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from ttt_env.errors import ParameterError
from ttt_env.storage import write_atomically
from ttt_env.web.data import available_games, page_files
from ttt_env.web.players import Players

_START = "main"  # the module that begins


def static_files() -> dict[str, bytes]:
    """The page's own files by name."""
    folder = files("ttt_env.web") / "static"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "layout.json"}


@cache
def site() -> dict[str, bytes]:
    """All files of a static site, by path."""
    games = available_games(is_static=True)
    data = page_files(Players(), games, has_answers=False, records=False)
    return static_files() | {f"data/{name}": content() for name, content in data.items()}


def build(folder: Path) -> str:
    """Write the site to a folder, and return a message with its place.

    Files of an earlier build are replaced. Raises `ParameterError` for a folder that holds anything else,
    before anything is written.
    """
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{str(folder)!r} is a file; expected a folder")
    content = site()
    old_files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    if others := sorted(old_files - set(content)):
        raise ParameterError(
            f"{str(folder)!r} holds {others[0]!r}, which is not of this app: choose an empty folder"
        )
    for name, each in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, each)
    size = sum(map(len, content.values())) / 1e3
    return f"{len(content)} files ({size:.0f} kB) in {folder}: serve the folder by any web server."


def single(folder: Path) -> str:
    """Write the app as one file `index.html`, which browsers also open from a disk; returns a message."""
    path = folder / "index.html"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, in_one_file(site()))
    return f"{path} ({path.stat().st_size / 1e3:.0f} kB): open it in a browser."


def in_one_file(content: dict[str, bytes]) -> bytes:
    """The page with everything inline, as browsers load neither modules nor data from a disk."""
    style, script = content["style.css"].decode(), script_of(content)
    data = "".join(
        f'<script type="application/json" id="{name}">{_escaped_json(text)}</script>\n'
        for name, text in content.items()
        if name.startswith("data/")
    )
    icon = f"data:image/svg+xml;base64,{b64encode(content['icon.svg']).decode()}"
    replaced = {
        "script-src 'self'": f"script-src '{_digest(script)}'",
        "style-src 'self'": f"style-src '{_digest(style)}'",
        '<meta property="og:image" content="positions.png">\n': "",
        'href="icon.svg"': f'href="{icon}"',
        '<link rel="stylesheet" href="style.css">': f"<style>{style}</style>",
        '<script type="module" src="main.js"></script>\n': "",
        "</body>": f"{data}<script>{script}</script>\n</body>",
    }
    page = content["index.html"].decode()
    for old, new in replaced.items():
        assert page.count(old) == 1, old
        page = page.replace(old, new)
    return page.encode()


def _escaped_json(content: bytes) -> str:
    """JSON escaped so that it cannot end the HTML element around it."""
    return content.decode().replace("<", "\\u003c")


def _digest(text: str) -> str:
    """The source expression of a Content-Security-Policy that allows this text and no other."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def script_of(content: dict[str, bytes]) -> str:
    """The modules as one plain script, each as a function that returns its exports."""
    exports: dict[str, list[str]] = {}
    parts: list[str] = []

    def add(name: str) -> None:
        if name in exports:
            return
        text = content[f"{name}.js"].decode()
        imports = re.findall(r'^import (\{.*?\}) from "\./(\w+)\.js";$', text, re.MULTILINE)
        for names, other in imports:
            add(other)
            missing = {*re.findall(r"\w+", names)} - {*exports[other]}
            assert not missing, f"{other}.js does not export {missing}, each by a line of its own"
        declaration = r"^export (?:async )?(?:const|function\*?|class) (\w+)"
        exports[name] = re.findall(declaration, text, re.MULTILINE)
        bindings = "".join(f"const {names} = {other}_js;\n" for names, other in imports)
        body = re.sub(r"^(import .*\n|export )", "", text, flags=re.MULTILINE)
        parts.append(
            f"const {name}_js = (() => {{\n{bindings}{body}return {{ {', '.join(exports[name])} }};\n}})();\n"
        )

    add(_START)
    return '"use strict";\n' + "".join(parts)
