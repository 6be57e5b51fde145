"""What a codec keeps of each record from reading to writing, opaque to all others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.keys import PADDING, bytes_keys

Payload = Sequence[Any]
Rows = slice | NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Spellings:
    """The JSON of the passing values of n rows with p fields each, as the encoder writes it.

    Parameters
    ----------
    text
        All of them, and `PADDING`.
    starts, stops
        int64[m], where each value stands in it.
    places
        int64[p, n], which of these each row has in each field.
    """

    text: bytes
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, text: bytes, stops: NDArray[np.int64], places: NDArray[np.int64]) -> Self:
        """Return values that follow each other without gaps."""
        starts = np.concatenate([np.zeros(1, np.int64), stops[:-1]])[: len(stops)]
        return cls(text + PADDING, starts, stops, places)


class PackedPayload(Sequence[Any]):
    """A payload that is not made of an object for each row."""

    @property
    @abstractmethod
    def held(self) -> int:
        """Return the bytes of the columns that the rows are kept in."""

    @abstractmethod
    def take(self, rows: Rows) -> Self:
        """Return the chosen rows in a payload that keeps no other ones alive."""

    @abstractmethod
    def missing(self, rows: slice) -> NDArray[np.int64]:
        """Return how many of the chosen rows lack a value, for each field that passes."""

    @abstractmethod
    def followed_by(self, others: Sequence[Self]) -> Self:
        """Return the rows of this one and then of all others."""

    @abstractmethod
    def keys(self, key: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a key of the value of each field and row; see `payload_keys`."""

    @abstractmethod
    def spellings(self) -> Spellings:
        """Return the JSON of the values; O(values)."""


def taken(payload: Payload, rows: Rows) -> Payload:
    """Return the chosen rows of a payload."""
    if isinstance(payload, PackedPayload):
        return payload.take(rows)
    return list(payload[rows]) if isinstance(rows, slice) else [payload[row] for row in rows.tolist()]


def payload_bytes(payload: Payload) -> int:
    """Return the bytes that a payload is kept in; of one with an object for each row no more than their places."""
    return payload.held if isinstance(payload, PackedPayload) else 8 * len(payload)


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


def payload_keys(payload: Payload, fields: int, key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[fields, n]: of the value of each of the fields that pass, and each row, a key; O(bytes).

    Parameters
    ----------
    key
        int64[2]. Under one key equal values have equal keys, in every process.
    """
    if isinstance(payload, PackedPayload):
        return payload.keys(key)
    return value_keys([value for row in payload for value in row], key).reshape(len(payload), fields).T


def value_keys(values: Sequence[Any], key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a key for each value that passes, of its JSON; int64[n]."""
    return bytes_keys(list(map(msgspec.json.encode, values)), key)


def spellings(payload: Payload, fields: int) -> Spellings:
    """Return the JSON of the values of each of the fields that pass; O(values)."""
    if isinstance(payload, PackedPayload):
        return payload.spellings()
    text, stops = spelled([value for row in payload for value in row] if fields else [])
    places = np.arange(len(stops), dtype=np.int64).reshape(len(payload), fields).T
    return Spellings.of(text, stops, places)


def spelled(values: Sequence[Any]) -> tuple[bytes, NDArray[np.int64]]:
    """Return the JSON of values without gaps, and where each ends."""
    texts = list(map(msgspec.json.encode, values))
    return b"".join(texts), np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
