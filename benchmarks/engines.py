"""Every engine and every baseline on every table in one run: information loss (GCP), rows per second, classes.

    python benchmarks/engines.py [--tables ...] [--windows ...] [--k ...] [--methods ...] [--json FILE]

The order of the forest is learned on the table's first window as `stream-anon learn` does it, or a study in the
background; `a first window` learns from the window itself while somebody waits. All methods are scored on the other
windows (on the first where there is only one). Rows per second are one core's, median of the repeats, from the
first row to the classes, after compilation; learning is left out, but for a first window's. `ratio` compares with a
plain sort and cut along the same line in the same run. `classes of` counts individuals. `bound` is the GCP that no
method with nodes can stay below.

A method that has used its `--budget` of seconds is scored on the windows it came to; what would need more than
`--longest` for one window, judged by a smaller one, is left out, and said so. CASTLE is no method of windows: it
runs over the whole stream with a delay of one window, and k is what its whole output keeps; see its file for where
that is less than k at a time. anonypyx publishes sets: its GCP is one of sets and compares only with that of sort +
cut and forest scored alike, in the column `as sets`.

With a criterion or `--zipf` each engine runs without the constraint too: `loss` is GCP with over GCP without,
`speed` rows per second with over without. Baselines know no constraints and are left out.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.baselines import anonypyx
from benchmarks.baselines.bound import lower_bounds
from benchmarks.baselines.castle import Castle
from benchmarks.baselines.sets import set_loss, spans_of
from benchmarks.methods import ANONYPYX, CASTLE, METHODS, PLAIN, Method, Setting, learned_book
from benchmarks.report import in_words, machine, on_one_core, write_json
from benchmarks.tables import TABLES, Table
from benchmarks.windows import DATA, class_sizes, each_once, load_tables, loss_of, windows_of, zipf_people
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.cost import cost_model
from stream_anon.privacy.criteria import Criteria, Spread

CLOCKS: dict[str, Callable[[], float]] = {"cpu": process_time, "wall": perf_counter}
Result = dict[str, Any]


class Bench:
    """One run: its clock, its bounds on time, and what earlier cells say about later ones."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.clock = CLOCKS[given.clock]
        self.repeats: int = given.repeats
        self.budget: float = given.budget
        self.longest: float = given.longest
        self.names: list[str] = given.methods
        self._seconds: dict[tuple[str, str, int], tuple[int, float]] = {}

    def setting(self, table: Table, first: Columns, criteria: Criteria) -> Setting:
        """Return a setting with an order learned from `first`."""
        model = cost_model(table.attributes)
        return Setting(table, model, learned_book(table, model, first, criteria.k), criteria)

    def measure(self, name: str, setting: Setting, scored: Sequence[Columns]) -> Result | str:
        """Return what a method does to windows, or why it is left out."""
        method = METHODS[name]
        key, size = (name, setting.table.name, setting.criteria.k), len(scored[0])
        if name == ANONYPYX and not anonypyx.is_installed():
            return anonypyx.ABSENT
        if key in self._seconds:
            before, took = self._seconds[key]
            expected = took * (size / before) ** method.growth
            if expected > self.longest:
                return f"left out: a window would take about {expected:.0f} s"
        rates: list[float] = []
        answers: list[Any] = []
        best: list[Any] = []
        total, count = 0.0, 0
        while len(rates) < self.repeats and (not rates or total < self.budget):
            spent, answers = 0.0, []
            for rows in scored:
                start = self.clock()
                answers.append(method.classes(setting, rows))
                spent += self.clock() - start
                if total + spent > self.budget:
                    break
            total += spent
            if rates and len(answers) < count:
                break  # a last pass that was cut short
            count = len(answers)
            rates.append(sum(map(len, scored[:count])) / max(spent, 1e-9))
            self._seconds[key] = size, spent / count
            best = answers
        return self._result(name, method, setting, scored[:count], best, rates)

    def forget(self) -> None:
        """Forget how long earlier cells took."""
        self._seconds.clear()

    @staticmethod
    def _result(
        name: str,
        method: Method,
        setting: Setting,
        scored: Sequence[Columns],
        answers: Sequence[Any],
        rates: Sequence[float],
    ) -> Result:
        table = setting.table
        pairs = list(zip(scored, answers, strict=True))
        sizes = np.concatenate([class_sizes(rows, answer) for rows, answer in pairs])
        spans = spans_of(table.attributes, table.rows.codes)
        sets = float(np.mean([set_loss(table.attributes, rows.codes, answer, spans) for rows, answer in pairs]))
        nodes = None if method.as_sets else float(np.mean([loss_of(table, rows, answer) for rows, answer in pairs]))
        return {
            "engine": name,
            "gcp": nodes if nodes is None else round(nodes, 4),
            "gcp_as_sets": round(sets, 4),
            "rows_per_second": round(statistics.median(rates)),
            "spread": [round(min(rates)), round(max(rates))],
            "smallest": int(sizes.min()) if len(sizes) else 0,
            "largest": int(sizes.max(initial=0)),
            "suppressed": int(sum((answer < 0).sum() for answer in answers)),
            "windows": len(scored),
        }

    def stream(self, setting: Setting, size: int) -> Result | str:
        """Return what CASTLE does to the whole table with a delay of `size` rows."""
        rows, k = setting.table.rows, setting.criteria.k
        stream = Columns(
            rows.codes, np.unique(rows.individuals, return_inverse=True)[1].astype(np.int32), rows.sensitive
        )
        castle = Castle(setting.table.attributes, setting.model, k, size)
        start = self.clock()
        label, ncp, _ = castle.publish(stream)
        spent = self.clock() - start
        people = class_sizes(stream, label.astype(np.int32))
        skip = size if len(stream) >= 2 * size else 0  # the other methods are not scored on the first window either
        return {
            "engine": CASTLE,
            "gcp": round(float(ncp[skip:].mean()), 4),
            "rows_per_second": round(len(stream) / spent),
            "smallest": int(people.min()) if len(people) else 0,
            "largest": int(people.max(initial=0)),
            "suppressed": int((label < 0).sum()),
            "windows": max(len(stream) // size - 1, 1),
            "reused_tuples": castle.reused,
            "under_k_at_their_time": round(castle.alone(stream.individuals) / len(stream), 4),
        }

    def cell(self, table: Table, size: int, criteria: Criteria) -> list[Result]:
        """Return all methods on a table cut into windows."""
        diverse = bool(len(criteria.distinct_l))
        parts = windows_of(table, size, diverse)
        setting = self.setting(table, parts[0], criteria)
        scored = parts[1:] or parts
        results: list[Result] = []
        for name in self.names:
            found = self.stream(setting, size) if name == CASTLE else self.measure(name, setting, scored)
            if isinstance(found, str):
                found = {"engine": name, "left_out": found}
            elif results and "rows_per_second" in results[0] and results[0]["engine"] == PLAIN:
                found["ratio"] = round(found["rows_per_second"] / results[0]["rows_per_second"], 3)
            results.append(
                {"table": table.name, "window": size, "k": criteria.k, "of_windows": len(scored), **found}
            )
        return results


def guarding(table: Table, name: str | None) -> Table:
    """Return the table with one of its quasi-identifiers as the sensitive attribute instead."""
    if name is None:
        return table
    place = [attribute.name for attribute in table.attributes].index(name)
    rows = table.rows
    others = tuple(attribute for attribute in table.attributes if attribute.name != name)
    left = Columns(np.delete(rows.codes, place, axis=0), rows.individuals, rows.codes[place][None].copy())
    return Table(table.name, others, left)


def criteria_of(given: argparse.Namespace, k: int) -> Criteria:
    """Return the criteria that the command line asks for."""
    c, rank = given.recursive
    asked = Spread(given.entropy_l, c, int(rank), given.t, given.ordered, given.alpha, given.delta, given.beta)
    least = max(given.distinct_l, math.ceil(given.entropy_l) if given.entropy_l > 1 else 0, asked.l * (c < np.inf))
    if not least and not asked.asks:
        return Criteria(k, 0.5, np.empty(0, np.int64))
    return Criteria(k, 0.5, np.array([least], np.int64), (asked,))


def against_none(bench: Bench, table: Table, one: Result) -> None:
    """Add what the constraint costs to a result."""
    free = Criteria(one["k"], 0.5, np.empty(0, np.int64))
    parts = windows_of(each_once(table), one["window"], False)
    none = bench.measure(one["engine"], bench.setting(table, parts[0], free), parts[1:] or parts)
    if not isinstance(none, str):
        one["gcp_without"] = none["gcp"]
        one["loss_against_none"] = round(one["gcp"] / none["gcp"], 3)
        one["speed_against_none"] = round(one["rows_per_second"] / none["rows_per_second"], 2)


def show(one: Result) -> None:
    """Print a line of the table."""
    start = f"{one['table']:10}{one['window']:>8,}{one['k']:>5}  {one['engine']:21}"
    if "left_out" in one:
        print(f"{start}{one['left_out']}", flush=True)
        return
    numbers = [f"{one[key]:>8.4f}" if one.get(key) is not None else f"{'-':>8}" for key in ("gcp", "gcp_as_sets")]
    ratio = f"{one['ratio']:>7.3f}" if "ratio" in one else f"{'1':>7}"
    notes = f"  {one['windows']}/{one['of_windows']}" if one["windows"] < one["of_windows"] else ""
    if "under_k_at_their_time" in one:
        notes += f"  {one['under_k_at_their_time']:.1%} of rows under k at their time"
    if "loss_against_none" in one:
        notes += f"  loss {one['loss_against_none']:.3f} speed {one['speed_against_none']:.2f} against none"
    bound = f"{one['bound']:>8.4f}" if one.get("bound") is not None else f"{'-':>8}"
    print(f"{start}{''.join(numbers)}{bound}{one['rows_per_second']:>11,}{ratio}  "
          f"{one['smallest']} to {one['largest']}{notes}", flush=True)  # fmt: skip


def warm_up(bench: Bench, tables: Sequence[Table], criteria: Criteria) -> None:
    """Compile what is to be measured, on a few rows of each table."""
    budget, bench.budget = bench.budget, 0.0
    for table in tables:
        few = Table(table.name, table.attributes, table.rows.take(slice(0, 300)))
        bench.cell(few, 300, criteria)
        bench.cell(few, 300, Criteria(2, criteria.max_share, criteria.distinct_l, criteria.spreads))
    bench.budget = budget
    bench.forget()


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [PLAIN, *(name for name in METHODS if name != PLAIN), CASTLE]
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument(
        "--windows", type=int, nargs="+", default=[1_000, 10_000, 1_000_000], help="cut to the table"
    )
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 50, 100])
    parser.add_argument("--methods", nargs="+", default=names, choices=names)
    parser.add_argument("--distinct-l", type=int, default=0, help="of the table's sensitive attribute")
    parser.add_argument("--entropy-l", type=float, default=1.0)
    parser.add_argument("--recursive", type=float, nargs=2, metavar=("C", "L"), default=(np.inf, 2))
    parser.add_argument("--t", type=float, default=1.0)
    parser.add_argument("--ordered", action="store_true", help="t over the values in the order of their codes")
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=np.inf)
    parser.add_argument("--beta", type=float, default=np.inf)
    parser.add_argument("--sensitive", help="quasi-identifier that is the sensitive attribute instead")
    parser.add_argument("--zipf", action="store_true", help="a third as many people, chances of 1 / i")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds a method may use in one cell")
    parser.add_argument("--longest", type=float, default=40.0, help="seconds that one window may need")
    parser.add_argument("--clock", choices=CLOCKS, default="cpu", help="cpu leaves out what other processes took")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the tables")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    given.constrained = given.zipf or bool(len(criteria_of(given, 2).distinct_l))
    if given.constrained:
        given.methods = [
            name for name in given.methods if name == PLAIN or (name in METHODS and METHODS[name].engine)
        ]
    return given


def main() -> int:
    given = arguments()
    on_one_core()
    about = machine()
    print(in_words(about), f"- one core, {given.clock} time")
    if ANONYPYX in given.methods and not anonypyx.is_installed():
        print(f"!!! {anonypyx.ABSENT}", file=sys.stderr, flush=True)
    tables, missing = load_tables(given.tables, given.data)
    tables = [zipf_people(table) for table in tables] if given.zipf else tables
    tables = [guarding(table, given.sensitive) for table in tables]
    bench = Bench(given)
    warm_up(bench, tables, criteria_of(given, 5))
    print(f"{'table':10}{'window':>8}{'k':>5}  {'method':21}{'GCP':>8}{'as sets':>8}{'bound':>8}{'rows/s':>11}"
          f"{'ratio':>7}  classes of")  # fmt: skip
    results: list[Result] = []
    for table in tables:
        for size in sorted({min(size, len(table.rows)) for size in given.windows}):
            first = windows_of(table, size, False)[-1]
            bounds = lower_bounds(first, cost_model(table.attributes), given.k)
            for k in given.k:
                for one in bench.cell(table, size, criteria_of(given, k)):
                    if one["engine"] != ANONYPYX:
                        one["bound"] = round(bounds[k], 4)
                    if given.constrained and one["engine"] != PLAIN and "left_out" not in one:
                        against_none(bench, table, one)
                    results.append(one)
                    show(one)
    write_json(given.json, {"machine": about, "clock": given.clock, "missing": missing, "results": results})
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
