"""How many individuals share a value: nothing is written that fewer than `FEWEST` share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.tables.undeclared_samples import SampledField, Value

FEWEST = 10


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What the values of a column mean: each meaning once, so that whatever is asked of it is asked once.

    Parameters
    ----------
    rows
        int64[n], the rows of the values that mean something.
    keys
        int64[n], the place of each one in `meanings`.
    meanings
        Distinct, in order of appearance.
    """

    rows: NDArray[np.int64]
    keys: NDArray[np.int64]
    meanings: list[Any]

    def __len__(self) -> int:
        """Return how many values mean something."""
        return len(self.keys)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return how often each meaning occurs."""
        return np.bincount(self.keys, minlength=len(self.meanings))

    def then(self, convert: Callable[[Any], Hashable]) -> Reading:
        """Return the reading with what `convert` makes of the meanings; without those of which it makes None."""
        return _read(self.rows, self.keys, [convert(meaning) for meaning in self.meanings])


def read(column: SampledField, convert: Callable[[Value], Hashable]) -> Reading:
    """Return what `convert` makes of the values; of those of which it makes None nothing."""
    return _read(np.array(column.rows, np.int64), column.places, [convert(value) for value in column.distinct])


def _read(rows: NDArray[np.int64], places: NDArray[np.int64], converted: Sequence[Hashable]) -> Reading:
    known: dict[Hashable, int] = {}
    new = np.array([-1 if each is None else known.setdefault(each, len(known)) for each in converted], np.int64)
    keys = new[places]
    kept = keys >= 0
    return Reading(rows[kept], keys[kept], list(known))


@dataclass(frozen=True)
class People:
    """The individual of each row, by every field that may tell people apart.

    Parameters
    ----------
    identities
        For each such field int64[records], the number of a row's person, -1 for none; first the one that is
        proposed. Empty: every record counts as a person. A value counts as shared by so many as the field says
        that says the fewest: which field is right, a person must decide first.
    """

    identities: Sequence[NDArray[np.int64]] = ()

    @classmethod
    def of(cls, identifiers: Sequence[Reading], records: int) -> People:
        """Return the people of a sample by its identifiers, the proposed one first."""
        identities = []
        for reading in identifiers:
            people = np.full(records, -1, np.int64)
            people[reading.rows] = reading.keys
            identities.append(people)
        return cls(identities)

    def sharing(self, reading: Reading) -> NDArray[np.int64]:
        """Return by meaning how many individuals have it; rows without a person are not counted."""
        if not self.identities:
            return reading.counts
        counts = [_holders(identity[reading.rows], reading) for identity in self.identities]
        fewest: NDArray[np.int64] = np.array(counts, np.int64).min(axis=0)
        return fewest

    def number(self, rows: Sequence[int]) -> int:
        """Return how many individuals stand in these rows, by the field that says the fewest."""
        return min((_number(identity, rows) for identity in self.identities), default=len(rows))

    def proposed(self, rows: Sequence[int]) -> int:
        """Return how many individuals stand in these rows by the proposed field alone."""
        return _number(self.identities[0], rows) if self.identities else len(rows)

    def common(self, reading: Reading) -> list[Any]:
        """Return the meanings that at least `FEWEST` individuals share."""
        return [
            each for each, count in zip(reading.meanings, self.sharing(reading), strict=True) if count >= FEWEST
        ]

    def rare(self, reading: Reading, fewest: int = FEWEST) -> set[Any]:
        """Return the meanings that fewer individuals share."""
        return {each for each, count in zip(reading.meanings, self.sharing(reading), strict=True) if count < fewest}

    def inner_ends(self, numbers: Reading) -> tuple[Decimal, Decimal] | None:
        """Return the least and the greatest number that `FEWEST` individuals reach or pass; None for fewer.

        So an outlier of one person does not show in how wide a range is.
        """
        order = sorted(range(len(numbers.meanings)), key=numbers.meanings.__getitem__)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        places = place[numbers.keys]
        identities = [identity[numbers.rows] for identity in self.identities] or [np.arange(len(numbers))]
        found = [_ends(identity, places) for identity in identities]
        known = [ends for ends in found if ends is not None]
        if len(known) < len(found):
            return None
        low, high = sorted((max(low for low, _ in known), min(high for _, high in known)))
        return numbers.meanings[order[low]], numbers.meanings[order[high]]


def _number(identity: NDArray[np.int64], rows: Sequence[int]) -> int:
    people = identity[np.array(rows, np.int64)]
    return len(np.unique(people[people >= 0]))


def _holders(people: NDArray[np.int64], reading: Reading) -> NDArray[np.int64]:
    """Return by meaning how many of the people of its rows have it."""
    known = people >= 0
    many = int(people.max(initial=0)) + 1
    pairs = np.unique(reading.keys[known] * many + people[known])
    return np.bincount(pairs // many, minlength=len(reading.meanings))


def _ends(people: NDArray[np.int64], places: NDArray[np.int64]) -> tuple[int, int] | None:
    """Return the `FEWEST`-th of the least places of all people, and of the greatest ones."""
    known = people >= 0
    people, places = people[known], places[known]
    if not len(people):
        return None
    least = np.full(int(people.max()) + 1, np.iinfo(np.int64).max)
    most = np.full(len(least), -1, np.int64)
    np.minimum.at(least, people, places)
    np.maximum.at(most, people, places)
    present = most >= 0
    if present.sum() < FEWEST:
        return None
    low, high = sorted((int(np.sort(least[present])[FEWEST - 1]), int(np.sort(most[present])[-FEWEST])))
    return low, high
