"""Every engine on every table in one run: information loss (GCP), rows per second, class sizes.

The order of the forest is learned on the table's first window and scored on the others (on itself where there is
only one). Rows per second are one core's, median of the repeats, from the first row to the classes; learning is
left out and printed on its own. `ratio` compares with a plain sort and cut along the same line in the same run.
With a criterion or `--zipf` each engine runs without too, turn about: `loss` is GCP with over GCP without, `speed`
rows per second with over without. Seconds are the process's own, so that a busy machine does no harm.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.path import machine
from benchmarks.tables import TABLES, Table
from stream_anon.clustering.forest.book import OrderBook
from stream_anon.clustering.forest.cut import cut_line
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.forest.order import line_order
from stream_anon.clustering.forest.points import points_of
from stream_anon.clustering.mondrian import Mondrian
from stream_anon.clustering.protocol import Partitioner
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.cost import cost_model
from stream_anon.privacy.criteria import Criteria, Spread
from stream_anon.privacy.generalization import Generalizer, generalize
from stream_anon.privacy.loss import gcp

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ENGINES = ("mondrian", "forest", "forest, both lines")


def windows_of(table: Table, size: int, diverse: bool) -> list[Columns]:
    """Return the table cut into full windows, individuals and values numbered anew in each."""
    rows = table.rows
    count = max(len(rows) // size, 1)
    parts = []
    for i in range(count):
        part = rows.take(slice(i * size, min((i + 1) * size, len(rows))))
        values = part.sensitive if diverse else part.sensitive[:0]
        parts.append(
            Columns(
                part.codes,
                np.unique(part.individuals, return_inverse=True)[1].astype(np.int32),
                np.array([np.unique(v, return_inverse=True)[1] for v in values], np.int32).reshape(
                    len(values), len(part)
                ),
            )
        )
    return parts


def zipf_people(table: Table) -> Table:
    """Return the table with rows dealt to a third as many people, the i-th with a chance of 1 / i."""
    n = len(table.rows)
    chance = 1 / np.arange(1, n // 3 + 1)
    people = np.random.default_rng(0).choice(len(chance), n, p=chance / chance.sum()).astype(np.int32)
    return Table(table.name, table.attributes, Columns(table.rows.codes, people, table.rows.sensitive))


def each_once(table: Table) -> Table:
    """Return the table with every row a person's of its own."""
    people = np.arange(len(table.rows), dtype=np.int32)
    return Table(table.name, table.attributes, Columns(table.rows.codes, people, table.rows.sensitive))


def guarding(table: Table, name: str | None) -> Table:
    """Return the table with one of its quasi-identifiers as the sensitive attribute instead."""
    if name is None:
        return table
    place = [attribute.name for attribute in table.attributes].index(name)
    rows = table.rows
    others = tuple(attribute for attribute in table.attributes if attribute.name != name)
    left = Columns(np.delete(rows.codes, place, axis=0), rows.individuals, rows.codes[place][None].copy())
    return Table(table.name, others, left)


def against_none(table: Table, one: dict[str, Any], size: int, repeats: int) -> str:
    """Add what the constraint costs to a result; return it as text."""
    free = Criteria(one["k"], 0.5, np.empty(0, np.int64))
    none = measure(each_once(table), one["engine"], size, free, repeats)
    one["gcp_without"] = none["gcp"]
    one["loss_against_none"] = round(one["gcp"] / none["gcp"], 3)
    one["speed_against_none"] = round(one["rows_per_second"] / none["rows_per_second"], 2)
    return f"  loss {one['loss_against_none']:.3f} speed {one['speed_against_none']:.2f} against none"


def loss_of(table: Table, rows: Columns, classes: NDArray[np.int32]) -> tuple[float, NDArray[np.int64]]:
    """Return the GCP of a window and the sizes of its classes."""
    count = int(classes.max(initial=-1)) + 1
    if not count:
        return 1.0, np.zeros(1, np.int64)
    found = generalize([Generalizer(a) for a in table.attributes], table.attributes, rows.codes, classes, count)
    sizes = np.bincount(classes[classes >= 0], minlength=count)
    return float(gcp(found.ncp, sizes, int((classes < 0).sum())) or 0.0), sizes


def measure(table: Table, name: str, size: int, criteria: Criteria, repeats: int) -> dict[str, Any]:
    """Return what one engine does to a table."""
    model = cost_model(table.attributes)
    parts = windows_of(table, size, bool(len(criteria.distinct_l)))
    book = OrderBook(table.attributes, model, 0)
    learning = time.perf_counter()
    if name != "mondrian":
        book.consider(parts[0].codes, criteria.k)
    learning = time.perf_counter() - learning
    makers: dict[str, Callable[[], Partitioner]] = {
        "mondrian": lambda: Mondrian(model),
        "forest": lambda: Forest(model, book),
        "forest, both lines": lambda: Forest(model, book, 2),
    }
    scored = parts[1:] or parts
    rates: list[float] = []
    plain: list[float] = []
    for _ in range(repeats):
        spent, answers = 0.0, []
        for rows in scored:
            partitioner = makers[name]()
            start = time.process_time()
            partitioner.add(rows)
            answers.append(partitioner.close(rows, criteria))
            spent += time.process_time() - start
        rates.append(sum(map(len, scored)) / spent)
        plain.append(sum(map(len, scored)) / sum(sort_and_cut(rows, book, model, criteria.k) for rows in scored))
    found = [loss_of(table, rows, answer) for rows, answer in zip(scored, answers, strict=True)]
    sizes = np.concatenate([size for _, size in found])
    return {
        "table": table.name,
        "engine": name,
        "window": size,
        "k": criteria.k,
        "distinct_l": criteria.distinct_l.tolist(),
        "frequencies": [dataclasses.asdict(asked) for asked in criteria.spreads],
        "gcp": round(float(np.mean([loss for loss, _ in found])), 4),
        "rows_per_second": round(statistics.median(rates)),
        "spread": [round(min(rates)), round(max(rates))],
        "ratio": round(statistics.median(rates) / statistics.median(plain), 3),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "learning_seconds": round(learning, 3),
    }


def criteria_of(given: argparse.Namespace, k: int) -> Criteria:
    """Return the criteria that the command line asks for."""
    c, rank = given.recursive
    asked = Spread(given.entropy_l, c, int(rank), given.t, given.ordered, given.alpha)
    least = max(given.distinct_l, math.ceil(given.entropy_l) if given.entropy_l > 1 else 0, asked.l * (c < np.inf))
    if not least and not asked.asks:
        return Criteria(k, 0.5, np.empty(0, np.int64))
    return Criteria(k, 0.5, np.array([least], np.int64), (asked,))


def sort_and_cut(rows: Columns, book: OrderBook, model: Any, k: int) -> float:
    """Return the seconds that sorting along the line and cutting it take."""
    n = len(rows)
    start = time.process_time()
    points, starts = points_of(rows.codes, line_order(rows.codes, book.table))
    point_of = np.repeat(np.arange(len(points)), np.diff(starts))
    cut_line(points, point_of, np.full(n, n), model, k, 2 * k - 1, np.empty(n + 1))
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--windows", type=int, nargs="+", default=[1_000, 10_000, 1_000_000])
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 50, 100])
    parser.add_argument("--distinct-l", type=int, default=0, help="of the table's sensitive attribute")
    parser.add_argument("--entropy-l", type=float, default=1.0)
    parser.add_argument("--recursive", type=float, nargs=2, metavar=("C", "L"), default=(np.inf, 2))
    parser.add_argument("--t", type=float, default=1.0)
    parser.add_argument("--ordered", action="store_true", help="t over the values in the order of their codes")
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--sensitive", help="quasi-identifier that is the sensitive attribute instead")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--zipf", action="store_true", help="a third as many people, chances of 1 / i")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the tables")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    about = machine()
    print(", ".join(f"{name} {value}" for name, value in about.items()), "- one core")
    print(f"{'table':10}{'window':>9}{'k':>5}  {'engine':20}{'GCP':>8}{'rows/s':>11}{'ratio':>7}  classes of")
    results = []
    for name in given.tables:
        table = guarding(TABLES[name](given.data), given.sensitive)
        table = zipf_people(table) if given.zipf else table
        for size in sorted({min(size, len(table.rows)) for size in given.windows}):
            for k in given.k:
                criteria = criteria_of(given, k)
                for engine in given.engines:
                    one = measure(table, engine, size, criteria, given.repeats)
                    constrained = given.zipf or len(criteria.distinct_l)
                    cost = against_none(table, one, size, given.repeats) if constrained else ""
                    results.append(one)
                    print(f"{name:10}{size:>9,}{k:>5}  {engine:20}{one['gcp']:>8.4f}{one['rows_per_second']:>11,}"
                          f"{one['ratio']:>7.2f}  {one['smallest']} to {one['largest']}{cost}",
                          flush=True)  # fmt: skip
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"machine": about, "results": results}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
