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
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

_STEPS = 1_000  # for each row, from hot to cold
_HEATS = 0.1, 0.2, 0.05  # times k, what a step may lose at first; one after the other
_COLD = 0.01
_CUTS = 0.02  # of all steps


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
def _cut_at_random(codes: NDArray[np.int32], pool: NDArray[np.int64], k: int, draws: np.random.Generator) -> int:
    """Sort pooled rows along an attribute and return a place that leaves k on both sides, 0 if there is none."""
    m = len(pool)
    if m < 2 * k:
        return 0
    j = draws.integers(0, codes.shape[1])
    keys = np.empty(m)
    for i in range(m):
        keys[i] = codes[pool[i], j] + 0.5 * draws.random()
    pool[:] = pool[np.argsort(keys)]
    return k + int(draws.integers(0, m - 2 * k + 1))


@kernel
def _give_or_exchange(pool: NDArray[np.int64], border: int, k: int, row: int, draws: np.random.Generator) -> int:
    """Let a row of the first class go if more than k are in it, else exchange it; return where that class ends."""
    place = 0
    while pool[place] != row:
        place += 1
    if border > k:
        pool[place], pool[border - 1] = pool[border - 1], pool[place]
        return border - 1
    other = border + draws.integers(0, len(pool) - border)
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
    draws: np.random.Generator,
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
        row = draws.integers(0, n)
        one = owner[row]
        two = owner[near[row, draws.integers(0, near.shape[1])]]
        large = size[one] >= 2 * k
        if large and size.min() == 0:
            two = np.argmin(size)
        m = size[one] + size[two]
        if one == two or m > 2 * most:
            continue
        pool[: size[one]] = members[one, : size[one]]
        pool[size[one] : m] = members[two, : size[two]]
        if large or draws.random() < _CUTS:
            border = _cut_at_random(codes, pool[:m], k, draws)
        else:
            border = _give_or_exchange(pool[:m], size[one], k, row, draws)
        if border == 0 or max(border, m - border) > most:
            continue
        first = _loss(codes, pool[:border], model)
        second = _loss(codes, pool[border:m], model)
        growth = first + second - loss[one] - loss[two]
        warmth = heat * (_COLD / heat) ** (step / (_STEPS * n))
        if growth > 0 and draws.random() >= np.exp(-growth / warmth):
            continue
        size[one], size[two] = border, m - border
        loss[one], loss[two] = first, second
        members[one, :border] = pool[:border]
        members[two, : m - border] = pool[border:m]
        owner[pool[:border]] = one
        owner[pool[border:m]] = two
        now += growth
        if now < least - 1e-9:
            least = now
            best[:] = owner
    return best


def annealed(
    codes: NDArray[np.int32], classes: Sequence[Rows], k: int, model: CostModel, seconds: float, seed: int = 0
) -> list[Rows]:
    """Return classes that lose no more than those given; codes int32[n, q].

    It ends after the cooling in which so many seconds are over.
    """
    draws, n = np.random.default_rng(seed), len(codes)
    most = min(4 * k, n - 1)
    near = np.array(
        [np.argsort(union_loss(codes, codes, row, row, model), kind="stable")[1 : most + 1] for row in codes]
    )
    owner = np.empty(n, np.int64)
    for c, rows in enumerate(classes):
        owner[rows] = c
    ends = monotonic() + seconds
    for heat in cycle(_HEATS):
        owner = _anneal(codes, owner, near, k, model, heat * k, draws)
        if monotonic() >= ends:
            break
    return [np.flatnonzero(owner == c) for c in np.unique(owner)]
