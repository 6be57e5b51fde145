"""The format of a file, from its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from stream_anon.errors import InputError, SettingsError
from stream_anon.microdata.output.output_members import shaped
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy

STANDARD = "-"
PACKED = ".gz"


class Format(StrEnum):
    """How records are written in a file."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"


TAB = "\t"
DELIMITERS: Mapping[Format, str] = {Format.CSV: ",;", Format.TSV: TAB}
"""What may part the cells of a text file."""
SUFFIXES: Mapping[str, Format] = {
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSONL,
    ".parquet": Format.PARQUET,
}


def format_of(name: str, standard: Format = Format.JSONL) -> Format:
    """Return the format of a file by its suffix, that before `.gz` if it is compressed; `standard` for `-`.

    Raises
    ------
    InputError
        For any other suffix, for Parquet in standard input and output (its end must be read first), and for
        compressed Parquet, which is compressed already.
    """
    if name == STANDARD:
        if standard is Format.PARQUET:
            raise InputError("--format: Parquet needs a file, it cannot be read from or written to a pipe")
        return standard
    form = suffix_format(name)
    if form is None:
        raise InputError(
            f"{name}: must end in {', '.join(SUFFIXES)}, with {PACKED} behind that if it is compressed, "
            f"or be {STANDARD}"
        )
    if form is Format.PARQUET and is_packed(name):
        raise InputError(f"{name}: Parquet is compressed in itself; unpack it, and leave out {PACKED}")
    return form


def suffix_format(name: str) -> Format | None:
    """Return the format that the name of a file says; None if it says none."""
    inner = name[: -len(PACKED)] if is_packed(name) else name
    return SUFFIXES.get(Path(inner).suffix.lower())


def is_packed(name: str) -> bool:
    """Return whether the name of a file says that it is compressed by gzip."""
    return name.lower().endswith(PACKED)


def released_format(path: Path) -> Format:
    """Return the format of a file of released records by its name; JSON Lines if that says none."""
    return suffix_format(str(path)) or Format.JSONL


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
