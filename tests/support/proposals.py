"""Tables for tests of `propose`, and what it makes of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from stream_anon.operations.propose.proposing import propose

Record = dict[str, Any]


def write_json(path: Path, records: Sequence[Record]) -> Path:
    """Write records as JSON Lines; return the path."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def write_csv(path: Path, records: Sequence[Record]) -> Path:
    """Write records as CSV; return the path."""
    names = list(dict.fromkeys(name for record in records for name in record))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(records)
    return path


def proposed(folder: Path, records: Sequence[Record], suffix: str = "jsonl") -> tuple[str, dict[str, Any]]:
    """Return the text that is proposed for records, and its attributes."""
    path = folder / f"sample.{suffix}"
    text = propose((write_csv if suffix == "csv" else write_json)(path, records))
    return text, yaml.safe_load(text)["attributes"]
