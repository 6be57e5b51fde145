"""The matching of greatest weight in a general graph: Edmonds' blossoms with dual labels.

Trees grow from all free vertices at once, over edges whose labels add up to twice their weight. An edge between two
trees is a path along which one more pair can be matched; one inside a tree closes an odd circle, which shrinks into
a blossom and is a vertex from then on. Where no edge is left the labels are changed just enough for a new one.

::

    outer ══ inner ── outer      ══ matched; labels of outer vertices fall, those of inner ones rise

(Edmonds 1965; Galil 1986.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.blossoms import (
    FREE,
    INNER,
    NAMES,
    OUTER,
    PLACE,
    QUEUED,
    STAMP,
    VERTICES,
    Search,
    distance_of,
    enqueue,
    even_place,
    expand,
    new_search,
    shrink,
)
from stream_anon.compiled import kernel


@kernel
def greatest_matching(gains: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the mate of each vertex in a matching of greatest weight, -1 for none; O(n^3).

    gains int64[n, n], symmetric, below 2^60; only edges of positive weight are matched.
    """
    n = len(gains)
    s = new_search(gains)
    while n > 0 and s.label[1] > 0 and _augmented(s):
        pass
    return s.mate[1 : n + 1] - 1


@kernel
def _match(s: Search, x: int, y: int) -> None:
    """Match `x` along its best edge to `y`, and what is in it around its circles."""
    todo = [(x, y)]
    while len(todo) > 0:
        u, v = todo.pop()
        s.mate[u] = s.head[u, v]
        if u <= s.used[VERTICES]:
            continue
        base = s.holder[u, s.tail[u, v]]
        place = even_place(s, u, base)
        todo.extend([(int(s.flower[u, i]), int(s.flower[u, i ^ 1])) for i in range(place)])
        todo.append((int(base), v))
        turned = s.flower[u, : s.petals[u]].copy()
        for i in range(len(turned)):
            s.flower[u, i] = turned[(i + place) % len(turned)]


@kernel
def _augment(s: Search, x: int, y: int) -> None:
    """Match `x` with `y`, and change matched and other edges from `x` to the root of its tree."""
    u = x
    v = y
    while True:
        freed = s.top[s.mate[u]]
        _match(s, u, v)
        if freed == 0:
            return
        v = freed
        u = s.top[s.above[freed]]
        _match(s, v, u)


@kernel
def _meeting(s: Search, x: int, y: int) -> int:
    """Return where the ways from two outer ones to their roots meet, 0 if they are in two trees."""
    s.used[STAMP] += 1
    u = x
    v = y
    while u != 0 or v != 0:
        if u != 0:
            if s.seen[u] == s.used[STAMP]:
                return u
            s.seen[u] = s.used[STAMP]
            u = s.top[s.mate[u]]
            if u != 0:
                u = s.top[s.above[u]]
        u, v = v, u
    return 0


@kernel
def _follow(s: Search, tail: int, head: int) -> bool:
    """Follow a tight edge from an outer vertex; return whether one more pair could be matched."""
    u = s.top[tail]
    v = s.top[head]
    if s.side[v] == FREE:
        s.above[v] = tail
        s.side[v] = INNER
        w = s.top[s.mate[v]]
        s.slack[v] = 0
        s.slack[w] = 0
        s.side[w] = OUTER
        enqueue(s, w)
    elif s.side[v] == OUTER:
        base = _meeting(s, u, v)
        if base == 0:
            _augment(s, u, v)
            _augment(s, v, u)
            return True
        shrink(s, u, base, v)
    return False


@kernel
def _grown(s: Search) -> bool:
    """Follow tight edges from all queued vertices; return whether one more pair was matched."""
    while s.used[PLACE] < s.used[QUEUED]:
        u = s.queue[s.used[PLACE]]
        s.used[PLACE] += 1
        if s.side[s.top[u]] == INNER:
            continue
        for v in range(1, s.used[VERTICES] + 1):
            if s.gain[u, v] > 0 and s.top[u] != s.top[v]:
                distance = s.label[u] + s.label[v] - 2 * s.gain[u, v]
                if distance == 0:
                    if _follow(s, u, v):
                        return True
                else:
                    x = s.top[v]
                    if s.slack[x] == 0 or distance < distance_of(s, s.slack[x], x):
                        s.slack[x] = u
    return False


@kernel
def _step(s: Search) -> int:
    """Return by how much labels can change before an edge grows tight or a blossom must open."""
    step = 2**62
    for x in range(1, s.used[NAMES] + 1):
        if s.top[x] != x:
            continue
        if x > s.used[VERTICES] and s.side[x] == INNER:
            step = min(step, s.label[x] // 2)
        if s.slack[x] != 0:
            if s.side[x] == FREE:
                step = min(step, distance_of(s, s.slack[x], x))
            elif s.side[x] == OUTER:
                step = min(step, distance_of(s, s.slack[x], x) // 2)
    return int(step)


@kernel
def _augmented(s: Search) -> bool:
    """Grow trees from all free vertices until one more pair is matched; return False if none can be."""
    n = s.used[VERTICES]
    s.side[:] = FREE
    s.slack[:] = 0
    s.used[QUEUED] = 0
    s.used[PLACE] = 0
    for x in range(1, s.used[NAMES] + 1):
        if s.top[x] == x and s.mate[x] == 0:
            s.above[x] = 0
            s.side[x] = OUTER
            enqueue(s, x)
    if s.used[QUEUED] == 0:
        return False
    while True:
        if _grown(s):
            return True
        step = _step(s)
        for u in range(1, n + 1):
            side = s.side[s.top[u]]
            if side == OUTER:
                if s.label[u] <= step:
                    return False
                s.label[u] -= step
            elif side == INNER:
                s.label[u] += step
        for b in range(n + 1, s.used[NAMES] + 1):
            if s.top[b] == b:
                if s.side[b] == OUTER:
                    s.label[b] += 2 * step
                elif s.side[b] == INNER:
                    s.label[b] -= 2 * step
        s.used[QUEUED] = 0
        s.used[PLACE] = 0
        for x in range(1, s.used[NAMES] + 1):
            near = s.slack[x]
            tight = s.top[x] == x and near != 0 and s.top[near] != x and distance_of(s, near, x) == 0
            if tight and _follow(s, s.tail[near, x], s.head[near, x]):
                return True
        for b in range(n + 1, s.used[NAMES] + 1):
            if s.top[b] == b and s.side[b] == INNER and s.label[b] == 0:
                expand(s, b)
