from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given

from stream_anon.clustering.k_forest.checks import check_trees
from stream_anon.clustering.k_forest.decompose import cut_once, decompose
from stream_anon.clustering.k_forest.trees import NOTHING, Trees, most_rows
from tests.support.effort import examples
from tests.unit.clustering.k_forest.graphs import graph_model, grown_trees, tree_of


def _check(trees: Trees, k: int, rows: int) -> None:
    """All edges cost 1 and no class costs anything: only the shape is looked at."""
    check_trees(trees, np.zeros((rows, 1), np.int32), graph_model(np.zeros((1, 1))), k, most_rows(k))


def _sizes(trees: Trees) -> list[int]:
    return sorted(int(rows) for rows in trees.rows[: trees.used[1]])


def _subtrees(trees: Trees, u: int) -> Iterator[int]:
    """The number of rows of each subtree of `u`, whichever way its edge leads."""
    n = int(trees.used[0])
    links: dict[int, set[int]] = {vertex: set() for vertex in range(n)}
    for vertex in range(n):
        if trees.parent[vertex] != NOTHING:
            links[vertex].add(int(trees.parent[vertex]))
            links[int(trees.parent[vertex])].add(vertex)
    for start in links[u]:
        seen, todo = {u, start}, [start]
        while todo:
            fresh = links[todo.pop()] - seen
            seen |= fresh
            todo += fresh
        yield sum(bool(trees.real[vertex]) for vertex in seen - {u})


def _has_legal_cut(trees: Trees, k: int) -> bool:
    """Try all edges, and at all vertices all sums of subtrees; the vertex stays with either side."""
    total = int(trees.rows[0])
    for u in range(int(trees.used[0])):
        sums = {0}
        for rows in _subtrees(trees, u):
            sums |= {before + rows for before in sums}
        if any(k <= taken <= total - k for taken in sums):
            return True
    return False


@examples(400)
@given(grown=grown_trees())
def test_a_cut_leaves_k_rows_in_both_parts_and_is_found_where_there_is_one(grown: tuple[Trees, int]) -> None:
    trees, k = grown
    rows = int(trees.rows[0])
    if rows < 2 * k:
        return
    expected = _has_legal_cut(trees, k)
    other = cut_once(trees, 0, k)
    assert (other != NOTHING) == expected
    assert expected or rows <= most_rows(k)
    if expected:
        assert min(trees.rows[0], trees.rows[other]) >= k
    assert trees.rows[: trees.used[1]].sum() == rows
    check_trees(trees, np.zeros((rows, 1), np.int32), graph_model(np.zeros((1, 1))), k, rows)


@examples(300)
@given(grown=grown_trees())
def test_a_tree_that_is_too_large_is_cut_into_parts_of_k_rows_or_more(grown: tuple[Trees, int]) -> None:
    trees, k = grown
    rows = int(trees.rows[0])
    if rows >= k:
        decompose(trees, 0, k, most_rows(k))
        _check(trees, k, rows)


@pytest.mark.parametrize("k", range(2, 9))
@pytest.mark.parametrize("n", [9, 12, 20, 40])
def test_a_star_is_cut_into_parts_of_k_rows_or_more(n: int, k: int) -> None:
    """Vector 5. The printed cuts count the centre on both sides:: .. 1 ── 0 ── 2 .."""
    trees = tree_of([NOTHING, *([0] * (n - 1))])
    decompose(trees, 0, k, 2 * k - 1)
    _check(trees, k, n)
    assert len(_sizes(trees)) == n // k  # a star gives away every k leaves


@pytest.mark.parametrize(
    ("parents", "copies", "k", "sizes"),
    [
        ([-1, 0, 1, 2, 3, 4], [], 3, [3, 3]),  # A  0 1 2 | 3 4 5
        ([-1, 0, 1, 1, 1, 1], [], 2, [2, 2, 2]),  # B  0 1 | 2 .. 5 under a copy of 1, which is cut again
        ([1, -1, 0, 1, 3, 1, 5], [], 3, [3, 4]),  # C  1 with two of its subtrees of k - 1 = 2 rows
        ([-1, 0, 0, 0, 0, 0, 0, 0], [], 4, [4, 4]),  # D  leaves against leaves
        ([-1, 0, 0, 0, 0], [0], 2, [2, 2]),  # D  at a copy: both sides of k
        ([-1, 0, 1, 0, 3, 0, 5], [0], 3, [6]),  # nothing: three subtrees of k - 1, the centre counts 0
    ],
)
def test_a_cut_is_made_where_it_is_drawn(parents: list[int], copies: list[int], k: int, sizes: list[int]) -> None:
    trees = tree_of(parents, copies)
    decompose(trees, 0, k, 2 * k - 1)
    assert _sizes(trees) == sizes
    _check(trees, k, len(parents) - len(copies))
