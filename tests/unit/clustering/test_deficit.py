"""How far rows are from legal, against a count by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from math import exp, inf, log

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.clustering.legality import deficit, is_legal
from stream_anon.clustering.rules import rules_of
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria, Spread
from stream_anon.privacy.gate import recount
from tests.support.effort import examples
from tests.support.tables import Table, diverse_values, tables
from tests.support.tables import is_legal as by_hand


def _held(pairs: Sequence[tuple[int, int]]) -> int:
    """Most values held by as many people, tried in all ways."""
    return diverse_values(pairs) if pairs else 0


def _by_hand(rows: Columns, members: Sequence[int], criteria: Criteria) -> list[float]:
    people = Counter(int(rows.individuals[i]) for i in members)
    most = max(people.values(), default=0)
    parts = [max(0, criteria.k - len(people)) + max(0.0, most - criteria.max_share * len(members))]
    for column, least, asked in zip(rows.sensitive, criteria.distinct_l.tolist(), criteria.asked, strict=True):
        whole = [(int(person), int(value)) for person, value in zip(rows.individuals, column, strict=True)]
        own = [whole[i] for i in members]
        uneven = max(_uneven(own, whole, asked), _uneven(list(set(own)), list(set(whole)), asked))
        parts.append(max(0, least - _held(own)) + uneven)
    return parts


def _uneven(own: Sequence[tuple[int, int]], whole: Sequence[tuple[int, int]], asked: Spread) -> float:
    """How far (person, value) pairs are from meeting the criteria, in rows."""
    counts, base = (Counter(value for _, value in pairs if value >= 0) for pairs in (own, whole))
    heights, n, m = sorted(counts.values(), reverse=True) or [0], counts.total(), len(own)
    entropy = -sum(h / n * log(h / n) for h in counts.values())
    lack = max(0.0, max(n, 1) * (1 - entropy / log(asked.entropy_l))) if asked.entropy_l > 1 else 0.0
    excess = heights[0] - asked.c * sum(heights[asked.l - 1 :]) if asked.c < inf else -1
    lack += excess + min(asked.c, 1) / 2 if excess >= 0 else 0
    lack += max(0.0, heights[0] - asked.alpha * n)
    if asked.t < 1 and m:
        places = sorted(base)
        gaps = [counts[v] / max(n, 1) - base[v] / base.total() for v in places]
        moved = (
            sum(map(abs, accumulate(gaps))) / max(1, len(places) - 1) if asked.ordered else sum(map(abs, gaps)) / 2
        )
        distance = max(moved if n else 0.0, abs(n / m - base.total() / len(whole)))
        lack += max(0.0, m * (distance - asked.t))
    for value in base:
        lack += _misfit(counts[value], n, base[value] / base.total(), asked)
    if m and base.total() < len(whole):
        lack += _misfit(m - n, m, 1 - base.total() / len(whole), asked)
    return lack


def _misfit(height: int, n: int, share: float, asked: Spread) -> float:
    """How many rows of one value are too few or too many by delta, a half at least, and too many by beta."""
    lack = 0.0
    if asked.delta < inf and not (height and abs(log(height / n / share)) < asked.delta - 1e-9):
        lack = 0.5 + max(0.0, n * share / exp(asked.delta) - height, height - n * share * exp(asked.delta))
    return lack + max(0.0, height - (1 + asked.beta) * n * share if asked.beta < inf and n else 0.0)


@examples(150)
@given(table=tables(), data=st.data())
def test_the_deficit_of_a_class_is_that_counted_by_hand(table: Table, data: st.DataObject) -> None:
    n = len(table.rows)
    members = data.draw(st.lists(st.integers(0, n - 1), max_size=8, unique=True)) if n else []
    parts = np.empty(1 + len(table.rows.sensitive))
    rules = rules_of(table.rows, table.criteria)
    total = deficit(np.array(members, np.int64), rules, parts)
    # Each person of a table of singles has one row: its share is within bounds as soon as there are k.
    expected = _by_hand(table.rows, members, table.criteria)
    if len(np.unique(table.rows.individuals)) == n:
        expected[0] = max(0, table.criteria.k - len(members))
    assert np.allclose(parts, expected, atol=1e-6)
    assert np.isclose(total, sum(expected), atol=1e-6)


@examples(150)
@given(table=tables(), data=st.data())
def test_exactly_the_legal_classes_have_no_deficit(table: Table, data: st.DataObject) -> None:
    n = len(table.rows)
    members = np.array(data.draw(st.lists(st.integers(0, n - 1), unique=True)) if n else [], np.int64)
    rules = rules_of(table.rows, table.criteria)
    parts = np.empty(1 + len(table.rows.sensitive))
    assert (deficit(members, rules, parts) == 0) == is_legal(members, rules)
    assert not rules.marks[:2].any()  # the next count starts clean


@examples(150)
@given(table=tables(), data=st.data())
def test_the_gate_the_partitioners_and_a_count_by_hand_agree(table: Table, data: st.DataObject) -> None:
    n = len(table.rows)
    if not n:
        return
    members = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    group = np.zeros(n, np.int64)
    group[members] = 1
    legal = by_hand(table.rows, members, table.criteria)
    assert bool(table.criteria.permit(recount(group, 2, table.rows, table.criteria))[1]) is legal
    assert is_legal(np.array(members), rules_of(table.rows, table.criteria)) == legal


def test_missing_values_are_too_many_by_beta_alone() -> None:
    """Three of four rows have none, three of all eight."""
    values, people = np.array([[-1] * 3 + [0] * 5], np.int32), np.arange(8, dtype=np.int32)
    rows = Columns(np.zeros((1, 8), np.int32), people, values)
    lack = np.zeros(2)
    deficit(np.arange(4), rules_of(rows, Criteria(1, 1.0, np.array([0]), (Spread(beta=0.5),))), lack)
    assert lack.tolist() == [0, 3 - 1.5 * 4 * 3 / 8]
