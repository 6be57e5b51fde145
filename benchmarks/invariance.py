"""What a series of releases costs on Adult: counterfeits, suppression, loss and the error of counts.

    python benchmarks/invariance.py [--m 2 3 4] [--k 10] [--size 10000] [--releases 10] [--turnover 0.1]
        [--json FILE]

A table of people of the census is released again and again by m-invariance (Xiao and Tao, SIGMOD 2007, as
`anonymize --series` has it), and beside that each release by itself, by the forest with `distinct_l: m`, which
promises nothing about people who are in several releases. Before each further release so many of the people leave
by chance, and as many come who were never there. The occupation is sensitive. The other seven attributes are
quasi-identifiers.

The loss is the certificate's: GCP, in which a suppressed record counts 1. The error is the median relative one of
1,000 counts of records with two or three of the quasi-identifiers and the occupation in random ranges, whose true
answers know no counterfeits; an answer is compared with 0.1 % of the records at least. A series draws anew in each
run, so its figures differ a little.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.adult import DATA, adult_policy
from benchmarks.report import in_words, machine, write_json
from benchmarks.tables import read_table
from stream_anon.files.job import FileJob
from stream_anon.files.series.series_job import SeriesJob
from stream_anon.measures.boxes import boxes_of
from stream_anon.measures.queries import SANITY, RangeCount, estimated_counts, random_range_counts, true_counts
from stream_anon.microdata.attributes import QuasiIdentifier, Sensitive
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.policy import Policy, WindowLimits

Record = dict[str, Any]
TARGET = "occupation"
SERIES, ALONE = "series", "each alone"
SEED = 5


def people_of(data: Path) -> list[Record]:
    """Return the people of the census in an order of chance."""
    rows = read_table(data / "adult.csv", ";")
    order = np.random.default_rng(SEED).permutation(len(rows)).tolist()
    return [{**rows[row], "age": int(rows[row]["age"]), "person_id": f"{row:05}"} for row in order]


def tables_of(people: Sequence[Record], size: int, releases: int, turnover: float) -> Iterator[list[Record]]:
    """Yield the tables that are released; nobody who left comes back."""
    draws = np.random.default_rng(SEED)
    moved = round(turnover * size)
    if size + (releases - 1) * moved > len(people):
        raise ValueError(f"{len(people):,} people are too few for that many releases")
    table = list(people[:size])
    for number in range(releases):
        if number:
            stay = np.sort(draws.permutation(size)[moved:]).tolist()
            come = size + (number - 1) * moved
            table = [*(table[place] for place in stay), *people[come : come + moved]]
        yield table


def policy_of(data: Path, size: int, k: int, m: int) -> Policy:
    """Return a policy that suits a series."""
    given = adult_policy(data, size)
    attributes = [own for own in given.attributes if own.name not in (TARGET, "salary-class")]
    window = WindowLimits(max_records=size, max_records_per_individual=1)
    return replace(
        given,
        attributes=(*attributes, Sensitive(TARGET, accept_linkable=True)),  # a small table has rare ones
        k=k,
        diversity={TARGET: Diversity(m)},
        window=window,
        engine=replace(given.engine, seed=SEED),
    )


def queries_of(attributes: Sequence[QuasiIdentifier]) -> list[RangeCount]:
    """Return counts of records, by the last attribute and two or three of the others."""
    draws = np.random.default_rng(SEED)
    sizes = [own.domain.size for own in attributes]
    found = []
    for query in random_range_counts(sizes[:-1], draws):
        low, high = sorted(draws.integers(0, sizes[-1], 2).tolist())
        found.append(RangeCount((*query.attributes, len(sizes) - 1), (*query.low, low), (*query.high, high)))
    return found


def error_of(attributes: Sequence[QuasiIdentifier], table: Sequence[Record], released: Sequence[Record]) -> float:
    """Return the median relative error of counts that are answered from released records."""
    names = [own.name for own in attributes]
    codes: NDArray[np.int32] = np.array(
        [[own.code(row[own.name]) for row in table] for own in attributes], np.int32
    )
    counts = Counter(json.dumps([row[name] for name in names]) for row in released)
    boxes = boxes_of(attributes, [json.loads(own) for own in counts], list(counts.values()))
    queries = queries_of(attributes)
    true = true_counts(codes, queries)
    error = np.abs(estimated_counts(boxes, queries) - true)
    return float(np.median(error / np.maximum(true, SANITY * len(table))))


def released(job: FileJob) -> tuple[dict[str, Any], list[Record]]:
    """Return the certificate of the one window of a job, and the records of its output."""
    report = job.run(lambda _: None)
    if not report.written or job.certificates is None:
        raise RuntimeError(report.refusal or "too many records were rejected")
    with job.certificates.open(encoding="utf-8") as parts:
        certificate: dict[str, Any] = [json.loads(part) for part in parts][-1]
    with Path(job.target).open(encoding="utf-8") as lines:
        return certificate, [json.loads(line) for line in lines]


def rows_of(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows of the report."""
    people = people_of(options.data)
    given = adult_policy(options.data, options.size)
    measured = [*(own for own in given.quasi_identifiers if own.name != TARGET)]
    measured += [own for own in given.quasi_identifiers if own.name == TARGET]
    for m in options.m:
        policy = policy_of(options.data, options.size, options.k, m)
        with TemporaryDirectory() as name:
            folder = Path(name)
            source, target, proof = (folder / own for own in ("in.jsonl", "out.jsonl", "certificates.jsonl"))
            tables = tables_of(people, options.size, options.releases, options.turnover)
            for number, table in enumerate(tables, start=1):
                source.write_text("".join(json.dumps(row) + "\n" for row in table), encoding="utf-8")
                files = (str(source), str(target), proof)
                ways = {SERIES: SeriesJob(policy, *files, series=folder / "series"), ALONE: FileJob(policy, *files)}
                for way, job in ways.items():
                    certificate, records = released(job)
                    yield {
                        "m": m,
                        "way": way,
                        "release": number,
                        "counterfeits": certificate.get("series", {}).get("counterfeits", 0),
                        "suppressed": certificate["suppressed"],
                        "classes": len(certificate["classes"]),
                        "gcp": certificate["gcp"],
                        "error": error_of(measured, table, records),
                    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--m", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--size", type=int, default=10_000, help="people of a release")
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--turnover", type=float, default=0.1, help="share of the people who leave, and who come")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not options.data.exists():
        print(f"{options.data}: is not there", file=sys.stderr)
        return 2
    about = machine()
    print(in_words(about))
    print(
        f"{'m':>2} {'way':<11}{'release':>8}{'counterfeits':>14}{'suppressed':>12}{'classes':>9}"
        f"{'GCP':>8}{'error':>8}"
    )
    found = []
    for row in rows_of(options):
        found.append(row)
        print(
            f"{row['m']:>2} {row['way']:<11}{row['release']:>8}{row['counterfeits']:>14,}{row['suppressed']:>12,}"
            f"{row['classes']:>9,}{row['gcp']:>8.4f}{row['error']:>8.2%}",
            flush=True,
        )
    write_json(options.json, {"k": options.k, "size": options.size, "machine": about, "rows": found})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
