"""The format of a file, from its name."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from stream_anon.errors import InputError
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy

STANDARD = "-"
_JSON_LINES = (".jsonl", ".ndjson", ".json")


class Format(StrEnum):
    """How records are written in a file."""

    CSV = "csv"
    JSONL = "jsonl"


def format_of(name: str, standard: Format = Format.JSONL) -> Format:
    """Return the format of a file by its suffix; `standard` for `-`.

    Raises
    ------
    InputError
        For any other suffix.
    """
    suffix = Path(name).suffix.lower()
    if name == STANDARD:
        return standard
    if suffix == ".csv":
        return Format.CSV
    if suffix in _JSON_LINES:
        return Format.JSONL
    raise InputError(f"{name}: must end in .csv, {', '.join(_JSON_LINES)}, or be {STANDARD}")


def released_format(path: Path) -> Format:
    """Return the format of a file of released records: CSV if its name ends so, else JSON Lines."""
    return Format.CSV if path.suffix.lower() == ".csv" else Format.JSONL


def as_written(policy: Policy, form: Format) -> Policy:
    """Return the policy of what a file shows: cells have no types, so CSV is natural in any case."""
    return replace(policy, shape=Shape.NATURAL) if form is Format.CSV else policy
