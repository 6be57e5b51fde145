"""A sealed window: rows, rejects and ranges of the input that wait to be released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.partitioning import Partitioner
from stream_anon.microdata.batch import NO_ATTRIBUTE, Reason, Rejects
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.payload import Payload, missing_values, payload_bytes, taken
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import InputRange

_BESIDE = 140
"""Bytes that are kept for each row beside its columns: its person's number, the broker's time, the partitioner's
own columns. A window of a million rows of 8 quasi-identifiers took 249 bytes a row, of which 107 are columns."""


@dataclass(frozen=True, slots=True, eq=False)
class SealedWindow:
    """A window that takes no more rows and waits to be released.

    Parameters
    ----------
    missing
        int64[q + p], how many of its records, those left out included, lack a value of each quasi-identifier and of
        each field that passes.
    arrivals, sources
        Of each stretch of rows that arrived together: when, and how many are released or suppressed; its source.
    stretches, offsets
        int32[n], the stretch of each row; int64[n], its offset.
    over_limit, returning
        Records that were left out: of people with too many in the window, and of people released too often.
    people, sealed_at, counted, everybody
        Where returns are counted, see `engine.returning`: int64[n], the pseudonym of each row's person; when the
        window was sealed, in seconds since the epoch; by source, the counts that it was added to, and all its
        pseudonyms, each once, ascending.
    """

    policy: Policy
    partitioner: Partitioner
    columns: Columns
    payload: Payload
    rejects: Rejects
    over_limit: int
    missing: NDArray[np.int64]
    ranges: tuple[InputRange, ...]
    arrivals: tuple[tuple[float, int], ...]
    sources: tuple[int, ...]
    stretches: NDArray[np.int32]
    offsets: NDArray[np.int64]
    individuals: int
    values: tuple[NDArray[np.int64], ...]
    opened_at: float
    closed_at: float
    returning: int = 0
    people: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    sealed_at: int = 0
    counted: Mapping[int, object] = field(default_factory=dict)
    everybody: Mapping[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """Return the number of admitted rows."""
        return len(self.payload)

    @property
    def held(self) -> int:
        """Return the bytes of its rows."""
        named = self.everybody.values()
        return kept_bytes(self.columns, self.payload, self.offsets, self.stretches, self.people, *named)

    def turned(self, order: NDArray[np.int64], columns: Columns, partitioner: Partitioner) -> SealedWindow:
        """Return the window with row order[i] in the place of row i.

        Parameters
        ----------
        columns
            The rows in that order; people and values may have other numbers.
        partitioner
            Has taken these rows.
        """
        return replace(
            self,
            partitioner=partitioner,
            columns=columns,
            payload=taken(self.payload, order),
            stretches=self.stretches[order],
            offsets=self.offsets[order],
            people=self.people[order] if len(self.people) else self.people,
        )

    def rejecting(self, rows: NDArray[np.int64], reason: Reason) -> SealedWindow:
        """Return the window with these admitted rows among its rejects; the rows themselves stay where they are."""
        n, stretches = len(rows), self.stretches[rows]
        sources = np.array(self.sources, np.int32)[stretches]
        reasons, attributes = np.full(n, reason, np.int8), np.full(n, NO_ATTRIBUTE, np.int16)
        rejects = Rejects(reasons, attributes, sources, self.offsets[rows])
        fewer = np.bincount(stretches, minlength=len(self.sources)).tolist()
        return replace(
            self,
            rejects=Rejects.concatenate([self.rejects, rejects]),
            missing=self.missing
            - missing_counts(self.policy, self.columns.codes[:, rows], taken(self.payload, rows)),
            arrivals=tuple((at, n - less) for (at, n), less in zip(self.arrivals, fewer, strict=True)),
        )


def missing_counts(
    policy: Policy, codes: NDArray[np.int32], payload: Payload, rows: slice = slice(None)
) -> NDArray[np.int64]:
    """Return how many of the rows lack a value: int64[q + p], of each quasi-identifier, then of what passes.

    Parameters
    ----------
    codes
        int32[q, n], as in a coded batch, of which `rows` are counted.
    """
    absent = np.array([[attribute.missing_code] for attribute in policy.quasi_identifiers], np.int32)
    coded = np.count_nonzero(codes[:, rows] == absent, axis=1)
    return np.concatenate([coded, missing_values(payload, rows, len(policy.passed))])


def kept_bytes(columns: Columns, payload: Payload, *arrays: NDArray[np.generic]) -> int:
    """Return the bytes that are kept of rows and of arrays beside them."""
    return columns.held + payload_bytes(payload) + _BESIDE * len(payload) + sum(array.nbytes for array in arrays)
