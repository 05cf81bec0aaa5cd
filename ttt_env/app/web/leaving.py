"""Visitors who leave before they are answered."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


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

    if scope["method"] in ("GET", "HEAD"):
        has_come.set()
    answer = asyncio.ensure_future(app(scope, received, send))
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
