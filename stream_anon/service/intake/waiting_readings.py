"""How the records were read that are not published yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from stream_anon.microdata.release import InputRange
from stream_anon.service.events import Readings


@dataclass(slots=True)
class _OfSource:
    earlier: Readings  # of chunks before the last: a window that takes any of it takes all of these
    last: Readings
    end: int  # of the last chunk, which two windows may share


class WaitingReadings:
    """Keeps how records were read until the window is sealed in which their chunk ends."""

    def __init__(self) -> None:
        self._sources: dict[int, _OfSource] = {}

    def add(self, source: int, end: int, readings: Readings) -> None:
        """Take note of a chunk that ends before offset `end`."""
        if readings == Readings():
            return
        before = self._sources.get(source)
        earlier = Readings() if before is None else before.earlier + before.last
        self._sources[source] = _OfSource(earlier, readings, end)

    def take(self, ranges: Iterable[InputRange]) -> Readings:
        """Return what belongs to a sealed window with these ranges, and forget it."""
        total = Readings()
        for part in ranges:
            found = self._sources.get(part.source)
            if found is None:
                continue
            total += found.earlier
            found.earlier = Readings()
            if found.end <= part.end:
                total += found.last
                del self._sources[part.source]
        return total

    def keep(self, sources: Collection[int]) -> None:
        """Forget all other sources: whoever publishes their records reads them again."""
        self._sources = {source: found for source, found in self._sources.items() if source in sources}
