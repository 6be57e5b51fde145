"""Open input and output files; the suffix tells their format, and the caller that of standard streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_anon.extras import require
from stream_anon.formats.tables.csv_files import CsvReader, CsvWriter
from stream_anon.formats.tables.format_names import (
    DELIMITERS,
    STANDARD,
    Format,
    check_typed_columns,
    format_of,
    is_packed,
)
from stream_anon.formats.tables.json_lines import Decode, Encode, JsonLinesReader, JsonLinesWriter
from stream_anon.formats.tables.new_files import NewFile
from stream_anon.formats.tables.opening import open_records
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release


class RecordReader(Protocol):
    """A file of records."""

    @property
    def bytes_read(self) -> int:
        """Return how many bytes were read."""
        ...

    @property
    def coerced(self) -> int:
        """Return how many texts counted as another type because their attributes say so.

        The codec counts those of JSON.
        """
        ...

    @property
    def delimiter(self) -> str | None:
        """Return the delimiter of cells; None where there are none."""
        ...

    def __iter__(self) -> Iterator[CodedBatch]:
        """Yield coded batches in order."""
        ...

    def lines(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lines or rows, counted from 1, in which records of the last batch begin."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class ReleaseWriter(Protocol):
    """A file of released records."""

    def write(self, release: Release) -> None:
        """Write the records of a window."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def open_reader(name: str, policy: Policy, decode: Decode, standard: Format = Format.JSONL) -> RecordReader:
    """Open an input file, or standard input for `-`.

    Parameters
    ----------
    decode
        The JSON codec's, for JSON Lines.
    standard
        The format of standard input.

    Raises
    ------
    InputError
        If it cannot be read, or lacks a column that the policy declares.
    SettingsError
        For a Parquet file, if pyarrow is not installed.
    """
    form = format_of(name, standard)
    if form is Format.PARQUET:
        require(name, "pyarrow")
        from stream_anon.formats.tables.arrow.parquet_files import ParquetReader

        return ParquetReader(name, policy)
    file = open_records(name, form)
    if form is Format.JSONL:
        return JsonLinesReader(file, decode)
    try:
        return CsvReader(file, policy, name="standard input" if name == STANDARD else name, form=form)
    except BaseException:
        file.close()
        raise


def open_writer(
    new: NewFile, form: Format, policy: Policy, encode: Encode, delimiter: str | None = None
) -> ReleaseWriter:
    """Return a writer of releases into a file; closing it publishes nothing.

    Parameters
    ----------
    encode
        The JSON codec's, for JSON Lines.
    delimiter
        The input's, for CSV; `,` if it has none. Where it is a tab, CSV has `,` all the same.
    """
    if form is Format.PARQUET:
        require("a Parquet file", "pyarrow")
        check_typed_columns(policy)
        from stream_anon.formats.tables.arrow.parquet_files import ParquetWriter

        return ParquetWriter(new.file, policy)
    if form is Format.JSONL:
        return JsonLinesWriter(new.file, encode, owned=new.owned)
    marks = DELIMITERS[form]
    own = delimiter if delimiter is not None and delimiter in marks else marks[0]
    return CsvWriter(new.file, policy, own, owned=new.owned)


def size_of(name: str) -> int | None:
    """Return how many bytes are to be read of an input file; None for standard input and what is compressed."""
    return None if name == STANDARD or is_packed(name) else Path(name).stat().st_size
