"""REFINE where sets of values are published: RESPLIT and SWAP with the cost of the values that occur."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.array_copying import copy_to
from stream_anon.clustering.forest.cost_tables import LITTLE
from stream_anon.clustering.forest.refining.split import sort_places
from stream_anon.clustering.forest.refining.swap import swap_sets
from stream_anon.clustering.legality import is_legal
from stream_anon.clustering.rules import Rules
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.cost import interval_cost, set_cost
from stream_anon.privacy.costs.model import CostModel


def refine_sets(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    model: CostModel,
    rules: Rules,
    swaps: int,
) -> None:
    """Resplit neighbouring classes once and swap their rows `swaps` times; rows and ends change in place.

    Parameters
    ----------
    codes
        int32[n, q].
    rows
        int64[m], class after class.
    ends
        int64[c], where each class ends in `rows`.
    """
    widest = int((model.domain * (model.share > 0)).max()) + 2
    resplit_sets(codes, rows, ends, model, rules, np.zeros((codes.shape[1], widest), np.int64))
    for _ in range(swaps):
        swap_sets(codes, rows, ends, model, rules)


@kernel
def prefix_losses(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    model: CostModel,
    stamps: NDArray[np.int64],
    stamp: int,
    losses: NDArray[np.float64],
) -> None:
    """Write the loss of a record of the class rows[: i + 1] to losses[i]; O(m q).

    Parameters
    ----------
    stamps
        int64[q, values], none equal to `stamp`; those of values that occur are set to it.
    """
    q = codes.shape[1]
    low = np.empty(q, np.int32)
    high = np.empty(q, np.int32)
    own = np.zeros(q, np.float64)
    kinds = np.zeros((q, 3), np.int64)
    total = 0.0
    for i in range(len(rows)):
        for j in range(q):
            code = codes[rows[i], j]
            if model.share[j] > 0:
                if stamps[j, code] == stamp:
                    continue
                stamps[j, code] = stamp
                kinds[j, max(0, code - model.domain[j] + 1)] += 1
                cost = set_cost(model, j, kinds[j, 0], kinds[j, 1], kinds[j, 2])
            else:
                if i == 0:
                    low[j] = code
                    high[j] = code
                elif low[j] <= code <= high[j]:
                    continue
                low[j] = min(low[j], code)
                high[j] = max(high[j], code)
                cost = interval_cost(model, j, low[j], high[j])
            total += cost - own[j]
            own[j] = cost
        losses[i] = total


@kernel
def resplit_sets(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    model: CostModel,
    rules: Rules,
    stamps: NDArray[np.int64],
) -> int:
    """Cut each pair of neighbours anew along the best attribute, where that is cheaper; return how many changed.

    Arguments as in `refine_sets`; stamps int64[q, values], all zero. Only the cheapest cut of each attribute is
    tried, the best of them first.
    """
    q = codes.shape[1]
    k = rules.k
    changed = 0
    stamp = 0
    losses = np.empty((2, 0), np.float64)
    keys = np.empty(0, np.int32)
    places = np.empty(0, np.int64)
    sides = np.empty((2, 0), np.int64)
    found = np.empty((q, 0), np.int64)
    price = np.empty(q, np.float64)
    cut = np.empty(q, np.int64)
    start = 0
    for c in range(len(ends) - 1):
        stop = ends[c + 1]
        pool = rows[start:stop]
        m = stop - start
        if m > len(keys):
            losses = np.empty((2, 2 * m), np.float64)
            keys = np.empty(2 * m, np.int32)
            places = np.empty(2 * m, np.int64)
            sides = np.empty((2, 2 * m), np.int64)
            found = np.empty((q, 2 * m), np.int64)
        left = ends[c] - start
        for way in range(2):
            stamp += 1
            side = pool[:left] if way == 0 else pool[left:]
            prefix_losses(codes, side, model, stamps, stamp, losses[way])
        old = left * losses[0, left - 1] + (m - left) * losses[1, m - left - 1]
        price[:] = np.inf
        for j in range(q):
            if old <= 0:
                break
            for i in range(m):
                keys[i] = codes[pool[i], j]
            sort_places(keys, places[:m])
            if keys[places[0]] == keys[places[m - 1]]:
                continue
            for i in range(m):
                sides[0, i] = pool[places[i]]
                sides[1, m - 1 - i] = pool[places[i]]
            for way in range(2):
                stamp += 1
                prefix_losses(codes, sides[way, :m], model, stamps, stamp, losses[way])
            price[j] = old - LITTLE
            cut[j] = 0
            for i in range(k, m - k + 1):
                cost = i * losses[0, i - 1] + (m - i) * losses[1, m - i - 1]
                if cost < price[j]:
                    price[j] = cost
                    cut[j] = i
            if cut[j] == 0:
                price[j] = np.inf
            copy_to(found[j], sides[0, :m])
        for _ in range(q):
            j = int(np.argmin(price))
            if price[j] == np.inf:
                break
            price[j] = np.inf
            best = found[j, :m]
            if rules.each_once or (is_legal(best[: cut[j]], rules) and is_legal(best[cut[j] :], rules)):
                copy_to(pool, best)
                ends[c] = start + cut[j]
                changed += 1
                break
        start = ends[c]
    return changed
