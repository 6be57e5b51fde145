"""Laws of m-invariance over any sequence of releases: who comes, who leaves, who returns."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.privacy.series.recounting import SeriesRows, broken_classes, people_of_classes
from stream_anon.recoding.invariance.buckets import Signature, bucketed
from stream_anon.recoding.invariance.invariant_groups import Grouping, grouped

PEOPLE, VALUES = 24, 7
SIZES = np.array([50, 5], np.int64)

persons = st.lists(
    st.tuples(st.integers(0, VALUES - 1), st.integers(0, 49), st.integers(0, 4)), min_size=PEOPLE, max_size=PEOPLE
)
comings = st.lists(st.sets(st.integers(0, PEOPLE - 1)), min_size=1, max_size=6)


def _rows(found: Grouping, values: list[int], known: list[Signature | None], people: list[int]) -> SeriesRows:
    """Return what the gate counts: the rows, then the counterfeits."""
    made = len(found.groups)
    return SeriesRows(
        np.concatenate([found.group_of_row, found.groups]).astype(np.int32),
        np.concatenate([np.array(values, np.int64), found.values]),
        [*found.signatures, *found.made_for],
        [*known, *[None] * made],
        np.array([*people, *[-1] * made], np.int64),
    )


@settings(max_examples=150, deadline=None)
@given(persons, comings, st.integers(2, 4), st.integers(1, 5), st.integers(0, 99))
def test_whoever_returns_is_always_among_m_values(
    own: list[tuple[int, int, int]], releases: list[set[int]], m: int, k: int, seed: int
) -> None:
    """Also: the gate, which counts by other code, finds no fault in any release."""
    draws = np.random.default_rng(seed)
    state: dict[int, Signature] = {}
    left: dict[int, set[int]] = {}
    for release in releases:
        people = sorted(release)
        codes = np.array([[own[i][1] for i in people], [own[i][2] for i in people]], np.int32)
        values, known = [own[i][0] for i in people], [state.get(i) for i in people]
        found = grouped(codes, SIZES, np.array(values, np.int64), known, (k, m), draws)
        rows = _rows(found, values, known, people)
        classes = int(rows.class_of_row.max(initial=-1)) + 1
        assert not broken_classes(rows, classes, k, m).any()
        assert (people_of_classes(rows, classes) >= k).all()
        for group in range(classes):
            within = rows.class_of_row == group
            shown = Counter(rows.values[within].tolist())
            assert m * max(shown.values()) <= within.sum()
            for place in np.flatnonzero(found.group_of_row == group).tolist():
                left.setdefault(people[place], set(shown)).intersection_update(shown)
        for person, signature in zip(people, found.signatures, strict=True):
            if signature is not None:
                assert state.setdefault(person, signature) == signature
        # A counterfeit stands where one of its group's people stands.
        assert (found.group_of_row[found.like] == found.groups).all()
    for person, values_left in left.items():
        assert len(values_left) >= m
        assert own[person][0] in values_left
        assert set(state[person]) <= values_left


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, VALUES - 1), max_size=60), st.integers(2, 5), st.integers(0, 99))
def test_new_people_need_counterfeits_only_if_they_cannot_be_balanced_and_wait_with_fewer_than_m_values(
    values: list[int], m: int, seed: int
) -> None:
    draws = np.random.default_rng(seed)
    buckets = bucketed(np.array(values, np.int64), [None] * len(values), m, draws)
    for bucket in buckets:
        bucket.check_invariants()
        assert len(bucket.signature) >= m
    placed = sorted(row for bucket in buckets for rows in bucket.rows.values() for row in rows)
    assert placed == (list(range(len(values))) if len(set(values)) >= m else [])
    eligible = m * max(Counter(values).values(), default=0) <= len(values)
    assert any(bucket.counterfeits for bucket in buckets) is (bool(placed) and not eligible)
    assert eligible or len(buckets) <= 1
    together = bucketed(np.array(values, np.int64), [None] * len(values), m, draws, together=True)
    assert len(together) == bool(placed)


def test_who_comes_with_a_value_outside_of_their_signature_is_not_published() -> None:
    values = np.array([0, 1, 2, 3, 4], np.int64)
    known: list[Signature | None] = [(1, 2), (1, 2), (1, 2), None, (3, 5)]
    buckets = bucketed(values, known, 2, np.random.default_rng(0))
    assert [bucket.signature for bucket in buckets] == [(1, 2)]
    assert buckets[0].rows == {1: [1], 2: [2]}


def _broken(values: list[int], signature: Signature, known: Signature | None, people: list[int]) -> bool:
    n = len(values)
    rows = SeriesRows(
        np.zeros(n, np.int32),
        np.array(values, np.int64),
        [signature] * n,
        [known, *[None] * (n - 1)],
        np.array(people, np.int64),
    )
    return bool(broken_classes(rows, 1, 2, 2)[0])


def test_the_gate_finds_every_fault() -> None:
    assert not _broken([0, 1], (0, 1), None, [0, 1])
    assert not _broken([0, 1], (0, 1), (0, 1), [0, 1])
    assert not _broken([0, 1, 0, 1], (0, 1), None, [0, 1, -1, -1])
    assert _broken([0, 1], (0, 1), None, [0, -1])  # one person
    assert _broken([0, 1, 0, 1], (0, 1), None, [0, 1, 1, -1])  # two records of one person
    assert _broken([0, 1, 0], (0, 1), None, [0, 1, 2])  # a value too often
    assert _broken([0, 0], (0,), None, [0, 1])  # a signature of one value
    assert _broken([0, 2], (0, 1), None, [0, 1])  # a value outside of the signature
    assert _broken([0, 1], (0, 1), (0, 2), [0, 1])  # another signature than before
    assert _broken([0, 1, 2, 0, 1, 0], (0, 1, 2), None, list(range(6)))  # not equally often


def test_what_is_not_published_breaks_nothing() -> None:
    rows = SeriesRows(np.array([-1], np.int32), np.zeros(1, np.int64), [None], [None], np.zeros(1, np.int64))
    assert broken_classes(rows, 0, 2, 2).tolist() == []
