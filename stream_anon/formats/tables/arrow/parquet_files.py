"""Parquet files: read and written in pieces, so that a file may be larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from stream_anon.errors import InputError
from stream_anon.formats.tables.arrow.parquet_input import opened_parquet, pieces_of
from stream_anon.formats.tables.arrow.releases import ReleaseTables
from stream_anon.formats.tables.arrow.table_coding import ROWS, TableCoder, TableFields
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release


class ParquetReader:
    """Reads batches from a Parquet file; an offset is the number of the row, counted from 0.

    Parameters
    ----------
    name
        Its path.
    policy
        Its attributes are found by name, see `TableFields`; other columns are not read.

    Raises
    ------
    InputError
        If it cannot be read, or lacks a column that the policy declares.

    Notes
    -----
    Memory is bounded by a batch of 65,536 rows and a page of each column, however large row groups are.
    """

    delimiter = None

    def __init__(self, name: str, policy: Policy) -> None:
        self._file = opened_parquet(name)
        schema = self._file.schema_arrow
        if len(set(schema.names)) < len(schema):
            raise InputError(f"{name}: two columns have one name")
        self._name = name
        self._fields = TableFields(policy, {field.name: field.type for field in schema}, name)
        self._coder = TableCoder(policy, self._fields)
        self._size = Path(name).stat().st_size

    @property
    def bytes_read(self) -> int:
        """Return the share of the file's bytes that its rows so far stand for."""
        rows = self._file.metadata.num_rows
        return self._size * self._coder.rows // rows if rows else self._size

    @property
    def coerced(self) -> int:
        """Return how many texts counted as another type because their attributes say so."""
        return self._coder.coerced

    def __iter__(self) -> Iterator[CodedBatch]:
        """Yield batches of up to 65,536 rows in order."""
        names = [".".join(place) for place in self._fields.places if place is not None]
        for piece in pieces_of(self._file, self._name, ROWS, names):
            yield self._coder.batch(dict(zip(piece.schema.names, piece.columns, strict=True)), len(piece))

    def lines(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of rows, counted from 1."""
        return offsets + 1

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ParquetWriter:
    """Writes releases as Parquet, of the types that `ReleaseTables` describes.

    Windows are collected up to 65,536 rows, which become a row group. The file is complete when it is closed.

    Parameters
    ----------
    file
        Opened for bytes.
    policy
        Says what is published.
    """

    def __init__(self, file: BinaryIO, policy: Policy) -> None:
        self._file = file
        self._tables = ReleaseTables(policy)
        self._writer: Any = pq.ParquetWriter(file, self._tables.schema, compression="snappy")
        self._waiting: list[Any] = []

    def write(self, release: Release) -> None:
        """Write all released records of a window, now or with the next ones."""
        self._waiting.append(self._tables.table(release))
        if sum(map(len, self._waiting)) >= ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting).combine_chunks(), row_group_size=ROWS)
            self._waiting.clear()

    def close(self) -> None:
        """Write what waits and the end of the file, and close it."""
        try:
            self._flush()
            self._writer.close()
        finally:
            self._file.close()
