"""How far from the best possible: the engines on windows of some hundred rows, beside a bound and the best known.

    python benchmarks/gap.py [--tables adult] [--windows 300] [--k 10] [--count 1] [--seconds 300] [--json FILE]

`bound` is the linear bound of `baselines/linear_bound.py`: no partition of the window loses less. `best known` is
what `baselines/annealed.py` and then `baselines/best_known.py` make of the best of all engines, each in half of
`--seconds`. The optimum lies between the two. Each engine's GCP follows, and how much it is above both. A window of
300 rows takes some minutes. The bound of one of 1,000 takes hours: `--searches 0` leaves it out. Everybody has one
row. Needs the extra `benchmarks`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.baselines.annealed import annealed
from benchmarks.baselines.best_known import best_known
from benchmarks.baselines.linear_bound import Rows, Window, linear_bound, window_of
from benchmarks.methods import METHODS, Setting, learned_book
from benchmarks.report import in_words, machine, write_json
from benchmarks.tables import TABLES, Table
from benchmarks.windows import DATA, each_once, load_tables, windows_of
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.cost import cost_model
from stream_anon.privacy.criteria import Criteria

ENGINES = ("forest", "forest, 2 rounds", "forest, 3 rounds", "k-forest", "mondrian, least loss")
DRAWN = "forest, drawn costs"
DRAWS = 100  # partitions by costs that are drawn anew: classes for the program to begin with
LEARNED_ON = 10_000


def partitions(setting: Setting, rows: Columns, order: Rows) -> dict[str, list[list[Rows]]]:
    """Return the partitions of each engine: the rows of each class, numbered as `order` has them."""
    place = np.argsort(order)
    found: dict[str, list[list[Rows]]] = {}
    for name in (*ENGINES, *(DRAWN,) * DRAWS):
        classes = METHODS[name].classes(setting, rows)
        found.setdefault(name, []).append([np.sort(place[classes == c]) for c in range(int(classes.max()) + 1)])
    return found


def measure(table: Table, rows: Columns, setting: Setting, seconds: float, searches: int) -> dict[str, Any]:
    """Return GCP and bounds of a window."""
    k = setting.criteria.k
    order, window = window_of(Table(table.name, table.attributes, rows), k)
    cells = len(order) * len(table.attributes)
    found = partitions(setting, rows, order)
    losses = {name: float(np.mean([_loss(window, one) for one in many])) / cells for name, many in found.items()}
    released = [one for many in found.values() for one in many]
    begun = perf_counter()

    def tell(searches: int, program: float, least: float) -> None:
        words = f"\r  {searches} searches: bound {least / cells:.4f}, program {program / cells:.4f}"
        print(words, end="", file=sys.stderr)

    bound = linear_bound(window, [members for one in released for members in one], searches=searches, tell=tell)
    print(file=sys.stderr)
    whole = [one for one in released if sum(map(len, one)) == len(order)]
    codes = np.ascontiguousarray(rows.codes.T[order])
    best = annealed(codes, min(whole, key=window.loss), k, setting.model, seconds / 2)
    best = best_known(window, best, seconds / 2)
    return {
        "table": table.name,
        "rows": len(order),
        "k": k,
        "bound": bound.least / cells,
        "program": bound.program / cells,
        "best_known": window.loss(best) / cells,
        "best_size": len(order) / len(best),
        "sizes": {name: len(order) / float(np.mean(list(map(len, many)))) for name, many in found.items()},
        "nearest": float(window.floor.mean()) / len(table.attributes),
        "searches": bound.searches,
        "seconds": perf_counter() - begun,
        "engines": losses,
    }


def _loss(window: Window, classes: list[Rows]) -> float:
    """Return what a partition loses; what it leaves out is suppressed."""
    return window.loss(classes) + window.suppressed * (len(window.floor) - sum(map(len, classes)))


def show(one: dict[str, Any]) -> None:
    """Print what was found of a window."""
    bound, best = max(one["bound"], one["nearest"]), one["best_known"]
    print(f"{one['table']}, {one['rows']} rows, k {one['k']}")
    print(f"  bound {bound:.4f}; by nearest others {one['nearest']:.4f}")
    print(f"  best known {best:.4f}, {best / bound - 1:.1%} above the bound; "
          f"classes have {one['best_size']:.1f} rows on average")  # fmt: skip
    print(f"  {'engine':22}{'GCP':>8}{'above the bound':>18}{'the best known':>17}{'rows a class':>15}")
    for name, loss in one["engines"].items():
        size = one["sizes"][name]
        print(f"  {name:22}{loss:8.4f}{loss / bound - 1:18.1%}{loss / best - 1:17.1%}{size:15.1f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="where the real tables are")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=["adult"])
    parser.add_argument("--windows", type=int, nargs="+", default=[300], help="rows of a window")
    parser.add_argument("--k", type=int, nargs="+", default=[10])
    parser.add_argument("--count", type=int, default=1, help="windows of each kind")
    parser.add_argument("--seconds", type=float, default=300, help="for the best known partition of a window")
    parser.add_argument("--searches", type=int, default=400, help="for the bound of a window, at most")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    about = machine()
    print(in_words(about))
    tables, missing = load_tables(given.tables, given.data)
    results = []
    for table in map(each_once, tables):
        model = cost_model(table.attributes)
        for k in given.k:
            book = learned_book(table, model, windows_of(table, LEARNED_ON, diverse=False)[0], k)
            setting = Setting(table, model, book, Criteria(k, 1.0, np.empty(0, np.int64)))
            for size in given.windows:
                for rows in windows_of(table, size, diverse=False)[-given.count - 1 : -1]:
                    one = measure(table, rows, setting, given.seconds, given.searches)
                    results.append(one)
                    show(one)
    write_json(given.json, {"machine": about, "results": results})
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
