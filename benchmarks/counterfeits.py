"""Whom `privacy.counterfeits` publishes of Adult, who would be suppressed without, and what is lost.

    python benchmarks/counterfeits.py [--data FOLDER] [--k 10] [--rows 30162] [--json FILE]

The method is `ola`, which may suppress 5 % or 1 % of the records. All attributes are published as nodes. Loss is
the certificate's: a suppressed record counts 1, and a counterfeit as any record of its class.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.adult import DATA, adult_policy
from benchmarks.limits import of_nodes
from benchmarks.report import in_words, machine, write_json
from benchmarks.tables import read_table
from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.files.job import FileJob
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.choices.method_choice import MethodChoice
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

SUPPRESSED = (0.05, 0.01)
SHARES = (None, 0.002, 0.01, 0.05)
KEY = DrawsKey(b"a key of benchmarks")


def policy_of(data: Path, k: int, suppressed: float, share: float | None) -> Policy:
    """Return a policy that publishes nodes, and so many counterfeits at most."""
    given = adult_policy(data, k, k)
    return replace(
        given,
        attributes=tuple(of_nodes(a) if isinstance(a, QuasiIdentifier) else a for a in given.attributes),
        window=replace(given.window, max_records_per_individual=1),
        method=MethodChoice("ola", {}, RecordBound(suppressed)),
        counterfeits=None if share is None else RecordBound(share),
    )


def rows_of(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows of the report."""
    people = read_table(options.data / "adult.csv", ";")[: options.rows]
    with TemporaryDirectory() as name:
        source, target = (Path(name) / own for own in ("in.jsonl", "out.jsonl"))
        lines = ({**row, "age": int(row["age"]), "person_id": str(number)} for number, row in enumerate(people))
        source.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        for suppressed in SUPPRESSED:
            for share in SHARES:
                policy = policy_of(options.data, options.k, suppressed, share)
                report = FileJob(policy, str(source), str(target), key=KEY).run(lambda _: None)
                assert report.written, report.refusal
                assert not report.gate_violations
                yield {
                    "max_suppressed": suppressed,
                    "most": share,
                    "counterfeits": report.counterfeits,
                    "suppressed": report.suppressed.total(),
                    "classes": report.classes,
                    "people": report.achieved_k,
                    "gcp": report.gcp,
                }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not options.data.exists():
        print(f"{options.data}: is not there", file=sys.stderr)
        return 2
    about = machine()
    print(in_words(about))
    print(f"{'max_suppressed':>14}{'most':>7}{'made':>6}{'suppressed':>12}{'classes':>9}{'people':>8}{'GCP':>8}")
    found = []
    for row in rows_of(options):
        found.append(row)
        most = "none" if row["most"] is None else f"{row['most']:.1%}"
        print(
            f"{row['max_suppressed']:>14.0%}{most:>7}{row['counterfeits']:>6,}{row['suppressed']:>12,}"
            f"{row['classes']:>9,}{row['people']:>8}{row['gcp']:>8.4f}",
            flush=True,
        )
    write_json(options.json, {"k": options.k, "machine": about, "rows": found})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
