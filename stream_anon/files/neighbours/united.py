"""Classes of several windows that readers see as one table: what is published alike is one class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.closing import missing_by_name
from stream_anon.files.anonymizing import SOURCE
from stream_anon.microdata.batch import Rejects
from stream_anon.microdata.keys import bytes_keys, keys_of_spans
from stream_anon.microdata.policy import AboveMost, Policy
from stream_anon.microdata.release import Classes, InputRange, Release, Suppression
from stream_anon.privacy.gcp import gcp

_NOBODY, _NO_ROW = np.empty(0, np.int32), np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Untaken:
    """What no window of a table took.

    Parameters
    ----------
    suppressed
        Records beyond their individual's limit.
    missing
        int64[q + p], how many of these lack a value of each quasi-identifier and of what passes.
    rejects
        In order.
    end
        How many records the table has.
    """

    suppressed: Counter[Suppression]
    missing: NDArray[np.int64]
    rejects: Rejects
    end: int

    def followed_by(self, other: Untaken) -> Untaken:
        """Return what this table and the one behind it have; records of the other are numbered on."""
        behind = replace(other.rejects, offsets=other.rejects.offsets + self.end)
        return Untaken(
            self.suppressed + other.suppressed,
            self.missing + other.missing,
            Rejects.concatenate([self.rejects, behind]),
            self.end + other.end,
        )


class _Part(NamedTuple):
    """What is kept of a window: its release without records, and the number of each of its classes."""

    release: Release
    numbers: NDArray[np.int64]


class UnitedClasses:
    """The classes of windows of one table, numbered as they first come.

    Each of them is legal in its window, and what is published alike stays legal together: the individuals are no
    fewer, their values no fewer, and nobody's share is larger than in one of the parts. That is not so for
    frequencies of values, which other records may shift.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._parts: list[_Part] = []
        self._people: list[NDArray[np.int64]] = []
        self._of_people: list[NDArray[np.int64]] = []

    def add(self, release: Release, people: NDArray[np.int64] | None) -> NDArray[np.int32]:
        """Take the release of a window; return the number of the class of each released row, in their order.

        Parameters
        ----------
        people
            int64[m], whose each released row is; None if no two are of one individual.
        """
        names = map(msgspec.json.encode, zip(*release.classes.values, strict=True))
        numbers = np.fromiter(
            (self._numbers.setdefault(name, len(self._numbers)) for name in names), np.int64, len(release.classes)
        )
        slim = replace(release, class_of_row=_NOBODY, order=_NO_ROW, payload=[], arrivals=())
        self._parts.append(_Part(slim, numbers))
        own = numbers[release.class_of_row[release.order]]
        if people is not None:
            self._people.append(people)
            self._of_people.append(own)
        return own.astype(np.int32)

    def unlink(self, key: NDArray[np.int64]) -> None:
        """Give each individual another number in each class: then none tells who is in which other class.

        Each stands once in a class then, in no order. A number follows from what the class publishes and from the
        one before, by a secret key int64[2]. O(records log records).
        """
        if not self._people:
            return
        own, people = np.concatenate(self._of_people), np.concatenate(self._people)
        texts = np.stack([bytes_keys(list(self._numbers), key)[own], people], axis=1)
        people = keys_of_spans(texts.tobytes(), np.arange(1, len(own) + 1) * 16, key)
        order = np.lexsort((people, own))
        own, people = own[order], people[order]
        first = np.append(True, (np.diff(own) != 0) | (np.diff(people) != 0))
        self._of_people, self._people = [own[first]], [people[first]]

    def join(self, other: UnitedClasses) -> NDArray[np.int64]:
        """Take all windows of another; return the number that each of its classes has here.

        Individuals must have the same numbers in both, in each class.
        """
        numbers = np.fromiter(
            (self._numbers.setdefault(name, len(self._numbers)) for name in other._numbers),
            np.int64,
            len(other._numbers),
        )
        self._parts += [_Part(release, numbers[own]) for release, own in other._parts]
        self._people += other._people
        self._of_people += [numbers[own] for own in other._of_people]
        return numbers

    def classes(self) -> Classes:
        """Return all classes; O(records log records) where individuals may have several."""
        parts = [release.classes for release, _ in self._parts]
        numbers = np.concatenate([numbers for _, numbers in self._parts])
        first = np.unique(numbers, return_index=True)[1]
        individuals = _sums(numbers, np.concatenate([part.individuals for part in parts]))
        if self._people:
            individuals = self._recounted(individuals, np.bincount(numbers) > 1)
        together = Classes(
            np.concatenate([part.low for part in parts], axis=1),
            np.concatenate([part.high for part in parts], axis=1),
            [list(chain.from_iterable(own)) for own in zip(*(part.values for part in parts), strict=True)],
            numbers,
            numbers,
            np.concatenate([part.ncp for part in parts], axis=1),
        )
        records = _sums(numbers, np.concatenate([part.records for part in parts]))
        return replace(together.take(first), records=records, individuals=individuals)

    def _recounted(self, individuals: NDArray[np.int64], shared: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the individuals of each class, counted anew where they came from several windows."""
        own, people = np.concatenate(self._of_people), np.concatenate(self._people)
        rows = np.flatnonzero(shared[own])
        pairs = np.unique(np.stack([own[rows], people[rows]]), axis=1)
        counts = np.bincount(pairs[0], minlength=len(individuals))
        return np.where(shared, counts, individuals).astype(np.int64)

    def release(self, untaken: Untaken, policy: Policy) -> Release:
        """Return what became of the table: a release without rows, and with the figures of all windows."""
        classes, parts = self.classes(), [part.release for part in self._parts]
        suppressed, missing = untaken.suppressed.copy(), Counter(missing_by_name(policy, untaken.missing))
        for part in parts:
            suppressed.update(part.suppressed)
            missing.update(part.missing)
        names = {name for part in parts for name in part.achieved_l}
        whole = replace(
            parts[-1],
            classes=classes,
            order=np.broadcast_to(np.int64(0), int(classes.records.sum())),  # takes no room: the rows are elsewhere
            suppressed=suppressed,
            rejects=untaken.rejects,
            ranges=(InputRange(SOURCE, 0, untaken.end),),
            achieved_k=int(classes.individuals.min()) if len(classes) else None,
            achieved_l={
                name: min(part.achieved_l[name] for part in parts if name in part.achieved_l)
                for name in sorted(names)
            },
            gcp=gcp(classes.ncp, classes.records, suppressed.total()),
            gate_violations=sum(part.gate_violations for part in parts),
            missing=missing,
        )
        return _within_bound(whole, policy)


def _within_bound(release: Release, policy: Policy) -> Release:
    """Return the release of a table, marked or suppressed whole if too many of its records are suppressed."""
    bound, suppressed = policy.max_suppressed, sum(release.suppressed.values())
    if bound is None or suppressed <= bound.of(release.released + suppressed):
        return release
    if policy.above_max_suppressed is AboveMost.SUPPRESS and release.released:
        release = replace(
            release,
            classes=Classes.none(len(policy.quasi_identifiers)),
            order=_NO_ROW,
            suppressed={**release.suppressed, Suppression.MAX_SUPPRESSED: release.released},
            achieved_k=None,
            achieved_l={},
            gcp=1.0,
        )
    return replace(release, above_max_suppressed=True)


def _sums(numbers: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(numbers, weights=counts).astype(np.int64)  # exact below 2**53
