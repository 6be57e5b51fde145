"""A good partition of a window by simulated annealing (Kirkpatrick et al. 1983): minutes where the engines take ms.

Two classes near each other exchange rows, one gives a row to the other, or both are pooled and cut anew along an
attribute; a class of 2k rows is cut in two. What makes the loss larger is accepted with a chance that falls as it
cools down.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.castle import union_loss
from benchmarks.baselines.linear_bound import Rows
from stream_anon.clustering.array_copying import copy_to
from stream_anon.clustering.forest.refining.split import sort_places
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

_STEPS = 1_000  # for each row, from hot to cold
_HEATS = 0.1, 0.2, 0.05  # times k, what a step may lose at first; one after the other
_COLD = 0.01
_CUTS = 0.02  # of all steps
_MANY = 1 << 30


@kernel
def _drawn(state: NDArray[np.int64], below: int) -> int:
    """Return a number from 0 to `below` by xorshift (Marsaglia 2003): numba's own take long to compile."""
    x = state[0]
    x ^= x << 13
    x ^= (x >> 7) & 0x1FFFFFFFFFFFFFF
    x ^= x << 17
    state[0] = x
    return int(((x >> 20) & 0xFFFFFFFF) % below)


@kernel
def _loss(codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel) -> float:
    cost = 0.0
    for j in range(codes.shape[1]):
        low = high = codes[rows[0], j]
        for row in rows[1:]:
            low = min(low, codes[row, j])
            high = max(high, codes[row, j])
        cost += interval_cost(model, j, low, high)
    return cost * len(rows)


@kernel
def _cut_at_random(codes: NDArray[np.int32], pool: NDArray[np.int64], k: int, state: NDArray[np.int64]) -> int:
    """Sort pooled rows along an attribute and return a place that leaves k on both sides, 0 if there is none."""
    m = len(pool)
    if m < 2 * k:
        return 0
    j = _drawn(state, codes.shape[1])
    keys = np.empty(m)
    for i in range(m):
        keys[i] = codes[pool[i], j] + 0.5 * _drawn(state, _MANY) / _MANY
    places = np.empty(m, np.int64)
    sort_places(keys, places)
    before = pool.copy()
    for i in range(m):
        pool[i] = before[places[i]]
    return k + _drawn(state, m - 2 * k + 1)


@kernel
def _give_or_exchange(pool: NDArray[np.int64], border: int, k: int, row: int, state: NDArray[np.int64]) -> int:
    """Let a row of the first class go if more than k are in it, else exchange it; return where that class ends."""
    place = 0
    while pool[place] != row:
        place += 1
    if border > k:
        pool[place], pool[border - 1] = pool[border - 1], pool[place]
        return border - 1
    other = border + _drawn(state, len(pool) - border)
    pool[place], pool[other] = pool[other], pool[place]
    return border


@kernel
def _anneal(
    codes: NDArray[np.int32],
    owner: NDArray[np.int64],
    near: NDArray[np.int64],
    k: int,
    model: CostModel,
    heat: float,
    state: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the best class int64[n] of each row that was met on the way from `owner`; near int64[n, m]."""
    n, count, most = len(codes), len(codes) // k + 1, 4 * k
    members = np.empty((count, most), np.int64)
    size = np.zeros(count, np.int64)
    loss = np.zeros(count)
    for row in range(n):
        members[owner[row], size[owner[row]]] = row
        size[owner[row]] += 1
    for c in range(count):
        loss[c] = _loss(codes, members[c, : size[c]], model) if size[c] else 0.0
    owner = owner.copy()
    best = owner.copy()
    now = least = loss.sum()
    pool = np.empty(2 * most, np.int64)
    for step in range(_STEPS * n):
        row = _drawn(state, n)
        one = owner[row]
        two = owner[near[row, _drawn(state, near.shape[1])]]
        large = size[one] >= 2 * k
        for c in range(count if large else 0):
            two = c if size[c] == 0 else two
        m = size[one] + size[two]
        if one == two or m > 2 * most:
            continue
        copy_to(pool, members[one, : size[one]])
        copy_to(pool[size[one] :], members[two, : size[two]])
        if large or _drawn(state, _MANY) < _CUTS * _MANY:
            border = _cut_at_random(codes, pool[:m], k, state)
        else:
            border = _give_or_exchange(pool[:m], size[one], k, row, state)
        if border == 0 or max(border, m - border) > most:
            continue
        first = _loss(codes, pool[:border], model)
        second = _loss(codes, pool[border:m], model)
        growth = first + second - loss[one] - loss[two]
        warmth = heat * (_COLD / heat) ** (step / (_STEPS * n))
        if growth > 0 and _drawn(state, _MANY) >= _MANY * np.exp(-growth / warmth):
            continue
        size[one], size[two] = border, m - border
        loss[one], loss[two] = first, second
        copy_to(members[one], pool[:border])
        copy_to(members[two], pool[border:m])
        for i in range(m):
            owner[pool[i]] = one if i < border else two
        now += growth
        if now < least - 1e-9:
            least = now
            copy_to(best, owner)
    return best


def annealed(
    codes: NDArray[np.int32], classes: Sequence[Rows], k: int, model: CostModel, seconds: float, seed: int = 0
) -> list[Rows]:
    """Return classes that lose no more than those given; codes int32[n, q].

    It ends after the cooling in which so many seconds are over.
    """
    state, n = np.random.default_rng(seed).integers(1, 2**62, 1), len(codes)
    most = min(4 * k, n - 1)
    near = np.array(
        [np.argsort(union_loss(codes, codes, row, row, model), kind="stable")[1 : most + 1] for row in codes]
    )
    owner = np.empty(n, np.int64)
    for c, rows in enumerate(classes):
        owner[rows] = c
    ends = monotonic() + seconds
    for heat in cycle(_HEATS):
        owner = _anneal(codes, owner, near, k, model, heat * k, state)
        if monotonic() >= ends:
            break
    return [np.flatnonzero(owner == c) for c in np.unique(owner)]
