"""The pictures of the web page, taken by a headless Chromium of the page as it is served.

Each is a PNG of a few colours that keeps within 150 kB. It needs Chromium and its driver (`make browser`
installs them on Debian) and the extras `web` and `dev`.
"""

import argparse
import base64
import io
import socket
import tempfile
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

from ttt_env.storage.game_log import GameLog
from ttt_env.web.server import create_app
from ttt_env.web.start import config_of

N_COLOURS = 256
MAX_BYTES = 150_000


@dataclass(frozen=True)
class Shot:
    """A page at an address in a window of this size, light or dark.

    `press` is a button that is pressed first, and `until` what is there once that has had its effect.
    """

    address: str
    size: tuple[int, int] = (1120, 800)
    scheme: str = "light"
    press: str = ""
    until: str = ""


SHOTS = {
    "web-play": Shot("/play?x=person&o=epsilon:minimax,epsilon=0.3", (1120, 840)),
    "web-see-dark": Shot("/play?x=person&o=weights&game=square-v0&moves=0.5&see=1", (1120, 860), "dark"),
    "web-lost": Shot("/play?x=person&o=minimax&moves=0.4.1.2.5.6", (1120, 1080)),
    "web-train": Shot("/train", (1120, 980), press="#go", until="#proved:not([hidden])"),
    "web-why": Shot("/inside?view=move&x=person&o=newell-simon&moves=4.0.2", (1120, 560)),
    "web-mcts-dark": Shot(
        "/inside?view=mcts&moves=0.4.1&mcts.done=200&mcts.simulations=200&mcts.early_stop=true",
        (1120, 1180),
        "dark",
    ),
    "web-ladder": Shot("/compare?row=weights&column=win-block", (1120, 860)),
    "web-certificate": Shot("/compare/agent?agent=win-block", (1120, 1180)),
    "web-phone": Shot("/play?x=person&o=minimax&moves=4.1&see=1", (390, 844)),
    "web-phone-dark": Shot("/play?x=person&o=random&game=square-v0&moves=0.2.1.6.4.9.5", (390, 844), "dark"),
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
            path.write_bytes(taken(browser, url, SHOTS[name]))
            print(f"{path}, {path.stat().st_size / 1000:.0f} kB")


@contextmanager
def served() -> Iterator[str]:
    """The address of the page, served from this process with an empty game log."""
    with tempfile.TemporaryDirectory() as folder, GameLog(Path(folder) / "games.sqlite") as log:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config = config_of(create_app(log=log), host="127.0.0.1", port=port, log_level="critical")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        thread.join()


def taken(browser: WebDriver, url: str, shot: Shot) -> bytes:
    """The PNG of a page, once all of its parts are there and nothing moves any more."""
    width, height = shot.size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [
        {"name": "prefers-color-scheme", "value": shot.scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(url + shot.address)
    waits = "return ![...document.querySelectorAll('[data-load]:not([data-later])')].length"
    WebDriverWait(browser, 600, 0.05).until(lambda _: browser.execute_script(waits))
    if shot.press:
        browser.find_element("css selector", shot.press).click()
        WebDriverWait(browser, 600, 0.05).until(lambda _: browser.find_elements("css selector", shot.until))
    time.sleep(0.3)
    png = base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"])
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    assert file.tell() <= MAX_BYTES, f"{shot.address} takes {file.tell()} bytes"
    return file.getvalue()


if __name__ == "__main__":
    main()
