"""Visitors: where their requests come from, who leaves before the answer, and who sends no whole request."""

import asyncio
from urllib.parse import urlsplit

import h11
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

REFUSED = "This can be done on the page itself only."


def is_foreign(request: Request) -> bool:
    """True if the browser says that a page of another site sent this request.

    Browsers say it in `sec-fetch-site` to this machine's own names and over HTTPS; otherwise in `origin` for
    forms and in `referer` for links, if the other site lets them. A visitor who types an address or opens a
    bookmark is nobody's page, and sends no forms.
    """
    is_form = request.method == "POST"
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site != "same-origin" and (is_form or site != "none")
    sender = request.headers.get("origin" if is_form else "referer")
    try:
        return sender is not None and urlsplit(sender).netloc != request.headers.get("host")
    except ValueError:  # it is no address
        return True


def is_whole(request: Request) -> bool:
    """True if the page must come with its parts, however long they take.

    Browsers without JavaScript ask for it so, and the script that shows a page first and then a `part`. A
    link of another site brings the page without them.
    """
    asked = request.query_params
    return "1" in (asked.get("whole"), asked.get("part")) and not is_foreign(request)


def is_opened(request: Request) -> bool:
    """True if the request asks for a page to look at, as a link does, not for a picture, script or frame."""
    is_link = request.headers.get("sec-fetch-mode", "navigate") == "navigate"
    is_page = request.headers.get("sec-fetch-dest", "document") == "document"
    return request.method in ("GET", "HEAD") and is_link and is_page


async def answer_while_there(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Let the application answer a request, as long as somebody is there to read the answer.

    The requests of visitors who have gone are given up: then nobody waits for what is computed for them.
    """
    has_come = asyncio.Event()  # the whole of the request: only then may somebody else listen

    async def received() -> Message:
        message = await receive()
        if not message.get("more_body"):
            has_come.set()
        return message

    async def left() -> None:
        await has_come.wait()
        while (await receive())["type"] != "http.disconnect":
            pass

    if scope["method"] in ("GET", "HEAD"):
        has_come.set()
    answer = asyncio.ensure_future(app(scope, received, send))
    leaving = asyncio.ensure_future(left())
    try:
        await asyncio.wait([answer, leaving], return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            await answer
    finally:
        answer.cancel()
        leaving.cancel()


class PromptConnection(H11Protocol):
    """A connection that is closed where a request is not there, head and body, within `max_seconds`.

    The time begins with the connection and with the first letter of each later request. uvicorn itself ends
    only connections on which nothing follows an answer, so one that says nothing, or a letter a minute,
    would be held for ever. How long the answer takes does not count.
    """

    max_seconds = 10.0

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # noqa: D102
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:  # noqa: D102
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: D102
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._unwatch()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.max_seconds, self.transport.abort)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
