"""A small policy and made-up records for it, for tests that only need some."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml

PEOPLE: dict[str, Any] = {
    "privacy": {"k": 3, "individual": "person"},
    "window": {"max_records": 50, "max_delay": "10s"},
    "attributes": {
        "person": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
        "home.city": {
            "role": "quasi-identifier",
            "hierarchy": {"north": ["Oslo", "Bergen"], "south": ["Rome", "Bari"]},
        },
        "visits": {"role": "insensitive", "type": "integer"},
        "illness": {"role": "sensitive"},
    },
}


def write_policy(folder: Path, **sections: dict[str, Any]) -> Path:
    """Write `PEOPLE` with some sections' values replaced; return the file."""
    document = {name: {**values, **sections.get(name, {})} for name, values in PEOPLE.items()}
    document |= {name: values for name, values in sections.items() if name not in document}
    return write_document(folder, document)


def write_document(folder: Path, document: dict[str, Any]) -> Path:
    """Write a settings file; return it."""
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def people(count: int, seed: int = 0, each: int = 1) -> list[dict[str, Any]]:
    """Return records of made-up people, `each` for every person."""
    draws = np.random.default_rng(seed)
    cities = ["Oslo", "Bergen", "Rome", "Bari"]
    return [
        {
            "person": f"p{i // each}",
            "age": int(draws.integers(0, 100)),
            "home": {"city": cities[draws.integers(4)]},
            "visits": int(draws.integers(0, 9)),
            "illness": ["flu", "cold", "none"][draws.integers(3)],
            "undeclared": f"secret-{i}",
        }
        for i in range(count)
    ]


def write_json_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write records, one a line."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def write_records(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write records as CSV or JSON Lines, by suffix."""
    if path.suffix != ".csv":
        return write_json_lines(path, records)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path


def refusals(table: str) -> list[tuple[str, ...]]:
    """Return for each line of a table what is written, the key that is refused, and words of the message.

    A line is `written -> key: words`.
    """
    lines = (line.split(" -> ") for line in table.strip().splitlines())
    return [(written, *told.split(": ", 1)) for written, told in lines]
