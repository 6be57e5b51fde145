"""Small tables of text for recoders, and what these publish, as text."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.domain import Published
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.recoders.recoder import Recoding, Table

RACE = QuasiIdentifier("race", CategoricalDomain(Hierarchy.flat(["Black", "White"])))
PREFIX = QuasiIdentifier("zip", PrefixDomain(5, "0123456789", 5))


def decades(low: int, high: int) -> QuasiIdentifier:
    """Return ages that become decades."""
    return QuasiIdentifier("age", NumericDomain(Decimal(low), Decimal(high), Decimal(1), 0, (Decimal(10),)))


def table_of(
    attributes: Sequence[QuasiIdentifier],
    records: Sequence[Sequence[object]],
    *,
    labels: Sequence[int] | None = None,
    people: Sequence[int] | None = None,
    sensitive: Sequence[Sequence[int]] = (),
) -> Table:
    """Return records, a cell an attribute, as a table; every record is somebody else's unless told."""
    codes = [[own.code(record[place]) for record in records] for place, own in enumerate(attributes)]
    n = len(records)
    rows = Rows(
        np.array(codes, np.int32),
        np.arange(n) if people is None else np.array(people, np.int64),
        np.array(sensitive, np.int64).reshape(-1, n),
    )
    return Table(tuple(attributes), rows, None if labels is None else np.array(labels, np.int64))


def cells(table: Table, found: Recoding) -> list[tuple[Published, ...] | None]:
    """Return what is published of each row, None for a suppressed one."""
    rows: list[tuple[Published, ...] | None] = []
    for row in range(len(table)):
        bounds = zip(table.attributes, found.low[:, row].tolist(), found.high[:, row].tolist(), strict=True)
        published = tuple(attribute.publish(low, high) for attribute, low, high in bounds)
        rows.append(None if found.suppressed[row] else published)
    return rows


def levels(found: Recoding) -> list[int]:
    """Return the levels that a recoding of whole attributes is on."""
    named = found.steps[-1].figures["levels"]
    assert isinstance(named, dict)
    return list(named.values())


EIGHT = [(race, code) for race in ("Black", "White") for code in ("02138", "02139", "02141", "02142")]
"""The eight combinations of Sweeney's example (2002)."""

TWELVE = {"a": "HHVV", "b": "CHVV", "c": "CCCC"}
"""The conditions (headache, virus, cancer) of three classes of four people."""

ZIP = QuasiIdentifier(
    "zip",
    CategoricalDomain(
        Hierarchy.from_rows([[code, f"{code[:4]}*", "021**"] for code in ("02138", "02139", "02141", "02142")])
    ),
)
"""Its postal codes, of which 021** is the top."""
