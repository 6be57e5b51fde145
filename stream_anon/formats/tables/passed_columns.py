"""Fields that pass, kept as columns of distinct values: no object for each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.coding import Passed
from stream_anon.microdata.payload import PackedPayload, Rows, Spellings, spelled, value_keys


class PassedColumns(PackedPayload):
    """The passing values of n records with p fields each.

    Parameters
    ----------
    values
        For each field its different values.
    places
        int32[p, n], the place of each record's value among them.
    none
        For each field which of its values are None.
    """

    __slots__ = ("none", "places", "values")

    def __init__(
        self, values: Sequence[NDArray[np.object_]], places: NDArray[np.int32], none: Sequence[NDArray[np.bool_]]
    ) -> None:
        self.values = values
        self.places = places
        self.none = none

    @classmethod
    def of(cls, columns: Sequence[tuple[Sequence[Any], NDArray[np.integer]]], rows: int) -> Self:
        """Return columns of values and places."""
        places = np.array([column[1] for column in columns], np.int32).reshape(len(columns), rows)
        none = [np.fromiter((v is None for v in values), np.bool_, len(values)) for values, _ in columns]
        return cls([_objects(values) for values, _ in columns], places, none)

    def __len__(self) -> int:
        return int(self.places.shape[1])

    def __iter__(self) -> Iterator[Passed]:
        if not len(self.places):
            return iter([()] * len(self))
        pairs = zip(self.values, self.places, strict=True)
        return zip(*(values[places].tolist() for values, places in pairs), strict=True)

    @overload
    def __getitem__(self, row: int) -> Passed: ...
    @overload
    def __getitem__(self, row: slice) -> Self: ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return self.take(row)
        pairs = zip(self.values, self.places[:, row].tolist(), strict=True)
        return tuple(values[place] for values, place in pairs)

    @property
    def held(self) -> int:
        """Return the bytes of the columns, without what the values themselves take."""
        return self.places.nbytes + sum(values.nbytes for values in self.values)

    def take(self, rows: Rows) -> Self:
        """Return the chosen rows, without values that only others have; O(rows log rows)."""
        chosen = self.places[:, rows]
        kept, none = [], []
        places = np.empty(chosen.shape, np.int32)
        for field, values in enumerate(self.values):
            used, places[field] = np.unique(chosen[field], return_inverse=True)
            kept.append(values[used])
            none.append(self.none[field][used])
        return type(self)(kept, places, none)

    def missing(self, rows: slice) -> NDArray[np.int64]:
        """Return how many of the chosen rows lack a value, for each field; int64[p]."""
        pairs = zip(self.none, self.places, strict=True)
        return np.array([np.count_nonzero(none[places[rows]]) for none, places in pairs], np.int64)

    def followed_by(self, others: Sequence[Self]) -> Self:
        """Return the rows of this one and then of all others."""
        parts = [self, *others]
        values, none = [], []
        places = np.empty((len(self.values), sum(map(len, parts))), np.int32)
        for field in range(len(self.values)):
            first = row = 0
            for part in parts:
                places[field, row : row + len(part)] = part.places[field] + first
                first, row = first + len(part.values[field]), row + len(part)
            values.append(np.concatenate([part.values[field] for part in parts]))
            none.append(np.concatenate([part.none[field] for part in parts]))
        return type(self)(values, places, none)

    def keys(self, key: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a key of the value of each field and row; see `payload_keys`."""
        keys = np.empty(self.places.shape, np.int64)
        for field, values in enumerate(self.values):
            keys[field] = value_keys(values.tolist(), key)[self.places[field]]
        return keys

    def spellings(self) -> Spellings:
        """Return the JSON of the values."""
        text, stops = spelled([value for values in self.values for value in values.tolist()])
        firsts = np.cumsum([0, *map(len, self.values)])[: len(self.values), None]
        return Spellings.of(text, stops, self.places + firsts)


def columns_of(payload: Sequence[Any], rows: NDArray[np.int64], fields: int) -> Sequence[tuple[Sequence[Any], Any]]:
    """Return the fields of chosen rows as values and, for each row, the place of its value among them.

    Parameters
    ----------
    payload
        Of any codec: what it holds are rows of decoded values.
    """
    if isinstance(payload, PassedColumns):
        chosen = payload.take(rows)
        return [(list(values), places) for values, places in zip(chosen.values, chosen.places, strict=True)]
    picked = payload.take(rows) if isinstance(payload, PackedPayload) else [payload[row] for row in rows.tolist()]
    each = np.arange(len(rows))
    return [(list(values), each) for values in zip(*picked, strict=True)] if len(rows) else [((), each)] * fields


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    return np.fromiter(values, np.object_, len(values))  # not by assignment: values may be tuples
