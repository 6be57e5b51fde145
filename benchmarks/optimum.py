"""How far from the optimum: every engine against the best of all partitions of small windows.

    python benchmarks/optimum.py [--tables N] [--k 2 3] [--rows 12] [--json FILE]

The optimum comes from a dynamic program over all sets of rows: 12 rows have 4,096. Windows are drawn at random,
several kinds of them. Printed for each kind and method: the mean and the worst ratio of its loss to the optimum,
over windows where the optimum loses anything, and how many of them it met exactly. No method may stay below 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.methods import METHODS, Setting
from benchmarks.report import write_json
from benchmarks.tables import Table
from stream_anon.clustering.forest.ordering.current_order import OrderBook
from stream_anon.compiled import kernel
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model, interval_cost
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.criteria import Criteria

MOST_ROWS = 14
_ROUNDING = 1e-6
Draw = Callable[[np.random.Generator, int], NDArray[np.int32]]


@kernel
def set_losses(codes: NDArray[np.int32], model: CostModel) -> NDArray[np.float64]:
    """Return rows x cost of each set of rows of codes int32[n, q], a bit a row; float64[2^n], O(2^n n q)."""
    n, q = codes.shape
    answer = np.zeros(1 << n)
    for chosen in range(1, 1 << n):
        rows = 0
        total = 0.0
        for j in range(q):
            low = 2**30
            high = -1
            for i in range(n):
                if chosen >> i & 1:
                    low = min(low, codes[i, j])
                    high = max(high, codes[i, j])
                    rows += j == 0
            total += interval_cost(model, j, low, high)
        answer[chosen] = total * rows
    return answer


@kernel
def _least_loss(losses: NDArray[np.float64], n: int, k: int) -> float:
    """Return the least sum over partitions into sets of k rows and more; O(3^n)."""
    best = np.full(1 << n, np.inf)
    best[0] = 0.0
    for chosen in range(1, 1 << n):
        lowest = chosen & -chosen
        rest = chosen ^ lowest
        part = rest
        while True:
            own = part | lowest
            rows = 0
            for i in range(n):
                rows += own >> i & 1
            # Two halves never lose more than the whole, so that no set needs 2k rows.
            if k <= rows < 2 * k:
                best[chosen] = min(best[chosen], losses[own] + best[chosen ^ own])
            if part == 0:
                break
            part = (part - 1) & rest
    return float(best[-1])


def least_loss(codes: NDArray[np.int32], model: CostModel, k: int) -> float:
    """Return the least loss of all k-anonymous partitions of rows of codes int32[n, q], n >= k; O(3^n)."""
    n = len(codes)
    if not k <= n <= MOST_ROWS:
        raise ValueError(f"a window must have {k} to {MOST_ROWS} rows")
    return _least_loss(set_losses(codes, model), n, k)


def loss_of_classes(codes: NDArray[np.int32], model: CostModel, classes: NDArray[np.int32]) -> float:
    """Return the loss of a partition of rows of codes int32[n, q]."""
    total = 0.0
    for number in range(int(classes.max()) + 1):
        rows = codes[classes == number]
        low, high = rows.min(axis=0).tolist(), rows.max(axis=0).tolist()
        total += len(rows) * sum(interval_cost(model, j, low[j], high[j]) for j in range(codes.shape[1]))
    return total


_TREE = CategoricalDomain(balanced([str(i) for i in range(27)], 3))
_RAGGED = CategoricalDomain(Hierarchy.from_tree({"g": {"h": ["a", "b"], "i": ["c"]}, "j": ["d", "e"], "f": None}))
_YES_NO = CategoricalDomain(Hierarchy.flat(["no", "yes"]))
_NUMBER = NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, tight=True)


def _uniform(*sizes: int) -> Draw:
    return lambda draws, n: draws.integers(0, sizes, (n, len(sizes))).astype(np.int32)


def _clumps(draws: np.random.Generator, n: int) -> NDArray[np.int32]:
    """Three clumps of unequal size."""
    centre = draws.integers(10, 90, (3, 2))[draws.choice(3, n, p=[0.5, 0.3, 0.2])]
    numbers = np.clip(np.rint(draws.normal(centre, 6)), 0, 99)
    return np.column_stack([numbers, draws.integers(0, 27, n)]).astype(np.int32)


def _again(draws: np.random.Generator, n: int) -> NDArray[np.int32]:
    """Rows of which most are there several times."""
    return draws.integers(0, (27, 100, 6), (max(n // 2, 1), 3)).astype(np.int32)[
        draws.integers(0, max(n // 2, 1), n)
    ]


KINDS: Mapping[str, tuple[tuple[CategoricalDomain | NumericDomain, ...], Draw]] = {
    "one number": ((_NUMBER,), _uniform(100)),
    "two numbers": ((_NUMBER, _NUMBER), _uniform(100, 100)),
    "clumps": ((_NUMBER, _NUMBER, _TREE), _clumps),
    "categories": ((_TREE, _RAGGED, _TREE), _uniform(27, 6, 27)),
    "repeated rows": ((_TREE, _NUMBER, _RAGGED), _again),
    "8 x yes or no": ((_YES_NO,) * 8, _uniform(*(2,) * 8)),
}


def window(kind: str, draws: np.random.Generator, rows: int) -> Table:
    """Return a random window of a kind, everybody with one row."""
    domains, draw = KINDS[kind]
    attributes = tuple(QuasiIdentifier(f"a{j}", domain) for j, domain in enumerate(domains))
    codes = np.ascontiguousarray(draw(draws, rows).T)
    return Table(kind, attributes, Columns(codes, np.arange(rows, dtype=np.int32), np.empty((0, rows), np.int32)))


def ratios(kind: str, k: int, tables: int, rows: int) -> dict[str, list[float]]:
    """Return the ratios of all methods on `tables` windows of up to `rows` rows whose optimum loses anything."""
    draws = np.random.default_rng([k, sum(map(ord, kind))])
    found: dict[str, list[float]] = {name: [] for name in METHODS if not METHODS[name].as_sets}
    for _ in range(tables):
        table = window(kind, draws, int(draws.integers(2 * k, rows + 1)))
        model = cost_model(table.attributes)
        codes = np.ascontiguousarray(table.rows.codes.T)
        optimum = least_loss(codes, model, k)
        setting = Setting(
            table, model, OrderBook(table.attributes, model, 0), Criteria(k, 1.0, np.empty(0, np.int64))
        )
        for name, own in found.items():
            loss = loss_of_classes(codes, model, METHODS[name].classes(setting, table.rows))
            assert loss >= optimum - _ROUNDING, f"{name} loses less than the optimum"
            if optimum > _ROUNDING:
                own.append(loss / optimum)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100, help="windows of each kind")
    parser.add_argument("--k", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--rows", type=int, default=12, help=f"at most {MOST_ROWS}")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    results: list[dict[str, Any]] = []
    print(f"{'kind':15}{'k':>3}  {'method':22}{'mean':>7}{'worst':>7}{'optimal':>9}")
    pooled: dict[tuple[int, str], list[float]] = {}
    for k in given.k:
        for kind in [*KINDS, "all"]:
            all_of = {name: own for (at, name), own in pooled.items() if at == k}
            found = all_of if kind == "all" else ratios(kind, k, given.tables, given.rows)
            for name, own in found.items():
                if kind != "all":
                    pooled.setdefault((k, name), []).extend(own)
                one = {
                    "kind": kind,
                    "k": k,
                    "engine": name,
                    "windows": len(own),
                    "mean": round(float(np.mean(own)), 4),
                    "worst": round(max(own), 4),
                    "optimal": round(sum(ratio < 1 + _ROUNDING for ratio in own) / len(own), 3),
                }
                results.append(one)
                print(f"{kind:15}{k:>3}  {name:22}{one['mean']:>7.3f}{one['worst']:>7.2f}{one['optimal']:>9.0%}")
    write_json(given.json, {"rows": given.rows, "results": results})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
