"""What holds of every release, counted from the published values alone."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.microdata.attributes import Identifier, Publication, QuasiIdentifier, ScalarType, Sensitive
from stream_anon.microdata.batch import MISSING_KEY, CodedBatch, Rejects
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.policy import Policy, WindowLimits
from stream_anon.microdata.release import Release
from tests.support.effort import examples
from tests.support.tables import Table, diversity_of, is_legal, tables


def _release(table: Table, sets: bool, seed: int = 0, limit: int = 100) -> tuple[Policy, Release]:
    quasi = [
        replace(a, publication=Publication.VALUES) if sets and isinstance(a.domain, CategoricalDomain) else a
        for a in table.attributes
    ]
    least = {
        f"s{i}": diversity_of(int(value), asked)
        for i, (value, asked) in enumerate(zip(table.criteria.distinct_l, table.criteria.asked, strict=True))
    }
    policy = Policy(
        (Identifier("person"), *quasi, *(Sensitive(name, ScalarType.NUMBER) for name in least)),
        table.criteria.k,
        "person",
        max_share=table.criteria.max_share,
        diversity=least,
        window=WindowLimits(max_records=1_000, max_records_per_individual=limit),
    )
    n = len(table.rows)
    batch = CodedBatch(
        table.rows.codes,
        np.where(table.rows.sensitive < 0, np.int64(MISSING_KEY), table.rows.sensitive.astype(np.int64)),
        table.rows.individuals.astype(np.int64),
        np.zeros(n, np.int32),
        np.arange(n, dtype=np.int64),
        [(row,) * len(policy.passed) for row in range(n)],
        Rejects.of([]),
    )
    engine = Engine(policy, draws=np.random.default_rng(0))
    engine.open(0, 0)
    assert engine.add(batch, 0.0) == []
    window = engine.seal(0.0)
    assert window is not None
    return policy, Closer(policy).release(window, np.random.default_rng(seed))


def _tuple(release: Release, row: int) -> str:
    return json.dumps([values[int(release.class_of_row[row])] for values in release.classes.values])


def _exact(attribute: QuasiIdentifier, codes: list[int]) -> Any:
    if attribute.publication is Publication.VALUES:
        return attribute.publish_set(codes)
    return attribute.publish(*attribute.node(min(codes), max(codes)))


@pytest.mark.parametrize("sets", [False, True], ids=["nodes", "values"])
@examples(200)
@given(table=tables())
def test_a_published_tuple_stands_for_too_few(sets: bool, table: Table) -> None:
    assume(len(table.rows))
    policy, release = _release(table, sets)
    groups: dict[str, list[int]] = {}
    placed = release.order.tolist()
    for row in placed:
        groups.setdefault(_tuple(release, row), []).append(row)
    assert len(groups) == len(release.classes)
    for text, members in groups.items():
        assert is_legal(table.rows, members, table.criteria, placed)
        number = int(release.class_of_row[members[0]])
        assert release.classes.records[number] == len(members)
        assert release.classes.individuals[number] == len(set(table.rows.individuals[members].tolist()))
        # No more is generalized away than the class needs, and every member lies under it.
        for j, attribute in enumerate(policy.quasi_identifiers):
            codes = table.rows.codes[j, members].tolist()
            assert json.loads(text)[j] == json.loads(json.dumps(_exact(attribute, codes)))
    assert release.gate_violations == 0


@examples(100)
@given(table=tables(), sets=st.booleans())
def test_records_get_lost_between_in_and_out(table: Table, sets: bool) -> None:
    assume(len(table.rows))
    _, release = _release(table, sets, limit=2)
    n = len(table.rows)
    placed = np.flatnonzero(release.class_of_row >= 0)
    assert sorted(release.order.tolist()) == placed.tolist()
    assert release.records_in == n
    assert len(release.class_of_row) == len(release.payload) <= n
    assert sum(count for _, count in release.arrivals) == len(release.payload)
    if release.released:
        assert release.achieved_k == release.classes.individuals.min() >= table.criteria.k
        assert all(
            value >= least
            for value, least in zip(release.achieved_l.values(), table.criteria.distinct_l.tolist(), strict=True)
        )
    else:
        assert release.achieved_k is None
        assert release.gcp == 1


def test_the_order_of_publication_is_that_of_arrival() -> None:
    table = next(iter(_large_tables()))
    orders = [_release(table, sets=False, seed=seed)[1] for seed in range(3)]
    assert all(sorted(r.order.tolist()) == sorted(orders[0].order.tolist()) for r in orders)
    assert len({tuple(r.order.tolist()) for r in orders}) == 3
    assert all(r.order.tolist() != sorted(r.order.tolist()) for r in orders)
    # The shuffle governs the order, and which of several equal rows is in which class; nothing else.
    assert all(r.classes.values == orders[0].classes.values for r in orders)
    assert all(_equal_rows(table, r) == _equal_rows(table, orders[0]) for r in orders)
    # Neighbours in the output are no more of one class than chance has it.
    alike = [np.mean(np.diff(r.class_of_row[r.order]) == 0) for r in orders]
    assert max(alike) < 5 / len(orders[0].classes)


def _equal_rows(table: Table, release: Release) -> Counter[tuple[int, ...]]:
    """Count how often each tuple of codes is in each class."""
    return Counter(tuple(row) for row in np.vstack([release.class_of_row, table.rows.codes]).T.tolist())


def _large_tables() -> list[Table]:
    from stream_anon.microdata.columns import Columns
    from stream_anon.privacy.cost import cost_model
    from stream_anon.privacy.criteria import Criteria
    from tests.support.tables import DOMAINS

    draws = np.random.default_rng(7)
    attributes = (QuasiIdentifier("a", DOMAINS[3]), QuasiIdentifier("b", DOMAINS[8]))
    codes = np.array([draws.integers(0, a.domain.size, 800) for a in attributes], np.int32)
    rows = Columns(codes, np.arange(800, dtype=np.int32), np.empty((0, 800), np.int32))
    return [Table(attributes, cost_model(attributes), rows, Criteria(4, 0.5, np.empty(0, np.int64)))]
