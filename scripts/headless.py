"""A browser without a window, which the pictures, the measurements and the tests of the page drive."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from selenium import webdriver

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


def programs() -> dict[str, str | None]:
    """The paths of Chromium and of its driver; None for what is not installed.

    The Chromium that is built without windows is faster. Its script in PATH is not called, because that ends
    and leaves the browser running.
    """
    built_without = shutil.which("chromium-headless-shell", path="/usr/lib/chromium")
    return {
        "chromium": built_without or shutil.which("chromium"),
        "chromedriver": shutil.which("chromedriver"),
    }


@contextmanager
def chromium() -> Iterator[webdriver.Chrome]:
    """The browser, which ends with the block. Raises `FileNotFoundError` if something is not installed."""
    found = programs()
    if missing := [name for name, path in found.items() if path is None]:
        raise FileNotFoundError(f"no {' and no '.join(missing)}: `make browser` installs them on Debian")
    options = webdriver.ChromeOptions()
    options.binary_location = found["chromium"] or ""
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(found["chromedriver"]))
    try:
        yield driver
    finally:
        driver.quit()
