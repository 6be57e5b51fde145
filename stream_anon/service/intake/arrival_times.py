"""When the broker got the records that are not published yet, which the end-to-end delay needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.release import InputRange
from stream_anon.ports import Chunk
from stream_anon.windowing.pieces import append_piece


class BrokerTimes:
    """Keeps offset and time of records that were taken and are not published yet: 16 bytes each, amortized O(1).

    Parameters
    ----------
    most
        Records at the most. A window that is held takes any number of records of one person; the delay of records
        beyond this limit is not measured.
    """

    def __init__(self, most: int = 10_000_000) -> None:
        self._most = most
        self._kept = 0
        self._pieces: dict[int, list[NDArray[np.int64]]] = {}  # int64[n, 2]: offset and time

    def add(self, chunk: Chunk) -> None:
        """Take note of a chunk; offsets ascend within a source."""
        room = self._most - self._kept
        if room > 0:
            piece = np.column_stack((chunk.offsets[:room], chunk.times[:room]))
            append_piece(self._pieces.setdefault(chunk.source, []), piece, np.concatenate)
            self._kept += len(piece)

    def take(self, ranges: Iterable[InputRange]) -> NDArray[np.float64]:
        """Return the times of all records in `ranges`, in seconds since the epoch, and forget them."""
        found: list[NDArray[np.int64]] = []
        for part in ranges:
            left = []
            for piece in self._pieces.pop(part.source, ()):
                cut = int(np.searchsorted(piece[:, 0], part.end))
                found.append(piece[:cut, 1])
                self._kept -= cut
                if cut < len(piece):
                    left.append(piece[cut:])
            if left:
                self._pieces[part.source] = left
        return np.concatenate(found) / 1000.0 if found else np.empty(0)

    def keep(self, sources: Collection[int]) -> None:
        """Forget the records of all other sources."""
        self._pieces = {source: pieces for source, pieces in self._pieces.items() if source in sources}
        self._kept = sum(len(piece) for pieces in self._pieces.values() for piece in pieces)
