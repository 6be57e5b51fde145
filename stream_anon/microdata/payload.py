"""What a codec keeps of each record from reading to writing, opaque to all others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Payload = Sequence[Any]
Rows = slice | NDArray[np.intp]


class PackedPayload(Sequence[Any]):
    """A payload that is not made of an object for each row."""

    @abstractmethod
    def take(self, rows: Rows) -> Self:
        """Return the chosen rows in a payload that keeps no other ones alive."""

    @abstractmethod
    def missing(self, rows: slice) -> NDArray[np.int64]:
        """Return how many of the chosen rows lack a value, for each field that passes."""

    @abstractmethod
    def followed_by(self, others: Sequence[Self]) -> Self:
        """Return the rows of this one and then of all others."""


def taken(payload: Payload, rows: Rows) -> Payload:
    """Return the chosen rows of a payload."""
    if isinstance(payload, PackedPayload):
        return payload.take(rows)
    return list(payload[rows]) if isinstance(rows, slice) else [payload[row] for row in rows.tolist()]


def missing_values(payload: Payload, rows: slice, fields: int) -> NDArray[np.int64]:
    """Return how many of the chosen rows lack a value, for each of the fields that pass; int64[fields]."""
    if isinstance(payload, PackedPayload):
        return payload.missing(rows)
    chosen = payload[rows] if fields else []
    return np.array([sum(row[field] is None for row in chosen) for field in range(fields)], np.int64)


def joined(parts: Sequence[Payload]) -> Payload:
    """Return the rows of all parts in order."""
    parts = [part for part in parts if len(part)]
    if parts and all(isinstance(part, PackedPayload) for part in parts):
        return parts[0].followed_by(parts[1:])  # type: ignore[attr-defined, no-any-return]
    return [row for part in parts for row in part]
