"""REPAIR, SPLIT and PEEL on windows small enough to see what they should do.

Rows lie on one number from 0 to 30; a class is written as its numbers, a capital letter is the rarer value.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.clustering import work_limit
from stream_anon.clustering.forest import forest
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.forest.refining.split import sort_codes, sort_places, split_large
from stream_anon.clustering.forest.repairing import peel, repair
from stream_anon.clustering.forest.repairing.groups import (
    Groups,
    Lines,
    groups_of,
    join,
    leave,
    lines_of,
    listed,
    measure,
)
from stream_anon.clustering.forest.repairing.peel import peel_pass, peeled
from stream_anon.clustering.forest.repairing.places import forget, look_around
from stream_anon.clustering.forest.repairing.repair import merge_along, repaired
from stream_anon.clustering.legality import deficit
from stream_anon.clustering.rules import Rules, rules_of
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model, interval_cost
from stream_anon.privacy.criteria import Criteria
from tests.conformance.engines import settled_book
from tests.support.tables import Table, is_legal, tables

NUMBERS = QuasiIdentifier("number", NumericDomain(Decimal(0), Decimal(30), Decimal(1), 0, tight=True))
MODEL = cost_model([NUMBERS])


def _window(
    classes: Sequence[Sequence[int]], values: Sequence[Sequence[int]], k: int, people: Sequence[int] | None = None
) -> tuple[Columns, Groups, Lines, Rules]:
    """Return classes of numbers with their sensitive values, the lines sorted by number."""
    numbers = np.array([n for members in classes for n in members], np.int32)
    secret = np.array([v for held in values for v in held], np.int32)
    who = np.arange(len(numbers), dtype=np.int32) if people is None else np.array(people, np.int32)
    rows = Columns(numbers[None], who, secret[None])
    rules = rules_of(rows, Criteria(k, 0.5, np.array([2], np.int64)))
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum([len(members) for members in classes])
    codes = np.ascontiguousarray(rows.codes.T)
    groups = groups_of(codes, np.arange(len(numbers)), ends, MODEL, rules)
    return rows, groups, lines_of(order, order.copy(), rows.individuals, rows.sensitive), rules


def _classes(rows: Columns, placed: NDArray[np.int64], ends: NDArray[np.int64]) -> list[list[int]]:
    return sorted(sorted(rows.codes[0, part].tolist()) for part in np.split(placed, ends[:-1]))


def test_a_failing_class_takes_the_row_it_lacks_from_a_neighbour_that_can_spare_it() -> None:
    #   fails: all 0      has three 1, one more row than k
    #   0  1  2  3      | 4  5  6  7  8
    rows, groups, lines, rules = _window([[0, 1, 2, 3], [4, 5, 6, 7, 8]], [[0] * 4, [1, 1, 0, 1, 0]], k=4)
    assert groups.lack.tolist() == [1.0, 0.0]
    assert _classes(rows, *repaired(groups, lines, MODEL, rules)) == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]


def test_failing_classes_exchange_rows_where_both_become_legal() -> None:
    #   fails: all 0    fails: all 1, and no row more than k
    #   0  1  2  3    | 4  5  6  7
    rows, groups, lines, rules = _window([[0, 1, 2, 3], [4, 5, 6, 7]], [[0] * 4, [1] * 4], k=4)
    assert groups.lack.tolist() == [1.0, 1.0]
    assert _classes(rows, *repaired(groups, lines, MODEL, rules)) == [[0, 1, 2, 4], [3, 5, 6, 7]]


def test_a_class_that_would_fail_gives_no_row_away() -> None:
    #   fails         | its only 1 must stay
    rows, groups, lines, rules = _window([[0, 1, 2], [3, 4, 5, 6]], [[0] * 3, [1, 0, 0, 0]], k=3)
    assert _classes(rows, *repaired(groups, lines, MODEL, rules)) == [[0, 1, 2, 3, 4, 5, 6]]


def test_a_missing_value_is_not_taken_for_another_value() -> None:
    rows, groups, lines, rules = _window([[0, 1], [2, 3, 4], [20, 21, 22]], [[0, 0], [-1, -1, -1], [0, 1, 1]], k=2)
    placed, ends = repaired(groups, lines, MODEL, rules)
    for part in np.split(placed, ends[:-1]):
        assert {0, 1} <= set(rows.sensitive[0, part].tolist())


def test_nobody_holds_more_than_their_share_after_repair() -> None:
    # Person 0 has most rows of the first class, the second has four people.
    people = [0, 0, 0, 1, 2, 3, 4, 5, 6]
    rows, groups, lines, rules = _window(
        [[0, 1, 2, 3], [4, 5, 6, 7, 8]], [[0, 1, 0, 1], [0, 1, 0, 1, 0]], k=2, people=people
    )
    assert groups.lack.tolist() == [1.0, 0.0]
    placed, ends = repaired(groups, lines, MODEL, rules)
    parts = np.split(placed, ends[:-1])
    assert len(parts) == 2
    assert all(2 * (rows.individuals[part] == 0).sum() <= len(part) for part in parts)


def test_a_far_row_moves_to_a_class_that_takes_it_cheaply() -> None:
    #   0  1  2  11     | 10  11  12  13
    rows, groups, lines, rules = _window([[0, 1, 2, 11], [10, 11, 12, 13]], [[0, 1, 0, 0], [0, 1, 0, 1]], k=3)
    assert _classes(rows, *peeled(groups, lines, MODEL, rules)) == [[0, 1, 2], [10, 11, 11, 12, 13]]


def test_no_row_leaves_a_class_that_becomes_illegal_without_it() -> None:
    #   the far row holds the only 1
    rows, groups, lines, rules = _window([[0, 1, 2, 11], [10, 11, 12, 13]], [[0, 0, 0, 1], [0, 1, 0, 1]], k=3)
    before = [[0, 1, 2, 11], [10, 11, 12, 13]]
    assert _classes(rows, *peeled(groups, lines, MODEL, rules)) == before


def test_a_scattered_class_is_dissolved_where_all_its_rows_fit_elsewhere() -> None:
    #   0  15  30   between three tight classes
    groups_ = [[0, 15, 30], [0, 1, 2], [14, 15, 16], [28, 29, 30]]
    rows, groups, lines, rules = _window(groups_, [[0, 1, 0]] * 4, k=3)
    assert _classes(rows, *peeled(groups, lines, MODEL, rules)) == [
        [0, 0, 1, 2], [14, 15, 15, 16], [28, 29, 30, 30],
    ]  # fmt: skip


@pytest.mark.parametrize("values", [[0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 1, 1, 1, 1]])
def test_a_large_class_is_cut_legally(values: list[int]) -> None:
    numbers = [0, 1, 2, 3, 20, 21, 22, 23]
    rows, _, _, rules = _window([numbers], [values], k=4)
    codes = np.ascontiguousarray(rows.codes.T)
    placed = np.arange(8)
    ends = split_large(codes, placed, np.array([8]), MODEL, rules)
    legal = values == [0, 1, 0, 1, 0, 1, 0, 1]
    expected = [[0, 1, 2, 3], [20, 21, 22, 23]] if legal else [numbers]
    assert _classes(rows, placed, ends) == expected


LEGAL = tables().filter(
    lambda table: bool(len(table.rows)) and is_legal(table.rows, range(len(table.rows)), table.criteria)
)


def _single_rows(table: Table) -> tuple[NDArray[np.int32], Lines, Rules, Groups]:
    """Return codes, lines, rules and groups of one row each: everything fails."""
    line = np.arange(len(table.rows))
    rules, codes = rules_of(table.rows, table.criteria), np.ascontiguousarray(table.rows.codes.T)
    lines = lines_of(line, line[::-1].copy(), table.rows.individuals, table.rows.sensitive)
    return codes, lines, rules, groups_of(codes, line, line + 1, table.model, rules)


def _check_peel(table: Table, groups: Groups, lines: Lines, rules: Rules) -> None:
    before = float((groups.size * groups.loss).sum())
    peel_pass(groups, lines, table.model, rules)
    assert float((groups.size * groups.loss).sum()) <= before + 1e-6
    _check(table, *listed(groups))
    _check_groups(table, groups, rules)


@given(table=LEGAL)
def test_repair_and_peel_leave_legal_classes_and_lose_no_row(table: Table) -> None:
    """Only what all together allow is promised."""
    codes, lines, rules, start = _single_rows(table)
    placed, ends = repaired(start, lines, table.model, rules)
    _check(table, placed, ends)
    _check_peel(table, groups_of(codes, placed, ends, table.model, rules), lines, rules)


def _check(table: Table, placed: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
    assert sorted(placed.tolist()) == list(range(len(table.rows)))
    assert all(is_legal(table.rows, part.tolist(), table.criteria) for part in np.split(placed, ends[:-1]))


def _check_groups(table: Table, groups: Groups, rules: Rules) -> None:
    """Chains, boxes and losses say the same as the rows themselves."""
    parts = np.empty(1 + len(table.rows.sensitive))
    for c in np.flatnonzero(groups.size).tolist():
        rows = np.flatnonzero(groups.owner == c)
        assert len(rows) == groups.size[c]
        low, high = groups.codes[rows].min(axis=0), groups.codes[rows].max(axis=0)
        assert (groups.low[c] == low).all()
        assert (groups.high[c] == high).all()
        costs = [interval_cost(table.model, j, a, b) for j, (a, b) in enumerate(zip(low, high, strict=True))]
        assert np.isclose(groups.loss[c], sum(costs), atol=1e-5)
        assert deficit(rows, rules, parts) == groups.lack[c]


def test_a_row_that_leaves_does_not_break_the_chain() -> None:
    _, groups, _, _ = _window([[0, 1, 2], [5, 6]], [[0, 1, 0], [0, 1]], k=2)
    leave(groups, 1)
    join(groups, 1, 1)
    measure(groups, 0, MODEL)
    measure(groups, 1, MODEL)
    assert [part.tolist() for part in listed(groups)] == [[0, 2, 1, 3, 4], [2, 5]]
    assert (groups.low[1, 0], groups.high[1, 0]) == (1, 6)


@given(st.integers(0, 999))
def test_a_row_sees_the_classes_nearest_to_its_own_place(seed: int) -> None:
    draws = np.random.default_rng(seed)
    owners = np.repeat(draws.integers(0, 6, 60), draws.integers(1, 30, 60))
    owners = np.unique(owners, return_inverse=True)[1]
    placed, n = np.argsort(owners, kind="stable"), len(owners)
    _, groups, lines, _ = _window(np.split(np.zeros(n, int), np.cumsum(np.bincount(owners))[:-1]), [[0] * n], k=2)
    groups.owner[:] = owners
    lines.along[:] = np.arange(n), draws.permutation(n)
    lines.place[:] = np.argsort(lines.along, axis=1)
    near = np.empty((2, 2, 4), np.int64)
    for own in range(owners.max() + 1):
        forget(near)
        for row in placed[owners[placed] == own].tolist():
            look_around(groups, lines, row, near)
            for o in range(2):
                ahead = owners[lines.along[o, lines.place[o, row] + 1 :]]
                behind = owners[lines.along[o, : lines.place[o, row]]][::-1]
                for way, seen in enumerate((ahead, behind)):
                    assert near[o, way, 2:].tolist() == _next_two(seen.tolist(), own)


def _next_two(seen: list[int], own: int) -> list[int]:
    """Return the first two different classes after a run of the own one, -1 for none within 48 rows."""
    while seen and seen[0] == own:
        seen = seen[1:]
    first = next((c for c in seen[:48] if c != own), -1)
    return [first, next((c for c in seen[:48] if c not in (own, first)), -1)]


@given(table=LEGAL)
def test_a_large_window_is_refined_into_legal_classes(table: Table) -> None:
    """Only small ones are peeled twice; and small is everything that Hypothesis draws."""
    engine = Forest(table.model, settled_book(table))
    engine.add(table.rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forest, "_SMALL", 0)
        classes = engine.close(table.rows, table.criteria)
    for c in range(classes.max() + 1):
        assert is_legal(table.rows, np.flatnonzero(classes == c).tolist(), table.criteria)


def test_failing_classes_are_merged_along_the_line_until_they_are_legal() -> None:
    #   legal   fails     fails    fails      legal     fails: joins those before it
    #   0  1  | 2  3    | 4  5   | 6  7     | 8  9    | 10  11
    values = [[0, 1], [0, 0], [0, 0], [1, 0], [0, 1], [1, 1]]
    _, _, _, ledger = _window([[2 * c, 2 * c + 1] for c in range(6)], values, k=2)
    assert merge_along(np.arange(12), np.arange(2, 13, 2), ledger).tolist() == [2, 8, 12]


def test_a_tail_that_fails_takes_the_whole_line_where_nothing_less_is_legal() -> None:
    _, _, _, ledger = _window([[0, 1, 2], [3, 4, 5]], [[0, 1, 0], [0, 0, 0]], k=5)
    assert merge_along(np.arange(6), np.array([3, 6]), ledger).tolist() == [6]


@given(table=LEGAL, looks=st.integers(0, 40))
def test_classes_are_legal_wherever_the_work_is_stopped(table: Table, looks: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (work_limit, "_ROWS_FREE"),
            (repair, "_LOOKS"),
            (peel, "_LOOKS"),
            (forest, "_LOOKS_OF_SPLIT"),
            (forest, "_LOOKS_OF_SWAP"),
            (forest, "_LOOKS_OF_REFINE"),
        ):
            patch.setattr(module, name, 0 if module is work_limit else looks)
        engine = Forest(table.model, settled_book(table))
        engine.add(table.rows)
        classes = engine.close(table.rows, table.criteria)
    assert classes.min() >= 0
    for c in range(classes.max() + 1):
        assert is_legal(table.rows, np.flatnonzero(classes == c).tolist(), table.criteria)


@given(table=LEGAL, looks=st.integers(0, 200))
def test_a_peel_that_is_stopped_leaves_rows_boxes_and_losses_consistent(table: Table, looks: int) -> None:
    codes, lines, rules, start = _single_rows(table)
    groups = groups_of(codes, *repaired(start, lines, table.model, rules), table.model, rules)
    rules.notes[1] = looks
    _check_peel(table, groups, lines, rules)


@given(st.integers(0, 999), st.sampled_from([1, 7, 300, 5_000]))
def test_codes_are_sorted_by_counting_as_they_are_by_comparing(seed: int, span: int) -> None:
    draws = np.random.default_rng(seed)
    keys = (draws.integers(0, span, 600) + draws.integers(0, 9)).astype(np.int32)
    found, expected = np.empty(600, np.int64), np.argsort(keys, kind="stable")
    sort_codes(keys, found, np.empty(600, np.int64))
    assert found.tolist() == expected.tolist()
    sort_places(keys, found)
    assert found.tolist() == expected.tolist()
