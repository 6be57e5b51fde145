"""REFINE, first part: two neighbouring classes are cut anew at the best place along the best attribute.

::

    age     17 19 22 │ 30 41 58        all rows of both, sorted along each attribute: every cut that leaves k rows
    grade    1  1  3   4 │ 7  9        on either side is priced by the boxes before and behind it, the cheapest wins
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.array_copying import copy_to
from stream_anon.clustering.forest.cost_tables import LITTLE, Tables, leading_tables
from stream_anon.clustering.forest.growing_classes import Growing, Values, begin, class_cost, take_in, values_of
from stream_anon.clustering.forest.refining.split import sort_codes
from stream_anon.clustering.legality import is_legal
from stream_anon.clustering.rules import Rules
from stream_anon.clustering.work_limit import is_spent
from stream_anon.compiled import bare_inlined, kernel
from stream_anon.privacy.costs.model import CostModel

_TRIES = 40  # illegal cuts after which a pair is left as it is
_LEFT, _RIGHT, _BOTH = 0, 1, 2


class _Pool(NamedTuple):
    """The m rows of two neighbours.

    Parameters
    ----------
    classes
        The left class, the right one and both.
    codes, rows
        int32[m, q], and int64[m] the rows along one attribute.
    keys, counts
        int32[m], int64[m], room to sort in.
    places, losses
        int64[q, m], where the rows stand along each attribute; float64[q, m], what a cut before each of them loses.
    bounds, priced
        float64[q], no cut along an attribute loses less, -1 where it is not sorted yet; bool[q], whether all cuts
        along it are priced.
    cost
        float64[3], what a record costs in each of the classes.
    """

    classes: Growing
    codes: NDArray[np.int32]
    rows: NDArray[np.int64]
    keys: NDArray[np.int32]
    counts: NDArray[np.int64]
    places: NDArray[np.int64]
    losses: NDArray[np.float64]
    bounds: NDArray[np.float64]
    priced: NDArray[np.bool_]
    cost: NDArray[np.float64]


@kernel
def _new_pool(m: int, q: int, tables: Tables) -> _Pool:
    return _Pool(
        Growing(tables, np.empty((3, q), np.int32), np.empty((3, q), np.int32)),
        np.empty((m, q), np.int32),
        np.empty(m, np.int64),
        np.empty(m, np.int32),
        np.empty(m, np.int64),
        np.empty((q, m), np.int64),
        np.empty((q, m), np.float64),
        np.empty(q, np.float64),
        np.empty(q, np.bool_),
        np.empty(3, np.float64),
    )


def resplit_pass(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel, rules: Rules
) -> int:
    """Cut each pair of neighbours anew at the best place along the best attribute, where that is cheaper.

    Parameters
    ----------
    codes
        int32[n, q].
    rows
        int64[m], class after class; reordered in place.
    ends
        int64[c], where each class ends in `rows`; changed in place.

    Returns
    -------
    int
        Pairs that were changed. O(q m log m + q^2 m) for a pair of m rows. A published set counts as the interval
        around it: see `resplit_sets`.
    """
    return _resplit_all(codes, rows, ends, model, rules, None)


def resplit_sets(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel, rules: Rules
) -> int:
    """Do as `resplit_pass`, with the cost of the values that occur where sets are published."""
    return _resplit_all(codes, rows, ends, model, rules, values_of(model, 2))


@kernel
def _resplit_all(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    model: CostModel,
    rules: Rules,
    values: Values | None,
) -> int:
    """Do as `resplit_pass`; the values are those of two classes."""
    q = codes.shape[1]
    tables = leading_tables(model)
    pool = _new_pool(0, q, tables)
    changed = 0
    start = 0
    for c in range(len(ends) - 1):
        if is_spent(rules):
            break
        pair = rows[start : ends[c + 1]]
        if len(pair) > len(pool.keys):  # a class that grew may make the next pair larger than any before
            pool = _new_pool(2 * len(pair), q, tables)
        cut = _resplit(pool, values, codes, pair, ends[c] - start, rules)
        if cut:
            ends[c] = start + cut
            changed += 1
        start = ends[c]
    return changed


@bare_inlined
def _resplit(
    pool: _Pool,
    values: Values | None,
    codes: NDArray[np.int32],
    pair: NDArray[np.int64],
    left: int,
    rules: Rules,
) -> int:
    """Cut a pair anew where that is cheaper; return how many rows then stand on the left, 0 if it stays."""
    m = len(pair)
    old = _loss_to_beat(pool, values, codes, pair, left, rules.k)
    if old <= 0:
        return 0
    for j in range(codes.shape[1]):
        pool.bounds[j] = -1.0
        pool.priced[j] = False
    for _ in range(_TRIES):
        if is_spent(rules):
            return 0
        axis, cut = _cheapest_cut(pool, values, m, rules.k, old - LITTLE)
        if axis < 0:
            return 0
        for i in range(m):
            pool.rows[i] = pair[pool.places[axis, i]]
        fore = rules.each_once or is_legal(pool.rows[:cut], rules)
        if fore and (rules.each_once or is_legal(pool.rows[cut:m], rules)):
            copy_to(pair, pool.rows[:m])
            return cut
        # Nor is a cut that leaves fewer rows on that side, where a legal class stays legal when it grows.
        first = cut if fore or not rules.grows_legal else rules.k
        last = m - rules.k if fore and rules.grows_legal else cut
        for i in range(first, last + 1):
            pool.losses[axis, i] = np.inf
    return 0


@bare_inlined
def _loss_to_beat(
    pool: _Pool,
    values: Values | None,
    codes: NDArray[np.int32],
    pair: NDArray[np.int64],
    left: int,
    k: int,
) -> float:
    """Put the rows of a pair into the pool and return what they lose; 0 where no cut is worth a try.

    Two classes that differ in all rows of some attribute, or whose union costs far more than they do, have found
    their cut already: passing over them halves the time and costs 0.2 %. With published sets none is passed over.
    """
    m, q = len(pair), codes.shape[1]
    low, high, cost = pool.classes.low, pool.classes.high, pool.cost
    for i in range(m):
        for j in range(q):
            pool.codes[i, j] = codes[pair[i], j]
        side = _LEFT if i < left else _RIGHT
        if i in (0, left):
            begin(pool.classes, values, side, pool.codes, i)
        else:
            take_in(pool.classes, values, side, pool.codes, i)
    apart = False
    for j in range(q):
        apart = apart or low[_LEFT, j] > high[_RIGHT, j] or low[_RIGHT, j] > high[_LEFT, j]
        low[_BOTH, j] = min(low[_LEFT, j], low[_RIGHT, j])
        high[_BOTH, j] = max(high[_LEFT, j], high[_RIGHT, j])
    if m < 2 * k or (values is None and apart):
        return 0.0
    for side in range(3 if values is None else 2):
        cost[side] = class_cost(pool.classes, values, side)
    old = cost[_LEFT] * left + cost[_RIGHT] * (m - left)
    if values is not None:
        return float(old)
    union = cost[_BOTH] * m
    return 0.0 if union - old > 0.5 * union else float(old)


@bare_inlined
def _cheapest_cut(pool: _Pool, values: Values | None, m: int, k: int, best: float) -> tuple[int, int]:
    """Return the attribute of the cheapest cut and the rows before it; -1 if none loses less than `best`."""
    axis = -1
    cut = 0
    for j in range(pool.codes.shape[1]):
        if pool.classes.low[_BOTH, j] == pool.classes.high[_BOTH, j]:
            continue
        if not pool.priced[j] and pool.bounds[j] < best:
            _price_cuts(pool, values, j, m, k, best)
        if not pool.priced[j]:
            continue
        for i in range(k, m - k + 1):
            if pool.losses[j, i] < best:
                best = pool.losses[j, i]
                axis = j
                cut = i
    return axis, cut


@bare_inlined
def _price_cuts(pool: _Pool, values: Values | None, j: int, m: int, k: int, best: float) -> None:
    """Price all cuts along an attribute, unless its k first and k last rows show that none loses less than `best`.

    Such an attribute is looked at again once a better cut was found illegal.
    """
    codes, order, losses, cost = pool.codes, pool.places[j], pool.losses[j], pool.cost
    if pool.bounds[j] < 0:
        for i in range(m):
            pool.keys[i] = codes[i, j]
        sort_codes(pool.keys, order[:m], pool.counts)
    for side in range(2):
        for i in range(k):
            place = order[i] if side == _LEFT else order[m - 1 - i]
            if i == 0:
                begin(pool.classes, values, side, codes, place)
            else:
                take_in(pool.classes, values, side, codes, place)
        cost[side] = class_cost(pool.classes, values, side)
    pool.bounds[j] = k * (cost[_LEFT] + cost[_RIGHT]) + (m - 2 * k) * min(cost[_LEFT], cost[_RIGHT])
    if pool.bounds[j] >= best:
        return
    pool.priced[j] = True
    for i in range(k, m - k + 1):
        losses[i] = 0.0
    for side in range(2):
        for i in range(k, m - k + 1):
            if i > k:
                place = order[i - 1] if side == _LEFT else order[m - i]
                if take_in(pool.classes, values, side, codes, place):
                    cost[side] = class_cost(pool.classes, values, side)
            losses[i if side == _LEFT else m - i] += i * cost[side]
