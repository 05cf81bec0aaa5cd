"""The animated picture of the README: a training until its agent is certified, and then the page.

The training runs as `ttt train` does, and what it prints is shown line by line; the page is served and
photographed as in `web_pictures.py`, whose needs it shares. Writes `tour.gif`, of some 20 seconds and less
than a megabyte.
"""

import argparse
import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import quote

from headless import chromium
from PIL import Image
from selenium import webdriver
from web_pictures import Shot, served, taken

SIZE = (1120, 840)  # of the window
SHOWN = (840, 630)  # of the animation
N_COLOURS = 128
MAX_BYTES = 1_000_000
COMMAND = "ttt train maskable-ppo --out ppo.zip"
VERDICT = ": UNBEATABLE."
STYLE = (
    "margin:0;padding:24px 32px;background:#15181d;color:#e8e6e1;font:20px/1.5 'DejaVu Sans Mono',monospace;"
    "white-space:pre-wrap"
)
_PLAIN = Shot("", SIZE)
PAGES = {  # and how many milliseconds each is shown
    Shot("positions?games=0", SIZE): 600,
    Shot("positions?games=100", SIZE): 900,
    Shot("positions?games=1500", SIZE): 900,
    Shot("positions?games=3500", SIZE): 1200,
    Shot("positions?games=3950", SIZE): 2400,
    Shot("play?o=minimax&moves=4.0.1.7&see=1", SIZE, until="document.querySelector('.mark[d]')"): 2000,
    Shot("inside?moves=0.3.1.4.6.7&tx=0.2", SIZE): 2000,
    Shot("compare?agent=win-block", SIZE, until="document.querySelector('.refutation')"): 2400,
}


def main() -> None:
    """Train, take the pictures, and write the animation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("."), help="folder to write to")
    parser.add_argument("--pages", type=int, default=len(PAGES), help="so many of the pages")
    arguments = parser.parse_args()
    with served() as url, chromium() as browser:
        frames = [*terminal(browser, printed())]
        for shot, duration in [*PAGES.items()][: arguments.pages]:
            frames.append((picture(browser, f"{url}/#{shot.address}", shot), duration))
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "tour.gif"
    path.write_bytes(animated(frames))
    seconds = sum(duration for _, duration in frames) / 1000
    print(f"{path}, {seconds:.0f} s, {path.stat().st_size / 1000:.0f} kB")


def printed() -> list[str]:
    """The output of the training, up to the line that certifies its agent."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "ttt_env.app", *COMMAND.split()[1:]]
        run = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = run.stdout.splitlines()
    end = next((i for i, line in enumerate(lines) if VERDICT in line), None)
    if end is None:
        raise SystemExit(f"the training did not end certified:\n{run.stdout}")
    return lines[: end + 1]


def terminal(browser: webdriver.Chrome, lines: list[str]) -> Iterator[tuple[Image.Image, int]]:
    """Pictures of a terminal in which the command is typed and the lines come, each with its duration."""
    for n_letters in range(0, len(COMMAND), 9):
        yield picture(browser, screen(COMMAND[:n_letters], [])), 150
    for n_lines, line in enumerate(lines):
        if line.strip():
            shown = 2500 if line is lines[-1] else 600 if "exploitability" in line else 200
            yield picture(browser, screen(COMMAND, lines[: n_lines + 1])), shown


def screen(command: str, lines: list[str]) -> str:
    """The address of a page that looks like a terminal."""
    text = "\n".join(
        f"<b style='color:#7fd1ae'>{escape(line)}</b>" if VERDICT in line else escape(line) for line in lines
    )
    body = f"<b style='color:#8ab4f8'>$ {escape(command)}</b>\n{text}"
    page = f'<meta charset="utf-8"><pre id="page" style="{STYLE};min-height:100vh">{body}</pre>'
    return f"data:text/html;charset=utf-8,{quote(page)}"


def picture(browser: webdriver.Chrome, url: str, shot: Shot = _PLAIN) -> Image.Image:
    """A picture of the page at this address, as the browser shows it."""
    return Image.open(io.BytesIO(taken(browser, url, shot))).convert("RGB").resize(SHOWN)


def animated(frames: list[tuple[Image.Image, int]]) -> bytes:
    """A GIF of these pictures, which begins again at its end."""
    pictures = [
        each.quantize(N_COLOURS, Image.Quantize.MAXCOVERAGE, 2, dither=Image.Dither.NONE)
        for each, _ in frames
    ]
    file = io.BytesIO()
    durations = [duration for _, duration in frames]
    pictures[0].save(
        file, "GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0, optimize=True
    )
    assert file.tell() <= MAX_BYTES, f"the animation takes {file.tell()} bytes"
    return file.getvalue()


if __name__ == "__main__":
    main()
