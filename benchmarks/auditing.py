"""Measure the audit of a released file: processor time a record and memory, for each format of files.

    python benchmarks/auditing.py [--records N] [--window 20000] [--repeats 3] [--formats csv jsonl] [--json FILE]

Made-up visits of as many people are anonymized once, and audited by `stream-anon audit` in a process of its own.
Times are of the processor, user and system, so that other work on the machine changes them little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np

from benchmarks.report import in_words, machine, write_json

POLICY = """\
privacy: {k: 10, individual: patient_id, sensitive: {diagnosis: {distinct_l: 3}}}
window: {max_records: WINDOW}
attributes:
  patient_id: {role: identifier}
  age: {role: quasi-identifier, numeric: {min: 0, max: 99, step: 1, levels: [5, 10, 20]}}
  sex: {role: quasi-identifier, hierarchy: sex.csv}
  zip: {role: quasi-identifier, prefix: {length: 5}}
  weight: {role: quasi-identifier, numeric: {min: 30, max: 180, step: 1}}
  visited: {role: quasi-identifier, date: {format: "%Y-%m-%d", min: 2025-01-01, max: 2026-12-31}}
  department: {role: insensitive, type: string, accept_linkable: true}
  diagnosis: {role: sensitive, type: string}
  cost: {role: sensitive, type: number, accept_linkable: true}
"""
SEXES = "female;*\nmale;*\n"
FORMATS = ("csv", "csv.gz", "jsonl", "parquet")
_PIECE = 100_000
_PROGRAM = """\
import resource, sys
from stream_anon.cli.main import command
try:
    command()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""


def write_visits(path: Path, records: int) -> None:
    """Write made-up visits as CSV, in pieces."""
    draws = np.random.default_rng(1)
    departments = ["Surgery", "Cardiology", "Oncology", "Neurology", "Orthopaedics", "Urology"]
    with path.open("w", encoding="utf-8") as file:
        file.write("patient_id,age,sex,zip,weight,visited,department,diagnosis,cost\n")
        for start in range(0, records, _PIECE):
            n = min(_PIECE, records - start)
            columns = (
                range(start, start + n),
                np.clip(draws.normal(50, 20, n), 0, 99).astype(int).tolist(),
                draws.choice(["female", "male"], n).tolist(),
                [f"{code:05d}" for code in draws.integers(1000, 99_999, n).tolist()],
                np.clip(draws.normal(75, 15, n), 30, 180).astype(int).tolist(),
                (np.datetime64("2025-01-01") + draws.integers(0, 365, n)).tolist(),
                draws.choice(departments, n).tolist(),
                [f"diagnosis {code}" for code in np.minimum(39, draws.exponential(8, n)).astype(int).tolist()],
                np.round(draws.gamma(2, 50, n), 2).tolist(),
            )
            file.writelines(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))


def run(folder: Path, *arguments: str) -> tuple[float, float]:
    """Return the processor time in seconds and the most memory in MB of a command."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    seconds, memory = done.stderr.split()[-2:]
    return float(seconds), int(memory) / 1024


def measure(folder: Path, formats: list[str], repeats: int) -> dict[str, Any]:
    """Return what the audit of each format takes; formats take turns, so that a slow minute meets all of them."""
    for suffix in formats:
        files = ("in.csv", f"out.{suffix}", "--certificates", f"{suffix}.jsonl")
        run(folder, "anonymize", "-c", "policy.yaml", *files)
    found: dict[str, list[tuple[float, float]]] = {suffix: [] for suffix in formats}
    for _ in range(repeats):
        for suffix, own in found.items():
            files = ("--output", f"out.{suffix}", "--certificates", f"{suffix}.jsonl")
            own.append(run(folder, "audit", "-c", "policy.yaml", *files))
    return {
        suffix: {
            "seconds": round(statistics.median(seconds for seconds, _ in own), 2),
            "memory_mb": round(max(memory for _, memory in own)),
        }
        for suffix, own in found.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--window", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "policy.yaml").write_text(POLICY.replace("WINDOW", str(arguments.window)), encoding="utf-8")
        (folder / "sex.csv").write_text(SEXES, encoding="utf-8")
        write_visits(folder / "in.csv", arguments.records)
        found = measure(folder, arguments.formats, arguments.repeats)
    about = machine()
    print(f"{arguments.records:,} records in windows of {arguments.window:,}; {in_words(about)}")
    print(f"{'format':<10} {'seconds':>8} {'us a record':>12} {'memory':>8}")
    for suffix, own in found.items():
        each = own["seconds"] / arguments.records * 1e6
        print(f"{suffix:<10} {own['seconds']:>8.2f} {each:>12.1f} {own['memory_mb']:>5} MB")
    write_json(
        arguments.json, {"machine": about, "records": arguments.records, "window": arguments.window, **found}
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
