"""A bound on how often one person is released in a period, whatever windows they come to.

A person stands in it under a pseudonym: SipHash of their key, keyed by a secret, so that who reads the counts
learns nobody's id and cannot try ids out. Counts are by source, since an input that is keyed by person brings all
records of one person from one source. A window counts when it is sealed: the next one is filled while it is
published. Who was suppressed in it is taken off again once it is out; a window that is never published leaves with
its sources.

Periods are counted from the epoch, and a window counts in that in which it was sealed. So nobody is in more than
`most` windows of one, and not in more than twice as many of any stretch of time as long as one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.release_counts import FREE, SourceCounts
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.bounds import ReturnBound
from stream_anon.microdata.keys import keys_of_spans
from stream_anon.microdata.release import CountedRelease, Release, ReleasedPeople
from stream_anon.secret_key import SecretKey


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
        found[found == FREE] = 1
        return found

    def _derived(self, purpose: bytes, size: int) -> bytes:
        return hashlib.blake2b(key=self.hashed, digest_size=size, person=purpose).digest()


def counted_release(window: SealedWindow, release: Release) -> CountedRelease:
    """Return whom a window releases whose rows are in the order of its release; O(n log n), in any thread."""
    source_of_row, released = _source_of_row(window), release.class_of_row >= 0
    out, kept_back = dict[int, ReleasedPeople](), dict[int, NDArray[np.int64]]()
    for source, people in window.everybody.items():
        is_out = np.zeros(len(people), np.bool_)
        is_out[np.searchsorted(people, window.people[released & (source_of_row == source)])] = True
        out[source], kept_back[source] = ReleasedPeople(window.sealed_at, people[is_out]), people[~is_out]
    _, times = np.unique(np.concatenate([*window.everybody.values(), np.empty(0, np.int64)]), return_counts=True)
    return CountedRelease(out, kept_back, int(np.count_nonzero(times > 1)))


class Returns:
    """Says whose records go no further, for as many releases of them as the policy allows are out already.

    Parameters
    ----------
    bound
        What the policy allows.
    key
        Of pseudonyms.
    wall
        Returns seconds since the epoch.
    """

    def __init__(self, bound: ReturnBound, key: ReturnsKey, wall: Callable[[], float]) -> None:
        self._bound, self._key, self._wall = bound, key, wall
        self._period = 0
        self._of: dict[int, SourceCounts] = {}

    @property
    def people(self) -> int:
        """Return how many people are counted."""
        return sum(len(source.counts) for source in self._of.values())

    def empty(self) -> SourceCounts:
        """Return counts of a source of which nothing is known yet, to be filled in any thread for `open`."""
        self._turn()
        return SourceCounts(self._bound, self._period)

    def open(self, source: int, counts: SourceCounts | None = None) -> None:
        """Count the people of a source from now on, beginning with what its former owners have released."""
        self._turn()
        self._of[source] = SourceCounts(self._bound, self._period) if counts is None else counts
        if self._of[source].period < self._period:
            self._of[source].turn(self._period)

    def close(self, sources: Collection[int]) -> None:
        """Forget the people of sources that are somebody else's, or will be opened again."""
        for source in sources:
            self._of.pop(source, None)

    def allowed(self, source: int, people: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether records may be released of each of some people, given by keys int64[n]; bool[n]."""
        self._turn()
        counted = self._of[source].counts.of(self._key.pseudonyms(people))
        return np.asarray(counted < self._bound.most)

    def counted(self, window: SealedWindow, people: NDArray[np.int64]) -> SealedWindow:
        """Count everybody in a window that has just been sealed; return it with their pseudonyms.

        Parameters
        ----------
        people
            int64[n], the key of each row's person.
        """
        self._turn()
        named = self._key.pseudonyms(people)
        counts = {source: own.counts for source, own in self._of.items()}
        window = replace(window, people=named, sealed_at=int(self._wall()), counted=counts)
        everybody = people_of(window)
        for source, own in everybody.items():
            self._of[source].counts.add(own)
        return replace(window, everybody=everybody)

    def settle(self, window: SealedWindow, counted: CountedRelease) -> None:
        """Take those off again who were in a window that is out, and of whom no record is.

        Nothing is taken off counts that were begun anew meanwhile: they know only what is out.
        """
        for source, people in counted.kept_back.items():
            own = self._of.get(source)
            if own is not None and own.counts is window.counted.get(source):
                own.counts.take_off(people)

    def _turn(self) -> None:
        """Begin another period, if it is time. A clock that goes back does not bring back a period."""
        period = self._bound.number_of(self._wall())
        if period > self._period:
            self._period = period
            for source in self._of.values():
                source.turn(period)


def people_of(window: SealedWindow) -> Mapping[int, NDArray[np.int64]]:
    """Return the pseudonyms in a window by source, each once, ascending; O(n log n)."""
    source_of_row = _source_of_row(window)
    return {source: np.unique(window.people[source_of_row == source]) for source in sorted(set(window.sources))}


def _source_of_row(window: SealedWindow) -> NDArray[np.int64]:
    return np.array(window.sources, np.int64)[window.stretches]
