"""What each method for whole tables keeps of Adult, beside the engines of the stream.

    python benchmarks/recoders.py [--data FOLDER] [--k 5 50] [--rows 30162] [--json FILE]

Every method releases the same table as one window. TDS keeps the salary predictable. IAB may expand 1,000 tables,
and methods that take a bound may suppress 5 % of the records. The time is CPU time, compilation left out.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.report import in_words, machine, on_one_core, write_json
from benchmarks.utility.releases import METHODS, OTHER_METHODS, released
from benchmarks.utility.tasks import Task, adult_salary
from benchmarks.windows import DATA
from stream_anon.measures.leakage import Population
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.studied_records import OriginalTable
from stream_anon.operations.utility.utility_study import study_utility

WARMING = 500  # rows of a first release, which compiles
FIGURES = ("gcp", "prec", "information", "discernibility", "class_size", "query_error")
Row = dict[str, Any]


def rows_of(task: Task, sizes: Sequence[int]) -> Iterator[Row]:
    """Yield what each method makes of a task with each k."""
    kinds = int(task.labels.max()) + 1
    small = Task(task.name, task.attributes, task.codes[:, :WARMING], task.labels[:WARMING])
    for k in sizes:
        policy = Policy((*task.attributes, Sensitive("label")), k, EVERY_RECORD)
        table = OriginalTable(task.name, policy, Population(task.codes), 0, whole=True, labels=task.labels)
        for method in (*METHODS, *OTHER_METHODS):
            released(small, method, k, kinds)
            begun = time.process_time()
            found = released(task, method, k, kinds)
            seconds = time.process_time() - begun
            figures = asdict(study_utility(table, found))
            yield {
                "method": method,
                "k": k,
                **{name: figures[name] for name in FIGURES},
                "classes": len(found.boxes),
                "suppressed": 1 - found.records / len(task.labels),
                "seconds": seconds,
            }


def line(row: Row) -> str:
    """Return a row of the printed table."""
    cells = " ".join(f"{row[name]:>14,.4g}" if row[name] is not None else f"{'-':>14}" for name in FIGURES)
    share = f"{row['suppressed']:.2%}"
    return f"{row['method']:<10} {row['k']:>4} {cells} {row['classes']:>8,} {share:>10} {row['seconds']:>8.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 50])
    parser.add_argument("--rows", type=int, default=30_162)
    parser.add_argument("--json", type=Path, help="write what was measured")
    given = parser.parse_args()
    on_one_core()
    whole = adult_salary(given.data)
    chosen = np.random.default_rng(0).permutation(len(whole.labels))[: given.rows]
    task = Task(whole.name, whole.attributes, whole.codes[:, chosen], whole.labels[chosen])
    about = machine()
    print(in_words(about))
    heads = " ".join(f"{name:>14}" for name in FIGURES)
    print(f"{'method':<10} {'k':>4} {heads} {'classes':>8} {'suppressed':>10} {'seconds':>8}")
    found = []
    for row in rows_of(task, given.k):
        found.append(row)
        print(line(row), flush=True)
    write_json(given.json, {"machine": about, "rows": len(task.labels), "releases": found})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
