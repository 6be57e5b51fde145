"""Open Parquet files and read them in pieces, so that a file may be larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stream_anon.errors import InputError

_BUFFER = 1 << 20  # bytes of a column that are read at once
_DAMAGED = (pa.ArrowException, OSError, EOFError)
_RECORDS = 4_096
"""Rows of which Python holds the values at a time."""


class NoValue:
    """Stands for a cell that Python has no value for: a text that is no UTF-8, a day after the year 9999."""


def opened_parquet(name: str) -> Any:
    """Return a file that is open to be read, a `pyarrow.parquet.ParquetFile`.

    Raises
    ------
    InputError
        If it cannot be opened, or is not a Parquet file.
    """
    try:
        with Path(name).open("rb"):
            pass
        # Columns are not read as dictionaries: pyarrow would gather those of a whole row group.
        return pq.ParquetFile(name, buffer_size=_BUFFER, pre_buffer=False)
    except _DAMAGED as error:  # a message of pyarrow's may hold a value
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not a Parquet file"
        raise InputError(f"{name}: cannot be opened ({reason})") from None
    except UnicodeDecodeError:
        raise InputError(f"{name}: cannot be opened (the name of a column is not UTF-8)") from None


def pieces_of(file: Any, name: str, rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield record batches of at most so many rows, in order.

    Parameters
    ----------
    file
        From `opened_parquet`.
    name
        Its path, for the error.
    columns
        Those to read, with dots for fields of structs; None for all.

    Raises
    ------
    InputError
        If the file cannot be read to its end.
    """
    pieces = file.iter_batches(rows, columns=columns, use_threads=False)
    while True:
        try:
            piece = next(pieces, None)
        except _DAMAGED:
            raise InputError(f"{name}: cannot be read to its end") from None
        if piece is None:
            return
        yield piece


def rows_of(file: Any, name: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows as Python has their values, `NoValue` where it has none; 4,096 are in memory at a time.

    Raises
    ------
    InputError
        If the file cannot be read to its end.
    """
    for piece in pieces_of(file, name, _RECORDS):
        yield from zip(*map(_values, piece.columns), strict=True)


def _values(column: Any) -> list[Any]:
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return list(map(_value, column))


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return NoValue
