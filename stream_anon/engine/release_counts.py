"""How often people were released, in a table with open addresses: a place a person."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.microdata.bounds import ReturnBound
from stream_anon.microdata.release import ReleasedPeople

FREE = 0
"""No pseudonym: a place without a person."""
_FIRST_CAPACITY = 1024
_MOST_FULL = 0.75  # with 10 bytes a place, and twice as many places when it is full: 14 to 27 bytes a person


@kernel
def find_people(
    people: NDArray[np.int64], places: NDArray[np.int64], counts: NDArray[np.uint16], found: NDArray[np.int64]
) -> None:
    """Find the count of each of n people; -1 for those who are not there.

    Parameters
    ----------
    people
        int64[n], pseudonyms.
    places, counts
        int64[c], uint16[c]: a power of two, not full; whose count stands in each place, 0 where it is free.
    found
        int64[n], written.
    """
    mask = len(places) - 1
    for i in range(len(people)):
        place = people[i] & mask
        while places[place] != 0 and places[place] != people[i]:
            place = (place + 1) & mask
        found[i] = counts[place] if places[place] != 0 else -1


@kernel
def add_counts(
    people: NDArray[np.int64],
    steps: NDArray[np.int64],
    places: NDArray[np.int64],
    counts: NDArray[np.uint16],
    used: int,
) -> int:
    """Add a step to the count of each of n people; return how many places are used then.

    Parameters
    ----------
    people, steps
        int64[n], pseudonyms, and what is added; less than 0 takes off.
    places, counts
        As in `find_people`, with room for all. A count stays between 0 and its largest number.
    used
        Places in use before.
    """
    mask = len(places) - 1
    for i in range(len(people)):
        place = people[i] & mask
        while places[place] != 0 and places[place] != people[i]:
            place = (place + 1) & mask
        if places[place] == 0:
            places[place] = people[i]
            used += 1
        counts[place] = min(max(counts[place] + steps[i], 0), 65_535)
    return used


@kernel
def move_people(
    before: NDArray[np.int64], counted: NDArray[np.uint16], places: NDArray[np.int64], counts: NDArray[np.uint16]
) -> int:
    """Bring everybody with a count into another table, without a copy between; return how many they are.

    Parameters
    ----------
    before, counted
        int64[b], uint16[b]: the table that they are in; see `find_people`.
    places, counts
        An empty one with room for all.
    """
    mask, used = len(places) - 1, 0
    for i in range(len(before)):
        if counted[i] == 0:
            continue
        place = before[i] & mask
        while places[place] != 0:
            place = (place + 1) & mask
        places[place], counts[place] = before[i], counted[i]
        used += 1
    return used


class ReleaseCounts:
    """How often each person of one source was released in one period; at most 27 bytes a person."""

    def __init__(self) -> None:
        self._used = 0
        self._places = np.zeros(_FIRST_CAPACITY, np.int64)
        self._counts = np.zeros(_FIRST_CAPACITY, np.uint16)

    def __len__(self) -> int:
        return self._used

    @property
    def held(self) -> int:
        """Return its bytes."""
        return self._places.nbytes + self._counts.nbytes

    def of(self, people: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the count of each pseudonym; int64[n]."""
        return np.maximum(self._found(people), 0)

    def spread(self) -> dict[int, int]:
        """Return how many people have each count above 0, by it."""
        counts, people = np.unique(self._counts[self._counts > 0], return_counts=True)
        return dict(zip(counts.tolist(), people.tolist(), strict=True))

    def add(self, people: NDArray[np.int64]) -> None:
        """Count people once more, each named once."""
        new = int(np.count_nonzero(self._found(people) < 0))
        if self._used + new > _MOST_FULL * len(self._places):
            self._make_room(new)
        self._add(people, np.ones(len(people), np.int64))

    def take_off(self, people: NDArray[np.int64]) -> None:
        """Count people once less, who were added before."""
        self._add(people, np.full(len(people), -1, np.int64))

    def _found(self, people: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.empty(len(people), np.int64)
        find_people(people, self._places, self._counts, found)
        return found

    def _add(self, people: NDArray[np.int64], steps: NDArray[np.int64]) -> None:
        self._used = add_counts(people, steps, self._places, self._counts, self._used)

    def _make_room(self, new: int) -> None:
        """Forget who was taken off again, and double the places until there is room."""
        before, counted, capacity = self._places, self._counts, len(self._places)
        while np.count_nonzero(counted) + new > _MOST_FULL * capacity:
            capacity *= 2
        self._places, self._counts = np.zeros(capacity, np.int64), np.zeros(capacity, np.uint16)
        self._used = move_people(before, counted, self._places, self._counts)


class SourceCounts:
    """The people of one source: how often each was released in this period, and who is noted for a later one.

    Who notes ahead of time has a clock that is ahead. Those releases count now, and again in their own period.

    Parameters
    ----------
    period
        The number of this period.
    """

    def __init__(self, bound: ReturnBound, period: int) -> None:
        self._bound = bound
        self.period = period
        self.counts = ReleaseCounts()
        self._later: list[ReleasedPeople] = []

    def take(self, history: Iterable[ReleasedPeople]) -> None:
        """Count what former owners of the source have released; earlier periods tell nothing any more."""
        for released in history:
            number = self._bound.number_of(released.sealed)
            if number >= self.period:
                self.counts.add(released.people)
            if number > self.period:
                self._later.append(released)

    def turn(self, period: int) -> None:
        """Begin another period."""
        self.period, self.counts = period, ReleaseCounts()
        later, self._later = self._later, []
        self.take(later)
