"""The format of a file, from its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from stream_anon.errors import InputError
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy

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


def released_format(path: Path) -> Format:
    """Return the format of a file of released records: CSV if its name ends so, else JSON Lines."""
    return Format.CSV if path.suffix.lower() == ".csv" else Format.JSONL


def as_written(policy: Policy, form: Format) -> Policy:
    """Return the policy of what a file shows.

    The shape is that of JSON. Cells of CSV have no types, and columns of Parquet have their own in any case.
    """
    return policy if form is Format.JSONL else replace(policy, shape=Shape.NATURAL)
