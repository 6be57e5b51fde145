"""The ends of intervals in tables of releases are those of their classes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from stream_anon.formats.tables.arrow.releases import ReleaseTables
from stream_anon.microdata.attributes import Identifier
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import Domain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Classes, release_without_window

DOMAINS: dict[str, Domain] = {
    "numbers below zero": NumericDomain(Decimal(-70_000), Decimal(70_000), Decimal(1), 0),
    "decimals": NumericDomain(Decimal("-1.5"), Decimal("1.5"), Decimal("0.5"), 1),
    "days": DateDomain("%Y-%m-%d", dt.date(1890, 1, 1), dt.date(2030, 12, 31)),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_both_ends_of_a_class_are_published_whatever_its_codes(name: str) -> None:
    """Both are kept in one number: neither may reach into the other's half."""
    own = QuasiIdentifier("x", DOMAINS[name])
    last = own.domain.size - 1
    inside = [(0, 0), (last, last), (0, last), (0, 1), (last - 1, last), (1, 1)]
    pairs = [
        *inside,
        (own.missing_code,) * 2,
        (own.unknown_code,) * 2,
        (0, own.unknown_code),
        (0, own.missing_code),
    ]
    low, high = np.array(pairs, np.int32).T[:, None, :]
    one = np.ones(len(pairs), np.int64)
    classes = Classes(low, high, [["*"] * len(pairs)], one, one, np.ones((1, len(pairs))))
    rows = np.arange(len(pairs))
    policy = Policy((Identifier("id"), own), k=2, individual="id")
    release = release_without_window(classes, rows.astype(np.int32), [()] * len(pairs), rows)
    for flat in (False, True):
        table = ReleaseTables(policy, flat=flat).table(release)
        structs = None if flat else table.column("x").combine_chunks()
        columns = [table.column(f"x_{e}") if structs is None else structs.field(e) for e in ("min", "max")]
        found = list(zip(*(column.to_pylist() for column in columns), strict=True))
        whole = own.domain.ends(0, last)
        assert found == [*(own.domain.ends(*pair) for pair in inside), (None, None), whole, whole, whole]
