"""Two small servers in the service's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import cast

from aiohttp import web

from stream_anon.adapters.http.answers import (
    ObservedService,
    Order,
    Page,
    admin_pages,
    answer,
    compact_status,
    obey,
    public_pages,
    respond,
)
from stream_anon.adapters.http.connections import Connections
from stream_anon.adapters.http.live import LiveStatus, Streams
from stream_anon.errors import SettingsError

MOST_CONNECTIONS = 64  # for each port: a probe, a scrape and a few people
BACKLOG = 4 * MOST_CONNECTIONS  # if the system's queue is full, a probe comes a second late
# Prometheus gives up an idle connection after 300 seconds. It must be the first, or a scrape may meet the closing.
IDLE_SECONDS = 330.0
STALL_SECONDS = 10.0  # seconds for which a client may read nothing of an answer
SHUTDOWN_SECONDS = 2.0
_LARGEST_FIELD = 4096
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


class _Conversation(web.RequestHandler):
    """A connection that never repeats a request in an error and never waits long for its reader.

    Parameters
    ----------
    connections
        The connections of this port; a new one adds itself.
    """

    __slots__ = ("_connections", "_own", "_stalled")

    def __init__(self, manager: web.Server, connections: Connections, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            manager,
            loop=loop,
            access_log=None,  # type: ignore[arg-type] # None turns it off
            keepalive_timeout=IDLE_SECONDS,
            max_line_size=_LARGEST_FIELD,
            max_field_size=_LARGEST_FIELD,
            lingering_time=0.0,
        )
        self._connections = connections
        self._own: asyncio.Transport | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place among the connections of the port."""
        super().connection_made(transport)
        self._own = cast("asyncio.Transport", transport)
        self._connections.add(self._own)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Give the place back."""
        if self._own is not None:
            self._connections.remove(self._own)
        self._forget_stall()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Abort the connection unless its client reads on soon, for an unread answer holds memory."""
        super().pause_writing()
        if self._own is not None:
            self._stalled = self._loop.call_later(STALL_SECONDS, self._own.abort)

    def resume_writing(self) -> None:
        """Go on, since the client has read."""
        self._forget_stall()
        super().resume_writing()

    def _forget_stall(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,  # noqa: ARG002 - the signature is the library's
        message: str | None = None,  # noqa: ARG002
    ) -> web.StreamResponse:
        """Answer with the status's name only, and close."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun, so the connection can only be aborted")
        response = answer(f"{HTTPStatus(status).phrase.lower()}\n".encode(), status=status)
        response.force_close()
        return response


class _Pages(web.Server):
    """Answers from tables of pages and streams, on a bounded number of connections.

    Parameters
    ----------
    names
        Names that clients may use for this server. If empty, any name will do, and no orders are taken, since the
        server is not on loopback.
    orders
        Orders by path.
    """

    def __init__(
        self,
        pages: Mapping[str, Page],
        streams: Streams,
        names: frozenset[str],
        loop: asyncio.AbstractEventLoop,
        orders: Mapping[str, Order],
    ) -> None:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            self._places.asks(request.transport)
            if names and request.host.rpartition(":")[0] not in names and request.host not in names:
                return answer(b"misdirected request\n", status=421)
            order = orders.get(request.path)
            if order is not None:
                return (
                    obey(request, order) if names else answer(b"orders are accepted on loopback only\n", status=403)
                )
            stream = streams.get(request.path)
            if stream is None:
                return respond(request, pages)
            with self._places.kept(request.transport):
                return await stream.respond(request)

        super().__init__(handle, loop=loop)
        self._running = loop
        self._places = Connections(MOST_CONNECTIONS)

    def __call__(self) -> web.RequestHandler:
        return _Conversation(self, self._places, self._running)


class HttpServers:
    """Serves health and metrics on one port, the status page on another.

    Parameters
    ----------
    service
        Tells readiness and status.
    metrics, metrics_type
        Returns the exposition, and its content type.
    public, admin
        Host and port each; port 0 is any free port.
    orders
        Orders that an operator may give on the admin port, by name.
    """

    def __init__(
        self,
        service: ObservedService,
        metrics: Callable[[], bytes],
        metrics_type: str,
        public: tuple[str, int],
        admin: tuple[str, int],
        orders: Mapping[str, Order] | None = None,
    ) -> None:
        self._live = LiveStatus(lambda: compact_status(service))
        self._tables: tuple[tuple[str, tuple[str, int], Mapping[str, Page], Streams], ...] = (
            ("http.port", public, public_pages(service, metrics, metrics_type), {}),
            ("http.admin_port", admin, admin_pages(service), {"/events": self._live}),
        )
        self._orders = {f"/{name}": order for name, order in (orders or {}).items()}
        self._pages: list[_Pages] = []
        self._listening: list[asyncio.Server] = []

    async def start(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Listen, and return (host, port) of the public pages and of the admin pages.

        Raises
        ------
        SettingsError
            If an address cannot be used; then neither is.
        """
        bound = []
        try:
            for key, (host, port), table, streams in self._tables:
                bound.append(await self._listen(key, host, port, table, streams))
        except SettingsError:
            await self.stop()
            raise
        return bound[0], bound[1]

    async def _listen(
        self, key: str, host: str, port: int, table: Mapping[str, Page], streams: Streams
    ) -> tuple[str, int]:
        loop = asyncio.get_running_loop()
        # A web page could let its own name resolve to loopback, and read through its reader's browser.
        own = LOOPBACK | {host} if host in LOOPBACK else frozenset[str]()
        orders = self._orders if key == "http.admin_port" else {}
        pages = _Pages(table, streams, own, loop, orders)
        try:
            server = await loop.create_server(pages, host, port, backlog=BACKLOG)
        except (OSError, OverflowError):
            raise SettingsError(
                key, f"cannot listen on {host}:{port}: the address is in use, or not one of this machine"
            ) from None
        self._pages.append(pages)
        self._listening.append(server)
        return host, int(server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening, let running answers end, and close the other connections; safe to call twice."""
        self._live.stop()
        for server in self._listening:
            server.close()
        for pages in self._pages:
            pages.pre_shutdown()
            await pages.shutdown(SHUTDOWN_SECONDS)
        for server in self._listening:
            await server.wait_closed()
        self._listening.clear()
        self._pages.clear()
