"""Windows that are slow to close: policies times shapes, time a row against a plain window of the same size.

    python benchmarks/worst_cases.py [--windows ...] [--policies ...] [--shapes ...] [--repeats N] [--json FILE]

Whoever writes records can choose their values, so no window may take the service's time: a plain window has k = 10
and nothing else. Printed for each case: the median and the spread of the microseconds of CPU a row from the first
row to the classes, the same as a multiple of the plain window's, how the time grows as a power of the rows since
the window before (1.0 is linear), GCP, and how many classes there are. `!!!` marks more than 50 times and, from a
second of CPU on, a power above 1.35. Learning the order is left out. What would need more than `--longest`, judged
by a smaller window, is left out as well, and said so.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.methods import Setting, learned_book
from benchmarks.report import in_words, machine, on_one_core, write_json
from benchmarks.tables import Table, made_up
from benchmarks.windows import loss_of
from stream_anon.clustering.forest.forest import Forest
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.cost import cost_model
from stream_anon.privacy.criteria import Criteria, Spread

K, ATTRIBUTES, MOST_ROWS = 10, 6, 100_000
MOST, STEEPEST = 50.0, 1.35
_SURE = 1.0  # seconds from which a power says more about the engine than about the clock
_FREE = np.empty(0, np.int64)

Values = Callable[[int, np.random.Generator], NDArray[np.int32]]
Cases = dict[tuple[str, str], tuple[Columns, Criteria]]


@cache
def _people() -> Table:
    return made_up(MOST_ROWS, ATTRIBUTES)


def _codes(n: int) -> NDArray[np.int32]:
    return np.ascontiguousarray(_people().rows.codes[:, :n])


def _heavy(share: float) -> Values:
    """Return a column in which one value has this share and the others occur once each."""

    def values(n: int, draws: np.random.Generator) -> NDArray[np.int32]:
        count = int(share * n)
        column = np.concatenate([np.zeros(count, np.int32), np.arange(1, n - count + 1, dtype=np.int32)])
        return draws.permutation(column)

    return values


def _skewed(n: int, draws: np.random.Generator) -> NDArray[np.int32]:
    """Return values of which the i-th has a chance of 1 / i, at most a hundred of them."""
    chance = 1 / np.arange(1, 101)
    return draws.choice(100, n, p=chance / chance.sum()).astype(np.int32)


def _rare(n: int, draws: np.random.Generator) -> NDArray[np.int32]:
    """Return two values, the rarer one in a thirtieth of the rows: no class of 10 rows has its share of it."""
    return (draws.random(n) < 1 / 30).astype(np.int32)


def _even(n: int, draws: np.random.Generator) -> NDArray[np.int32]:
    return draws.integers(0, 8, n).astype(np.int32)


def _by_place(n: int, _draws: np.random.Generator) -> NDArray[np.int32]:
    """Return values that follow a quasi-identifier: near rows hold the same one."""
    return (_codes(n)[0] % 4).astype(np.int32)


VALUES: Mapping[str, Values] = {
    "even": _even,
    "skewed": _skewed,
    "rare": _rare,
    "by place": _by_place,
    "heavy": _heavy(0.499),
    "heavier": _heavy(0.6),
    "distinct": _heavy(0.0),
}


def each_once(n: int, _draws: np.random.Generator) -> NDArray[np.int32]:
    """Return people with a record each."""
    return np.arange(n, dtype=np.int32)


def one_heavy(n: int, draws: np.random.Generator) -> NDArray[np.int32]:
    """Return people of whom one owns 40 % of the rows, all others one row."""
    return _heavy(0.4)(n, draws)


def some_heavy(n: int, draws: np.random.Generator) -> NDArray[np.int32]:
    """Return a third as many people as rows, the i-th with a chance of 1 / i."""
    chance = 1 / np.arange(1, n // 3 + 2)
    people = draws.choice(len(chance), n, p=chance / chance.sum())
    return np.unique(people, return_inverse=True)[1].astype(np.int32)


def pairs(n: int, draws: np.random.Generator) -> NDArray[np.int32]:
    """Return people with two rows each."""
    return draws.permutation(np.repeat(np.arange((n + 1) // 2, dtype=np.int32), 2)[:n])


PEOPLE = {"each once": each_once, "one with 40 %": one_heavy, "some heavy": some_heavy, "pairs": pairs}


def criteria(*asked: Spread, least: int = 0, k: int = K) -> Criteria:
    """Return k and what is asked of each sensitive attribute, as a policy would imply it."""
    values = [
        max(
            least,
            math.ceil(one.entropy_l) if one.entropy_l > 1 else 0,
            one.l if one.c < np.inf else 0,
            math.ceil(1 / one.alpha) if one.alpha < 1 else 0,
        )
        for one in asked
    ]
    return Criteria(k, 0.5, np.array(values, np.int64), asked)


POLICIES: Mapping[str, Criteria] = {
    "alpha 0.5": criteria(Spread(alpha=0.5)),
    "t 0.2": criteria(Spread(t=0.2)),
    "t 0.05": criteria(Spread(t=0.05)),
    "t 0.2 ordered": criteria(Spread(t=0.2, ordered=True)),
    "t 0.01 ordered": criteria(Spread(t=0.01, ordered=True)),
    "distinct 5": criteria(Spread(), least=5),
    "entropy 4": criteria(Spread(entropy_l=4.0)),
    "(2, 3)": criteria(Spread(c=2.0, l=3)),
    "(0.5, 2)": criteria(Spread(c=0.5, l=2)),
    "alpha and t": criteria(Spread(alpha=0.5, t=0.3)),
}


def _window(n: int, values: tuple[Values, ...], people: str = "each once", *, equal: bool = False) -> Columns:
    draws = np.random.default_rng(11)
    codes = _codes(n)
    if equal:
        codes = np.repeat(codes[:, :1], n, axis=1)
    columns = [np.unique(make(n, draws), return_inverse=True)[1].astype(np.int32) for make in values]
    return Columns(codes, PEOPLE[people](n, draws), np.array(columns, np.int32).reshape(len(columns), n))


def cases(n: int) -> Cases:
    """Return every case, by the names of its policy and its shape."""
    found: Cases = {}
    plain = Criteria(K, 0.5, _FREE)
    found["k 10", "each once"] = _window(n, ()), plain
    found["k 10", "all rows equal"] = _window(n, (), equal=True), plain
    found["k half of n", "each once"] = _window(n, ()), Criteria(n // 2, 0.5, _FREE)
    found["k tenth of n", "each once"] = _window(n, ()), Criteria(n // 10, 0.5, _FREE)
    for people in PEOPLE:
        if people != "each once":
            found["k 10", people] = _window(n, (), people), plain
    found["k half of n", "pairs"] = _window(n, (), "pairs"), Criteria(n // 4, 0.5, _FREE)
    for policy, asked in POLICIES.items():
        for shape, values in VALUES.items():
            found[policy, shape] = _window(n, (values,)), asked
        found[policy, "even, all rows equal"] = _window(n, (_even,), equal=True), asked
        found[policy, "heavy, all rows equal"] = _window(n, (_heavy(0.499),), equal=True), asked
        found[policy, "even, one with 40 %"] = _window(n, (_even,), "one with 40 %"), asked
        found[policy, "heavy, one with 40 %"] = _window(n, (_heavy(0.499),), "one with 40 %"), asked
        found[policy, "distinct, pairs"] = _window(n, (_heavy(0.0),), "pairs"), asked
    both = criteria(Spread(alpha=0.5), Spread(t=0.2))
    found["alpha 0.5 + t 0.2", "heavy + even"] = _window(n, (_heavy(0.499), _even)), both
    found["alpha 0.5 + t 0.2", "heavy + distinct"] = _window(n, (_heavy(0.499), _heavy(0.0))), both
    twice = criteria(Spread(alpha=0.5), Spread(alpha=0.5))
    found["alpha 0.5 twice", "heavy + heavy"] = _window(n, (_heavy(0.499), _heavy(0.499))), twice
    half = criteria(Spread(alpha=0.5), k=n // 2)
    found["alpha 0.5, k half of n", "heavy"] = _window(n, (_heavy(0.499),)), half
    return found


def setting_for(n: int, rows: Columns, asked: Criteria) -> Setting:
    """Return a setting whose order was learned from ordinary rows, as in a running service."""
    ordinary = Columns(_codes(n), np.arange(n, dtype=np.int32), np.empty((0, n), np.int32))
    table = Table("generated", _people().attributes, rows)
    model = cost_model(table.attributes)
    return Setting(table, model, learned_book(table, model, ordinary, K), asked)


def measure(setting: Setting, repeats: int) -> dict[str, Any]:
    """Return seconds of CPU from the first row to the classes, GCP, and the number of classes."""
    rows = setting.table.rows
    seconds = []
    classes = np.empty(0, np.int32)
    for _ in range(repeats):
        partitioner = Forest(setting.model, setting.book)
        start = process_time()
        partitioner.add(rows)
        classes = partitioner.close(rows, setting.criteria)
        seconds.append(process_time() - start)
    return {
        "seconds": statistics.median(seconds),
        "spread": [min(seconds), max(seconds)],
        "gcp": round(loss_of(setting.table, rows, classes), 4),
        "classes": int(classes.max(initial=-1)) + 1,
    }


def show(one: dict[str, Any]) -> None:
    """Print a line of the table."""
    start = f"{one['rows']:>7,}  {one['policy']:24}{one['shape']:24}"
    if "left_out" in one:
        print(f"{start}{one['left_out']}", flush=True)
        return
    each = [f"{1e6 * s / one['rows']:>9.2f}" for s in (one["seconds"], *one["spread"])]
    power = one.get("power", "-")
    bad = one["ratio"] > MOST or (one["seconds"] > _SURE and one.get("power", 0.0) > STEEPEST)
    print(f"{start}{''.join(each)}{one['ratio']:>8.1f}{power:>7}{one['gcp']:>8.4f}{one['classes']:>7}"
          f"{'  !!!' if bad else ''}", flush=True)  # fmt: skip


def chosen(table: Cases, given: argparse.Namespace) -> Cases:
    """Return the cases of the policies and shapes that were asked for."""
    policies = given.policies or [policy for policy, _ in table]
    shapes = given.shapes or [shape for _, shape in table]
    return {name: case for name, case in table.items() if name[0] in policies and name[1] in shapes}


def run(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Print and return all cases."""
    before: dict[tuple[str, str], dict[str, Any]] = {}
    results = []
    for n in sorted(given.windows):
        table = cases(n)
        rows, asked = table["k 10", "each once"]
        setting = setting_for(n, rows, asked)
        plain = measure(setting, max(given.repeats, 3))["seconds"]
        for (policy, shape), (rows, asked) in chosen(table, given).items():
            one: dict[str, Any] = {"rows": n, "policy": policy, "shape": shape}
            last = before.get((policy, shape))
            if last is not None and ("left_out" in last or last["seconds"] * n / last["rows"] > given.longest):
                one["left_out"] = f"left out: more than {given.longest:g} s"
            else:
                here = Table(setting.table.name, setting.table.attributes, rows)
                one |= measure(Setting(here, setting.model, setting.book, asked), given.repeats)
                one["ratio"] = round(one["seconds"] / plain, 2)
                if last is not None and last["rows"] < n:
                    grown = math.log(max(one["seconds"], 1e-6) / max(last["seconds"], 1e-6))
                    one["power"] = round(grown / math.log(n / last["rows"]), 2)
            before[policy, shape] = one
            results.append(one)
            show(one)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, nargs="+", default=[5_000, 20_000, 40_000])
    parser.add_argument("--policies", nargs="+", help="names as in the table; all if not said")
    parser.add_argument("--shapes", nargs="+")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--longest", type=float, default=20.0, help="seconds of CPU that one run may need")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    on_one_core()
    about = machine()
    print(in_words(about), "- CPU time of one core, microseconds a row")
    for rows, asked in chosen(cases(200), given).values():  # compiles
        measure(setting_for(200, rows, asked), 1)
    print(f"{'rows':>7}  {'policy':24}{'shape':24}{'median':>9}{'least':>9}{'most':>9}{'times':>8}{'power':>7}"
          f"{'GCP':>8}{'classes':>7}")  # fmt: skip
    results = run(given)
    write_json(given.json, {"machine": about, "results": results})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
