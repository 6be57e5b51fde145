"""How cost and loss grow with the window, the number of quasi-identifiers and k.

    python benchmarks/growth.py [--over window qi k] [--methods ...] [--most-rows N] [--json FILE]

One of the three grows, the others stay at windows of 10,000, 8 quasi-identifiers and k = 10; the table is made up.
Printed: microseconds of CPU a row from the first row to the classes, GCP, and how the time of the whole grows as a
power of what grows (1.0 is linear) since the line before. Learning the order is measured apart. For the forest the
shares of its stages follow, so that a cliff has a name: `!!!` marks more than 1.35 over rows.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.methods import METHODS, Setting, learned_book
from benchmarks.report import in_words, machine, write_json
from benchmarks.tables import Table, made_up
from benchmarks.windows import loss_of
from stream_anon.clustering.forest import forest as stages
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.cost import cost_model
from stream_anon.privacy.criteria import Criteria

ROWS, ATTRIBUTES, K = 10_000, 8, 10
GRID: dict[str, list[int]] = {
    "window": [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
    "qi": [2, 4, 8, 12, 16, 20, 25, 30],
    "k": [2, 5, 10, 20, 50, 100, 200, 500],
}
STAGES = (
    "lay_line", "following_of", "cut", "refined_in_rounds", "groups_of", "lines_of", "repaired", "peeled",
    "split_large", "refined", "swap_pass", "side_by_side",
)  # fmt: skip
CLIFF = 1.35


@contextmanager
def timed_stages() -> Iterator[Counter[str]]:
    """Count the seconds of each of the forest's stages while the context lasts."""
    spent: Counter[str] = Counter()
    plain = {name: getattr(stages, name) for name in STAGES}

    def timed(name: str, stage: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **more: Any) -> Any:
            start = process_time()
            answer = stage(*arguments, **more)
            spent[name] += process_time() - start
            return answer

        return run

    for name, stage in plain.items():
        setattr(stages, name, timed(name, stage))
    try:
        yield spent
    finally:
        for name, stage in plain.items():
            setattr(stages, name, stage)


def setting_of(rows: int, attributes: int, k: int) -> tuple[Setting, float]:
    """Return a window with a learned order, and the seconds of CPU that learning took."""
    table = made_up(rows, attributes)
    columns = Columns(table.rows.codes, table.rows.individuals, np.empty((0, rows), np.int32))
    table = Table(table.name, table.attributes, columns)
    model = cost_model(table.attributes)
    start = process_time()
    book = learned_book(table, model, columns, k)
    return Setting(table, model, book, Criteria(k, 0.5, np.empty(0, np.int64))), process_time() - start


def measure(name: str, setting: Setting, repeats: int) -> dict[str, Any]:
    """Return the least CPU time of a few runs, and the loss."""
    rows, least = setting.table.rows, math.inf
    shares: Counter[str] = Counter()
    for _ in range(repeats):
        with timed_stages() as spent:
            start = process_time()
            answer = METHODS[name].classes(setting, rows)
            took = process_time() - start
        if took < least:
            least, shares = took, spent
    return {
        "engine": name,
        "microseconds_per_row": round(1e6 * least / len(rows), 3),
        "seconds": least,
        "gcp": round(loss_of(setting.table, rows, answer), 4),
        "stages": {stage: round(seconds / least, 3) for stage, seconds in shares.most_common(5)} if least else {},
    }


def sweep(over: str, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Print and return how methods grow over one of the three."""
    found: list[dict[str, Any]] = []
    before: dict[str, tuple[int, float]] = {}
    for size in (size for size in GRID[over] if over != "window" or size <= given.most_rows):
        shape = {"window": ROWS, "qi": ATTRIBUTES, "k": K, over: size}
        setting, learning = setting_of(shape["window"], shape["qi"], shape["k"])
        for name in given.methods:
            if name in before:
                last, seconds = before[name]
                power = METHODS[name].growth if over == "window" else 1.0
                if seconds * (size / last) ** power > given.longest:
                    print(f"{over:7}{size:>10,}  {name:12}left out: it would take too long", flush=True)
                    continue
            one = measure(name, setting, 3 if shape["window"] <= 30_000 else 1)
            one |= {"over": over, "size": size, "learning_seconds": round(learning, 3)}
            if name in before:
                last, seconds = before[name]
                one["power"] = round(math.log(max(one["seconds"], 1e-6) / seconds) / math.log(size / last), 2)
            before[name] = size, max(one["seconds"], 1e-6)
            cliff = "  !!!" if over == "window" and one.get("power", 0) > CLIFF else ""
            parts = ", ".join(f"{stage} {share:.0%}" for stage, share in one["stages"].items())
            print(f"{over:7}{size:>10,}  {name:12}{one['microseconds_per_row']:>9.2f}{one['gcp']:>8.4f}"
                  f"{one.get('power', '-'):>7}{cliff}  {parts}", flush=True)  # fmt: skip
            found.append(one)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--over", nargs="+", default=list(GRID), choices=list(GRID))
    parser.add_argument("--methods", nargs="+", default=["forest", "mondrian", "k-forest"], choices=list(METHODS))
    parser.add_argument("--most-rows", type=int, default=1_000_000)
    parser.add_argument("--longest", type=float, default=20.0, help="seconds of CPU that one run may need")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    about = machine()
    print(in_words(about), "- CPU time of one thread")
    warm, _ = setting_of(300, 4, 5)
    for name in given.methods:
        METHODS[name].classes(warm, warm.table.rows)
    print(f"{'over':7}{'size':>10}  {'method':12}{'us/row':>9}{'GCP':>8}{'power':>7}  stages of the forest")
    results = [one for over in given.over for one in sweep(over, given)]
    write_json(given.json, {"machine": about, "results": results})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
