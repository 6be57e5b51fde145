"""What preparing the open forest saves when a window closes: LINE, CLASSES and an unknown end, beside from scratch.

Each window is closed from scratch and after preparation, in the same process and in several orders of arrival.
`close` is the time from the last row to the classes, `total` all work from the first row on, both on the CPU clock
and as a ratio to from scratch (medians over windows); `loss` is GCP over that of from scratch (means). The order of
the forest is learned on the table's first rows before anything is measured.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.methods import learned_book
from benchmarks.report import in_words, machine, on_one_core, write_json
from benchmarks.tables import TABLES, Table
from benchmarks.windows import DATA, class_sizes, loss_of, windows_of
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.partitioning import Outlook
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.cost import cost_model
from stream_anon.privacy.criteria import Criteria

POLL = 0.01  # of a window
RATES = {"LINE": 20_000.0, "CLASSES": 10_000.0, "unknown end": 1_000.0}


def close_window(
    forest: Forest, rows: Columns, criteria: Criteria, outlook: Outlook | None
) -> tuple[float, float, NDArray[np.int32]]:
    """Return the CPU seconds from the last row to the classes, those of all work, and the classes."""
    poll = max(1, int(POLL * len(rows)))
    begun = time.process_time()
    for first in range(0, len(rows), poll):
        part = rows.take(slice(first, first + poll))
        if outlook is None:
            forest.add(part)
            continue
        forest.add(part, outlook)
        while first + poll < len(rows) and (work := forest.preparation()) is not None:
            work()
    last = time.process_time()
    answer = forest.close(rows, criteria)
    return time.process_time() - last, time.process_time() - begun, answer


def arrivals(table: Table, size: int, orders: int, most: int) -> list[Columns]:
    """Return windows of the table in several orders of arrival, at most so many of each order."""
    windows = []
    for seed in range(orders):
        shuffled = np.random.default_rng(seed).permutation(len(table.rows))
        turned = Table(table.name, table.attributes, table.rows.take(shuffled))
        windows += [rows for rows in windows_of(turned, size, diverse=False) if len(rows) == size][:most]
    return windows


def measure(table: Table, size: int, k: int, rounds: int, orders: int, most: int) -> list[dict[str, Any]]:
    """Return what each way of preparing saves and loses on windows of a table."""
    model = cost_model(table.attributes)
    criteria = Criteria(k, 0.5, np.empty(0, np.int64))
    book = learned_book(table, model, table.rows.take(slice(0, 10_000)), k)
    people = np.arange(size, dtype=np.int32)
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ("from scratch", *RATES)}
    for number, part in enumerate([*arrivals(table, size, orders, most)[:1], *arrivals(table, size, orders, most)]):
        rows = Columns(part.codes, people, part.sensitive)
        for name, results in found.items():
            expected = None if name == "unknown end" else size
            outlook = None if name == "from scratch" else Outlook(expected, RATES[name], int(POLL * size))
            close, total, answer = close_window(Forest(model, book, rounds, k), rows, criteria, outlook)
            loss = loss_of(table, rows, answer)
            assert class_sizes(rows, answer).min() >= k
            if number:  # the first window meets the compiler
                results.append((close, total, loss))
    return [summary(table, size, k, name, results, found["from scratch"]) for name, results in found.items()]


def summary(
    table: Table,
    size: int,
    k: int,
    name: str,
    results: Sequence[tuple[float, float, float]],
    scratch: Sequence[tuple[float, float, float]],
) -> dict[str, Any]:
    """Return one line of the table."""
    paired = list(zip(results, scratch, strict=True))
    return {
        "table": table.name,
        "window": size,
        "k": k,
        "way": name,
        "windows": len(results),
        "close_ms": round(1e3 * statistics.median(close for close, _, _ in results), 2),
        "close": round(statistics.median(own[0] / base[0] for own, base in paired), 3),
        "total": round(statistics.median(own[1] / base[1] for own, base in paired), 2),
        "gcp": round(float(np.mean([loss for _, _, loss in results])), 4),
        "loss": round(float(np.mean([own[2] for own, _ in paired]) / np.mean([base[2] for _, base in paired])), 4),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["adult", "generated"], choices=list(TABLES))
    parser.add_argument("--windows", type=int, nargs="+", default=[10_000, 1_000])
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1, help="of CUT and REFINE from scratch")
    parser.add_argument("--orders", type=int, default=3, help="orders of arrival")
    parser.add_argument("--most", type=int, default=6, help="windows of each order")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the tables")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    on_one_core()
    about = machine()
    print(in_words(about), "- CPU clock of one core")
    print(f"{'table':10}{'window':>8}  {'way':14}{'close ms':>10}{'close':>8}{'total':>7}{'GCP':>8}{'loss':>8}")
    results: list[dict[str, Any]] = []
    for name in given.tables:
        table = TABLES[name](given.data)
        for size in given.windows:
            for one in measure(table, min(size, len(table.rows)), given.k, given.rounds, given.orders, given.most):
                results.append(one)
                print(
                    f"{name:10}{one['window']:>8,}  {one['way']:14}{one['close_ms']:>10.2f}{one['close']:>8.3f}"
                    f"{one['total']:>7.2f}{one['gcp']:>8.4f}{one['loss']:>8.4f}",
                    flush=True,
                )
    write_json(given.json, {"machine": about, "results": results})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
