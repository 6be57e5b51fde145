"""How classes are published, in one run: sets of values, extra levels, and what each loss minimises.

*Sets*: categories as `values`, the numbers of Adult as `tight`, beside anonypyx's Mondrian, which does too,
on the same windows; `ratio` is GCP over anonypyx's. anonypyx is installed with the extra `benchmarks`.
*Extra levels*: what `extra_levels: n` costs in GCP, and how often the downcoding attacker's claim is right that two
children of a published node occur; `chance` is how often it would be right of as many rows put there by chance.
*Losses*: each loss as the engine's, measured by all four; the target of the classification is the table's sensitive
attribute, learned on the first window and scored on the others.
Rows per second are of one core's processor time, after compilation.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.methods import learned_book
from benchmarks.report import in_words, machine, on_one_core, write_json
from benchmarks.tables import TABLES, Table
from benchmarks.windows import class_sizes, loss_of, windows_of
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.forest.ordering.current_order import OrderBook
from stream_anon.clustering.mondrian import Mondrian
from stream_anon.clustering.partitioning import Partitioner
from stream_anon.measures.distance import prec
from stream_anon.measures.loss import classification_loss, discernibility
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.choices.engine_choice import Loss
from stream_anon.microdata.choices.label_counts import LabelCounts
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.costs.objective import objective
from stream_anon.privacy.criteria import Criteria
from stream_anon.privacy.gcp import gcp
from stream_anon.privacy.generalization import GeneralizedClasses, Generalizer, alike, generalize, raised
from tests.attacks.downcoding import claims

try:
    import pandas as pd
    from anonypyx import mondrian as anonypyx
    from anonypyx.models import kAnonymity as AnonypyxK
except ImportError:
    anonypyx = None

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MISSING = (
    "!! anonypyx IS NOT INSTALLED: its column is MISSING and no ratio is measured.\n"
    "!! Install the extra: pip install '.[benchmarks]' in a clone"
)


def as_sets(table: Table) -> Table:
    """Return the table with every category published as the set that occurs."""
    changed = tuple(
        replace(a, publication=PublishedForm.VALUES) if isinstance(a.domain, CategoricalDomain) else a
        for a in table.attributes
    )
    return replace(table, attributes=changed)


def as_nodes(table: Table) -> Table:
    """Return the table with every number published as a node."""
    changed = tuple(
        replace(a, domain=replace(a.domain, tight=False), publication=PublishedForm.NODES)
        if isinstance(a.domain, NumericDomain)
        else a
        for a in table.attributes
    )
    return replace(table, attributes=changed)


def forests(table: Table, model: CostModel, first: Columns, k: int) -> OrderBook:
    """Return a book whose order was learned on the first window; kernels are compiled afterwards."""
    book = learned_book(table, model, first, k)
    closed(Forest(model, book), first.take(slice(0, 4 * k)), k)
    return book


def closed(partitioner: Partitioner, rows: Columns, k: int) -> NDArray[np.int32]:
    """Return the class of each row."""
    partitioner.add(rows)
    return partitioner.close(rows, Criteria(k, 0.5, np.empty(0, np.int64)))


def anonypyx_classes(attributes: Sequence[QuasiIdentifier], rows: Columns, k: int) -> NDArray[np.int32]:
    """Return anonypyx's classes of a window: categories as such, numbers as numbers."""
    frame = pd.DataFrame({a.name: codes for a, codes in zip(attributes, rows.codes, strict=True)})
    for attribute in attributes:
        if isinstance(attribute.domain, CategoricalDomain):
            frame[attribute.name] = frame[attribute.name].astype("category")
    answer = np.full(len(rows), -1, np.int32)
    for number, part in enumerate(anonypyx.Mondrian(frame, list(frame.columns)).partition([AnonypyxK(k)])):
        answer[np.asarray(part)] = number
    return answer


def sets(table: Table, size: int, k: int) -> list[dict[str, Any]]:
    """Measure what sets of values lose, engine by engine."""
    table = as_sets(table)
    parts = windows_of(table, size, False)
    scored = parts[1:] or parts
    model = objective(table.attributes, Loss.NCP)
    # The same rows and order of work, but classes that are formed as if nodes were published.
    plain = replace(table, attributes=tuple(replace(a, publication=PublishedForm.NODES) for a in table.attributes))
    node_model = objective(plain.attributes, Loss.NCP)
    book, node_book = forests(table, model, parts[0], k), forests(plain, node_model, parts[0], k)
    makers = {
        "forest, for sets": lambda rows: closed(Forest(model, book), rows, k),
        "forest, for nodes": lambda rows: closed(Forest(node_model, node_book), rows, k),
        "mondrian": lambda rows: closed(Mondrian(model), rows, k),
    }
    if anonypyx is not None:
        makers["anonypyx"] = lambda rows: anonypyx_classes(table.attributes, rows, k)
    found = []
    for name, make in makers.items():
        make(scored[0].take(slice(0, 4 * k)))
        start = time.process_time()
        answers = [make(rows) for rows in scored]
        spent = time.process_time() - start
        losses = [loss_of(table, rows, answer) for rows, answer in zip(scored, answers, strict=True)]
        found.append(
            {
                "table": table.name,
                "window": size,
                "k": k,
                "engine": name,
                "gcp": float(np.mean(losses)),
                "smallest": min(int(class_sizes(*pair).min()) for pair in zip(scored, answers, strict=True)),
                "rows_per_second": sum(map(len, scored)) / spent,
            }
        )
    for one in found:
        one["ratio"] = one["gcp"] / found[-1]["gcp"] if anonypyx is not None else None
    return found


def published(
    table: Table, rows: Columns, answer: NDArray[np.int32], most: int, draws: np.random.Generator
) -> tuple[NDArray[np.int32], GeneralizedClasses]:
    """Return the classes of a window as they are published, those alike united."""
    generalizers = [Generalizer(attribute) for attribute in table.attributes]
    found = generalize(generalizers, table.attributes, rows.codes, answer, int(answer.max()) + 1)
    found = raised(generalizers, table.attributes, found, draws.integers(0, most + 1, found.low.shape))
    first, group = alike(found.labels)
    low, high, ncp = found.low[:, first], found.high[:, first], found.ncp[:, first]
    chosen = GeneralizedClasses(low, high, found.values, found.labels[:, first], ncp, found.members)
    return group[answer].astype(np.int32), chosen


def extra_levels(table: Table, size: int, k: int) -> list[dict[str, Any]]:
    """Measure what extra levels cost, and what they take from the downcoding attacker."""
    table = as_nodes(table)
    parts = windows_of(table, size, False)
    scored = parts[1:] or parts
    model = objective(table.attributes, Loss.NCP)
    book = forests(table, model, parts[0], k)
    answers = [closed(Forest(model, book), rows, k) for rows in scored]
    draws = np.random.default_rng(0)  # a benchmark's; the service draws from the operating system
    found = []
    for most in range(4):
        losses, told = [], []
        for rows, answer in zip(scored, answers, strict=True):
            classes, chosen = published(table, rows, answer, most, draws)
            losses.append(gcp(chosen.ncp, np.bincount(classes), 0))
            for j, attribute in enumerate(table.attributes):
                told += claims(attribute, chosen.low[j], chosen.high[j], rows.codes[j], classes)
        found.append(
            {
                "table": table.name,
                "window": size,
                "k": k,
                "extra_levels": most,
                "gcp": float(np.mean(losses)),
                "claims": len(told),
                "right": float(np.mean([claim.right for claim in told])),
                "chance": float(np.mean([claim.chance for claim in told])),
            }
        )
    return found


def losses(table: Table, size: int, k: int) -> list[dict[str, Any]]:
    """Measure what each loss loses by each of the four measures; nodes throughout."""
    table = as_nodes(table)
    parts = windows_of(table, size, True)
    labels = LabelCounts.of(
        parts[0].codes, parts[0].sensitive[0].astype(np.int64), [attribute.size for attribute in table.attributes]
    )
    heights = np.array([attribute.domain.height for attribute in table.attributes])
    scored = parts[1:] or parts
    found = []
    for loss in Loss:
        model = objective(table.attributes, loss, labels)
        book = forests(table, model, parts[0], k)
        spent, measured = 0.0, []
        for rows in scored:
            start = time.process_time()
            answer = closed(Forest(model, book), replace_sensitive(rows), k)
            spent += time.process_time() - start
            classes, chosen = published(table, rows, answer, 0, np.random.default_rng(0))
            sizes = np.bincount(classes)
            levels = [
                [a.level(*node) for node in zip(low, high, strict=True)]
                for a, low, high in zip(table.attributes, chosen.low.tolist(), chosen.high.tolist(), strict=True)
            ]
            measured.append(
                (
                    gcp(chosen.ncp, sizes, 0),
                    1 - prec(np.array(levels), heights, sizes, 0),
                    discernibility(sizes, 0) / (k * len(rows)),
                    classification_loss(label_counts(classes, rows.sensitive[0]), 0),
                )
            )
        columns = ("gcp", "one_minus_prec", "discernibility_over_best", "classification_loss")
        means = dict(zip(columns, np.mean(measured, axis=0).tolist(), strict=True))
        found.append({"table": table.name, "window": size, "k": k, "loss": loss.value, **means}
                     | {"rows_per_second": sum(map(len, scored)) / spent})  # fmt: skip
    return found


def label_counts(classes: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many rows of each class have each label, int64[c, m]."""
    found = np.zeros((int(classes.max()) + 1, int(labels.max()) + 1), np.int64)
    np.add.at(found, (classes, labels), 1)
    return found


def replace_sensitive(rows: Columns) -> Columns:
    """Return the rows without their sensitive values: no criterion asks for them."""
    return Columns(rows.codes, rows.individuals, rows.sensitive[:0])


def show(found: list[dict[str, Any]]) -> None:
    """Print results as a table, a column a key."""
    print("  ".join(f"{key:>12}" for key in found[0]))
    for one in found:
        cells = (
            "-"
            if value is None
            else f"{value:,.0f}"
            if key == "rows_per_second"
            else f"{value:.4f}"
            if isinstance(value, float)
            else str(value)
            for key, value in one.items()
        )
        print("  ".join(f"{cell:>{max(12, len(key))}}" for key, cell in zip(one, cells, strict=True)), flush=True)


def first_rows(table: Table, count: int | None) -> Table:
    return Table(table.name, table.attributes, table.rows.take(slice(0, count)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["adult"], choices=list(TABLES))
    parser.add_argument("--windows", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--rows", type=int, help="only the first ones of each table")
    parser.add_argument("--parts", nargs="+", default=["sets", "extra-levels", "losses"])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the tables")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    given = parser.parse_args()
    on_one_core()
    about = machine()
    print(in_words(about), "- one core")
    if anonypyx is None and "sets" in given.parts:
        print(MISSING, file=sys.stderr)
    results: dict[str, list[dict[str, Any]]] = {}
    for name, measure in (("sets", sets), ("extra-levels", extra_levels), ("losses", losses)):
        if name not in given.parts:
            continue
        print(f"\n{name}")
        for table in given.tables:
            for size in given.windows:
                found = measure(first_rows(TABLES[table](given.data), given.rows), size, given.k)
                show(found)
                results.setdefault(name, []).extend(found)
    write_json(given.json, {"machine": about, "results": results})
    if anonypyx is None and "sets" in given.parts:
        print(MISSING, file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
