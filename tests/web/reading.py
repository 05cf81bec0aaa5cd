"""Readings of the pages as text, and the moves of a visitor without a browser."""

import re
from html import unescape
from urllib.parse import parse_qsl, urlsplit

from ttt_env import GameRecord

SMALL = "mnk-v0:m=5,n=2,k=3"
"""The smallest game whose positions the server goes through beside the answers, not within them."""


def move(client, url, cell=None, **options):
    """A person's move on a cell, or the agent's without one, and where it leads."""
    body = {} if cell is None else {"cell": str(cell)}
    return client.post(str(url).replace("/play?", "/play/move?"), data=body, **options)


def moved(client, url, *cells):
    """The page after a person's moves on these cells."""
    for cell in cells:
        url = (page := move(client, url, cell)).url
    return page


def fields_of(url):
    """The fields of an address."""
    return dict(parse_qsl(urlsplit(str(url)).query))


def cells_of(page):
    """The moves in the address of a page."""
    return tuple(int(cell) for cell in fields_of(page.url).get("moves", "").split(".") if cell)


def after(game, cells):
    """The position of a game after these moves."""
    return GameRecord(game, tuple(cells)).positions()[-1]


def text_of(html):
    """The text that a visitor reads, in a line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def status(page):
    """The heading that tells whose turn it is."""
    return unescape(re.sub(r"<.*?>", "", re.search(r"data-status>(.*?)</h1>", page.text, re.S)[1])).strip()


def complaint(page):
    """The reason why a page was refused."""
    return unescape(re.search(r'class="complaint" role="alert">(.*?)</p>', page.text)[1])


def links_of(page):
    """The addresses of the links that have an id."""
    return {name: unescape(url) for name, url in re.findall(r'id="([\w-]+)"[^>]*? href="(.*?)"', page.text)}


def part_of(client, page):
    """The first part that a page asks for once it is there."""
    return client.get(unescape(re.search(r'data-load="(.*?)"', page.text)[1]))


def reloaded(client, page):
    """The page with its parts, to which a link leads where there is no JavaScript."""
    return client.get(unescape(re.search(r'class="whole" href="(.*?)"', page.text)[1]))
