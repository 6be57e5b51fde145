"""DECOMPOSE: cut a tree into parts of at least k real rows.

A candidate vertex `u` moves towards the largest of its subtrees, of `phi` rows and rooted at `v`, until the rest of
the tree is large enough. The tree is rooted anew at each candidate, so that all subtrees hang below it.

::

    A  u ─┼─ v      phi and the rest have k      B  u ── v   v' ─ ...    the rest has k - 1: it gets v
                                                 C  v ── u   u' ─ ...    phi = k - 1: u joins it
                                                 D  ... ─ u  u' ─ ...    all are small: some against the rest

A copy (v', u') counts 0, so B needs a real v and C a real u, and D at a copy needs k rows on both sides. The cuts
as printed in the paper count the copy as a row, and leave parts a row short.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.trees import NOTHING, Trees
from stream_anon.compiled import kernel


@kernel
def decompose(trees: Trees, tree: int, k: int, most: int) -> None:
    """Cut `tree` and its parts until none has more than `most` rows and a legal cut; O(cuts x vertices)."""
    todo = [tree]
    while len(todo) > 0:
        part = todo.pop()
        if trees.rows[part] > most:
            other = cut_once(trees, part, k)
            if other != NOTHING:
                todo.append(other)
                todo.append(part)


@kernel
def cut_once(trees: Trees, tree: int, k: int) -> int:
    """Cut `tree`, of at least 2k rows, in two; return the new tree, -1 if no cut is legal; O(vertices)."""
    vertices = trees.used[0]
    child = np.full(vertices + 1, NOTHING, np.int64)  # first child; with room for a copy
    sibling = np.full(vertices + 1, NOTHING, np.int64)
    for vertex in range(vertices - 1, -1, -1):
        above = trees.parent[vertex]
        if trees.tree[vertex] == tree and above != NOTHING:
            sibling[vertex] = child[above]
            child[above] = vertex
    u = trees.root[tree]
    below = _rows_below(trees, u, child, sibling)
    total = trees.rows[tree]
    while True:
        v = NOTHING
        largest = -1
        c = child[u]
        while c != NOTHING:
            if below[c] > largest:
                v = c
                largest = below[c]
            c = sibling[c]
        rest = total - largest
        if largest < k or rest >= k:
            break
        if rest == k - 1 and trees.real[v]:
            break
        _root_at(trees, u, v, child, sibling)
        below[u] = rest
        below[v] = total
        u = v
    trees.root[tree] = u
    if largest >= k and rest >= k:  # A
        _unhang(u, v, child, sibling)
        return _new_tree(trees, v, child, sibling)
    if largest >= k:  # B
        copy = _copy_of(trees, v)
        _hang_all(v, copy, child)
        return _new_tree(trees, copy, child, sibling)
    if largest == k - 1 and trees.real[u]:  # C
        copy = _copy_of(trees, u)
        _unhang(u, v, child, sibling)
        _hang_all(u, copy, child)
        sibling[v] = NOTHING
        child[u] = v
        return _new_tree(trees, copy, child, sibling)
    taken = _some_children(u, k, total - k, child, sibling, below)  # D
    if len(taken) == 0:
        return NOTHING
    copy = _copy_of(trees, u)
    for c in taken:
        _unhang(u, c, child, sibling)
        sibling[c] = child[copy]
        child[copy] = c
        trees.parent[c] = copy
    return _new_tree(trees, copy, child, sibling)


@kernel
def _rows_below(trees: Trees, root: int, child: NDArray[np.int64], sibling: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of real rows at and below each vertex of the tree of `root`."""
    below = np.zeros(len(child), np.int64)
    line = [root]
    at = 0
    while at < len(line):
        c = child[line[at]]
        while c != NOTHING:
            line.append(c)
            c = sibling[c]
        at += 1
    for at in range(len(line) - 1, -1, -1):
        vertex = line[at]
        below[vertex] += 1 if trees.real[vertex] else 0
        if at > 0:
            below[trees.parent[vertex]] += below[vertex]
    return below


@kernel
def _unhang(u: int, v: int, child: NDArray[np.int64], sibling: NDArray[np.int64]) -> None:
    """Take `v` from the children of `u`."""
    if child[u] == v:
        child[u] = sibling[v]
    else:
        c = child[u]
        while sibling[c] != v:
            c = sibling[c]
        sibling[c] = sibling[v]
    sibling[v] = NOTHING


@kernel
def _root_at(trees: Trees, u: int, v: int, child: NDArray[np.int64], sibling: NDArray[np.int64]) -> None:
    """Turn the edge between the root `u` and its child `v`."""
    _unhang(u, v, child, sibling)
    sibling[u] = child[v]
    child[v] = u
    trees.parent[u] = v
    trees.weight[u] = trees.weight[v]
    trees.parent[v] = NOTHING
    trees.weight[v] = 0.0


@kernel
def _copy_of(trees: Trees, vertex: int) -> int:
    """Return a new Steiner vertex for the row of `vertex`, without edges."""
    copy = trees.used[0]
    trees.used[0] += 1
    trees.row[copy] = trees.row[vertex]
    trees.real[copy] = False
    trees.parent[copy] = NOTHING
    trees.weight[copy] = 0.0
    trees.tree[copy] = trees.tree[vertex]
    return int(copy)


@kernel
def _hang_all(vertex: int, copy: int, child: NDArray[np.int64]) -> None:
    """Hang all children of `vertex` on `copy`."""
    child[copy] = child[vertex]
    child[vertex] = NOTHING


@kernel
def _some_children(
    u: int,
    least: int,
    most: int,
    child: NDArray[np.int64],
    sibling: NDArray[np.int64],
    below: NDArray[np.int64],
) -> list[int]:
    """Return children of `u` with `least` to `most` rows together, none if that cannot be.

    The first ones where these will do. They can only have too many where the tree has fewer than three times
    `least` rows: then the sums that can be reached are few.
    """
    taken = [u for _ in range(0)]
    rows = 0
    c = child[u]
    while c != NOTHING and rows < least:
        taken.append(c)
        rows += below[c]
        c = sibling[c]
    if least <= rows <= most:
        return taken
    taken.clear()
    last = np.full(max(most, 0) + 1, NOTHING, np.int64)  # the child that first reached each sum
    before = np.full(max(most, 0) + 1, NOTHING, np.int64)
    reached = [0]
    c = child[u]
    while c != NOTHING:
        for i in range(len(reached)):
            rows = reached[i] + below[c]
            if rows <= most and last[rows] == NOTHING:
                last[rows] = c
                before[rows] = reached[i]
                reached.append(rows)
                if rows >= least:
                    while rows > 0:
                        taken.append(last[rows])
                        rows = before[rows]
                    return taken
        c = sibling[c]
    return taken


@kernel
def _new_tree(trees: Trees, root: int, child: NDArray[np.int64], sibling: NDArray[np.int64]) -> int:
    """Make `root` and all below it a tree of its own, cut from its parent; return its number."""
    old = trees.tree[root]
    new = trees.used[1]
    trees.used[1] += 1
    trees.parent[root] = NOTHING
    trees.weight[root] = 0.0
    trees.root[new] = root
    trees.rows[new] = 0
    todo = [root]
    while len(todo) > 0:
        vertex = todo.pop()
        trees.tree[vertex] = new
        trees.rows[new] += 1 if trees.real[vertex] else 0
        c = child[vertex]
        while c != NOTHING:
            trees.parent[c] = vertex
            todo.append(c)
            c = sibling[c]
    trees.rows[old] -= trees.rows[new]
    for tree in (old, new):
        _pick_end(trees, tree, child, sibling)
    return int(new)


@kernel
def _pick_end(trees: Trees, tree: int, child: NDArray[np.int64], sibling: NDArray[np.int64]) -> None:
    """Drop copies at the root of `tree` that hold nothing together."""
    root = trees.root[tree]
    while not trees.real[root] and sibling[child[root]] == NOTHING:
        trees.tree[root] = NOTHING
        root = child[root]
        trees.parent[root] = NOTHING
        trees.weight[root] = 0.0
    trees.root[tree] = root


@kernel
def decompose_all(trees: Trees, k: int, most: int) -> None:
    """Cut all trees of more than `most` rows that have a legal cut."""
    for tree in range(trees.used[1]):
        if trees.rows[tree] > most:
            decompose(trees, tree, k, most)
