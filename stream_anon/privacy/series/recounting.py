"""Recount a release of a series before it is published; no code is shared with what forms its groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.privacy.completed.people_check import different


@dataclass(frozen=True, slots=True, eq=False)
class SeriesRows:
    """The records of a release of a series, counterfeits among them.

    Parameters
    ----------
    class_of_row
        int[n], less than 0 for what is not published.
    values
        int64[n], the number of each record's value.
    signatures
        What each stands for: a set of values.
    known
        The signature in the series' state of each record's person; None for people who are new, and counterfeits.
    people
        int64[n], a number for each person; less than 0 for counterfeits.
    """

    class_of_row: NDArray[np.int32]
    values: NDArray[np.int64]
    signatures: Sequence[tuple[int, ...] | None]
    known: Sequence[tuple[int, ...] | None]
    people: NDArray[np.int64]


def people_of_classes(rows: SeriesRows, classes: int) -> NDArray[np.int64]:
    """Return how many people each class has; int64[classes]."""
    real = (rows.class_of_row >= 0) & (rows.people >= 0)
    return different(rows.class_of_row[real].astype(np.int64), rows.people[real], classes)


def broken_classes(rows: SeriesRows, classes: int, k: int, m: int) -> NDArray[np.bool_]:
    """Return the classes that must not be published; bool[classes], O(records + values of signatures).

    Of each class: k people or more, of whom each has one record; no value has more than one in m of the records;
    each record's signature has m values or more, its own among them, and is the one of the state where that has
    one; and of the records of each signature every value of it is shown equally often.
    """
    broken = people_of_classes(rows, classes) < k
    records = np.bincount(rows.class_of_row[rows.class_of_row >= 0], minlength=classes)
    real = (rows.class_of_row >= 0) & (rows.people >= 0)
    _, first, times = np.unique(rows.people[real], return_inverse=True, return_counts=True)
    broken[rows.class_of_row[real][times[first] > 1]] = True
    shown: Counter[tuple[int, int]] = Counter()
    held: Counter[tuple[int, tuple[int, ...], int]] = Counter()
    for row in np.flatnonzero(rows.class_of_row >= 0).tolist():
        own, value, signature = int(rows.class_of_row[row]), int(rows.values[row]), rows.signatures[row]
        before = rows.known[row]
        if signature is None or value not in signature or len(set(signature)) < m:
            broken[own] = True
            continue
        broken[own] |= before is not None and set(before) != set(signature)
        shown[own, value] += 1
        held[own, signature, value] += 1
    for (own, _), count in shown.items():
        broken[own] |= m * count > records[own]
    for own, signature in {(own, signature) for own, signature, _ in held}:
        broken[own] |= len({held[own, signature, value] for value in set(signature)}) > 1
    return broken
