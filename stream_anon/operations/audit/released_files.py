"""Files of released records, read as an audit must: nothing is taken for granted."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO

from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.formats.series import MOST, DecodedSeries, Series
from stream_anon.audit.formats.table_rows import CellReader, TypedReader, header_cells
from stream_anon.errors import InputError
from stream_anon.extras import require
from stream_anon.formats.tables.format_names import DELIMITERS, Format, check_typed_columns, released_format
from stream_anon.formats.tables.opening import lines_of, open_records
from stream_anon.microdata.policy import Policy

_MOST_CELL = 2**24
_ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are no UTF-8, as the decoder represents them

Decoded = dict[str, Any] | None
Rows = tuple[Iterator[Any], Callable[[Sequence[Any]], Series]]
"""Rows or lines of a file, and what makes records of some of them."""


@contextmanager
def released_records(path: Path, policy: Policy) -> Iterator[Iterator[Decoded]]:
    """Open a file of released records; what is no record is None. See `released_rows`, which raises its errors."""
    with released_rows(path, policy) as (rows, series):
        yield (record for some in iter(lambda: list(islice(rows, MOST)), []) for record in series(some))


@contextmanager
def released_rows(path: Path, policy: Policy) -> Iterator[Rows]:
    """Open a file of released records of the format that its name says, else JSON Lines.

    Raises
    ------
    InputError
        If it cannot be read.
    SettingsError
        For a Parquet file, if pyarrow is not installed, or such a file cannot say all that the policy publishes.
    """
    form = released_format(path)
    if form is Format.PARQUET:
        with _typed_rows(path, policy) as rows:
            yield rows
        return
    with open_records(str(path), form) as file:
        if form is Format.JSONL:
            yield bare_lines(file, path), _decoded
        else:
            with io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="\n") as text:
                yield _cells(text, path, policy, DELIMITERS[form])


@contextmanager
def _typed_rows(path: Path, policy: Policy) -> Iterator[Rows]:
    """Open a Parquet file; 4,096 of its records are in memory at a time."""
    require(str(path), "pyarrow")
    from stream_anon.formats.tables.arrow.parquet_input import opened_parquet, rows_of

    check_typed_columns(policy)
    with closing(opened_parquet(str(path))) as file:
        reader = TypedReader(policy, file.schema_arrow.names)
        yield rows_of(file, str(path)), reader.series


def _decoded(lines: Sequence[bytes]) -> Series:
    return DecodedSeries(list(map(decode_record, lines)))


def bare_lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the lines of a file without their ends; InputError for one that is too long."""
    return (line.removesuffix(b"\n").removesuffix(b"\r") for line in lines_of(file, str(path)))


def _cells(text: IO[str], path: Path, policy: Policy, delimiters: str) -> Rows:
    """Return the rows of a CSV file with a header of dotted names."""
    lines = _texts(text, path)
    header = next(lines, "")
    delimiter, names = header_cells(header.removeprefix("\ufeff"), policy, _split, delimiters)
    return _rows(lines, path, delimiter), CellReader(policy, names).series


def _rows(lines: Iterator[str], path: Path, delimiter: str) -> Iterator[list[str]]:
    limit = csv.field_size_limit(_MOST_CELL)
    try:
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        yield from filter(None, rows)
    except csv.Error:
        raise InputError(f"{path}: is not valid CSV after its header") from None
    finally:
        csv.field_size_limit(limit)


def _texts(text: IO[str], path: Path) -> Iterator[str]:
    for number, line in enumerate(lines_of(text, str(path)), start=1):
        if not line.isascii() and _ESCAPED.search(line):
            raise InputError(f"{path}: line {number} is not UTF-8 text") from None
        yield line


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
