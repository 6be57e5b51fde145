"""What classes give away of a sensitive attribute: in bits, and how sure a value is in the worst class.

k hides which record is a person's. What all records of the class share is known of the person all the same: that is
the homogeneity attack (Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam: l-diversity, ICDE 2006). Nothing here
names a value or a class: who reads the figures learns of nobody in particular.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.measures.grouping import dense, firsts, grouped
from stream_anon.measures.information import entropy, mutual_information
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.diversity import Disclosure, Surest
from stream_anon.microdata.payload import taken
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveColumn:
    """The values of a sensitive attribute, by number.

    Parameters
    ----------
    values
        int64[n], equal for equal values; lists are equal that hold the same items.
    rows, items
        int64[p], each row with each item that it holds, once; a single value is its row's only item.
    """

    values: NDArray[np.int64]
    rows: NDArray[np.int64]
    items: NDArray[np.int64]

    @classmethod
    def of(cls, column: Iterable[object]) -> SensitiveColumn:
        """Return the numbers of some values: scalars, lists or tuples of these, or None; O(items).

        An empty list is a missing value.
        """
        numbers: dict[object, int] = {}
        single: dict[object, int] = {}
        values, rows, items = [], [], []
        for row, value in enumerate(column):
            held = frozenset(value or [None]) if isinstance(value, list | tuple) else frozenset((value,))
            values.append(numbers.setdefault(held, len(numbers)))
            for item in held:
                rows.append(row)
                items.append(single.setdefault(item, len(single)))
        return cls(*(np.array(own, np.int64) for own in (values, rows, items)))

    def __len__(self) -> int:
        return len(self.values)


def disclosure(classes: NDArray[np.integer], column: SensitiveColumn) -> Disclosure:
    """Return what classes give away of a sensitive attribute; O(p log p) for p items.

    Of lists the bits are those of whole lists, and the most frequent value of a class is the item that most of its
    records hold.

    Parameters
    ----------
    classes
        Integers [n], the class of each record.
    column
        The value of each record.
    """
    n = len(classes)
    groups, count = dense(classes)
    sizes = np.bincount(groups, minlength=count)
    pairs, kinds = grouped((groups[column.rows], column.items), len(column.rows))
    most = np.zeros(count, np.int64)
    np.maximum.at(most, groups[column.rows[firsts(pairs, kinds)]], np.bincount(pairs, minlength=kinds))
    shares = most / np.maximum(sizes, 1)
    worst = max(zip(shares.tolist(), sizes.tolist(), strict=True), default=None)
    return Disclosure(
        n,
        entropy(np.bincount(column.values)),
        mutual_information(groups, column.values),
        float(np.bincount(column.items).max(initial=0)) / max(n, 1),
        None if worst is None else Surest(worst[1], worst[0]),
        int(sizes[most == sizes].sum()),
    )


def disclosed_by(policy: Policy, releases: Iterable[Release]) -> dict[str, Disclosure]:
    """Return what the classes of windows give away, by sensitive attribute; nothing if no record is published."""
    columns = [(place, own.name) for place, own in enumerate(policy.passed) if isinstance(own, Sensitive)]
    found: dict[str, list[Disclosure]] = {}
    for release in releases:
        payload = taken(release.payload, release.order)
        for place, name in columns if release.released else ():
            column = SensitiveColumn.of(passed[place] for passed in payload)
            found.setdefault(name, []).append(disclosure(release.class_of_row[release.order], column))
    return {name: whole for name, parts in found.items() if (whole := together(parts)) is not None}


def together(windows: Sequence[Disclosure]) -> Disclosure | None:
    """Return what several windows give away, each told beside the distribution of its own; None for none."""
    found: Disclosure | None = None
    for each in windows:
        found = each if found is None else found.joined(each)
    return found
