"""The open connections of one port: few, and shared fairly among the addresses that they come from."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Connections:
    """At most `most` connections; a new one is always let in, and an old one is closed for it.

    The address with the most connections loses the one that has asked for nothing for longest. So a client that
    opens many loses its own, and the probe of another address is never turned away. A stream, which is bounded
    elsewhere, is left alone.

    Parameters
    ----------
    most
        More than the streams that can be open at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[asyncio.Transport, str] = {}  # what has been silent for longest comes first
        self._streams: set[asyncio.Transport] = set()

    def add(self, transport: asyncio.Transport) -> None:
        """Let a connection in, and abort another one if there are too many."""
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        if len(self._open) >= self._most:
            self._evict(address)
        self._open[transport] = address

    def remove(self, transport: asyncio.Transport) -> None:
        """Forget a connection that is closed; do nothing if it is unknown."""
        self._open.pop(transport, None)
        self._streams.discard(transport)

    def asks(self, transport: asyncio.Transport | None) -> None:
        """Note a request on a connection; do nothing if it is unknown."""
        if transport is not None and transport in self._open:
            self._open[transport] = self._open.pop(transport)

    @contextmanager
    def kept(self, transport: asyncio.Transport | None) -> Iterator[None]:
        """Keep a connection open during the context, since it carries a stream."""
        if transport is not None and transport in self._open:
            self._streams.add(transport)
        try:
            yield
        finally:
            if transport is not None:
                self._streams.discard(transport)

    def _evict(self, newcomer: str) -> None:
        candidates = [transport for transport in self._open if transport not in self._streams]
        held = Counter([self._open[transport] for transport in candidates])
        held[newcomer] += 1
        # `max` takes the first of equals: of the address with the most, the one that has been silent for longest.
        silent = max(candidates, key=lambda transport: held[self._open[transport]])
        self.remove(silent)
        silent.abort()
