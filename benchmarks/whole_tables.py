"""Compare windows by arrival, one window of all, and windows of neighbours on the same file of made-up people.

    python benchmarks/whole_tables.py [--records 1000000] [--window 10000] [--parts 10] [--repeats 1] [--json FILE]

Prints information loss, records a second of processor time from reading CSV to writing it, and the memory at its
highest, of each way. Each runs in a process of its own. Run it twice: at first the engine is compiled. `neighbours`
is what becomes of a table of which memory holds one window in `--parts`.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.adult import CATEGORIES, DATA, adult_policy
from benchmarks.report import in_words, machine, write_json
from stream_anon.files.job import FileJob
from stream_anon.files.neighbours import large_table
from stream_anon.formats.tables.small_texts import read_table
from stream_anon.judging.refusing import Judging, When

WAYS = ("by arrival", "one window", "neighbours")
_OTHER = 0.25  # share of the values of made-up people that are another person's


def write_people(data: Path, path: Path, count: int) -> None:
    """Write people made up of the Adult census: each is a mixture of two, and up to two years older or younger."""
    names, *rows = read_table(data / "adult.csv")
    draws, table = np.random.default_rng(7), dict(zip(names, zip(*rows, strict=True), strict=True))
    one, other = draws.integers(0, len(rows), (2, count))
    columns = {
        name: np.array(table[name])[np.where(draws.random(count) < _OTHER, other, one)]
        for name in ("age", *CATEGORIES, "salary-class")
    }
    columns["age"] = np.clip(columns["age"].astype(int) + draws.integers(-2, 3, count), 17, 90)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["person_id", *columns])
        writer.writerows(zip(range(count), *(column.tolist() for column in columns.values()), strict=True))


def once(way: str, data: Path, source: Path, window: int, fit: int) -> dict[str, Any]:
    """Return what one way does with a file."""
    large_table.rows_that_fit = lambda *_: fit
    policy = adult_policy(data, window)
    job = FileJob(
        policy,
        str(source),
        str(source.with_name("out.csv")),
        judging=Judging((), When.NEVER),
        by_arrival=way == "by arrival",
    )
    start = process_time()
    report = job.run(lambda _: None)
    seconds = process_time() - start
    status = Path("/proc/self/status").read_text()
    return {
        "loss": report.gcp,
        "rate": round(report.released / seconds),
        "engine_rate": round(report.released / report.seconds),
        "mebibytes": int(status.partition("VmHWM:")[2].split()[0]) // 1024,
    }


def measured(arguments: argparse.Namespace, way: str, source: Path) -> dict[str, Any]:
    """Return the best rate of a way over its repeats, each in a process of its own."""
    fit = arguments.records + 1 if way == "one window" else max(arguments.records // arguments.parts, 1)
    told = [str(each) for each in (way, arguments.data, source, arguments.window, fit)]
    found = []
    for _ in range(arguments.repeats):
        command = [sys.executable, str(Path(__file__).resolve()), "--once", *told]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    best: dict[str, Any] = max(found, key=lambda one: one["rate"])
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--window", type=int, default=10_000)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--once", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        way, data, source, window, fit = arguments.once
        print(json.dumps(once(way, Path(data), Path(source), int(window), int(fit))))
        return 0
    if not arguments.data.exists():
        print(f"{arguments.data}: is not there", file=sys.stderr)
        return 2
    about = machine()
    print(in_words(about))
    print(f"{arguments.records:,} records, k = 10; by arrival in windows of {arguments.window:,}")
    print(f"{'way':12}{'loss':>8}{'records/s':>12}{'engine alone':>14}{'MiB':>7}")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.csv"
        write_people(arguments.data, source, arguments.records)
        for way in WAYS:
            one = found[way] = measured(arguments, way, source)
            print(f"{way:12}{one['loss']:8.4f}{one['rate']:12,}{one['engine_rate']:14,}{one['mebibytes']:7,}")
    write_json(arguments.json, {"machine": about, "records": arguments.records, "ways": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
