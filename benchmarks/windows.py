"""A table as windows, and who its rows belong to."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import TABLES, Table
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.gcp import gcp
from stream_anon.privacy.generalization import Generalizer, generalize

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def load_tables(names: Iterable[str], data: Path) -> tuple[list[Table], list[str]]:
    """Return the tables, and the names of those whose files are missing, which is said loudly."""
    found, missing = [], []
    for name in names:
        try:
            found.append(TABLES[name](data))
        except FileNotFoundError as absent:
            missing.append(name)
            print(f"!!! TABLE MISSING: {name} is left out of everything below: no file {absent.filename}",
                  file=sys.stderr, flush=True)  # fmt: skip
    return found, missing


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


def loss_of(table: Table, rows: Columns, classes: NDArray[np.int32]) -> float:
    """Return the GCP of a window as it would be published."""
    count = int(classes.max(initial=-1)) + 1
    if not count:
        return 1.0
    found = generalize([Generalizer(a) for a in table.attributes], table.attributes, rows.codes, classes, count)
    sizes = np.bincount(classes[classes >= 0], minlength=count)
    return float(gcp(found.ncp, sizes, int((classes < 0).sum())) or 0.0)


def class_sizes(rows: Columns, classes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the number of individuals in each class, counted anew."""
    placed = classes >= 0
    pairs = np.unique((classes[placed].astype(np.int64) << 32) | rows.individuals[placed])
    return np.bincount(pairs >> 32)
