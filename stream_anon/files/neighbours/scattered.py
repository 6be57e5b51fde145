"""Released rows in random order, more than memory holds: each goes to a heap by chance, and heaps are shuffled.

Every order of all rows is equally likely: a row's heap is drawn independently of all others, and so is the order
within the heap (Rao, 1961; Sandelius, 1962).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.files.neighbours.pieces import Pieces
from stream_anon.microdata.payload import Payload, joined, taken


class Heap(NamedTuple):
    """Rows of a heap in random order.

    Parameters
    ----------
    classes
        int32[n], of each row.
    payload
        n rows.
    """

    classes: NDArray[np.int32]
    payload: Payload


class Scattered:
    """Released rows on the disk, in heaps.

    Parameters
    ----------
    heaps
        How many; each is in memory as a whole when it is read.
    draws
        Deals and shuffles.
    """

    def __init__(self, heaps: int, draws: np.random.Generator) -> None:
        self._pieces = Pieces()
        self._heaps: list[list[int]] = [[] for _ in range(heaps)]  # the pieces of each
        self._draws = draws

    def add(self, classes: NDArray[np.int32], payload: Payload) -> None:
        """Take rows, as a `Heap` has them; O(n log n)."""
        own = self._draws.integers(0, len(self._heaps), len(classes))
        order = np.argsort(own, kind="stable")
        bounds = np.searchsorted(own[order], np.arange(len(self._heaps) + 1)).tolist()
        for heap, start, stop in zip(self._heaps, bounds, bounds[1:], strict=False):
            if start < stop:
                rows = order[start:stop]
                heap.append(len(self._pieces))
                self._pieces.write(Heap(classes[rows], taken(payload, rows)))

    def heaps(self) -> Iterator[tuple[int, Heap]]:
        """Yield the number and the rows of each heap that has some, and forget them; call it once."""
        try:
            for number, places in enumerate(self._heaps):
                parts = [self._pieces.read(place) for place in places]
                if parts:
                    yield number, shuffled(parts, self._draws)
        finally:
            self._pieces.close()


def shuffled(parts: Sequence[Heap], draws: np.random.Generator) -> Heap:
    """Return the rows of all parts in random order."""
    classes = np.concatenate([part.classes for part in parts])
    order = draws.permutation(len(classes))
    return Heap(classes[order], taken(joined([part.payload for part in parts]), order))
