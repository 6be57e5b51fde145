"""What an attacker holds: a release, and what they know of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.nearest import ComparedPeople, Group, NearestClasses, compared
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
    windows
        int64[n], the number of the window that each record came to; -1 for none of the release. None where that is
        not known.
    values
        Of attributes that are published as families: int64[n], numbers of the values, see `Families`.
    """

    codes: NDArray[np.int32]
    passed: Mapping[str, NDArray[np.int64]]
    people: NDArray[np.int64]
    windows: NDArray[np.int64] | None = None
    values: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

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
        passed, values = (
            {name: column[rows] for name, column in columns.items()} for columns in (self.passed, self.values)
        )
        windows = None if self.windows is None else self.windows[rows]
        return Known(self.codes[:, rows], passed, self.people[rows], windows, values)


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """What an attacker knows of an attribute that is published as families of v values.

    Parameters
    ----------
    label_of
        int64[v], the number of what is published of each value.
    within
        float64[v], how frequent each is among the values that are published as it is.
    """

    label_of: NDArray[np.int64]
    within: NDArray[np.float64]

    @classmethod
    def of(cls, label_of: NDArray[np.int64], seen: NDArray[np.int64]) -> Families:
        """Return what somebody knows who has seen the values of other people; each counts as seen once more."""
        counts = np.bincount(seen, minlength=len(label_of)) + 1.0
        return cls(label_of, counts / np.bincount(label_of, counts)[label_of])


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
    windows
        int64[c], the number of each class's window; None where all are one, or nobody knows.
    people
        int64[c], how many people each class's records are of at the least; None where nobody knows.
    """

    boxes: Boxes
    classes: NDArray[np.int64]
    passed: Mapping[str, NDArray[np.int64]]
    windows: NDArray[np.int64] | None = None
    people: NDArray[np.int64] | None = None
    _found: dict[tuple[int, tuple[int, ...]], NearestClasses] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.classes)

    @cached_property
    def _by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the records ordered by their class, and where each class begins; int64[m], int64[c + 1]."""
        order = np.argsort(self.classes, kind="stable")
        return order, np.searchsorted(self.classes[order], np.arange(len(self.boxes) + 1))

    def _groups(self, people: Known) -> Iterator[Group]:
        """Yield people with the classes that may hold them: all, or those of their window where it is known."""
        if self.windows is None or people.windows is None:
            yield np.arange(len(people)), np.arange(len(self.boxes))
            return
        order = np.argsort(self.windows, kind="stable")
        ordered = self.windows[order]
        for window in np.unique(people.windows).tolist():
            first, end = np.searchsorted(ordered, [window, window + 1])
            yield np.flatnonzero(people.windows == window), order[first:end]

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

    def nearest(self, people: Known, places: Sequence[int] | None = None) -> NearestClasses:
        """Return for each person how many attributes the nearest classes contradict at least, and these classes.

        Compared are those of the person's window where it is known; it may have none. Each is sought once, whoever
        asks, so codes must not be changed afterwards: O(c q) a person; see `compared`.

        Parameters
        ----------
        places
            The attributes that are known, all of them if None; with none all classes are near.
        """
        places = range(len(people.codes)) if places is None else places
        key = id(people.codes), tuple(places)
        if key not in self._found:
            parts = compared(self.boxes, people.codes, places, self._groups(people))
            self._found[key] = NearestClasses.of(people.codes, parts)
        return self._found[key]

    def compared(self, people: Known) -> Iterator[ComparedPeople]:
        """Yield the same by all attributes, some people at a time, for whoever asks once about very many."""
        return compared(self.boxes, people.codes, range(len(people.codes)), self._groups(people))


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
    weighed
        Names of insensitive ones of which the policy accepts that their values are rare, since nobody knows them.
    families
        By name of a sensitive attribute that is published as families.
    numbers
        By name of a sensitive attribute of numbers: float64[v], these, not a number for a missing value.
    """

    released: HeldRelease
    inside: Known
    outside: Known
    sensitive: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    families: Mapping[str, Families] = field(default_factory=dict)
    weighed: tuple[str, ...] = ()
    numbers: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def truth(self, secret: str, people: Known) -> NDArray[np.int64]:
        """Return the number of the value that each record has, int64[n]; `votes` numbers values alike."""
        return (people.values if secret in self.families else people.passed)[secret]

    def everywhere(self, secret: str) -> NDArray[np.float64]:
        """Return how many records of the whole release have each value; see `votes`."""
        return self.votes(secret, np.arange(len(self.released)))

    def votes(self, secret: str, records: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how many of some records have each value, float64[v]; of a family as many as may be expected."""
        counts = np.bincount(self.released.passed[secret][records]).astype(np.float64)
        families = self.families.get(secret)
        if families is None:
            return counts
        counts.resize(max(len(counts), int(families.label_of.max(initial=-1)) + 1))
        return counts[families.label_of] * families.within
