"""The format of a file, from its name."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from stream_anon.errors import InputError

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
