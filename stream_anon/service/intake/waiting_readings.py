"""When the broker got the records that are not published yet, and how they were read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.release import InputRange
from stream_anon.ports import Chunk
from stream_anon.service.events import Readings
from stream_anon.windowing.pieces import append_piece

_NONE = np.zeros(2, np.int64)


@dataclass(slots=True)
class _OfSource:
    times: list[NDArray[np.int64]] = field(default_factory=list)  # int64[n, 2]: offset and time
    # How many were read singly, and how many texts were coerced.
    earlier: NDArray[np.int64] = field(default_factory=lambda: _NONE)  # before `last`: a window takes all or none
    last: NDArray[np.int64] = field(default_factory=lambda: _NONE)
    end: int = 0  # of the chunk of `last`, which two windows may share


class WaitingReadings:
    """Keeps what is told of records once they are published: when each came, and how many were read in another way.

    Offsets and times take 16 bytes a record, amortized O(1). How a chunk was read belongs to the window in which it
    ends.

    Parameters
    ----------
    most
        Records at the most whose times are kept. A window that is held takes any number of records of one person;
        the delay of records beyond this limit is not measured.
    """

    def __init__(self, most: int = 10_000_000) -> None:
        self._most = most
        self._kept = 0
        self._sources: dict[int, _OfSource] = {}

    def add(self, chunk: Chunk, singly: int = 0, coerced: int = 0) -> None:
        """Take note of a chunk and how it was read, see `Readings`; offsets ascend within a source."""
        source = self._sources.setdefault(chunk.source, _OfSource())
        room = self._most - self._kept
        if room > 0:
            piece = np.column_stack((chunk.offsets[:room], chunk.times[:room]))
            append_piece(source.times, piece, np.concatenate)
            self._kept += len(piece)
        if singly or coerced:
            source.earlier, source.last = source.earlier + source.last, np.array([singly, coerced])
            source.end = chunk.end

    def take(self, ranges: Iterable[InputRange]) -> Readings:
        """Return what belongs to a sealed window with these ranges, and forget it."""
        counts, times = _NONE, list[NDArray[np.int64]]()
        for part in ranges:
            source = self._sources.get(part.source)
            if source is None:
                continue
            counts, source.earlier = counts + source.earlier, _NONE
            if source.end <= part.end:
                counts, source.last = counts + source.last, _NONE
            left = []
            for piece in source.times:
                cut = int(np.searchsorted(piece[:, 0], part.end))
                times.append(piece[:cut, 1])
                self._kept -= cut
                if cut < len(piece):
                    left.append(piece[cut:])
            source.times = left
        return Readings(np.concatenate(times) / 1000.0 if times else np.empty(0), *counts.tolist())

    def keep(self, sources: Collection[int]) -> None:
        """Forget all other sources: whoever publishes their records reads them again."""
        self._sources = {number: source for number, source in self._sources.items() if number in sources}
        self._kept = sum(len(piece) for source in self._sources.values() for piece in source.times)
