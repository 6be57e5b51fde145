"""The live status: server-sent events, once a second, to a few readers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from aiohttp import web

from stream_anon.adapters.http.answers import HEADERS, answer, wrong_method

MOST_READERS = 8  # browsers come back by themselves, so a reader beyond these only waits
READING_SECONDS = 300.0  # seconds after which the browser must connect again, so that no connection grows old
EVERY = 1.0


class LiveStatus:
    """Sends the status to the readers of `/events`, until `stop`.

    Parameters
    ----------
    status
        Returns the status as JSON, without a line break.
    """

    def __init__(self, status: Callable[[], bytes]) -> None:
        self._status = status
        self._stopping = asyncio.Event()
        self._readers = 0

    def stop(self) -> None:
        """End the streams of all readers."""
        self._stopping.set()

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send events until the reader leaves, is too slow or too old, or the service stops."""
        if request.method != "GET":
            return wrong_method("GET")
        if self._readers >= MOST_READERS or self._stopping.is_set():
            return answer(b"too many readers\n", status=503)
        self._readers += 1
        try:
            return await self._send(request)
        finally:
            self._readers -= 1

    async def _send(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream; charset=utf-8"})
        response.force_close()
        try:
            async with asyncio.timeout(READING_SECONDS):
                await response.prepare(request)
                await response.write(b"retry: 2000\n\n")
                while not self._stopping.is_set():
                    await response.write(b"data: " + self._status() + b"\n\n")
                    await self._pause()
        except (ConnectionError, TimeoutError):  # the reader left, is too slow, or has read for long enough
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(EVERY):
                await self._stopping.wait()
        except TimeoutError:
            return


Streams = Mapping[str, LiveStatus]
