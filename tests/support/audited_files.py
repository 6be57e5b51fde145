"""Released records, their certificates and their policy as files, for an audit to read."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from stream_anon.audit.verdict import Kind
from stream_anon.files.anonymizing import SOURCE, Anonymization
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.operations.audit.auditing import audit_files
from stream_anon.settings.policy_file import load_policy

SETTINGS: dict[str, Any] = {
    "privacy": {"k": 4, "individual": "person", "sensitive": {"result": {"distinct_l": 2}}},
    "window": {"max_records": 200},
    "attributes": {
        "person": {"role": "identifier"},
        "patient.age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
        "patient.zip": {"role": "quasi-identifier", "prefix": {"length": 3}},
        "plan": {"role": "quasi-identifier", "values": ["[a]", "b", "c", "d"], "publish": "values"},
        "ward": {
            "role": "quasi-identifier",
            "type": "integer",
            "hierarchy": {"inner": ["1", "2"], "03": ["3", "4"]},
        },
        "smoker": {"role": "quasi-identifier", "type": "boolean", "values": [True, False]},
        "weight": {
            "role": "quasi-identifier",
            "numeric": {"min": 30, "max": 150, "step": 0.5, "decimals": 1, "publish": "tight"},
        },
        "day": {"role": "quasi-identifier", "date": {"min": "2024-01-01", "max": "2024-12-31"}},
        "result": {"role": "sensitive", "type": "string"},
        "paid": {"role": "insensitive", "type": "boolean"},
        "visits": {"role": "insensitive", "type": "integer", "accept_linkable": True},
        "cost": {"role": "insensitive", "type": "number", "accept_linkable": True},
    },
}


def visits(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return made-up visits that `SETTINGS` is for, some with missing values and some that do not fit."""
    draws = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        row: dict[str, Any] = {
            "person": int(draws.integers(count // 2)),
            "patient": {"age": int(draws.integers(100)), "zip": f"{draws.integers(5)}{draws.integers(3)}7"},
            "plan": str(draws.choice(["[a]", "b", "c", "d"])),
            "ward": int(draws.integers(1, 5)),
            "smoker": bool(draws.integers(2)),
            "weight": 60 + int(draws.integers(60)) / 2,
            "day": f"2024-{draws.integers(1, 13):02}-{draws.integers(1, 29):02}",
            "result": str(draws.choice(["fine", "poor, or not", 'say "no"', "two\nlines"])),
            "paid": bool(draws.integers(2)),
            "visits": int(draws.integers(9)),
            "cost": float(draws.integers(90)) / 8,
        }
        if not i % 17:
            del row["plan"], row["paid"]
            row["day"] = None
        if not i % 31:
            row["weight"] = 500
        rows.append(row)
    return rows


class Files:
    """A policy, the released records and their certificates on disk."""

    def __init__(self, folder: Path, settings: dict[str, Any], records: Sequence[dict[str, Any]]) -> None:
        self.policy_path = folder / "policy.yaml"
        self.policy_path.write_text(yaml.safe_dump(settings, sort_keys=False))
        self.policy = load_policy(self.policy_path)
        self.output, self.certificates = folder / "out.jsonl", folder / "certificates.jsonl"
        codec, work = JsonCodec(self.policy), Anonymization(self.policy)
        values = [json.dumps(record).encode() for record in records]
        batch = codec.decode(values, SOURCE, np.arange(len(values)))
        self.lines: list[bytes] = []
        self.parts: list[bytes] = []
        self.document = work.document.parts()
        for certified in [*work.add(batch), *work.close()]:
            self.lines += codec.encode(certified.release)
            self.parts += certified.certificate
        self.write()

    def copied(self, folder: Path) -> Files:
        """Return the same files in another folder, to be changed there."""
        other = copy.copy(self)
        for name in ("policy_path", "output", "certificates"):
            setattr(other, name, folder / getattr(self, name).name)
        other.policy_path.write_bytes(self.policy_path.read_bytes())
        other.lines, other.parts = list(self.lines), list(self.parts)
        other.write()
        return other

    def write(self) -> None:
        self.output.write_bytes(b"".join(line + b"\n" for line in self.lines))
        self.certificates.write_bytes(b"".join(part + b"\n" for part in [*self.document, *self.parts]))

    def write_csv(self, delimiter: str = ",", header: Sequence[str] | None = None) -> None:
        """Write the records as CSV: intervals, sets and scalars as JSON, texts as they are, null as nothing."""
        self.output = self.output.with_suffix(".csv")
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        names = [attribute.name for attribute in self.policy.published]
        writer.writerow(header or names)
        for line in self.lines:
            writer.writerow([cell(json.loads(line), name) for name in names])
        self.output.write_bytes(text.getvalue().encode())

    def kinds(self) -> set[Kind]:
        verdict = audit_files(self.policy_path, self.output, self.certificates).verdict
        return {violation.kind for violation in verdict.violations}


def cell(record: Any, name: str) -> str:
    for key in name.split("."):
        record = record[key]
    return record if isinstance(record, str) else "" if record is None else json.dumps(record)
