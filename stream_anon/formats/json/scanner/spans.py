"""Find the values of some members of JSON objects in a whole batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.json.scanner.members import KeyReading, find_members
from stream_anon.formats.json.scanner.odd_values import FoundValues
from stream_anon.formats.json.scanner.tables import (
    KIND,
    PARENT,
    TABLE,
    WHOLE_VALUE,
    ScanTables,
    key_tables,
)
from stream_anon.microdata.texts import Texts


class SpanFinder:
    """Finds members by their keys, without an object for each record.

    Parameters
    ----------
    tables
        The keys.
    inner
        int64[fields], see `members.KeyReading`.
    keys
        All keys that are looked for.
    most
        Larger records are left, and are not plain.
    """

    def __init__(self, tables: ScanTables, inner: NDArray[np.int64], keys: Iterable[str], most: int) -> None:
        self._tables, self._inner = tables, inner
        self._longest_key = max(len(key.encode()) for key in keys)
        self._most = most

    @classmethod
    def of(cls, paths: Sequence[tuple[str, ...]], most: int) -> Self:
        """Return what finds the members at some paths from a record's top, and keeps them as they stand."""
        tables = key_tables(paths)
        fields = tables.fields
        inner = np.where(fields[:, KIND] == PARENT, fields[:, TABLE], WHOLE_VALUE)
        return cls(tables, inner, (key for path in paths for key in path), most)

    def find(self, texts: Texts) -> FoundValues:
        """Return forms and spans of the members, the fields in the order of the tables.

        A record that is plain is a sound JSON object to its end, is text, and holds each of the keys at most once.

        Parameters
        ----------
        texts
            n values with a gap of one byte.
        """
        found = FoundValues(texts.room, len(self._inner), len(texts))
        keys = KeyReading.of(self._inner, self._longest_key)
        find_members(
            found.text, found.words, texts.stops, self._most, self._tables.labels, keys,
            found.of(slice(None)), found.plain,
        )  # fmt: skip
        found.plain &= texts.are_text()
        return found
