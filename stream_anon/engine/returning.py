"""A bound on how often one person is released in a period, whatever windows they come to.

A person stands in it under a pseudonym: SipHash of their key, keyed by a secret, so that who reads the counts
learns nobody's id and cannot try ids out. Counts are by source, since an input that is keyed by person brings all
records of one person from one source. A window counts when it is sealed: the next one is filled while it is
published. Who was suppressed in it is taken off again once it is out; a window that is never published leaves with
its sources.

Periods are counted from the epoch. So nobody is released more than `most` times in one, and not more than twice as
often in any stretch of time as long as one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.engine.window import SealedWindow
from stream_anon.microdata.bounds import ReturnBound
from stream_anon.microdata.keys import keys_of_spans
from stream_anon.microdata.release import Release, ReleasedPeople
from stream_anon.secret_key import SecretKey

_FIRST_CAPACITY = 1024
_MOST_FULL = 0.75  # with 10 bytes a place, and twice as many places when it is full: 14 to 27 bytes a person
_FREE = 0


class ReturnsKey(SecretKey):
    """A secret that people's pseudonyms follow from: who has it can find a person whose id they know."""

    __slots__ = ()
    use, setting, person = "counts of returns", "privacy.returning.key_file", b"returns"

    @property
    def name(self) -> bytes:
        """Return what tells its pseudonyms from those of another key: 8 bytes, from which it does not follow."""
        return self._derived(b"name", 8)

    @property
    def of_ids(self) -> tuple[int, int]:
        """Return what the ids of people are keyed by in a process that counts them."""
        first, second = np.frombuffer(self._derived(b"ids", 16), np.int64).tolist()
        return first, second

    def pseudonyms(self, people: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the pseudonym of each key of a person; int64[n], none of them 0."""
        key = np.frombuffer(self._derived(b"pseudonyms", 16), np.int64).copy()
        found = keys_of_spans(people.tobytes(), 8 * np.arange(1, len(people) + 1), key)
        found[found == _FREE] = 1
        return found

    def _derived(self, purpose: bytes, size: int) -> bytes:
        return hashlib.blake2b(key=self.hashed, digest_size=size, person=purpose).digest()


@kernel
def find_people(
    people: NDArray[np.int64], places: NDArray[np.int64], counts: NDArray[np.uint16], found: NDArray[np.int64]
) -> None:
    """Find the count of each of n people.

    Parameters
    ----------
    people
        int64[n], pseudonyms.
    places, counts
        int64[c], uint16[c]: a power of two, not full; whose count stands in each place, 0 where it is free.
    found
        int64[n], written: 0 for those who are not there.
    """
    mask = len(places) - 1
    for i in range(len(people)):
        place = people[i] & mask
        while places[place] != 0 and places[place] != people[i]:
            place = (place + 1) & mask
        found[i] = counts[place] if places[place] != 0 else 0


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
        found = np.empty(len(people), np.int64)
        find_people(people, self._places, self._counts, found)
        return found

    def add(self, people: NDArray[np.int64]) -> None:
        """Count people once more, each named once."""
        if self._used + len(people) > _MOST_FULL * len(self._places):
            self._grow(self._used + len(people))
        self._add(people, np.ones(len(people), np.int64))

    def take_off(self, people: NDArray[np.int64]) -> None:
        """Count people once less, who were added before."""
        self._add(people, np.full(len(people), -1, np.int64))

    def _add(self, people: NDArray[np.int64], steps: NDArray[np.int64]) -> None:
        self._used = add_counts(people, steps, self._places, self._counts, self._used)

    def _grow(self, wanted: int) -> None:
        kept, capacity = np.flatnonzero(self._counts), len(self._places)
        people, counts = self._places[kept], self._counts[kept].astype(np.int64)
        while wanted > _MOST_FULL * capacity:
            capacity *= 2
        self._used, self._places, self._counts = 0, np.zeros(capacity, np.int64), np.zeros(capacity, np.uint16)
        self._add(people, counts)


class Returns:
    """Says whose records go no further, for as many releases of them as the policy allows are out already.

    Parameters
    ----------
    bound
        What the policy allows.
    key
        Of pseudonyms.
    wall
        Returns seconds since the epoch. A clock that goes back does not bring back a period.
    """

    def __init__(self, bound: ReturnBound, key: ReturnsKey, wall: Callable[[], float]) -> None:
        self._bound, self._key, self._wall = bound, key, wall
        self._period = 0
        self._counts: dict[int, ReleaseCounts] = {}

    @property
    def people(self) -> int:
        """Return how many people are counted."""
        return sum(map(len, self._counts.values()))

    def open(self, source: int, history: Iterable[ReleasedPeople] = ()) -> None:
        """Count the people of a source from now on, beginning with what its former owners have released."""
        known = list(history)
        self._turn(max((released.period for released in known), default=0))
        counts = self._counts[source] = ReleaseCounts()
        for released in known:
            if released.period == self._period:
                counts.add(released.people)

    def close(self, sources: Collection[int]) -> None:
        """Forget the people of sources that are somebody else's, or will be opened again."""
        for source in sources:
            self._counts.pop(source, None)

    def allowed(self, source: int, people: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether records may be released of each of some people, given by keys int64[n]; bool[n]."""
        self._turn()
        counted: NDArray[np.bool_] = self._counts[source].of(self._key.pseudonyms(people)) < self._bound.most
        return counted

    def counted(self, window: SealedWindow, people: NDArray[np.int64]) -> SealedWindow:
        """Count everybody in a window that has just been sealed; return it with their pseudonyms.

        Parameters
        ----------
        people
            int64[n], the key of each row's person.
        """
        self._turn()
        window = replace(
            window, people=self._key.pseudonyms(people), period=self._period, counted=dict(self._counts)
        )
        for source, own in people_of(window).items():
            self._counts[source].add(own)
        return window

    def settle(self, window: SealedWindow, release: Release) -> None:
        """Take those off again who were in a window that is out, and of whom no record is.

        Nothing is taken off counts that were begun anew meanwhile: they know only what is out.
        """
        if window.period != self._period:
            return
        released = released_people(window, release)
        for source, everybody in people_of(window).items():
            counts = self._counts.get(source)
            if counts is not None and counts is window.counted.get(source):
                counts.take_off(np.setdiff1d(everybody, released[source].people, assume_unique=True))

    def _turn(self, least: int = 0) -> None:
        """Begin another period, if it is time."""
        period = max(int(self._wall() // self._bound.period), least)
        if period > self._period:
            self._period = period
            self._counts = {source: ReleaseCounts() for source in self._counts}


def people_of(window: SealedWindow, released: NDArray[np.bool_] | None = None) -> Mapping[int, NDArray[np.int64]]:
    """Return the pseudonyms in a counted window by source, each once, ascending.

    Parameters
    ----------
    released
        bool[n], the rows that count; all without it.
    """
    source_of_row = np.array(window.sources, np.int64)[window.stretches]
    chosen = np.ones(len(source_of_row), np.bool_) if released is None else released
    return {
        source: np.unique(window.people[chosen & (source_of_row == source)])
        for source in sorted(set(window.sources))
    }


def released_people(window: SealedWindow, release: Release) -> Mapping[int, ReleasedPeople]:
    """Return who of a counted window is released, by source; `release` has the window's rows in its order."""
    found = people_of(window, release.class_of_row >= 0)
    return {source: ReleasedPeople(window.period, people) for source, people in found.items()}
