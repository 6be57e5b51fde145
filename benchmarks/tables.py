"""Tables for the engines: the Adult census, taxi rides, medical receipts, and a generated one of 20 attributes."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adult import adult_policy
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier


@dataclass(frozen=True)
class Table:
    """Quasi-identifiers and coded rows, shuffled."""

    name: str
    attributes: tuple[QuasiIdentifier, ...]
    rows: Columns


def adult(data: Path) -> Table:
    """30,162 people, 8 quasi-identifiers, every record a person; the salary class is sensitive."""
    policy = adult_policy(data / "arx-adult", 10_000)
    records = read_table(data / "arx-adult" / "adult.csv", ";")
    for record in records:
        record["age"] = int(record["age"])  # type: ignore[assignment]
    return _table("adult", policy.quasi_identifiers, records, None, "salary-class")


def taxi(data: Path) -> Table:
    """6,433 rides, 8 quasi-identifiers, every ride a person's; how it was paid is sensitive."""
    return _table("taxi", *taxi_rides(data), None, "payment")


def taxi_rides(data: Path) -> tuple[tuple[QuasiIdentifier, ...], list[dict[str, Any]]]:
    """Return the quasi-identifiers of the rides, and these."""
    records: list[dict[str, Any]] = read_table(data / "nyc-taxi" / "taxis.csv", ",")
    zones = sorted({(r[f"{end}_zone"], r[f"{end}_borough"]) for r in records for end in ("pickup", "dropoff")})
    places = Hierarchy.from_rows([(f"{z} ({b})", b or "elsewhere", "*") for z, b in zones])
    for record in records:
        for end in ("pickup", "dropoff"):
            record[f"{end}_zone"] = f"{record[f'{end}_zone']} ({record[f'{end}_borough']})"
        record["hour"] = int(record["pickup"][11:13])
        record["day"] = record["pickup"][:10]
        record["distance"] = min(float(record["distance"]), 40.0)
        record["fare"] = min(float(record["fare"]), 150.0)
        record["passengers"] = int(record["passengers"])
    attributes = (
        QuasiIdentifier("pickup_zone", CategoricalDomain(places)),
        QuasiIdentifier("dropoff_zone", CategoricalDomain(places)),
        QuasiIdentifier("day", DateDomain("%Y-%m-%d", dt.date(2019, 2, 28), dt.date(2019, 3, 31))),
        QuasiIdentifier("hour", NumericDomain(Decimal(0), Decimal(23), Decimal(1), 0)),
        QuasiIdentifier("passengers", NumericDomain(Decimal(0), Decimal(6), Decimal(1), 0)),
        QuasiIdentifier("distance", NumericDomain(Decimal(0), Decimal(40), Decimal("0.5"), None)),
        QuasiIdentifier("fare", NumericDomain(Decimal(0), Decimal(150), Decimal(1), None)),
        QuasiIdentifier("color", CategoricalDomain(Hierarchy.flat(["yellow", "green"]))),
    )
    return attributes, records


def receipts(data: Path) -> Table:
    """14,231 receipts of 947 people, 5 quasi-identifiers; the diagnosis is sensitive."""
    records = read_table(data / "receipts" / "receipt.csv", ",")
    month = PrefixDomain(7, "/0123456789", 7)
    codes = sorted({r["icd10"] for r in records})
    attributes = (
        QuasiIdentifier("sex", CategoricalDomain(Hierarchy.flat(["F", "M"]))),
        QuasiIdentifier("family", CategoricalDomain(Hierarchy.flat(["1", "2"]))),
        QuasiIdentifier("birth_ym", month),
        QuasiIdentifier("treatment_ym", month),
        QuasiIdentifier("icd10", CategoricalDomain(balanced(codes, 4))),
    )
    return _table("receipts", attributes, records, "iid", "icd10")


def made_up(rows: int, q: int) -> Table:
    """Return made-up people of eight kinds, quasi-identifiers of 2 to 40 values."""
    draws = np.random.default_rng(7)
    kind = draws.integers(0, 8, rows)
    attributes, columns = [], []
    for j in range(q):
        size = int(draws.integers(2, 41))
        centre = draws.integers(0, size, 8)
        values = np.clip(np.rint(draws.normal(centre[kind], size / 6)), 0, size - 1).astype(np.int32)
        attributes.append(QuasiIdentifier(f"a{j}", CategoricalDomain(balanced([str(v) for v in range(size)], 3))))
        columns.append(values)
    found = Columns(np.array(columns, np.int32), np.arange(rows, dtype=np.int32), _dense(kind.tolist())[None])
    return Table("generated", tuple(attributes), found)


def generated(_data: Path) -> Table:
    """20,000 made-up people, 20 quasi-identifiers."""
    return made_up(20_000, 20)


TABLES: Mapping[str, Callable[[Path], Table]] = {
    "adult": adult,
    "taxi": taxi,
    "receipts": receipts,
    "generated": generated,
}


def read_table(path: Path, delimiter: str) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def _dense(values: Sequence[object]) -> NDArray[np.int32]:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int32)


def _table(
    name: str,
    attributes: tuple[QuasiIdentifier, ...],
    records: list[dict[str, str]],
    individual: str | None,
    sensitive: str,
) -> Table:
    order = np.random.default_rng(0).permutation(len(records)).tolist()
    shuffled = [records[i] for i in order]
    codes = [[a.code(r[a.name] or None) if r[a.name] != 0 else a.code(0) for r in shuffled] for a in attributes]
    people = _dense([r[individual] for r in shuffled]) if individual else np.arange(len(records), dtype=np.int32)
    values = _dense([r[sensitive] for r in shuffled])
    return Table(name, attributes, Columns(np.array(codes, np.int32), people, values[None]))
