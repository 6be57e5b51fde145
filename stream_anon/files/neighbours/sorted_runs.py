"""A table sorted along a line: runs on the disk, of which stretches of neighbours are read.

::

    run 0   ───┤ 1 ├──────┤ 2 ├──┤ 3 ├───      each sorted by key
    run 1   ─┤  1  ├───┤  2  ├─┤   3   ├─      a stretch: what lies between two ranks of all keys
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.ordering.order import KeyTable, ascending, line_keys
from stream_anon.files.neighbours.pieces import Pieces
from stream_anon.microdata.batch import CodedBatch

_PIECE = 4096  # rows that are read together


class SortedRuns:
    """Rows of a table on the disk; 8 bytes of each, its place on the line, stay in memory.

    Parameters
    ----------
    table
        The line.
    """

    def __init__(self, table: KeyTable) -> None:
        self._table = table
        self._keys: list[NDArray[np.int64]] = []
        self._pieces = Pieces()
        self._runs: list[int] = []  # the first piece of each

    def __len__(self) -> int:
        return sum(map(len, self._keys))

    def add(self, batch: CodedBatch) -> None:
        """Write the rows of a batch as a run; O(n log n)."""
        keys = line_keys(batch.codes, self._table)
        order = ascending(keys, self._table)
        self._runs.append(len(self._pieces))
        for first in range(0, len(order), _PIECE):
            self._pieces.write(batch.take(order[first : first + _PIECE]))
        self._keys.append(keys[0][order])

    def stretches(self, count: int) -> Iterator[CodedBatch]:
        """Yield all rows in stretches of neighbours, of about equal length, in the order of the line."""
        total = len(self)
        ranks = [total * i // count for i in range(1, count)]
        bounds = [[0] * len(self._keys), *self._bounds(ranks), [len(keys) for keys in self._keys]]
        for starts, stops in pairwise(bounds):
            parts = [
                part
                for run, start, stop in zip(self._runs, starts, stops, strict=True)
                if start < stop
                for part in self._rows(run, start, stop)
            ]
            if parts:
                yield CodedBatch.concatenate(parts)

    def _bounds(self, ranks: Sequence[int]) -> Iterator[list[int]]:
        """Yield for each rank how many rows of each run lie before it; of equal keys, those of earlier runs do."""
        if not ranks:
            return
        at = np.partition(np.concatenate(self._keys), ranks)[ranks]
        for rank, key in zip(ranks, at.tolist(), strict=True):
            below = [int(np.searchsorted(keys, key)) for keys in self._keys]
            missing = rank - sum(below)
            for i, keys in enumerate(self._keys):
                taken = min(missing, int(np.searchsorted(keys, key, side="right")) - below[i])
                below[i] += taken
                missing -= taken
            yield below

    def _rows(self, run: int, start: int, stop: int) -> Iterator[CodedBatch]:
        """Yield the rows of a run from `start` to before `stop`."""
        for number in range(start // _PIECE, -(-stop // _PIECE)):
            first = number * _PIECE
            piece: CodedBatch = self._pieces.read(run + number)
            yield piece.take(np.arange(max(start - first, 0), min(stop - first, len(piece))))

    def close(self) -> None:
        """Forget all rows."""
        self._pieces.close()
