"""Which classes of a release are nearest to people: sought once, and kept for all attacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes

_CELLS = 20_000_000  # pairs of a class and a person that are compared at once


@dataclass(frozen=True, slots=True, eq=False)
class NearestClasses:
    """The nearest classes of n people: those that contradict the fewest of some attributes.

    Parameters
    ----------
    codes
        int32[q, n], the people. Kept, so that nobody else's codes can be taken for them.
    wrong
        int16[n], how many attributes the nearest classes contradict.
    among
        int64[c], the classes that were compared.
    bits
        uint8[n, c / 8], a bit for each of these: a person may have very many.
    """

    codes: NDArray[np.int32]
    wrong: NDArray[np.int16]
    among: NDArray[np.int64]
    bits: NDArray[np.uint8]

    def __iter__(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield for each person how many attributes are contradicted, and the nearest classes."""
        for wrong, own in zip(self.wrong.tolist(), self.bits, strict=True):
            yield wrong, self.among[np.flatnonzero(np.unpackbits(own, count=len(self.among)))]


def nearest_classes(
    boxes: Boxes, codes: NDArray[np.int32], places: Sequence[int], among: NDArray[np.int64] | None = None
) -> NearestClasses:
    """Seek the nearest classes of each person; O(c q) a person, some megabytes at once and c / 8 bytes kept.

    Parameters
    ----------
    codes
        int32[q, n].
    places
        The attributes that are known; with none all classes are near.
    among
        int64[c], the classes that are compared; all of them if None.
    """
    every, people = np.arange(len(boxes)) if among is None else among, codes.shape[1]
    piece = max(1, _CELLS // max(len(every), 1))
    least = np.empty(people, np.int16)
    bits = np.empty((people, -(-len(every) // 8)), np.uint8)
    for start in range(0, people, piece):
        part = codes[:, start : start + piece]
        wrong = np.zeros((len(every), part.shape[1]), np.int16)
        for place in places:
            wrong += ~boxes.cover(place, part[place], every)
        fewest = wrong.min(axis=0, initial=len(places))
        least[start : start + piece] = fewest
        bits[start : start + piece] = np.packbits((wrong == fewest).T, axis=1)
    return NearestClasses(codes, least, every, bits)


@dataclass(slots=True, eq=False)
class ClassSearch:
    """Seeks nearest classes in one release, and finds again what it has sought."""

    boxes: Boxes
    _found: dict[tuple[int, tuple[int, ...]], NearestClasses] = field(default_factory=dict)

    def nearest(self, codes: NDArray[np.int32], places: Sequence[int]) -> NearestClasses:
        """Return the nearest classes of people; see `nearest_classes`. Codes must not be changed afterwards."""
        key = id(codes), tuple(places)
        if key not in self._found:
            self._found[key] = nearest_classes(self.boxes, codes, places)
        return self._found[key]
