"""The format of a file, from its name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from stream_anon.errors import InputError

STANDARD = "-"


class Format(StrEnum):
    """How records are written in a file."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


SUFFIXES: Mapping[str, Format] = {
    ".csv": Format.CSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSONL,
    ".parquet": Format.PARQUET,
}


def format_of(name: str, standard: Format = Format.JSONL) -> Format:
    """Return the format of a file by its suffix; `standard` for `-`.

    Raises
    ------
    InputError
        For any other suffix, and for Parquet in standard input and output: its end must be read first.
    """
    if name == STANDARD:
        if standard is Format.PARQUET:
            raise InputError("--format: Parquet needs a file, it cannot be read from or written to a pipe")
        return standard
    form = SUFFIXES.get(Path(name).suffix.lower())
    if form is None:
        raise InputError(f"{name}: must end in {', '.join(SUFFIXES)}, or be {STANDARD}")
    return form
