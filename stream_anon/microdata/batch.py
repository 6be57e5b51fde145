"""Coded batches: records as columns of integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.payload import Payload, joined, taken

NO_ATTRIBUTE = -1
ItemKeys = Mapping[int, tuple[int, ...]]
MISSING_KEY = hash(None)  # of a sensitive value that is missing: it tells nothing and counts for nothing


class Reason(IntEnum):
    """Why a record was rejected and became a dead letter, or was ignored."""

    MALFORMED = 0
    NOT_AN_OBJECT = 1
    EMPTY = 2
    TOO_LARGE = 3
    TOO_DEEP = 4
    NOT_UTF8 = 5
    NO_INDIVIDUAL = 6
    MISSING = 7
    WRONG_TYPE = 8
    OUT_OF_RANGE = 9
    UNKNOWN_VALUE = 10
    REGISTRY_FRAMED = 11
    UNKNOWN_SCHEMA = 12
    DELETED = 13
    TRUNCATED = 14
    TOMBSTONE = 15
    UPDATE = 16
    MESSAGE = 17
    HEARTBEAT = 18
    TRANSACTION_MARKER = 19
    WRONG_ENVELOPE = 20
    UNASKED_SCHEMA = 21

    @property
    def label(self) -> str:
        """Return the name used in dead letters, certificates and metrics."""
        return self.name.lower().replace("_", "-")

    @property
    def is_ignored(self) -> bool:
        """Return whether such a record is sound and holds nobody's data: it is counted and is no dead letter."""
        return self in _IGNORED


# What a stream of change events holds beside rows.
_IGNORED = frozenset(
    {
        Reason.DELETED,
        Reason.TRUNCATED,
        Reason.TOMBSTONE,
        Reason.UPDATE,
        Reason.MESSAGE,
        Reason.HEARTBEAT,
        Reason.TRANSACTION_MARKER,
    }
)
_IGNORED_NUMBERS = np.array(sorted(_IGNORED), np.int8)


@dataclass(frozen=True, slots=True, eq=False)
class Rejects:
    """Rejected and ignored records as columns, one row each, in order of arrival.

    Parameters
    ----------
    reasons
        int8[m], values of `Reason`.
    attributes
        int16[m], index into the policy's attributes, `NO_ATTRIBUTE` where no attribute is at fault.
    sources
        int32[m], the worker's number of the partition.
    offsets
        int64[m].
    """

    reasons: NDArray[np.int8]
    attributes: NDArray[np.int16]
    sources: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.reasons)

    @property
    def are_ignored(self) -> NDArray[np.bool_]:
        """Return which rows are ignored and no dead letters; bool[m]."""
        return np.isin(self.reasons, _IGNORED_NUMBERS)

    @property
    def dead(self) -> Rejects:
        """Return the rows that become dead letters."""
        ignored = self.are_ignored
        return self.take(~ignored) if ignored.any() else self

    def counts(self) -> dict[Reason, int]:
        """Return how many rows there are by reason; reasons without a row are left out."""
        numbers, counts = np.unique(self.reasons, return_counts=True)
        return {Reason(number): count for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)}

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, int]]) -> Rejects:
        """Build from rows of (reason, attribute, source, offset)."""
        table = np.array(rows, np.int64).reshape(len(rows), 4)
        return cls(
            table[:, 0].astype(np.int8),
            table[:, 1].astype(np.int16),
            table[:, 2].astype(np.int32),
            table[:, 3].copy(),
        )

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Rejects:
        """Return the chosen rows."""
        return Rejects(self.reasons[rows], self.attributes[rows], self.sources[rows], self.offsets[rows])

    @classmethod
    def concatenate(cls, parts: Sequence[Rejects]) -> Rejects:
        """Return all rows of `parts` in order."""
        if not parts:
            return cls.of([])
        return cls(
            np.concatenate([part.reasons for part in parts]),
            np.concatenate([part.attributes for part in parts]),
            np.concatenate([part.sources for part in parts]),
            np.concatenate([part.offsets for part in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class CodedBatch:
    """Records that fit the policy, as columns; the rejected ones beside them.

    Parameters
    ----------
    codes
        int32[q, n], a row a quasi-identifier in policy order, codes of its domain.
    sensitive
        int64[s, n], a row a sensitive attribute with a criterion; equal values have equal keys, missing ones
        `MISSING_KEY`.
    individuals
        int64[n], equal for equal individuals; a keyed hash, meaningless outside this process.
    sources
        int32[n], the worker's number of the partition a record came from.
    offsets
        int64[n].
    payload
        n rows, opaque to all but the codec that made them.
    rejects
        The records of the same stretch of input that did not fit.
    sets
        Of sensitive attributes whose values are lists: the keys of the items behind each key in `sensitive`. It may
        hold more than the rows do.
    """

    codes: NDArray[np.int32]
    sensitive: NDArray[np.int64]
    individuals: NDArray[np.int64]
    sources: NDArray[np.int32]
    offsets: NDArray[np.int64]
    payload: Payload
    rejects: Rejects
    sets: ItemKeys = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.offsets)
        lengths = (
            self.codes.shape[1],
            self.sensitive.shape[1],
            len(self.individuals),
            len(self.sources),
            len(self.payload),
        )
        if any(length != n for length in lengths):
            raise ValueError("the columns of a coded batch must be of one length")

    def __len__(self) -> int:
        return len(self.offsets)

    @classmethod
    def none(cls, quasi_identifiers: int, sensitive: int) -> CodedBatch:
        """Return a batch without a record."""
        return cls(
            np.empty((quasi_identifiers, 0), np.int32),
            np.empty((sensitive, 0), np.int64),
            np.empty(0, np.int64),
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            [],
            Rejects.of([]),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[CodedBatch]) -> CodedBatch:
        """Return all records and rejects of `parts` in order; at least one part."""
        return cls(
            np.concatenate([part.codes for part in parts], axis=1),
            np.concatenate([part.sensitive for part in parts], axis=1),
            np.concatenate([part.individuals for part in parts]),
            np.concatenate([part.sources for part in parts]),
            np.concatenate([part.offsets for part in parts]),
            joined([part.payload for part in parts]),
            Rejects.concatenate([part.rejects for part in parts]),
            joined_sets(parts),
        )

    def take(self, rows: NDArray[np.intp]) -> CodedBatch:
        """Return the chosen rows, with no rejects."""
        return CodedBatch(
            self.codes[:, rows],
            self.sensitive[:, rows],
            self.individuals[rows],
            self.sources[rows],
            self.offsets[rows],
            taken(self.payload, rows),
            Rejects.of([]),
            self.sets,
        )

    def of_source(self, source: int, first: int) -> CodedBatch:
        """Return the records and the rejects of one source from an offset on."""
        ours = (self.sources == source) & (self.offsets >= first)
        chosen = self if ours.all() else self.take(np.flatnonzero(ours))
        rejected = (self.rejects.sources == source) & (self.rejects.offsets >= first)
        return replace(chosen, rejects=self.rejects.take(rejected))


def joined_sets(parts: Iterable[CodedBatch]) -> ItemKeys:
    """Return the sets of all batches."""
    return {key: items for part in parts for key, items in part.sets.items()}
