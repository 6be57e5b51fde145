"""Findings as files."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fuzz.cases import Case
from tests.fuzz.fuzzer import Finding

FOLDER = Path(__file__).parent / "findings"


def line_of(finding: Finding) -> str:
    """Return a finding as the JSON that is kept; its bytes are made up, so nobody's data is in it."""
    records = [None if record is None else record.hex() for record in finding.case.records]
    return json.dumps(
        {
            "target": finding.target,
            "fault": finding.fault,
            "setting": finding.case.setting.hex(),
            "records": records,
        }
    )


def read(file: Path) -> tuple[str, Case]:
    """Return the target and the case of a file."""
    told = json.loads(file.read_text())
    records = tuple(None if record is None else bytes.fromhex(record) for record in told["records"])
    return told["target"], Case(bytes.fromhex(told["setting"]), records)
