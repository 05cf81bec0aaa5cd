"""Connections to visitors that end if no whole request comes."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


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
