"""Recount classes that counterfeits complete, before publication; no code is shared with what completes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.bounds import RecordBound


@dataclass(frozen=True, slots=True, eq=False)
class CompletedRows:
    """The records of a release, counterfeits among them.

    Parameters
    ----------
    class_of_row
        int[n], less than 0 for what is not published.
    people
        int64[n], a number for each person; less than 0 for counterfeits.
    sensitive
        int32[s, n], dense numbers of the values that criteria ask of; less than 0 for none.
    """

    class_of_row: NDArray[np.int32]
    people: NDArray[np.int64]
    sensitive: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class PeopleCounts:
    """What c classes have; int64[c], and int64[s, c] for the values that their people have, counterfeits aside."""

    records: NDArray[np.int64]
    individuals: NDArray[np.int64]
    values: NDArray[np.int64]


def people_counts(rows: CompletedRows, classes: int) -> PeopleCounts:
    """Return the records of each class, and its people and their values without counterfeits; O(n log n)."""
    placed = rows.class_of_row >= 0
    real = np.flatnonzero(placed & (rows.people >= 0))
    own = rows.class_of_row[real].astype(np.int64)
    values = np.empty((len(rows.sensitive), classes), np.int64)
    for place, column in enumerate(rows.sensitive):
        shown = column[real] >= 0
        values[place] = different(own[shown], column[real][shown].astype(np.int64), classes)
    records = np.bincount(rows.class_of_row[placed], minlength=classes).astype(np.int64)
    return PeopleCounts(records, different(own, rows.people[real], classes), values)


def broken_completions(
    counts: PeopleCounts, k: int, least: NDArray[np.int64], most: RecordBound
) -> NDArray[np.bool_]:
    """Return the classes that must not be published; bool[c], without rounding.

    Of each class: k people or more, or exactly k records and at least as many people as counterfeits. Everybody has
    one record. People alone have as many values as asked. If more of all records are counterfeits than may be, all
    classes with one are broken.

    Parameters
    ----------
    least
        int64[s], the values asked.
    most
        Of the released records.
    """
    made = counts.records - counts.individuals
    broken = (counts.records < k) | ((made > 0) & ((counts.records > k) | (made > counts.individuals)))
    broken |= (counts.values < least[:, None]).any(axis=0)
    if made.sum() > most.of(int(counts.records.sum())):
        broken |= made > 0
    return broken


def different(classes: NDArray[np.int64], numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return how many different numbers stand beside each class; int64[count]."""
    pairs = np.unique(np.stack([classes, numbers]), axis=1)
    return np.bincount(pairs[0], minlength=count).astype(np.int64)
