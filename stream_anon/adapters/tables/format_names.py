"""The format of a file, from its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from stream_anon.errors import InputError, SettingsError
from stream_anon.microdata.output.members import shaped
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
    """Return the format of a file of released records: CSV or Parquet if its name ends so, else JSON Lines."""
    return SUFFIXES.get(path.suffix.lower(), Format.JSONL)


def check_typed_columns(policy: Policy) -> None:
    """Raise `SettingsError` if columns of one type cannot say all that a policy publishes."""
    for own, told in zip(policy.attributes, shaped(policy.attributes, Shape.TYPED), strict=True):
        if told is not own:
            raise SettingsError(
                f"attributes.{own.name}",
                "all its days lie in one year, quarter or month, which a Parquet file shows as it shows anything: "
                "widen its range, set missing: reject and unknown: reject, set output.shape: typed, or write CSV "
                "or JSON Lines",
            )


def as_written(policy: Policy, form: Format) -> Policy:
    """Return the policy of what a file shows.

    The shape is that of JSON. Cells of CSV have no types, and columns of Parquet have their own in any case.
    """
    return policy if form is Format.JSONL else replace(policy, shape=Shape.NATURAL)
