"""The pictures of the web app, taken by a headless Chromium of the page as it is served.

Each is a PNG of a few colours that keeps within 150 kB; the one that other sites show of a link,
`positions.png`, is the app's own. It needs Chromium and its driver (`make browser` installs them on Debian)
and the extras `web` and `dev`.
"""

import argparse
import base64
import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from headless import chromium
from PIL import Image
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.support.wait import WebDriverWait

from ttt_env.web.server import config_of, create_app

N_COLOURS = 256
MAX_BYTES = 150_000


@dataclass(frozen=True)
class Shot:
    """A view at an address in a window of this size, light or dark, once `until` holds, in JavaScript."""

    address: str
    size: tuple[int, int] = (1120, 800)
    scheme: str = "light"
    until: str = "true"


_MARKS = "document.querySelector('.mark[d]')"
SHOTS = {
    "positions": Shot("positions?games=1500", (1200, 630)),
    "web-positions": Shot("positions?games=1500", (1440, 900)),
    "web-play": Shot("play", (1120, 780)),
    "web-see-dark": Shot(
        "play?game=square-v0&x=person&o=weights&moves=0.5&see=1", (1120, 900), "dark", _MARKS
    ),
    "web-lost": Shot(
        "play?x=person&o=minimax:prefer=fast&moves=0.4.1.2.5.6",
        (1120, 1080),
        until="document.querySelector('.status').textContent.includes('move 5')",
    ),
    "web-tree": Shot("inside?moves=0.3.1.4.6.7&tx=0.2", (1120, 1240)),
    "web-mcts-dark": Shot("inside?view=mcts&moves=0.4.1&done=200", (1120, 1280), "dark"),
    "web-ladder": Shot("compare", (1120, 860), until="document.querySelector('.ladder')"),
    "web-certificate": Shot(
        "compare?agent=win-block", (1120, 780), until="document.querySelector('.refutation')"
    ),
    "web-phone": Shot("positions?games=1500", (390, 844)),
    "web-phone-dark": Shot("play?moves=4.1&x=person&o=minimax&see=1", (390, 844), "dark", _MARKS),
}


def main() -> None:
    """Take all pictures, or those that are named, and print their paths."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder to write to")
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(SHOTS)}; all by default")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with served() as url, chromium() as browser:
        for name in arguments.names or SHOTS:
            path = arguments.out / f"{name}.png"
            path.write_bytes(taken(browser, f"{url}/#{SHOTS[name].address}", SHOTS[name]))
            print(f"{path}, {path.stat().st_size / 1000:.0f} kB")


@contextmanager
def served() -> Iterator[str]:
    """The address of the page, served from this process without a log of games."""
    server = uvicorn.Server(config_of(create_app(), host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


def taken(browser: WebDriver, url: str, shot: Shot) -> bytes:
    """The picture of the page at `url`, as a PNG, once it has any content and the shot's condition holds."""
    width, height = shot.size
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = [{"name": "prefers-color-scheme", "value": shot.scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    browser.get("about:blank")
    browser.get(url)
    there = f"return document.getElementById('page').childElementCount > 0 && Boolean({shot.until})"
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(there))
    time.sleep(0.6)  # for what fades in
    whole = Image.open(io.BytesIO(base64.b64decode(browser.get_screenshot_as_base64())))
    buffer = io.BytesIO()
    pixels = whole.convert("RGB").quantize(N_COLOURS, Image.Quantize.MAXCOVERAGE, 2, dither=Image.Dither.NONE)
    pixels.save(buffer, "PNG", optimize=True)
    if buffer.tell() > MAX_BYTES:
        raise ValueError(f"{shot.address}: {buffer.tell():,} bytes, more than {MAX_BYTES:,}")
    return buffer.getvalue()


if __name__ == "__main__":
    main()
