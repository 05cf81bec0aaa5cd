"""What is done while the site is built: pages that are written, signatures and HTML that are mended."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sphinx.pycode import ModuleAnalyzer

from ttt_env.agent import Agent
from ttt_env.agent.learner import Learner
from ttt_env.app.cli import EXIT_CODES
from ttt_env.web.build import single, static_files

HERE = Path(__file__).parent

# Pages of the site that lie elsewhere in the repository, copied when the site is built.
SCRIPTS = HERE.parent / "scripts"
COPIED = {
    SCRIPTS / "frameworks" / "README.md": HERE / "frameworks.md",
    HERE.parent / "CHANGELOG.md": HERE / "changelog.md",
    HERE.parent / "CONTRIBUTING.md": HERE / "contributing.md",
}


def write_copies(_: Any) -> None:
    """Copy the pages that lie elsewhere, with links that lead on from where they are then."""
    for source, page in COPIED.items():

        def moved(link: re.Match[str], source: Path = source) -> str:
            target = (source.parent / link[1]).resolve()
            return f"]({os.path.relpath(COPIED.get(target, target), HERE)}{link[2] or ''})"

        page.write_text(
            re.sub(r"\]\((?!\w+:|#)([^)#]+)(#[^)]*)?\)", moved, source.read_text("utf-8")), "utf-8"
        )


def write_commands(_: Any) -> None:
    """Write the page of the command line, as Typer describes the commands."""
    describe = [sys.executable, "-m", "typer", "ttt_env.app.cli", "utils", "docs", "--name", "ttt"]
    text = subprocess.run(describe, check=True, capture_output=True, text=True).stdout
    text = text.replace("* `--help`: Show this message and exit.\n", "")
    text = re.sub(r"\*\*Options\*\*:\n\n(?!\*)", "", text)
    text = re.sub(r"^Example: (.*)", r"Example: `\1`", text, flags=re.MULTILINE)
    described = re.findall(r"^## `ttt (\w+)`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    sections = "\n".join(f"## `ttt {name}`\n{section}" for name, section in described)
    page = "# Command line\n\n`ttt COMMAND -h` shows the same in a terminal.\n\n"
    page += f"| exit code | meaning |\n|---|---|\n{codes}\n"
    (HERE / "reference" / "commands.md").write_text(f"{page}\n{sections}", "utf-8")


def keep_notices_out(_: Any) -> None:
    """Let no page show how long this machine takes to compile: the notices go where nobody reads them."""
    folder = HERE.parent / "build" / "ipython"
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / "notices.py").write_text(
        "import logging\n\nlogging.getLogger('ttt_env').addHandler(logging.NullHandler())\n", "utf-8"
    )
    os.environ["IPYTHONDIR"] = str(folder)


def forget_overloads(_: Any) -> None:
    """Show a function that is overloaded for type checkers by its one signature."""
    for module in ("envs.registration", "rules.boards", "envs.two_player"):
        analyzer = ModuleAnalyzer.for_module(f"ttt_env.{module}")
        analyzer.analyze()
        analyzer.overloads.clear()


# Types that stand for others, as Sphinx writes these out, and their names.
NAMED = {
    r"~?ttt_env\.agent[.\w]*Agent \| str( \| ~?[\w.]+Callable\[\[~?[\w.]+Position(, ~?[\w.]+)?\], int\])+"
    r" \| ~?[\w.]+Model": "~ttt_env.agent.AgentLike",
    r"~?[\w.]*Annotated\[(.*?), ~?[\w.]*Between\([^)]*\)\]": r"\1",  # the docstring says which numbers
    r" = <factory>": " = ...",
    r"~numpy\._typing\._array_like\._Buffer \|.*?\[complex \| bytes \| str\]": "~numpy.typing.ArrayLike",
    r"~numpy\.ndarray\[tuple\[~typing\.Any, \.\.\.\], ~numpy\.dtype\[([~\w.]+)\]\]": (
        r"~numpy.typing.NDArray[\1]"
    ),
}


def name_types(*event: Any) -> tuple[str | None, str | None]:
    """A signature with the names of types in place of what they stand for."""
    *_, arguments, returned = event
    texts = [arguments or "", returned or ""]
    for meant, alias in NAMED.items():
        texts = [re.sub(meant, alias, text) for text in texts]
    return (texts[0] or None, texts[1] or None)


def plain_bases(*event: Any) -> None:
    """Leave out the bases of a class that tell a user nothing."""
    bases: list[Any] = event[-1]
    bases[:] = [getattr(base, "__origin__", base) for base in bases]
    bases[:] = [
        base
        for base in bases
        if base in (Agent, Learner) or not base.__module__.startswith(("ttt_env", "typing", "abc"))
    ] or [object]


MENDED = {
    # A blank line ends a session, and shows nothing.
    r"\n\n</pre>": lambda _: "\n</pre>",
    # A signature of several lines is not a list of definitions.
    r"<dl>\n((?:<dd><em class=\"sig-param.*</dd>\n)+)</dl>\n": lambda found: (
        '<span class="sig-lines">\n'
        + found[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")
        + "</span>"
    ),
    # The corner of a table heads nothing.
    r"<th(?: class=\"[^\"]*\")?><p></p></th>": lambda _: "<td></td>",
    # Every class is an object.
    r"<p>Bases: <code[^>]*><span class=\"pre\">object</span></code></p>\n": lambda _: "",
    # What stands on a switch is its name.
    r' aria-label="Toggle hidden content"': lambda _: "",
}


def mend(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Mend what in the HTML of Sphinx and MyST-NB misleads screen readers, and name what is a chart."""
    body = context.get("body") or ""
    for wrong, right in MENDED.items():
        body = re.sub(wrong, right, body)
    described = app.env.domains["py"].objects
    module = page.removeprefix("_modules/").replace("/", ".")

    def back(link: re.Match[str]) -> str:
        """The link to what is described; `viewcode` takes all of a source to be on one page."""
        parts = link[1].split(".")
        tails = [".".join(parts[begin:]) for begin in range(len(parts))]
        names = (link[1], *(f"{module}.{tail}" for tail in tails))
        found = next((described[name] for name in names if name in described), None)
        if found is None:
            return ""
        place = f"{app.builder.get_relative_uri(page, found.docname)}#{found.node_id}"
        return f'<a class="viewcode-back" href="{place}">[docs]</a>'

    originals = {name: HERE / path for path, name in app.builder.images.items()}

    def named(image: re.Match[str]) -> str:
        """The picture with a text in place of its file's name: its title, or the heading above a chart."""
        original, html = originals.get(unquote(image[2])), image[0]
        if original is None:
            return html
        content = original.read_bytes()
        if re.search(r'alt="[^"]*_images/', html):
            heading = re.sub(
                "<[^>]*>|#$", "", re.findall(r"<h[1-4]>(.*?)</h", image.string[: image.start()])[-1]
            )
            title = re.search(rb"<title>(.*?)</title>", content)
            text = title[1].decode() if title else f"Chart: {heading}"
            html = re.sub(r'alt="[^"]*"', lambda _: f'alt="{text}"', html)
        return f'<span class="chart">{html}</span>' if b"Matplotlib" in content else html

    body = re.sub(r'<a class="viewcode-back" href="[^"#]*#([^"]+)">\[docs\]</a>', back, body)
    context["body"] = re.sub(r'<img [^>]*src="([^"]*/)?_images/([^"/]+)"[^>]*>', named, body)


def offer_notebook(_: Any, page: str, source: list[str]) -> None:
    """Offer a page that is a notebook for download, below its title."""
    if "\nkernelspec:" in source[0]:
        offer = f"{{nb-download}}`Download this page as a notebook <{page.partition('/')[2]}.ipynb>`."
        source[0] = re.sub(r"^# .*$", rf"\g<0>\n\n{offer}", source[0], count=1, flags=re.MULTILINE)


# What means something on the site alone: the line that offers a notebook, roles of names, links to pages.
OF_THE_SITE = {
    r"^\{nb-download\}.*\n*": "",
    r"\{py:obj\}`([^`<]*?)(?: <[^`>]*>)?`": r"`\1`",
    r"(?<!!)\[([^\]]*)\]\((?!\w+:)[^)]*\)": r"\1",
    r"^```\{(?:figure|image|include)\}[^`]*```\n?": "",
}


def mend_notebooks(app: Any, _: Any) -> None:
    """Leave out of the notebooks that can be downloaded what means something on the site alone."""
    for path in Path(app.outdir, "_downloads").glob("*/*.ipynb"):
        notebook = json.loads(path.read_text("utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                text = "".join(cell["source"])
                for meant, plain in OF_THE_SITE.items():
                    text = re.sub(meant, plain, text, flags=re.MULTILINE)
                cell["source"] = text.splitlines(keepends=True)
        path.write_text(json.dumps(notebook, indent=1), "utf-8")


def write_app(app: Any, _: Any) -> None:
    """Write the web app beside the pages: as one file, which also works in a site opened from a disk."""
    folder = Path(app.outdir, "try")
    single(folder)
    (folder / "positions.png").write_bytes(static_files()["positions.png"])


def setup(app: Any) -> None:
    """Called by Sphinx when it begins."""
    app.connect("build-finished", mend_notebooks)
    app.connect("build-finished", write_app)
    app.connect("builder-inited", keep_notices_out)
    app.connect("builder-inited", forget_overloads)
    app.connect("autodoc-process-signature", name_types)
    app.connect("autodoc-process-bases", plain_bases)
    app.connect("html-page-context", mend)
    app.connect("source-read", offer_notebook)
    app.connect("builder-inited", write_copies)
    app.connect("builder-inited", write_commands)
