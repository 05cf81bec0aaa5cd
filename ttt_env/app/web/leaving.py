"""Visitors who leave before they are answered."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Leaving:
    """Gives up the requests of visitors who have gone: then nobody waits for what is computed for them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as long as somebody is there to read the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_come = asyncio.Event()  # the whole of the request: only then may somebody else listen

        async def received() -> Message:
            message = await receive()
            if not message.get("more_body"):
                has_come.set()
            return message

        if scope["method"] in ("GET", "HEAD"):
            has_come.set()
        answer = asyncio.ensure_future(self._app(scope, received, send))
        leaving = asyncio.ensure_future(_left(has_come, receive))
        try:
            await asyncio.wait([answer, leaving], return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                await answer
        finally:
            answer.cancel()
            leaving.cancel()


async def _left(has_come: asyncio.Event, receive: Receive) -> None:
    """Wait until the visitor of a request that has come in whole is gone."""
    await has_come.wait()
    while (await receive())["type"] != "http.disconnect":
        pass
