"""The open connections of one port: few, and shared fairly between the addresses they come from."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Connections:
    """Hold at most `most` connections; a new one is always let in, and an old one goes for it.

    The address that holds the most connections gives up its oldest. So whoever opens many loses its own, and the
    probe of another address is never turned away. A stream that is bounded elsewhere is left alone.

    Parameters
    ----------
    most
        Must exceed the number of streams that can be open at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[asyncio.Transport, str] = {}  # the oldest comes first
        self._streams: set[asyncio.Transport] = set()

    def add(self, transport: asyncio.Transport) -> None:
        """Let a connection in, and break off another one where there are too many."""
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        if len(self._open) >= self._most:
            self._evict(address)
        self._open[transport] = address

    def remove(self, transport: asyncio.Transport) -> None:
        """Forget a connection that is closed; nothing happens if it is not known."""
        self._open.pop(transport, None)
        self._streams.discard(transport)

    @contextmanager
    def kept(self, transport: asyncio.Transport | None) -> Iterator[None]:
        """Leave a connection alone meanwhile: it carries a stream."""
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
        # `max` takes the first of equals: the oldest connection of the address that holds the most.
        oldest = max(candidates, key=lambda transport: held[self._open[transport]])
        self.remove(oldest)
        oldest.abort()
