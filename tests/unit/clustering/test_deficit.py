"""How far rows are from legal, against a count by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.clustering.legality import deficit, is_legal, ledger_of
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria
from tests.support.effort import examples
from tests.support.tables import Table, tables


def _held(pairs: Sequence[tuple[int, int]]) -> int:
    """Most values held by as many people, tried in all orders of the values."""
    holders: dict[int, set[int]] = {}
    for person, value in pairs:
        if value >= 0:
            holders.setdefault(value, set()).add(person)
    most = 0
    for order in permutations(holders):
        most = max(most, _ways(order, holders, frozenset()))
    return most


def _ways(order: Sequence[int], holders: dict[int, set[int]], used: frozenset[int]) -> int:
    if not order:
        return 0
    free = holders[order[0]] - used
    tries = [1 + _ways(order[1:], holders, used | {person}) for person in free]
    return max([_ways(order[1:], holders, used), *tries])


def _by_hand(rows: Columns, members: Sequence[int], criteria: Criteria) -> list[float]:
    people = Counter(int(rows.individuals[i]) for i in members)
    most = max(people.values(), default=0)
    parts = [max(0, criteria.k - len(people)) + max(0.0, most - criteria.max_share * len(members))]
    for column, least in zip(rows.sensitive, criteria.distinct_l.tolist(), strict=True):
        held = _held([(int(rows.individuals[i]), int(column[i])) for i in members])
        parts.append(max(0, least - held))
    return parts


@examples(200)
@given(table=tables(), data=st.data())
def test_a_class_is_nearer_to_legal_or_farther_than_counted_by_hand(table: Table, data: st.DataObject) -> None:
    n = len(table.rows)
    members = data.draw(st.lists(st.integers(0, n - 1), max_size=8, unique=True)) if n else []
    parts = np.empty(1 + len(table.rows.sensitive))
    ledger = ledger_of(table.rows, table.criteria)
    total = deficit(np.array(members, np.int64), ledger, parts)
    # Each person of a table of singles has one row: its share is within bounds as soon as there are k.
    expected = _by_hand(table.rows, members, table.criteria)
    if len(np.unique(table.rows.individuals)) == n:
        expected[0] = max(0, table.criteria.k - len(members))
    assert np.allclose(parts, expected)
    assert np.isclose(total, sum(expected))


@examples(200)
@given(table=tables(), data=st.data())
def test_a_legal_class_has_a_deficit_or_a_failing_one_has_none(table: Table, data: st.DataObject) -> None:
    n = len(table.rows)
    members = np.array(data.draw(st.lists(st.integers(0, n - 1), unique=True)) if n else [], np.int64)
    ledger = ledger_of(table.rows, table.criteria)
    parts = np.empty(1 + len(table.rows.sensitive))
    assert (deficit(members, ledger, parts) == 0) == is_legal(members, ledger)
    assert not ledger.tally.any()  # the next count starts clean
