"""k = 2 and 3: classes so small that a few of them can be cut anew in the best of all ways.

A class is pooled with the one or two that lie nearest. A pool of up to 10 rows has so few sets that a dynamic
program over them finds its best partition; it is taken if it loses less. Around again, until a round finds nothing.

::

    a b c │ d e f g │ h i j    pooled: 10 rows, 1,024 sets    a d h │ b c e │ f g i j

No published method for k = 3 is repeated here: that of Aggarwal et al. (2005) leans on a lightest 2-factor and is
stated for binary attributes. What holds is that nothing gets worse: bounds on the loss of the classes that came in
hold for those that go out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

LARGEST_K = 3
_MOST_POOLED = 10
_MOST_OF_THREE = 9  # rows in three classes that are pooled: one more takes three times as long
_NEAR = 8
_THREES = 4  # of the nearest so many, each two are pooled with the class
_ROUNDS = 6
_WORTH = 1e-9


@kernel
def _set_losses(
    codes: NDArray[np.int32], rows: NDArray[np.int64], model: CostModel, boxes: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return rows x cost of each set of rows int64[m], a bit a row; float64[2^m], O(2^m q).

    boxes int32[2, >= 2^m, q], written.
    """
    m = len(rows)
    q = codes.shape[1]
    losses = np.zeros(1 << m)
    count = np.zeros(1 << m, np.int64)
    for chosen in range(1, 1 << m):
        rest = chosen & (chosen - 1)
        bit = 0
        while not chosen >> bit & 1:
            bit += 1
        count[chosen] = count[rest] + 1
        total = 0.0
        for j in range(q):
            low = codes[rows[bit], j]
            high = low
            if rest:
                low = min(low, boxes[0, rest, j])
                high = max(high, boxes[1, rest, j])
            boxes[0, chosen, j] = low
            boxes[1, chosen, j] = high
            total += interval_cost(model, j, low, high)
        losses[chosen] = total * count[chosen]
    return losses


@kernel
def best_partition(losses: NDArray[np.float64], m: int, k: int) -> tuple[float, NDArray[np.int64]]:
    """Return the least loss of m >= k rows in sets of at least `k`, and of each set of rows a part; O(3^m) at most.

    losses float64[2^m], of each set as one class. The other parts of a set are those of what its part leaves over.
    """
    best = np.full(1 << m, np.inf)
    best[0] = 0.0
    part_of = np.zeros(1 << m, np.int64)
    count = np.zeros(1 << m, np.int64)
    needed = np.zeros(1 << m, np.bool_)
    needed[-1] = True
    for chosen in range(1, 1 << m):
        count[chosen] = count[chosen >> 1] + (chosen & 1)
        if k <= count[chosen] < 2 * k:
            # Two halves never lose more than the whole: what can be halved is no part.
            best[chosen] = losses[chosen]
            part_of[chosen] = chosen
    for down in (True, False):  # which sets are left over by a part; then the best of each, small ones first
        for step in range(1, 1 << m):
            chosen = (1 << m) - step if down else step
            if not needed[chosen] or count[chosen] < 2 * k:
                continue
            first = chosen & -chosen
            others = chosen ^ first
            more = others
            while more > 0:
                part = more | first
                rest = chosen ^ part
                more = (more - 1) & others
                if not k <= count[part] < 2 * k or count[rest] < k:
                    continue
                if down:
                    needed[rest] = True
                elif losses[part] + best[rest] < best[chosen]:
                    best[chosen] = losses[part] + best[rest]
                    part_of[chosen] = part
    return float(best[-1]), part_of


@kernel
def _box_cost(codes: NDArray[np.int32], one: NDArray[np.int64], two: NDArray[np.int64], model: CostModel) -> float:
    """Return the cost of publishing the rows of one set and of another alike."""
    total = 0.0
    for j in range(codes.shape[1]):
        low = codes[one[0], j]
        high = low
        for row in one:
            low = min(low, codes[row, j])
            high = max(high, codes[row, j])
        for row in two:
            low = min(low, codes[row, j])
            high = max(high, codes[row, j])
        total += interval_cost(model, j, low, high)
    return total


@kernel
def _nearest(
    codes: NDArray[np.int32], members: NDArray[np.int64], size: NDArray[np.int64], model: CostModel
) -> NDArray[np.int64]:
    """Return for each class the `_NEAR` with which it would lose least more, -1 for none; O(c^2 q)."""
    slots = len(size)
    q = codes.shape[1]
    low = np.zeros((slots, q), np.int32)
    high = np.zeros((slots, q), np.int32)
    own = np.zeros(slots)
    for a in range(slots):
        if size[a] > 0:
            rows = members[a, : size[a]]
            own[a] = size[a] * _box_cost(codes, rows, rows, model)
            for j in range(q):
                low[a, j] = codes[rows[0], j]
                high[a, j] = low[a, j]
                for row in rows:
                    low[a, j] = min(low[a, j], codes[row, j])
                    high[a, j] = max(high[a, j], codes[row, j])
    near = np.full((slots, _NEAR), -1, np.int64)
    more = np.full((slots, _NEAR), np.inf)
    for a in range(slots):
        for b in range(a):
            if size[a] == 0 or size[b] == 0:
                continue
            cost = 0.0
            for j in range(q):
                cost += interval_cost(model, j, min(low[a, j], low[b, j]), max(high[a, j], high[b, j]))
            growth = (size[a] + size[b]) * cost - own[a] - own[b]
            for one, other in ((a, b), (b, a)):
                if growth < more[one, -1]:
                    place = _NEAR - 1
                    while place > 0 and more[one, place - 1] > growth:
                        more[one, place] = more[one, place - 1]
                        near[one, place] = near[one, place - 1]
                        place -= 1
                    more[one, place] = growth
                    near[one, place] = other
    return near


@kernel
def _pooled(
    codes: NDArray[np.int32],
    members: NDArray[np.int64],
    size: NDArray[np.int64],
    pool: NDArray[np.int64],
    model: CostModel,
    k: int,
    boxes: NDArray[np.int32],
    changed: NDArray[np.bool_],
) -> None:
    """Cut the classes of `pool` anew if that loses less, and mark all that it makes as changed."""
    rows = np.empty(_MOST_POOLED, np.int64)
    m = 0
    before = 0.0
    for a in pool:
        if size[a] == 0 or m + size[a] > (_MOST_POOLED if len(pool) == 2 else _MOST_OF_THREE):
            return
        own = members[a, : size[a]]
        rows[m : m + size[a]] = own
        m += size[a]
        before += size[a] * _box_cost(codes, own, own, model)
    losses = _set_losses(codes, rows[:m], model, boxes)
    after, part_of = best_partition(losses, m, k)
    if after >= before - _WORTH:
        return
    size[pool] = 0
    left = (1 << m) - 1
    number = 0
    while left:
        slot = 0
        if number < len(pool):
            slot = pool[number]
        else:
            while size[slot] > 0:
                slot += 1
        number += 1
        for i in range(m):
            if part_of[left] >> i & 1:
                members[slot, size[slot]] = rows[i]
                size[slot] += 1
        changed[slot] = True
        left ^= part_of[left]


@kernel
def mend(codes: NDArray[np.int32], classes: NDArray[np.int64], model: CostModel, k: int) -> None:
    """Cut neighbouring classes anew while that loses less; O(rounds x (c^2 q + n 3^m)).

    Parameters
    ----------
    codes
        int32[n, q], row-major.
    classes
        int64[n], numbered from 0, each of at least `k` rows; written.
    k
        At most `LARGEST_K`.
    """
    n = len(classes)
    slots = n // k + 1
    size = np.zeros(slots, np.int64)
    for row in range(n):
        size[classes[row]] += 1
    members = np.zeros((slots, max(size.max(), 2 * k)), np.int64)
    size[:] = 0
    for row in range(n):
        members[classes[row], size[classes[row]]] = row
        size[classes[row]] += 1
    boxes = np.empty((2, 1 << _MOST_POOLED, codes.shape[1]), np.int32)
    pool = np.empty(3, np.int64)
    before = np.ones(slots, np.bool_)  # classes that were cut in the last round, and in this one
    changed = np.zeros(slots, np.bool_)
    for _ in range(_ROUNDS):
        near = _nearest(codes, members, size, model)
        for a in range(slots):
            for i in range(_NEAR):
                if near[a, i] < 0:
                    break
                pool[0] = a
                pool[1] = near[a, i]
                for other in range(-1, i if i < _THREES else 0):
                    pool[2] = near[a, max(other, 0)]
                    chosen = pool[:2] if other < 0 else pool
                    # What has not changed since it was pooled last has nothing new to give.
                    if before[chosen].any() or changed[chosen].any():
                        _pooled(codes, members, size, chosen, model, k, boxes, changed)
        if not changed.any():
            break
        before[:] = changed
        changed[:] = False
    for a in range(slots):
        classes[members[a, : size[a]]] = a
