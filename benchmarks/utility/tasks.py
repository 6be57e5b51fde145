"""What is to be learned: tables with a label, split into records to release and records to test on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import Table, adult, made_up, taxi
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

MOST_ROWS = 3_000  # to release
MOST_TESTED = 4_000
_AGES = (Decimal(5), Decimal(10), Decimal(20))


@dataclass(frozen=True)
class Task:
    """A table and the label that classifiers shall say.

    Parameters
    ----------
    codes
        int32[q, n], of the quasi-identifiers.
    labels
        int64[n], dense.
    """

    name: str
    attributes: tuple[QuasiIdentifier, ...]
    codes: NDArray[np.int32]
    labels: NDArray[np.int64]

    def split(self, seed: int, most: int = MOST_ROWS) -> tuple[Task, Task]:
        """Return records to release and others to test on: half and half, or two to one of fewer than 10,000."""
        order = np.random.default_rng(seed).permutation(len(self.labels))
        released = min(most, len(order) * (2 if len(order) < 10_000 else 1) // (3 if len(order) < 10_000 else 2))
        return self._of(order[:released]), self._of(order[released : released + MOST_TESTED])

    def _of(self, rows: NDArray[np.int64]) -> Task:
        return replace(self, codes=np.ascontiguousarray(self.codes[:, rows]), labels=self.labels[rows])


def adult_salary(data: Path) -> Task:
    """Return the Adult census: 8 quasi-identifiers say whether the salary exceeds 50,000."""
    table = adult(data)
    ages = NumericDomain(Decimal(17), Decimal(90), Decimal(1), 0, _AGES)
    own = [
        replace(a, domain=ages, publication=PublishedForm.NODES) if a.name == "age" else a for a in table.attributes
    ]
    return Task("adult", tuple(own), table.rows.codes, table.rows.sensitive[0].astype(np.int64))


def taxi_colour(data: Path) -> Task:
    """Return taxi rides: where from and to, hour, distance and fare say whether the taxi is yellow or green."""
    table = taxi(data)
    return _picked("taxi colour", table, ("pickup_zone", "dropoff_zone", "hour", "distance", "fare"), "color")


def taxi_fare(data: Path) -> Task:
    """Return taxi rides: where from and to, day, hour and passengers say if the fare exceeds the median."""
    table = taxi(data)
    task = _picked("taxi fare", table, ("pickup_zone", "dropoff_zone", "day", "hour", "passengers"), "fare")
    return replace(task, labels=(task.labels > np.median(task.labels)).astype(np.int64))


def made_up_kinds(_data: Path) -> Task:
    """Return 9,000 made-up people of eight kinds; 6 quasi-identifiers of 2 to 40 values say which kind."""
    table = made_up(9_000, 6)
    return Task("made-up", table.attributes, table.rows.codes, table.rows.sensitive[0].astype(np.int64))


def digits(_data: Path) -> Task:
    """Return handwritten digits, which scikit-learn brings: the 6 pixels that vary most say which digit."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    chosen = np.sort(np.argsort(pixels.var(axis=0))[-6:])
    grey = NumericDomain(Decimal(0), Decimal(16), Decimal(1), 0, (Decimal(2), Decimal(4), Decimal(8)))
    attributes = tuple(QuasiIdentifier(f"pixel{place}", grey) for place in chosen.tolist())
    return Task("digits", attributes, pixels[:, chosen].T.astype(np.int32), labels.astype(np.int64))


TASKS: Mapping[str, Callable[[Path], Task]] = {
    "adult": adult_salary,
    "taxi colour": taxi_colour,
    "taxi fare": taxi_fare,
    "made-up": made_up_kinds,
    "digits": digits,
}
HELD_OUT = "digits"
"""Nobody looked at it before the proposed measure was chosen."""


def columns_of(task: Task) -> Columns:
    """Return the rows for an engine, each another person's."""
    n = len(task.labels)
    return Columns(task.codes, np.arange(n, dtype=np.int32), np.empty((0, n), np.int32))


def _picked(name: str, table: Table, attributes: tuple[str, ...], label: str) -> Task:
    places = {own.name: place for place, own in enumerate(table.attributes)}
    chosen = [places[each] for each in attributes]
    labels = table.rows.codes[places[label]].astype(np.int64)
    own = tuple(table.attributes[place] for place in chosen)
    return Task(name, own, np.ascontiguousarray(table.rows.codes[chosen]), labels)
