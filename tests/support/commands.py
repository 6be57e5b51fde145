"""Commands as a shell starts them, in this process."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from stream_anon.cli import main as cli
from tests.support.policies import write_records


def run(*arguments: object) -> int:
    """Run the command `stream-anon` with some arguments; return its exit code."""
    line = ["stream-anon", *map(str, arguments)]
    with patch.object(sys, "argv", line), pytest.raises(SystemExit) as left:
        cli.main()
    return int(left.value.code or 0)


def told(captured: pytest.CaptureFixture[str]) -> str:
    """Return what commands wrote to standard error since the last question, on one line."""
    return " ".join(captured.readouterr().err.split())


def audited(policy: Path, output: Path, certificates: Path, *options: object) -> int:
    """Audit released records; return the exit code."""
    return run("audit", "-c", policy, "--output", output, "--certificates", certificates, *options)


class FileRun:
    """What `anonymize` reads and writes in the folder of a policy."""

    def __init__(self, policy: Path, records: list[dict[str, Any]], suffix: str = ".jsonl") -> None:
        folder = policy.parent
        self.policy = policy
        self.source = write_records(folder / f"in{suffix}", records)
        self.output = folder / f"out{suffix}"
        self.certificates, self.report_file = folder / "certificates.jsonl", folder / "report.json"

    def anonymize(self, *options: object) -> int:
        files = (self.source, self.output, "--certificates", self.certificates, "--report", self.report_file)
        return run("anonymize", "-c", self.policy, *files, *options)

    def audit(self, *options: object, policy: Path | None = None) -> int:
        return audited(policy or self.policy, self.output, self.certificates, *options)

    @property
    def released(self) -> list[dict[str, Any]]:
        lines = self.output.read_text().splitlines()
        return list(csv.DictReader(lines)) if self.output.suffix == ".csv" else list(map(json.loads, lines))

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The policy document, and the certificates behind it."""
        return list(map(json.loads, self.certificates.read_text().splitlines()))

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.report_file.read_text())
        return found
