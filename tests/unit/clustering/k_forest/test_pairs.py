from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.checks import check_trees, class_cost
from stream_anon.clustering.k_forest.decompose import decompose_all
from stream_anon.clustering.k_forest.matching import greatest_matching
from stream_anon.clustering.k_forest.neighbours import cost_graph
from stream_anon.clustering.k_forest.pairs import cover
from stream_anon.clustering.k_forest.trees import no_trees, trees_of_rows
from tests.support.effort import examples
from tests.support.tables import Table, classes_of, tables


def _matchings(vertices: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """All matchings."""
    if not vertices:
        yield []
        return
    first, rest = vertices[0], vertices[1:]
    yield from _matchings(rest)
    for mate in rest:
        yield from ([(first, mate), *more] for more in _matchings([v for v in rest if v != mate]))


def _check_matching(gains: NDArray[np.int64], mates: NDArray[np.int64]) -> int:
    """Return what a matching weighs; every mate has that mate, over an edge of positive weight."""
    matched = [row for row in range(len(mates)) if mates[row] >= 0]
    assert all(mates[mates[row]] == row and gains[row, mates[row]] > 0 for row in matched)
    return sum(int(gains[row, mates[row]]) for row in matched) // 2


@st.composite
def _gains(draw: st.DrawFn, most: int = 8) -> NDArray[np.int64]:
    n = draw(st.integers(0, most))
    weight = st.sampled_from([0, 0, 1]) | st.integers(0, draw(st.sampled_from([2, 5, 10**15])))
    half = np.triu(np.array(draw(st.lists(weight, min_size=n * n, max_size=n * n)), np.int64).reshape(n, n), 1)
    return half + half.T


@examples(300)
@given(gains=_gains())
def test_no_matching_weighs_more_than_the_one_found(gains: NDArray[np.int64]) -> None:
    best = max(sum(int(gains[pair]) for pair in matching) for matching in _matchings(range(len(gains))))
    assert _check_matching(gains, greatest_matching(gains)) == best


def _best(gains: NDArray[np.int64]) -> int:
    """The greatest weight, by dynamic programming over subsets: best[s] of the vertices in s."""
    n = len(gains)
    best = np.zeros(1 << n, np.int64)
    for chosen in range(1, 1 << n):
        top = chosen.bit_length() - 1
        rest = chosen ^ (1 << top)
        pairs = (best[rest ^ (1 << mate)] + gains[top, mate] for mate in range(top) if rest >> mate & 1)
        best[chosen] = max(best[rest], max(pairs, default=0))
    return int(best[-1])


@pytest.mark.parametrize("seed", range(6))
def test_blossoms_within_blossoms_are_opened_right(seed: int) -> None:
    """Sparse graphs of 14 vertices with nearly equal weights, full of odd circles."""
    draws = np.random.default_rng(seed)
    half = np.triu(draws.integers(8, 12, (14, 14)) * (draws.random((14, 14)) < 0.3), 1)
    gains = (half + half.T).astype(np.int64)
    assert _check_matching(gains, greatest_matching(gains)) == _best(gains)


@pytest.mark.parametrize("rings", [1, 2, 20])
def test_joined_odd_circles_are_matched_completely(rings: int) -> None:
    """Circles of five in a row, each joined with the next by a light edge: 100 vertices, all of them matched."""
    n = 5 * rings
    gains = np.zeros((n, n), np.int64)
    for start in range(0, n, 5):
        for i in range(5):
            one, two = start + i, start + (i + 1) % 5
            gains[one, two] = gains[two, one] = 10
        if start:
            gains[start, start - 5] = gains[start - 5, start] = 1
    pairs = rings // 2
    assert _check_matching(gains, greatest_matching(gains)) == 20 * rings + pairs


def _covers_weigh(graph: NDArray[np.float64]) -> float:
    """The weight of the lightest edge cover: any matching, all other rows with their lightest edges."""
    lightest = np.where(np.eye(len(graph)) > 0, np.inf, graph).min(axis=1)
    weights = []
    for matching in _matchings(range(len(graph))):
        left = set(range(len(graph))) - {row for pair in matching for row in pair}
        weights.append(sum(graph[pair] for pair in matching) + sum(lightest[row] for row in left))
    return float(min(weights))


def _optimum(table: Table, rows: Sequence[int]) -> float:
    """The least loss of classes of two and three rows: larger ones could be split."""
    if not rows:
        return 0.0
    codes = table.rows.codes.T
    first, rest = rows[0], rows[1:]
    least = np.inf
    for i, second in enumerate(rest):
        for more in ([], *([third] for third in rest[i + 1 :])):
            group = [first, second, *more]
            others = [row for row in rest if row not in group]
            least = min(least, len(group) * class_cost(codes[group], table.model) + _optimum(table, others))
    return float(least)


@examples(150)
@given(table=tables().filter(lambda table: 2 <= len(table.rows) <= 8))
def test_the_cover_is_the_lightest_and_loses_at_most_twice_the_optimum(table: Table) -> None:
    codes = np.ascontiguousarray(table.rows.codes.T)
    trees = no_trees(2 * len(codes))
    cover(trees, codes, table.model)
    check_trees(trees, codes, table.model, 2, len(codes))
    weight = trees.weight[: trees.used[0]].sum()
    assert weight == pytest.approx(_covers_weigh(cost_graph(codes, table.model)), abs=1e-6)
    decompose_all(trees, 2, 3)
    check_trees(trees, codes, table.model, 2, 3)
    groups = [sorted(group) for group in classes_of(trees_of_rows(trees).tolist())]
    loss = sum(len(group) * class_cost(codes[group], table.model) for group in groups)
    optimum = _optimum(table, range(len(codes)))
    assert weight <= optimum * 2 / 3 + 1e-4
    assert loss <= 2 * optimum + 1e-4
