"""Open input and output files; the suffix says which format they have."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from stream_anon.adapters.files.csv_files import CsvReader, CsvWriter
from stream_anon.adapters.files.json_lines import Decode, Encode, JsonLinesReader, JsonLinesWriter
from stream_anon.errors import InputError
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release

STANDARD = "-"
_JSON_LINES = (".jsonl", ".ndjson", ".json")


class RecordReader(Protocol):
    """A file of records."""

    @property
    def bytes_read(self) -> int:
        """Return how far reading has come."""
        ...

    @property
    def delimiter(self) -> str | None:
        """Return what stands between cells; None for JSON Lines."""
        ...

    def __iter__(self) -> Iterator[CodedBatch]:
        """Yield coded batches in order."""
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


def is_csv(name: str) -> bool:
    """Tell CSV from JSON Lines by the suffix; `-` is JSON Lines.

    Raises
    ------
    InputError
        For any other suffix.
    """
    suffix = Path(name).suffix.lower()
    if suffix == ".csv":
        return True
    if name == STANDARD or suffix in _JSON_LINES:
        return False
    raise InputError(f"{name}: must end in .csv, {', '.join(_JSON_LINES)}, or be {STANDARD}")


def open_reader(name: str, policy: Policy, decode: Decode, source: int = 0) -> RecordReader:
    """Open an input file, or standard input for `-`.

    Parameters
    ----------
    decode
        The JSON codec's, for JSON Lines.

    Raises
    ------
    InputError
        If it cannot be read, or lacks a column that the policy declares.
    """
    if is_csv(name):
        return CsvReader(_open(name, "rb"), policy, source, name)
    file = sys.stdin.buffer if name == STANDARD else _open(name, "rb")
    return JsonLinesReader(file, decode, source)


def open_writer(name: str, policy: Policy, encode: Encode, delimiter: str | None = None) -> ReleaseWriter:
    """Open an output file anew, or standard output for `-`.

    Parameters
    ----------
    encode
        The JSON codec's, for JSON Lines.
    delimiter
        The input's, for CSV; `,` if it has none.
    """
    if is_csv(name):
        return CsvWriter(_open(name, "wb"), policy, delimiter or ",")
    if name == STANDARD:
        return JsonLinesWriter(sys.stdout.buffer, encode, owned=False)
    return JsonLinesWriter(_open(name, "wb"), encode)


def size_of(name: str) -> int | None:
    """Return the size of an input file in bytes; None for standard input."""
    return None if name == STANDARD else Path(name).stat().st_size


def _open(name: str, mode: str) -> BinaryIO:
    try:
        return Path(name).open(mode)  # type: ignore[return-value]
    except OSError as error:
        raise InputError(f"{name}: cannot be opened ({error.strerror})") from None
