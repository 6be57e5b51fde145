"""Which classes of a release are nearest to people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes

_CELLS = 20_000_000  # pairs of a class and a person that are compared at once

Group = tuple[NDArray[np.signedinteger], NDArray[np.int64]]
"""Rows of people, and the classes that these are compared with."""


class ComparedPeople(NamedTuple):
    """Some people beside all classes that they are compared with.

    Parameters
    ----------
    rows
        int64[n], the people.
    wrong
        int16[n], how many attributes the nearest classes contradict; all where there is no class.
    among
        int64[c], the classes.
    nearest
        bool[n, c].
    """

    rows: NDArray[np.signedinteger]
    wrong: NDArray[np.int16]
    among: NDArray[np.int64]
    nearest: NDArray[np.bool_]

    def each(self) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
        """Yield each row, how many attributes are contradicted, and the nearest classes."""
        for row, wrong, own in zip(self.rows.tolist(), self.wrong.tolist(), self.nearest, strict=True):
            yield row, wrong, self.among[np.flatnonzero(own)]


def compared(
    boxes: Boxes, codes: NDArray[np.int32], places: Sequence[int], groups: Iterable[Group]
) -> Iterator[ComparedPeople]:
    """Seek the nearest classes of each person: those that contradict the fewest of some attributes.

    O(c q) a person, some megabytes at once.

    Parameters
    ----------
    codes
        int32[q, n].
    places
        The attributes that are known; with none all classes are near.
    """
    for rows, among in groups:
        piece = max(1, _CELLS // max(len(among), 1))
        for start in range(0, len(rows), piece):
            own = rows[start : start + piece]
            wrong = np.zeros((len(among), len(own)), np.int16)
            for place in places:
                wrong += ~boxes.cover(place, codes[place, own], among)
            fewest = wrong.min(axis=0, initial=len(places))
            yield ComparedPeople(own, fewest, among, (wrong == fewest).T)


@dataclass(frozen=True, slots=True, eq=False)
class NearestClasses:
    """The nearest classes of n people.

    Parameters
    ----------
    codes
        int32[q, n], the people. Kept, so that nobody else's codes can be taken for them.
    wrong
        How many attributes the nearest classes contradict, of each person.
    among
        int64[c], the classes that each was compared with.
    bits
        uint8[c / 8], a bit for each of these: a person may have very many.
    """

    codes: NDArray[np.int32]
    wrong: list[int]
    among: list[NDArray[np.int64]]
    bits: list[NDArray[np.uint8]]

    @classmethod
    def of(cls, codes: NDArray[np.int32], parts: Iterable[ComparedPeople]) -> NearestClasses:
        """Return those of all people; each is in one part."""
        count = codes.shape[1]
        none = np.empty(0, np.int64)
        found = cls(codes, [0] * count, [none] * count, [np.empty(0, np.uint8)] * count)
        for part in parts:
            packed = np.packbits(part.nearest, axis=1)
            for row, wrong, bits in zip(part.rows.tolist(), part.wrong.tolist(), packed, strict=True):
                found.wrong[row], found.among[row], found.bits[row] = wrong, part.among, bits
        return found

    def __iter__(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield for each person how many attributes are contradicted, and the nearest classes."""
        for wrong, among, bits in zip(self.wrong, self.among, self.bits, strict=True):
            yield wrong, among[np.flatnonzero(np.unpackbits(bits, count=len(among)))]
