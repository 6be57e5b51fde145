"""When the broker got the records that are not published yet, which the end-to-end delay needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.release import InputRange
from stream_anon.ports import Chunk


class BrokerTimes:
    """Keeps offset and time of records that were taken and are not published yet. O(1) a chunk, 16 bytes a record.

    Parameters
    ----------
    most
        Records at the most. A window that is held takes any number of records of one person; the delay of records
        beyond this limit is not measured.
    """

    def __init__(self, most: int = 10_000_000) -> None:
        self._most = most
        self._kept = 0
        self._chunks: dict[int, list[tuple[NDArray[np.int64], NDArray[np.int64]]]] = {}

    def add(self, chunk: Chunk) -> None:
        """Take note of a chunk; offsets ascend within a source."""
        room = self._most - self._kept
        if room > 0:
            offsets, times = chunk.offsets[:room], chunk.times[:room]
            self._chunks.setdefault(chunk.source, []).append((offsets, times))
            self._kept += len(offsets)

    def take(self, ranges: Iterable[InputRange]) -> NDArray[np.float64]:
        """Return the times of all records in `ranges`, in seconds since the epoch, and forget them."""
        found: list[NDArray[np.int64]] = []
        for part in ranges:
            left = []
            for offsets, times in self._chunks.pop(part.source, ()):
                cut = int(np.searchsorted(offsets, part.end))
                found.append(times[:cut])
                self._kept -= cut
                if cut < len(offsets):
                    left.append((offsets[cut:], times[cut:]))
            if left:
                self._chunks[part.source] = left
        return np.concatenate(found) / 1000.0 if found else np.empty(0)

    def keep(self, sources: Collection[int]) -> None:
        """Forget the records of all other sources."""
        self._chunks = {source: chunks for source, chunks in self._chunks.items() if source in sources}
        self._kept = sum(len(times) for chunks in self._chunks.values() for _, times in chunks)
