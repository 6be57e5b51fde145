"""How long a worker was busy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stream_anon.ports import Clock


class BusyTime:
    """Adds up the time in which a worker takes records, closes a window, or may take no records.

    What it does at once counts once. It may take no records while enough windows wait for a transaction: a slow
    broker occupies it too. Waiting for records, or for a broker that is away, is no work. All calls come from the
    event loop.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at_once = 0
        self._begun = 0.0
        self._ended = 0.0

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the time that the context lasts."""
        if not self._at_once:
            self._begun = self._clock.monotonic()
        self._at_once += 1
        try:
            yield
        finally:
            self._at_once -= 1
            if not self._at_once:
                self._ended += self._clock.monotonic() - self._begun

    @property
    def seconds(self) -> float:
        """Return the seconds since the start in which the worker was busy, also in what it does just now."""
        return self._ended + (self._clock.monotonic() - self._begun if self._at_once else 0.0)
