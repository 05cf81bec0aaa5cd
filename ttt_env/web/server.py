"""The web server: the pages put together, and what every answer carries."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ttt_env.errors import TttEnvError
from ttt_env.rules import get_game
from ttt_env.storage.game_log import GameLog
from ttt_env.web.board import board_of, facts_of_game, strokes_of
from ttt_env.web.compare.pages import TABS, ComparePages
from ttt_env.web.computing import BusyError
from ttt_env.web.inside.pages import InsidePages
from ttt_env.web.insight import Evaluators
from ttt_env.web.play import PlayPages
from ttt_env.web.roster import Roster
from ttt_env.web.services import Assets, Services
from ttt_env.web.visitors import REFUSED, answer_while_there, is_foreign, is_opened

_NAMES = ["127.0.0.1", "localhost", "[::1]"]
_HEADERS = {
    "content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # else browsers keep the origin of a form to themselves
}
_COMPRESSION = 4  # a page in a millisecond, and a tenth longer than the best
_PAGES = (("/play", "Play"), ("/train", "Train"), ("/inside", "Look inside"), ("/compare", "Compare"))
_OPENED = {"/", *dict(_PAGES), *TABS}
"""The addresses that links of other sites may open. Others compute, and are for these pages alone."""


def create_app(
    models: Mapping[str, str] | None = None,
    log: GameLog | None = None,
    runs: Path | None = None,
    is_local: bool = True,
) -> Starlette:
    """The pages as an ASGI application.

    `models` are spec strings of further agents by name, `log` takes the finished games, `runs` is a folder of
    training curves, by default a temporary one. With `is_local` it only answers requests to the names of this
    machine.
    """
    evaluators = Evaluators(Roster(models or {}, None if log is None else log.path))
    services = Services(evaluators, log, runs, _PAGES)
    app = Starlette(
        routes=[
            Route("/", _home),
            Route("/train", partial(_train, services)),
            *(route for page in (PlayPages, InsidePages, ComparePages) for route in page(services).routes()),
            Mount("/static", Assets()),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=_NAMES if is_local else ["*"]),
            Middleware(_Guard),
            Middleware(GZipMiddleware, compresslevel=_COMPRESSION),
        ],
        exception_handlers={
            HTTPException: partial(_refused, services),
            BusyError: partial(_told, 503),
            TttEnvError: partial(_told, 400),
            ImportError: partial(_told, 400),
            ClientDisconnect: partial(_told, 400),  # nobody reads it
        },
        lifespan=partial(_closing, services),
    )
    app.state.services = services
    return app


async def _home(request: Request) -> Response:
    return RedirectResponse("/play")


async def _train(services: Services, request: Request) -> Response:
    """The page on which an agent learns in the browser of the visitor, who asks the server for nothing."""
    game = get_game("tictactoe-v0")
    strokes, board = strokes_of(game, game.winning_masks)[0], board_of(game.start, None)
    return services.page("train.html", game_facts=facts_of_game(game), board=board, all_strokes=strokes)


async def _refused(services: Services, request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = services.page("refused.html", error.status_code, status=error.status_code, reason=error.detail)
    if error.status_code == 405:
        # Files refuse other methods without saying which ones they take.
        response.headers["allow"] = (error.headers or {}).get("Allow", "GET, HEAD")
    return response


async def _told(status: int, request: Request, error: Exception) -> Response:
    """The answer to a request for a part of a page that cannot be had."""
    return PlainTextResponse(str(error), status)


@asynccontextmanager
async def _closing(services: Services, app: Starlette) -> AsyncIterator[None]:
    yield
    services.queues.close()
    await run_sync(services.trainings.close)


class _Guard:
    """Adds the headers that keep a page to this server, and refuses what other sites should not ask for.

    Their links may be followed to a page. Their forms make no moves, and no picture or script of theirs makes
    the server compute.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        request = Request(scope)
        if is_foreign(request) and not (is_opened(request) and request.url.path in _OPENED):
            refused = PlainTextResponse(REFUSED, 403)
            await refused(scope, receive, send_guarded)
            return
        await answer_while_there(self._app, scope, receive, send_guarded)
