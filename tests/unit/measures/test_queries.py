from __future__ import annotations

import numpy as np
import pytest

from stream_anon.measures.boxes import Boxes
from stream_anon.measures.queries import (
    RangeCount,
    estimated_counts,
    query_error,
    random_range_counts,
    true_counts,
)
from tests.unit.measures.tables import SIZES, as_anonypyx, covers, random_release, random_table


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sets", [False, True])
def test_counts_are_estimated_as_if_each_value_of_a_box_were_as_likely(seed: int, sets: bool) -> None:
    draws = np.random.default_rng(seed)
    codes = random_table(draws, 80)
    boxes, _ = random_release(draws, codes, sets=sets)
    queries = random_range_counts(SIZES, draws, 30)
    true, estimated, errors = [], [], []
    for query in queries:
        bounds = dict(zip(query.attributes, zip(query.low, query.high, strict=True), strict=True))
        true.append(sum(all(a <= codes[j, i] <= b for j, (a, b) in bounds.items()) for i in range(80)))
        guess = 0.0
        for c in range(len(boxes)):
            share = float(boxes.records[c])
            for j, (a, b) in bounds.items():
                held = [v for v in range(9) if covers(boxes, c, j, v)]
                share *= sum(a <= v <= b for v in held) / len(held)
            guess += share
        estimated.append(guess)
        errors.append(abs(guess - true[-1]) / max(true[-1], 0.1 * 80))
    assert true_counts(codes, queries).tolist() == true
    assert estimated_counts(boxes, queries) == pytest.approx(estimated)
    assert query_error(codes, boxes, queries, sanity=0.1) == pytest.approx(sum(errors) / len(errors))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sets", [False, True])
def test_anonypyx_answers_the_same_from_a_release_and_from_the_table(seed: int, sets: bool) -> None:
    draws = np.random.default_rng(seed)
    codes = random_table(draws, 80)
    boxes, _ = random_release(draws, codes, sets=sets)
    released, original = as_anonypyx(boxes), as_anonypyx(Boxes(codes, codes, np.ones(80, np.int64)))
    judge = pytest.importorskip("anonypyx.metrics.query_error", reason="anonypyx is not installed")
    compared = 0
    for query in random_range_counts(SIZES, draws, 20):
        bounds = dict(zip(query.attributes, zip(query.low, query.high, strict=True), strict=True))
        ranges = {f"a{place}": bound for place, bound in bounds.items()}
        if sets and 0 in bounds:  # it asks for values of what is published as sets
            ranges["a0"] = set(range(bounds[0][0], bounds[0][1] + 1))
        found = judge.counting_query(ranges, released)
        assert estimated_counts(boxes, [query]).tolist() == pytest.approx([found])
        true = int(true_counts(codes, [query])[0])
        exact = {f"a{place}": bound for place, bound in bounds.items()}
        assert judge.counting_query(exact, original) == true
        if true:
            compared += 1
            assert query_error(codes, boxes, [query], sanity=0) == pytest.approx(abs(true - found) / true)
    assert compared >= 10


def test_exact_values_are_counted_without_error() -> None:
    codes = random_table(np.random.default_rng(3), 50)
    exact = Boxes(codes, codes, np.ones(50, np.int64))
    assert query_error(codes, exact, random_range_counts(SIZES, np.random.default_rng(0))) == 0.0


def test_queries_are_over_two_and_three_attributes_and_the_same_for_the_same_seed() -> None:
    queries = random_range_counts((4, 9, 2, 100), np.random.default_rng(7))
    assert len(queries) == 1000
    assert {len(query.attributes) for query in queries} == {2, 3}
    assert all(list(query.attributes) == sorted(set(query.attributes)) for query in queries)
    sizes = np.array([4, 9, 2, 100])
    for query in queries:
        assert min(query.low) >= 0
        assert (np.array(query.low) <= query.high).all()
        assert (np.array(query.high) < sizes[list(query.attributes)]).all()
    assert queries == random_range_counts((4, 9, 2, 100), np.random.default_rng(7))
    assert queries != random_range_counts((4, 9, 2, 100), np.random.default_rng(8))
    assert {q.attributes for q in random_range_counts((4,), np.random.default_rng(0), 5)} == {(0,)}


def test_a_small_count_is_compared_with_the_sanity_bound() -> None:
    codes = np.array([[0] * 1999 + [5]], np.int32)
    whole = Boxes(np.array([[0]], np.int32), np.array([[9]], np.int32), np.array([2000]))
    nobody = [RangeCount((0,), (9,), (9,))]  # estimated as 200, truly none: 0.1 % of 2,000 is 2
    assert query_error(codes, whole, nobody) == pytest.approx(100.0)
    assert query_error(codes, whole, []) is None
    assert query_error(np.empty((1, 0), np.int32), whole, nobody) is None
