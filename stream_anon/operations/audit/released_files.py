"""Files of released records, read as an audit must: nothing is taken for granted."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from stream_anon.adapters.tables.arrow.installed import require_pyarrow
from stream_anon.adapters.tables.format_names import Format, check_typed_columns, released_format
from stream_anon.audit.cells import CellReader, TypedReader, header_cells
from stream_anon.audit.records import decode_record
from stream_anon.errors import InputError
from stream_anon.microdata.policy import Policy

MOST_LINE_BYTES = 64 * 2**20
_MOST_CELL = 2**24

Decoded = dict[str, Any] | None


@contextmanager
def released_records(path: Path, policy: Policy) -> Iterator[Iterator[Decoded]]:
    """Open a file of released records, CSV or Parquet if its name ends so, else JSON Lines.

    What is no record is None.

    Raises
    ------
    InputError
        If it cannot be read.
    SettingsError
        For a Parquet file, if pyarrow is not installed, or such a file cannot say all that the policy publishes.
    """
    form = released_format(path)
    if form is Format.PARQUET:
        with _typed_records(path, policy) as records:
            yield records
        return
    with opened(path) as file:
        if form is Format.CSV:
            yield _rows(file, path, policy)
        else:
            yield map(decode_record, lines_of(file, path))


@contextmanager
def _typed_records(path: Path, policy: Policy) -> Iterator[Iterator[Decoded]]:
    """Open a Parquet file; 4,096 of its records are in memory at a time."""
    require_pyarrow(str(path))
    from stream_anon.adapters.tables.arrow.parquet_input import opened_parquet, rows_of

    check_typed_columns(policy)
    with closing(opened_parquet(str(path))) as file:
        reader = TypedReader(policy, file.schema_arrow.names)
        yield map(reader.read, rows_of(file, str(path)))


def opened(path: Path) -> BinaryIO:
    """Return a file that is open to be read; InputError if it cannot be."""
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def lines_of(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the lines of a file without their ends; InputError for one that is too long."""
    number = 0
    while line := file.readline(MOST_LINE_BYTES + 1):
        number += 1
        if len(line) > MOST_LINE_BYTES:
            raise InputError(f"{path}: line {number} is longer than {MOST_LINE_BYTES // 2**20} MiB")
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def _rows(file: BinaryIO, path: Path, policy: Policy) -> Iterator[Decoded]:
    """Yield the records of a CSV file with a header of dotted names."""
    lines = _texts(file, path)
    header = next(lines, "")
    delimiter, names = header_cells(header.removeprefix("\ufeff"), policy, _split)
    reader = CellReader(policy, names)
    limit = csv.field_size_limit(_MOST_CELL)
    try:
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        yield from (reader.read(row) for row in rows if row)
    except csv.Error:
        raise InputError(f"{path}: is not valid CSV after its header") from None
    finally:
        csv.field_size_limit(limit)


def _texts(file: BinaryIO, path: Path) -> Iterator[str]:
    for number, line in enumerate(file, start=1):
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise InputError(f"{path}: line {number} is not UTF-8 text") from None


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
