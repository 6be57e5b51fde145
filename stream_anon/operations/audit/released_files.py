"""Files of released records, read as an audit must: nothing is taken for granted."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from stream_anon.adapters.tables.format_names import Format, released_format
from stream_anon.audit.cells import CellReader, header_cells
from stream_anon.audit.records import decode_record
from stream_anon.errors import InputError
from stream_anon.microdata.policy import Policy

MOST_LINE_BYTES = 64 * 2**20
_MOST_CELL = 2**24

Decoded = dict[str, Any] | None


@contextmanager
def released_records(path: Path, policy: Policy) -> Iterator[Iterator[Decoded]]:
    """Open a file of released records, CSV if its name ends so, else JSON Lines; None for what is no record.

    Raises
    ------
    InputError
        If it cannot be read, or is a Parquet file: there values have other forms than in certificates.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        raise InputError(f"{path}: released records are read from CSV or JSON Lines only, not from Parquet")
    with opened(path) as file:
        if released_format(path) is Format.CSV:
            yield _rows(file, path, policy)
        else:
            yield map(decode_record, lines_of(file, path))


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
