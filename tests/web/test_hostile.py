"""Requests that no page makes: each is refused in words, at once, and changes nothing.

Every route has its own here; a new route without any fails the tests.
"""

import re
import socket
from html import unescape
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.support.marks import slow
from tests.web.serving import Server
from ttt_env.storage.game_log import GameLog
from ttt_env.web.computing import ThreadLane
from ttt_env.web.server import _OPENED, create_app

NOISE = ["\0", "💩", "²", "<script>", "../../etc/passwd", "(" * 999, "x" * 3500]
NUMBER = [*NOISE, "nan", "inf", "-1", "1e999", "9" * 400]
GAME = [*NOISE, "", "chess", "mnk-v0:m=nan,n=3,k=3", "mnk-v0:m=1e9,n=3,k=3", f"mnk-v0:m={'9' * 300}",
        "mnk-v0:m=-3,n=3,k=3", "square-v0:n=²", "tictactoe-v0:misere=2", "qubic-v0:qubic-v0"]  # fmt: skip
PLAYER = [*NOISE, "", "nobody", "os.system", "lookup:/etc/passwd", "sb3:evil.zip", "mcts:simulations=nan",
          "epsilon:process:touch evil",
          "process:touch evil", "epsilon:(process:touch evil)", "model:process:touch evil",
          "mcts:simulations=1e999", "softmax:temperature=nan", f"softmax:temperature={'9' * 300}",
          "epsilon:epsilon:random", "random:random", "person:person", "model:nobody"]  # fmt: skip
MOVES = [*NUMBER, "9", "4.4", "4,0", "٣", "4..0", ".", "0." * 40]
AT = [*NUMBER, "", "99", "٣"]
FLAG = [*NUMBER, "yes", "2"]
SEAT = [*NOISE, "", "Z", "XO"]
NAME = [*NOISE, "nobody"]  # of what stands in a list

PAIR = {"x": PLAYER, "o": PLAYER}
TABLE = PAIR | {"game": GAME, "moves": MOVES, "at": AT}
WAS = [f"{name}={text}" for name in TABLE for text in ("%00", "nobody", "٣")]
VISIT = TABLE | dict.fromkeys(("see", "pause", "unrecorded", "whole", "review", "changed", "resigned"), FLAG)
VISIT |= {"pace": [*NUMBER, "hasty"]}
LOOK = TABLE | dict.fromkeys(("view", "tree.agent", "mcts.pace", "mcts.run", "mcts.playout"), NAME)
LOOK |= dict.fromkeys(("x.temperature", "o.temperature", "tree.plies", "mcts.done", "mcts.c"), NUMBER)
LOOK |= dict.fromkeys(("mcts.draw", "mcts.seed"), NUMBER)
LADDER = {"game": [*GAME, "square-v0"]}
CERTIFICATE = LADDER | {"agent": [*PLAYER, "person"]}

FIELDS = {
    "/": {},
    "/train": {},
    "/play": VISIT,
    "/play/move": VISIT,
    "/play/see": VISIT | {"simulations": [*NUMBER, "", "1001"]},
    "/play/moves": VISIT,
    "/play/ready": VISIT,
    "/play/table": PAIR | {"was": WAS, "kind": GAME, "o.temperature": NUMBER, "o.depth": NUMBER},
    "/play/strength": {"game": GAME, "player": PLAYER},
    "/inside": LOOK,
    "/inside/move": LOOK,
    "/inside/step": LOOK,
    "/compare": LADDER | {"row": PLAYER, "column": PLAYER, "seat": SEAT, "number": NUMBER},
    "/compare/agent": CERTIFICATE | {"was": PLAYER},
    "/compare/certificate.json": CERTIFICATE,
    "/compare/certificate.svg": CERTIFICATE,
    "/compare/softmax": {"x": NUMBER, "o": NUMBER},
    "/compare/runs": {"run": NAME, "over": NAME, "tag": NAME},
    "/compare/runs/start": {},
    "/compare/people": {"game": GAME},
    "/compare/people/agent": {"game": GAME, "agent": PLAYER},
}
"""The fields that the address of each route may have, and what none of them may say."""

RIGHT = {
    "/play/table": "was=o=softmax&o=softmax&o.temperature=1",
    "/play/strength": "game=tictactoe-v0&player=random",
    "/play/move": "o=person&moves=4.0",
    "/inside/move": "moves=4.0",
    "/compare/agent": "agent=weights&part=1",
}
"""Addresses that are well formed, one of which has one field set wrongly in each request."""

ROUTES = {route.path: route for route in create_app().routes if isinstance(route, Route)}
POSTS = [path for path, route in ROUTES.items() if "POST" in route.methods]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """A refusal waits for nothing that takes seconds."""
    submit = ThreadLane.submit

    def submitted(lane, job):
        assert lane._threads[0].name == "quick", f"{job.function} was asked"
        submit(lane, job)

    monkeypatch.setattr(ThreadLane, "submit", submitted)


def told(page):
    """The text of a refusal."""
    if not page.headers["content-type"].startswith("text/html"):
        return page.text
    shown = re.findall(r'(?:role="alert"|data-status)[^>]*>(.*?)</(?:p|h1)>', page.text, re.S)
    return unescape(re.sub("<.*?>", "", shown[0])).strip()


def is_refused(page, code=400):
    words = told(page)
    assert page.status_code == code, (page.status_code, words)
    assert 10 < len(words) < 2000 and "Traceback" not in page.text
    assert "<script>" not in page.text or page.headers["content-type"].startswith("text/plain")
    assert page.headers["x-content-type-options"] == "nosniff"
    return True


def asked(client, address, **options):
    method = "POST" if address.partition("?")[0] in POSTS else "GET"
    return client.request(method, address, follow_redirects=False, **options)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """One for all: whatever is refused is not recorded."""
    with GameLog(tmp_path_factory.mktemp("hostile") / "games.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def client(log):
    """One application for all: who is refused leaves nothing behind."""
    with TestClient(create_app(log=log), base_url="http://localhost") as made:
        yield made


def test_every_route_is_asked_what_it_should_refuse():
    assert set(FIELDS) == set(ROUTES)
    mounts = [route.path for route in create_app().routes if not isinstance(route, Route)]
    assert mounts == ["/static"]


# These read the fields of all routes, and compute nothing.
READERS = ["/play/moves", "/play/table", "/play/strength", "/inside/move", "/compare/runs",
           "/compare/softmax", "/compare/certificate.json", "/compare/people/agent"]  # fmt: skip


@pytest.mark.parametrize("is_each", [False, slow(True)])
@pytest.mark.parametrize("path", FIELDS)
def test_a_field_that_says_something_wrong_is_refused(path, is_each, client, log):
    """Each wrong text, or a sixth of them where fields are only read, and one a field on the other routes."""
    right, at = dict(parse_qsl(RIGHT.get(path, ""))), [*FIELDS].index(path)
    for number, (field, texts) in enumerate(FIELDS[path].items()):
        some = texts[at % 6 :: 6] if path in READERS else [texts[(at + number) % len(texts)]]
        for text in texts if is_each else some:
            query = urlencode(right | {field: text})
            assert is_refused(asked(client, f"{path}?{query}")), f"{field}={text[:60]!r}"
    assert len(log) == 0


@pytest.mark.parametrize("path", [path for path, fields in FIELDS.items() if fields])
def test_an_address_that_says_something_twice_or_is_endless_is_refused(path, client):
    for field in {*FIELDS[path], "unheard-of"} - {"run"}:
        assert is_refused(asked(client, f"{path}?{urlencode([(field, '1'), (field, '2')])}"))
    assert is_refused(asked(client, f"{path}?{'a' * 5000}"), 414)
    assert is_refused(asked(client, f"{path}?{'&'.join(f'a{n}=1' for n in range(2000))}"), 414)


BODIES = [b"cell=4", b"cell=9", b"cell=-1", b"cell=nan", b"cell=1e0", b"cell=", b"cell", b"cell=4.5", b"=4",
          b"cell=4&cell=5", b"cell=4&x=5", b"cell[]=4", b"CELL=4", b'{"cell": 4}', b"\xff\xfe\0",
          "cell=٣".encode(), b"cell=%D9%A3", b"cell=%00", b"algorithm=no", b"algorithm=ppo&cell=4",
          b"algorithm=ppo&algorithm=dqn", b"cell=" + b"4" * 400, b"cell=" + b"4" * 10_000_000]  # fmt: skip


KINDS = ["application/x-www-form-urlencoded", "multipart/form-data", "application/json", "💩"]


@pytest.mark.parametrize(
    ("path", "bodies", "kinds"),
    [*((path, BODIES, KINDS[:1]) for path in POSTS), ("/play/move", BODIES[1:2] + BODIES[-1:], KINDS[1:]),
     *(slow(path, BODIES, KINDS[1:]) for path in POSTS)],
    ids=lambda value: value if isinstance(value, str) else len(value),
)  # fmt: skip
def test_a_body_that_is_no_move_is_refused(path, bodies, kinds, client, log):
    for body in bodies:
        for kind in kinds:
            headers, address = {"content-type": kind.encode()}, f"{path}?{RIGHT.get(path, '')}"
            assert is_refused(asked(client, address, content=body, headers=headers)), (body[:14], kind)
    assert len(log) == 0


METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"]


@pytest.mark.parametrize("path", [*ROUTES, "/static/page.js"])
def test_a_wrong_method_is_refused_with_those_that_are_right(path, client):
    allowed = ROUTES[path].methods if path in ROUTES else {"GET", "HEAD"}
    for method in {*METHODS} - allowed:
        page = client.request(method, path)
        assert set(page.headers["allow"].split(", ")) == allowed
        assert page.status_code == 405 if method == "HEAD" else is_refused(page, 405)


LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
PICTURE = LINK | {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
FOREIGN = [
    LINK, PICTURE, PICTURE | {"sec-fetch-site": "same-site"}, PICTURE | {"sec-fetch-mode": "cors"},
    LINK | {"sec-fetch-dest": "iframe"}, {"sec-fetch-site": "\xff", "sec-fetch-mode": "💩"},
    *({name: value} for name in ("origin", "referer") for value in
      ("http://evil.example", "http://[", "null", "", "//", "http://localhost:99999999", "javascript:1")),
]  # fmt: skip


@pytest.mark.parametrize("path", sorted({*ROUTES} - {"/"}))
def test_what_another_site_or_name_asks_is_refused(path, client):
    hosts = "evil.example", "localhost.evil.example", "[", "[::1", "", "localhost:x", "a b"
    for host in hosts if path == "/play" else hosts[:1]:  # which are looked at before the path
        assert asked(client, path, headers={"host": host}).status_code == 400
    for headers in FOREIGN:
        encoded = {name: value.encode() for name, value in headers.items()}
        is_unread = ("origin" in headers) != (path in POSTS) and "sec-fetch-site" not in headers
        if ("referer" in headers or headers is LINK) and path in _OPENED:
            assert asked(client, path, headers=encoded).status_code == 200
        elif not is_unread:
            assert is_refused(asked(client, path, headers=encoded), 403), headers


OUTSIDE = ["../server.py", "..%2fserver.py", "%2e%2e/server.py", "%2e%2e%2fserver.py", "..%5cserver.py",
           "....//server.py", "/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "page.js%00", "%00", "%ff",
           "%F0%9F%92%A9", "C:%5C", "", ".", "a/" * 3000, "a" * 5000, "~", "a/../../services.py"]  # fmt: skip


@pytest.fixture(scope="module")
def url():
    with Server(create_app()) as found:
        yield found


def raw(url, lines):
    """The whole answer to a request of these lines; empty if the server hangs up while it comes."""
    request = lines.replace("\n", "\r\n") + "\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=60) as visitor:
        try:
            visitor.sendall(request.encode("latin-1"))
            return b"".join(iter(lambda: visitor.recv(1 << 16), b""))
        except (BrokenPipeError, ConnectionResetError):
            return b""


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path[:20])
def test_no_file_but_the_own_ones_is_read(path, url):
    answer = raw(url, f"GET /static/{path} HTTP/1.1\nHost: localhost")
    assert answer.startswith(b"HTTP/1.1 404 ") and b"root:" not in answer and b"ttt_env" not in answer


@pytest.mark.parametrize(
    "lines",
    ["GET /play", "GET  /play HTTP/1.1", "GET /\u00ff HTTP/1.1\nHost: localhost", "\0\0\0", "GET / HTTP/1.1",
     "GET /play HTTP/1.1\nHost: localhost\nHost: localhost", "GET /play HTTP/1.1\nHost: localhost\nX y",
     "POST /play/move HTTP/1.1\nHost: localhost\nContent-Length: -1",
     "POST /play/move HTTP/1.1\nHost: localhost\nContent-Length: 1e9",
     "POST /play/move HTTP/1.1\nHost: localhost\nTransfer-Encoding: banana",
     "POST /play/move HTTP/1.1\nHost: localhost\nTransfer-Encoding: chunked\n\nzz\n",
     f"GET /{'a' * 200_000} HTTP/1.1\nHost: localhost",
     f"GET /play HTTP/1.1\nHost: localhost\nX: {'a' * 200_000}",
     "GET /static/page.js HTTP/1.1\nHost: localhost\nRange: bytes=9-1",
     "GET http://evil.example/play HTTP/1.1\nHost: localhost\nConnection: close",
     "CONNECT evil.example:80 HTTP/1.1\nHost: localhost\nConnection: close"],
    ids=lambda lines: repr(lines[:40]),
)  # fmt: skip
def test_what_is_no_request_is_refused(lines, url):
    answer = raw(url, lines)
    is_endless = len(lines) > 100_000
    assert re.match(rb"HTTP/1.1 4\d\d ", answer) or (is_endless and not answer)
    assert b"Traceback" not in answer
    assert raw(url, "GET /play HTTP/1.1\nHost: localhost").startswith(b"HTTP/1.1 200 ")
