"""What an attacker holds: a release, and what they know of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.boxes import Boxes

_CELLS = 20_000_000  # pairs of a class and a person that are compared at once


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Records of people.

    Parameters
    ----------
    codes
        int32[q, n], the true quasi-identifiers.
    passed
        By attribute int64[n], numbers of the values that pass; a release numbers equal values alike.
    people
        int64[n], equal for records of one person.
    """

    codes: NDArray[np.int32]
    passed: Mapping[str, NDArray[np.int64]]
    people: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    def take(self, rows: NDArray[np.integer]) -> Known:
        """Return some of the records."""
        passed = {name: values[rows] for name, values in self.passed.items()}
        return Known(self.codes[:, rows], passed, self.people[rows])


@dataclass(frozen=True, eq=False)
class HeldRelease:
    """A release as its readers hold it.

    Parameters
    ----------
    boxes
        What its classes publish.
    classes
        int64[m], the class of each record.
    passed
        By attribute int64[m], numbers of the values that are published as they are.
    """

    boxes: Boxes
    classes: NDArray[np.int64]
    passed: Mapping[str, NDArray[np.int64]]

    def __len__(self) -> int:
        return len(self.classes)

    @cached_property
    def _by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the records ordered by their class, and where each class begins; int64[m], int64[c + 1]."""
        order = np.argsort(self.classes, kind="stable")
        return order, np.searchsorted(self.classes[order], np.arange(len(self.boxes) + 1))

    def records_of(self, classes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the records of some classes."""
        order, starts = self._by_class
        parts = [order[starts[number] : starts[number + 1]] for number in classes.tolist()]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def showing(
        self, records: NDArray[np.int64], names: Sequence[str], people: Known, row: int
    ) -> NDArray[np.int64]:
        """Return those of some records that show what one person has of some attributes."""
        for name in names:
            records = records[self.passed[name][records] == people.passed[name][row]]
        return records

    def fitting(
        self, number: int, known: Known, places: Sequence[int], rows: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return those of some rows that a class stands for in some quasi-identifiers; O(n q)."""
        for place in places:
            rows = rows[self.boxes.cover(place, known.codes[place, rows], np.array([number]))[0]]
        return rows

    def nearest(self, codes: NDArray[np.int32], places: Sequence[int]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield for each person how many attributes the nearest classes contradict at least, and these classes.

        O(c q) a person, some megabytes at once.

        Parameters
        ----------
        codes
            int32[q, n].
        places
            The attributes that are known; with none all classes are near.
        """
        every = np.arange(len(self.boxes))
        piece = max(1, _CELLS // max(len(every), 1))
        for start in range(0, codes.shape[1], piece):
            part = codes[:, start : start + piece]
            wrong = np.zeros((len(every), part.shape[1]), np.int16)
            for place in places:
                wrong += ~self.boxes.cover(place, part[place], every)
            least = wrong.min(axis=0, initial=len(places))
            for column, fewest in enumerate(least.tolist()):
                yield fewest, np.flatnonzero(wrong[:, column] == fewest)


@dataclass(frozen=True, slots=True)
class AttackScene:
    """What an attack needs.

    Parameters
    ----------
    released
        The release.
    inside, outside
        People whose records it was made of, and people like them whose were not used for it.
    sensitive, insensitive
        Names of the attributes that pass. The attacker knows the insensitive ones, and wants the sensitive ones.
    """

    released: HeldRelease
    inside: Known
    outside: Known
    sensitive: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
