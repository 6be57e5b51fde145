"""Hold the source back while a pause is ordered."""

from __future__ import annotations

from collections.abc import Callable, Collection

from stream_anon.ports import Source
from stream_anon.service.orders import Orders


class Pausing:
    """Follows the orders to pause and to resume.

    Parameters
    ----------
    reading
        Returns the sources that are read unless a pause is ordered.
    """

    def __init__(self, orders: Orders, source: Source, reading: Callable[[], Collection[int]]) -> None:
        self.orders = orders
        self._source = source
        self._reading = reading
        self._ordered = False  # as of the last look
        self._withheld = False

    def look(self) -> None:
        """Look which orders are in force."""
        self._ordered = self.orders.look() is not None

    def heed(self) -> None:
        """Fetch nothing while a pause is ordered; polls go on, since they keep the membership."""
        if self._ordered:
            self._source.pause(self._source.assigned)  # a takeover would resume them
        elif self._withheld:
            self._source.resume(self._reading())
        self._withheld = self._ordered
