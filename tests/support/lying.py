"""Sealed windows whose partitioner answers what a test wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.partitioning import UNKNOWN, Outlook
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.batch import Rejects
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.criteria import Criteria

Lie = Callable[[Columns, Criteria], NDArray[np.int32]]


class Liar:
    """A partitioner that answers by a function of the rows and the criteria."""

    arrival_matters = False

    def __init__(self, lie: Lie) -> None:
        self._lie = lie

    def add(self, rows: Columns, outlook: Outlook = UNKNOWN) -> None: ...

    def keep(self, kept: NDArray[np.bool_], rows: Columns) -> None: ...

    def preparation(self) -> None: ...

    def close(self, rows: Columns, criteria: Criteria) -> NDArray[np.int32]:
        return self._lie(rows, criteria)

    def check_invariants(self) -> None: ...


class Told(Liar):
    """A partitioner that answers what it was told."""

    def __init__(self, classes: Sequence[int]) -> None:
        super().__init__(lambda rows, criteria: np.array(classes, np.int32))


def sealed(policy: Policy, rows: Columns, partitioner: Liar) -> SealedWindow:
    """Return a window of these rows; the payload of each is its number."""
    return SealedWindow(
        policy=policy,
        partitioner=partitioner,
        columns=rows,
        payload=list(range(len(rows))),
        rejects=Rejects.of([]),
        over_limit=0,
        missing=np.zeros(len(policy.quasi_identifiers) + len(policy.passed), np.int64),
        ranges=(),
        arrivals=((0.5, len(rows)),),
        sources=(0,),
        stretches=np.zeros(len(rows), np.int32),
        offsets=np.arange(len(rows), dtype=np.int64),
        individuals=len(set(rows.individuals.tolist())),
        values=tuple(np.bincount(column[column >= 0]) for column in rows.sensitive),
        opened_at=0.0,
        closed_at=1.0,
    )
