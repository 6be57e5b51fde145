"""How many records wait on partitions that are ours but not read; the client fetches none and does not know."""

from __future__ import annotations

from collections.abc import Mapping

from stream_anon.ports import Source


class Backlog:
    """Keeps where the unread records of stopped partitions begin and end.

    Parameters
    ----------
    source
        Asked for their ends, now and then.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._begins: dict[int, int] = {}
        self._ends: Mapping[int, int] = {}

    def __len__(self) -> int:
        return len(self._begins)

    def reset(self, begins: Mapping[int, int]) -> None:
        """Keep exactly these sources."""
        self._begins, self._ends = dict(begins), {}

    def add(self, source: int, begin: int) -> None:
        """Keep one more source."""
        self._begins[source] = begin

    @property
    def size(self) -> int | None:
        """Return how many records wait; None while an end is unknown."""
        if not self._begins.keys() <= self._ends.keys():
            return None
        return sum(max(self._ends[source] - begin, 0) for source, begin in self._begins.items())

    async def look(self) -> None:
        """Ask for the ends. Raises BrokerError."""
        if self._begins:
            self._ends = await self._source.bounds(sorted(self._begins), "latest")
