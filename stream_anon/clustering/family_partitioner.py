"""Classes of whole families: each is formed of rows whose values are in one family, and has all of its values.

::

    window   a c b d a b c ...      values of the families {a, b} and {c, d}
    parts    a b a b .. | c d c ..  1. the rows of one family
    classes  ab aab     | cd cdc    2. the engine forms classes within it, each with all of its values

A family of which no legal class could be formed has no place: too few people, or a value that nobody has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.cell_partitioner import CellOf, CellPartitioner, Inside
from stream_anon.clustering.from_scratch import AtTheEnd
from stream_anon.clustering.partitioning import UNPLACED
from stream_anon.clustering.rules import Rules, rules_of
from stream_anon.microdata.columns import NO_VALUE, Columns
from stream_anon.privacy.criteria import Criteria


class FamilyPartitioner(AtTheEnd):
    """A window of families: `Criteria.families` says of which attributes.

    Parameters
    ----------
    cell_of
        Tells the cells apart within which classes are formed.
    inside
        Forms classes within a cell of a family; without it each is one class.
    """

    def __init__(self, cell_of: CellOf, inside: Inside | None = None) -> None:
        super().__init__()
        self._cell_of = cell_of
        self._inside = inside

    def close(self, rows: Columns, criteria: Criteria) -> NDArray[np.int32]:
        """Return the class of each row; see `Partitioner`."""
        answer = self._unplaced(rows)
        if self._inside is not None:
            self._inside.look_at(rows, rules_of(rows, criteria))
        inside = None if self._inside is None else _Taught(self._inside)
        count = 0
        for members, asked in _by_family(rows, criteria):
            part = rows.take(members)
            people = np.unique(part.individuals, return_inverse=True)[1].astype(np.int32)
            own = CellPartitioner(self._cell_of, inside)
            own.add(part)
            classes = own.close(replace(part, individuals=people), asked)
            answer[members] = np.where(classes < 0, classes, classes + count)
            count += max(int(classes.max()), UNPLACED) + 1
        return answer


class _Taught:
    """An engine that has looked at all rows of a window already."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside

    def look_at(self, rows: Columns, rules: Rules) -> None:
        """Learn nothing more."""

    def partition(self, rows: Columns, rules: Rules) -> NDArray[np.int32]:
        """Return the class of each row of a cell."""
        return self._inside.partition(rows, rules)


def _by_family(rows: Columns, criteria: Criteria) -> Iterator[tuple[NDArray[np.int64], Criteria]]:
    """Yield the rows of each family, and of each pair of families of two attributes, and what is asked of them.

    What is in no family is left out.
    """
    own = [(s, sizes) for s, sizes in enumerate(criteria.families) if sizes is not None]
    family = np.stack([_families_of(rows, s) for s, _ in own])
    known = np.flatnonzero((family != NO_VALUE).all(axis=0))
    found, inverse = np.unique(family[:, known], axis=1, return_inverse=True)
    part = inverse.ravel()
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=found.shape[1]))
    for numbers, members in zip(found.T.tolist(), np.split(known[order], ends)[:-1], strict=True):
        least = criteria.distinct_l.copy()
        for (s, sizes), number in zip(own, numbers, strict=True):
            least[s] = sizes[number]
        yield members, replace(criteria, distinct_l=least, families=())


def _families_of(rows: Columns, s: int) -> NDArray[np.int32]:
    """Return the family of each row's value of one attribute; int32[n]."""
    family_of = rows.families[s]
    if family_of is None:
        raise ValueError("the families behind the values of an attribute are missing")
    families: NDArray[np.int32] = np.append(family_of, np.int32(NO_VALUE))[rows.sensitive[s]]
    return families
