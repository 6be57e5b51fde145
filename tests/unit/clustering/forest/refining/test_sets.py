"""CUT, RESPLIT and SWAP with the cost of sets, against plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from stream_anon.clustering.forest.growing_classes import values_of
from stream_anon.clustering.forest.line.cut import cut, cut_line
from stream_anon.clustering.forest.refining.refine import refine_sets
from stream_anon.clustering.forest.refining.resplit import resplit_sets
from stream_anon.clustering.forest.refining.swap import swap_pass, swap_sets
from stream_anon.clustering.rules import Rules, rules_of
from stream_anon.microdata.attributes import PublishedForm, QuasiIdentifier
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.privacy.costs.cost import cost_model
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.criteria import Criteria
from tests.support.effort import examples
from tests.support.tables import DOMAINS, Table, is_legal, tables


def _as_sets(table: Table) -> Table:
    """Return the table with every category published as the set that occurs."""
    attributes = tuple(
        replace(a, publication=PublishedForm.VALUES) if isinstance(a.domain, CategoricalDomain) else a
        for a in table.attributes
    )
    return replace(table, attributes=attributes, model=cost_model(attributes))


def _cost(attribute: QuasiIdentifier, codes: Sequence[int]) -> float:
    if attribute.publication is PublishedForm.VALUES:
        return attribute.ncp_set(codes)
    return attribute.ncp(*attribute.node(min(codes), max(codes)))


def _loss(table: Table, members: Sequence[int]) -> float:
    """What the members lose as one class."""
    columns = [[int(column[i]) for i in members] for column in table.rows.codes]
    return len(members) * sum(_cost(a, column) for a, column in zip(table.attributes, columns, strict=True))


def _best_cut(table: Table, line: Sequence[int], k: int) -> float:
    """The least loss of a line of people who come once, by trying every class at its end."""
    best = [0.0]
    for end in range(1, len(line) + 1):
        sizes = range(k, min(2 * k - 1, end) + 1)
        best.append(min((best[end - s] + _loss(table, line[end - s : end]) for s in sizes), default=np.inf))
    return best[-1]


@examples(100)
@given(tables())
def test_the_line_of_sets_is_cut_with_the_least_loss(table: Table) -> None:
    table, k = _as_sets(table), table.criteria.k
    n = len(table.rows)
    points = np.ascontiguousarray(table.rows.codes.T)
    best = np.empty(n + 1)
    alone = np.full(n, n, np.int64)
    ends = cut(points, np.arange(n), alone, table.model, k, 2 * k - 1, best)
    assert np.isclose(best[n], _best_cut(table, range(n), k))
    if np.isfinite(best[n]):
        classes = [list(range(a, b)) for a, b in pairwise([0, *ends.tolist()])]
        assert np.isclose(sum(_loss(table, members) for members in classes), best[n])
        assert all(k <= len(members) < 2 * k for members in classes)


def test_nodes_are_cut_alike_with_values_and_without() -> None:
    """People who return included; values that no attribute publishes count for nothing."""
    draws = np.random.default_rng(3)
    attributes = (
        QuasiIdentifier("a", DOMAINS[3]),
        QuasiIdentifier("b", DOMAINS[6]),
    )
    model = cost_model(attributes)
    points = np.array([draws.integers(0, a.size, 60) for a in attributes], np.int32).T.copy()
    following = np.where(draws.random(60) < 0.2, np.arange(60) + 1, 60).astype(np.int64)
    arguments = (points, np.arange(60), following, model, 3, 90)
    one, two = np.empty(61), np.empty(61)
    values = values_of(model._replace(share=model.weight), 1)
    assert cut_line(*arguments, one, None).tolist() == cut_line(*arguments, two, values).tolist()
    assert np.array_equal(one, two)
    assert cut(*arguments, one).tolist() == cut_line(*arguments, two, None).tolist()


def _two_classes(table: Table) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the codes by row, the rows, and where two legal halves end; None if they are not legal."""
    rows = np.arange(len(table.rows))
    left = len(rows) // 2
    legal = all(len(part) and is_legal(table.rows, part, table.criteria) for part in (rows[:left], rows[left:]))
    codes = np.ascontiguousarray(table.rows.codes.T)
    return (codes, rows, np.array([left, len(rows)], np.int64)) if legal else None


def _after(table: Table, rows: NDArray[np.int64], ends: NDArray[np.int64]) -> float:
    """Return the loss of both classes, which must be legal and hold every row once."""
    assert sorted(rows.tolist()) == list(range(len(table.rows)))
    parts = rows[: ends[0]].tolist(), rows[ends[0] :].tolist()
    assert all(is_legal(table.rows, part, table.criteria) for part in parts)
    return sum(_loss(table, part) for part in parts)


def _moves(table: Table, left: list[int], right: list[int]) -> list[tuple[list[int], list[int]]]:
    """All pairs of classes one step away: a row without which its class costs less moves, or two change places."""
    total = {True: _loss(table, left) / len(left), False: _loss(table, right) / len(right)}

    def eased(own: list[int], i: int, first: bool) -> bool:
        rest = [o for o in own if o != i]
        return bool(rest) and _loss(table, rest) / len(rest) < total[first] - 1e-9

    ones = [i for i in left if eased(left, i, True)]
    others = [i for i in right if eased(right, i, False)]
    k = table.criteria.k
    found = [([o for o in left if o != i], [*right, i]) for i in ones if len(left) > k]
    found += [([*left, i], [o for o in right if o != i]) for i in others if len(right) > k]
    found += [([*(o for o in left if o != a), b], [*(o for o in right if o != b), a]) for a in ones for b in others]
    return found


@examples(100)
@given(tables())
def test_a_swap_of_sets_is_the_cheapest(table: Table) -> None:
    table = _as_sets(table)
    pair = _two_classes(table)
    if pair is None:
        return
    codes, rows, ends = pair
    left, right = rows[: ends[0]].tolist(), rows[ends[0] :].tolist()
    before = _loss(table, left) + _loss(table, right)
    options = [
        sum(_loss(table, part) for part in parts)
        for parts in _moves(table, left, right)
        if all(is_legal(table.rows, part, table.criteria) for part in parts)
    ]
    changed = swap_sets(codes, rows, ends, table.model, rules_of(table.rows, table.criteria))
    assert np.isclose(_after(table, rows, ends), min([before, *options]))
    assert changed or np.isclose(min([before, *options]), before)


@examples(100)
@given(tables())
def test_a_resplit_of_sets_is_the_cheapest(table: Table) -> None:
    table = _as_sets(table)
    pair = _two_classes(table)
    if pair is None:
        return
    codes, rows, ends = pair
    m, k = len(rows), table.criteria.k
    before = _loss(table, rows[: ends[0]].tolist()) + _loss(table, rows[ends[0] :].tolist())
    options = [before]
    for column in table.rows.codes:
        order = sorted(range(m), key=lambda i, column=column: int(column[i]))  # type: ignore[misc]
        if column.min() < column.max():
            cuts = [(order[:i], order[i:]) for i in range(k, m - k + 1)]
            one = min(cuts, key=lambda parts: sum(_loss(table, part) for part in parts), default=None)
            if one is not None and all(is_legal(table.rows, part, table.criteria) for part in one):
                options.append(sum(_loss(table, part) for part in one))
    resplit_sets(codes, rows, ends, table.model, rules_of(table.rows, table.criteria))
    assert _after(table, rows, ends) <= before + 1e-6
    if rules_of(table.rows, table.criteria).each_once:
        assert np.isclose(_after(table, rows, ends), min(options), atol=1e-5)


def _many_classes() -> tuple[Table, NDArray[np.int64], NDArray[np.int64]]:
    """Return 400 people with sets and nodes, in 80 classes as chance has it."""
    draws = np.random.default_rng(5)
    attributes = tuple(
        QuasiIdentifier(f"a{i}", DOMAINS[number], publication=publication)
        for i, (number, publication) in enumerate(
            [(0, PublishedForm.VALUES), (8, PublishedForm.VALUES), (3, PublishedForm.NODES)]
        )
    )
    n = 400
    codes = np.array([draws.integers(0, a.size, n) for a in attributes], np.int32)
    rows = Columns(codes, np.arange(n, dtype=np.int32), np.empty((0, n), np.int32))
    table = Table(attributes, cost_model(attributes), rows, Criteria(4, 0.5, np.empty(0, np.int64)))
    return table, draws.permutation(n), np.arange(5, n + 1, 5)


@pytest.mark.parametrize("swap", [swap_pass, swap_sets])
def test_a_pass_over_many_classes_gives_what_its_pairs_give_one_after_the_other(
    swap: Callable[[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], CostModel, Rules], int],
) -> None:
    """What is known of a class from one pair holds in the next."""
    table, order, ends = _many_classes()
    codes, rules = np.ascontiguousarray(table.rows.codes.T), rules_of(table.rows, table.criteria)
    one_by_one, middles = order.copy(), ends.copy()
    start = changed = 0
    for c in range(len(ends) - 1):
        pair, pair_ends = one_by_one[start : ends[c + 1]], np.array([middles[c], ends[c + 1]]) - start
        changed += swap(codes, pair, pair_ends, table.model, rules)
        middles[c] = start = start + pair_ends[0]
    assert swap(codes, order, ends, table.model, rules) == changed > 10
    assert order.tolist() == one_by_one.tolist()
    assert ends.tolist() == middles.tolist()


def test_many_classes_of_sets_get_cheaper_and_keep_their_rows() -> None:
    table, order, ends = _many_classes()
    rows, n = table.rows, len(table.rows)
    before = sum(_loss(table, part.tolist()) for part in np.split(order, ends[:-1]))
    refine_sets(np.ascontiguousarray(rows.codes.T), (order, ends), table.model, rules_of(rows, table.criteria), 2)
    parts = [part.tolist() for part in np.split(order, ends[:-1])]
    assert sorted(order.tolist()) == list(range(n))
    assert min(map(len, parts)) >= 4
    assert sum(_loss(table, part) for part in parts) < 0.9 * before
