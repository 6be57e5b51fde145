"""The Adult census file as records, and the policy under which the figures of the design were measured."""

from __future__ import annotations

import csv
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.formats.tables.small_texts import read_table
from stream_anon.microdata.attributes import Attribute, Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.coding import BatchBuilder
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release
from tests.support.data import shared_data
from tests.support.object_coder import ObjectCoder

QUASI_IDENTIFIERS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
)
SENSITIVE = "salary-class"


def adult_policy(k: int = 10, *, max_records: int = 10_000, tight: bool = True, **changes: Any) -> Policy:
    """Return the policy of eight quasi-identifiers, age as a number; every record is an individual."""
    folder = shared_data("arx-adult", "hierarchies")
    attributes: list[Attribute] = []
    for name in QUASI_IDENTIFIERS:
        if name == "age":
            age = NumericDomain(Decimal(17), Decimal(90), Decimal(1), 0, tight=tight)
            attributes.append(QuasiIdentifier(name, age))
        else:
            rows = read_table(folder / f"adult_hierarchy_{name}.csv")
            attributes.append(QuasiIdentifier(name, CategoricalDomain(Hierarchy.from_rows(rows, name))))
    given: dict[str, Any] = {
        "attributes": (*attributes, Sensitive(SENSITIVE)),
        "k": k,
        "individual": EVERY_RECORD,
        "window": WindowLimits(max_records=max_records),
    }
    return Policy(**(given | changes))


@lru_cache
def adult_records() -> tuple[dict[str, str | int], ...]:
    """Return the 30,162 records in the order of the file."""
    with shared_data("arx-adult", "adult.csv").open(encoding="utf-8", newline="") as file:
        return tuple({**row, "age": int(row["age"])} for row in csv.DictReader(file, delimiter=";"))


def adult_batch(policy: Policy, first: int = 0, count: int | None = None) -> CodedBatch:
    """Return records of the file as a batch of source 0; its payload is what passes."""
    records = adult_records()[first : None if count is None else first + count]
    coder, builder = ObjectCoder(policy), BatchBuilder(policy, 0)
    for offset, record in enumerate(records):
        builder.add(coder.code_object(record), first + offset)
    return builder.build(numbers=first)


def adult_releases(policy: Policy, seed: int = 0) -> list[Release]:
    """Return the releases of the whole file, window after window, the rest at the end."""
    engine = Engine(policy, draws=np.random.default_rng(seed))
    engine.open(0, 0)
    windows = engine.add(adult_batch(policy), 0.0)
    rest = engine.seal(0.0)
    closer, shuffle = Closer(policy), np.random.default_rng(seed)
    return [closer.release(window, shuffle) for window in [*windows, *([rest] if rest else [])]]


def released_table(policy: Policy, release: Release) -> list[dict[str, str]]:
    """Return the released records as rows of text, in the order of publication."""
    names = [qi.name for qi in policy.quasi_identifiers]
    rows = []
    for row in release.order.tolist():
        number = int(release.class_of_row[row])
        passed: Any = release.payload[row]
        values = {name: str(release.classes.values[j][number]) for j, name in enumerate(names)}
        rows.append(values | {SENSITIVE: str(passed[0])})
    return rows
