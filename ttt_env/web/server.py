"""`ttt web`: serves the page's files on this machine, and answers its five questions."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from ipaddress import ip_address
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from ttt_env.errors import extra_for

with extra_for("the web page needs", "web"):
    import uvicorn
    from anyio.to_thread import run_sync
    from starlette.applications import Starlette
    from starlette.concurrency import iterate_in_threadpool
    from starlette.middleware import Middleware
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

from ttt_env.compiled.stopping import StoppedError, stopped_by
from ttt_env.errors import ParameterError, TttEnvError
from ttt_env.rules import Game
from ttt_env.storage import parse_json, reason
from ttt_env.storage.codec import decode_value
from ttt_env.storage.game_log import GameLog
from ttt_env.web.answers import (
    Answers,
    CertifyQuestion,
    EvaluateQuestion,
    PolicyQuestion,
    RecordQuestion,
    TrainQuestion,
)
from ttt_env.web.build import static_files
from ttt_env.web.data import available_games, page_files
from ttt_env.web.players import Players

_NAMES = ["127.0.0.1", "localhost", "[::1]"]
_HEADERS = {
    "content-security-policy": "frame-ancestors 'none'",  # the rest of the policy is in the page
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-cache",
}
_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_MOST_BYTES = 10_000  # of a question
_PUBLIC_WARNING = """{host} can be reached from other machines: anyone on the network can play and make this
computer compute. There are no passwords, and nothing is encrypted."""


def create_app(
    agents: Sequence[str] = (),
    log: GameLog | None = None,
    *,
    games: Sequence[Game] = (),
    is_local: bool = True,
) -> Starlette:
    """The page and its answers as an ASGI application.

    `agents` are files and spec strings of additional agents, `games` additional games, and finished games are
    written to `log`. With `is_local` it only answers requests to the names of this machine.

    Raises `GameError` for a game that is too large to be drawn, and the error of an agent that can play none
    of the games.
    """
    players = Players(agents)
    titles_by_game = available_games(is_static=False, own=games)
    players.check(list(titles_by_game))
    answers = Answers(players, list(titles_by_game), log)
    data = page_files(players, titles_by_game, has_answers=True, records=log is not None)
    files: dict[str, Callable[[], bytes]] = {
        name: partial(bytes, content) for name, content in static_files().items()
    }
    files |= {f"data/{name}": content for name, content in data.items()}
    questions: dict[type, Callable[[Any], Any]] = {
        PolicyQuestion: answers.policy,
        EvaluateQuestion: answers.evaluate,
        CertifyQuestion: answers.certify,
        TrainQuestion: answers.train,
        RecordQuestion: answers.record,
    }
    return Starlette(
        routes=[
            Route("/", partial(_file, files, "index.html")),
            *(Route(f"/{name}", partial(_file, files, name)) for name in files),
            *(
                Route(f"/answers/{answer.__name__}", partial(_answer, kind, answer), methods=["POST"])
                for kind, answer in questions.items()
            ),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=_NAMES if is_local else ["*"]),
            Middleware(GZipMiddleware),
        ],
    )


async def _file(files: Mapping[str, Callable[[], bytes]], name: str, request: Request) -> Response:
    return Response(await run_sync(files[name]), media_type=_TYPES[name.rpartition(".")[2]], headers=_HEADERS)


def is_foreign(request: Request) -> bool:
    """True if a browser sent the request from another page than this one."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site != "same-origin"
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status, headers=_HEADERS)


async def _answer(kind: type, answer: Callable[[Any], Any], request: Request) -> Response:
    """The answer to a question of this kind; its computation stops when the client disconnects."""
    if is_foreign(request):
        return _error(403, "Only this page itself may ask.")
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return _error(415, "A question is sent as application/json.")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            return _error(413, f"A question has at most {_MOST_BYTES:,} bytes.")
    try:
        question = decode_value(kind, parse_json(body), name="question")
        if kind is TrainQuestion:
            return StreamingResponse(
                _lines(answer(question)), media_type="application/x-ndjson", headers=_HEADERS
            )
        return JSONResponse(await _run_while_connected(request, partial(answer, question)), headers=_HEADERS)
    except (TttEnvError, ImportError, ValueError) as error:
        return _error(400, str(error))
    except StoppedError:
        return Response(status_code=499)  # the client has disconnected


async def _run_while_connected(request: Request, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of `compute`; its searches and sweeps stop once the client has disconnected."""
    departure = Event()

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        departure.set()

    def run() -> dict[str, Any]:
        with stopped_by(departure):
            return compute()

    watching = asyncio.create_task(watch())
    try:
        return await run_sync(run)
    finally:
        watching.cancel()


async def _lines(events: Iterator[dict[str, Any]]) -> AsyncIterator[str]:
    async for event in iterate_in_threadpool(events):
        yield json.dumps(event) + "\n"


def start(
    host: str,
    port: int,
    agents: Sequence[str],
    log: GameLog | None,
    say: Callable[[str], None],
    *,
    games: Sequence[Game] = (),
    is_public: bool = False,
) -> None:
    """Serve the page until a signal ends it, whose handler is then called; port 0 is any free one.

    Raises the errors of `create_app`, and `ParameterError` for a port in use, and for an address that other
    machines can reach unless `is_public`.
    """
    is_local = _is_loopback(host)
    if not is_local and not is_public:
        raise ParameterError(f"{host} can be reached from other machines: add --public to allow this")
    app = create_app(agents, log, games=games, is_local=is_local)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server_socket = socket.create_server((host, port), family=family)
    except OSError as error:
        text = reason(error).partition(" (")[0]
        raise ParameterError(f"--port: {host}:{port}: {text}; --port 0 picks a free port") from None
    with server_socket as listening:
        # Without this the second half of an answer waits until the client has confirmed the first.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not is_local:
            say(_PUBLIC_WARNING.format(host=host))
        if log is not None:
            say(f"Finished games are recorded in {log.path}")
        address_host = f"[{host}]" if ":" in host else host
        address = f"http://{address_host}:{listening.getsockname()[1]}"
        server = _Server(
            config_of(app, log_level="warning"), partial(say, f"Play at {address} (Ctrl-C ends it)")
        )
        # Computations that are stopped with the server are not errors to report.
        logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that calls `ready` when it accepts requests, and shuts down on signals."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def config_of(app: Starlette, **more: Any) -> uvicorn.Config:
    """The configuration of uvicorn for the page; it leaves logging unchanged."""
    return uvicorn.Config(app, **{"ws": "none", "timeout_graceful_shutdown": 1, "log_config": None, **more})


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
