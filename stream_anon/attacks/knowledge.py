"""What an attacker holds: a release, and what they know of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.nearest import ClassSearch, NearestClasses
from stream_anon.measures.boxes import Boxes


@dataclass(frozen=True, eq=False)
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

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return for each quasi-identifier the rows in the order of their codes, and these; both int32[q, n]."""
        order = np.argsort(self.codes, axis=1, kind="stable").astype(np.int32)
        return order, np.take_along_axis(self.codes, order, axis=1)

    def between(self, place: int, low: int, high: int) -> NDArray[np.int32]:
        """Return the rows whose code of a quasi-identifier is within bounds, both included; O(log n)."""
        order, codes = self._ordered
        first, end = np.searchsorted(codes[place], [low, high + 1])
        return order[place, first:end]

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

    def fitting(self, number: int, known: Known, places: Sequence[int]) -> NDArray[np.signedinteger]:
        """Return the rows of those that a class stands for in some quasi-identifiers; with none all rows.

        Looks at the rows between the class's bounds in the attribute where these are the fewest: O(q log n) and
        O(q) for each of them.
        """
        if not places:
            return np.arange(len(known))
        low, high = self.boxes.low[:, number].tolist(), self.boxes.high[:, number].tolist()
        rows = min((known.between(each, low[each], high[each]) for each in places), key=len)
        for place in places:
            rows = rows[self.boxes.cover(place, known.codes[place, rows], np.array([number]))[0]]
        return rows

    @cached_property
    def _search(self) -> ClassSearch:
        return ClassSearch(self.boxes)

    def nearest(self, codes: NDArray[np.int32], places: Sequence[int]) -> NearestClasses:
        """Return for each person how many attributes the nearest classes contradict at least, and these classes.

        Each is sought once, whoever asks: O(c q) a person; see `nearest_classes`.

        Parameters
        ----------
        codes
            int32[q, n], not to be changed.
        places
            The attributes that are known; with none all classes are near.
        """
        return self._search.nearest(codes, places)


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
