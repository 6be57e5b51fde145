"""LEARN: which order of the digits loses least, found by trying changes on a sample.

A sample of s rows cut with k s / n stands for n rows cut with k, at a fraction of the cost. Only the order of
digits outlives a window; it says which attributes matter, nothing of anybody.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.cut_sets import cut
from stream_anon.clustering.forest.order import Digits, key_table, line_order
from stream_anon.clustering.forest.points import points_of
from stream_anon.privacy.cost import CostModel

SAMPLE = 3000
TRIES = 100


def learn_order(
    codes: NDArray[np.int32],
    digits: Digits,
    model: CostModel,
    k: int,
    start: NDArray[np.int64],
    draws: np.random.Generator,
    tries: int = TRIES,
) -> NDArray[np.int64]:
    """Return a better order of the digits than `start`, about 0.6 ms a try.

    Parameters
    ----------
    codes
        int32[q, n], the rows to learn from.
    digits
        The digits of all attributes.
    model
        Cost tables.
    k
        Least size of a class in a window of n rows.
    start
        int64[d], the order to begin with, each attribute's digits top-down.
    draws
        Chooses the changes.
    """
    n = codes.shape[1]
    along = line_order(codes, key_table(digits, start))
    # Evenly along the line: the same rows whatever the order of their arrival.
    chosen = along[np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)]
    sample = np.ascontiguousarray(codes[:, chosen])
    small_k = max(2, round(k * len(chosen) / n))
    if len(chosen) < 2 * small_k or len(start) < 2:
        return start
    owners = digits.attribute[start].copy()
    least = _loss(sample, digits, model, small_k, start)
    for _ in range(tries):
        changed = owners.copy()
        one, two = draws.choice(len(owners), 2, replace=False)
        if draws.random() < 0.5:
            changed[one], changed[two] = changed[two], changed[one]
        else:
            changed = np.insert(np.delete(changed, one), two, changed[one])
        if (changed == owners).all():
            continue
        loss = _loss(sample, digits, model, small_k, _top_down(changed, digits))
        if loss < least:
            least, owners = loss, changed
    return _top_down(owners, digits)


def _top_down(owners: NDArray[np.int64], digits: Digits) -> NDArray[np.int64]:
    """Return the digits so that the i-th place of an attribute holds its i-th digit from the top."""
    order = np.empty(len(owners), np.int64)
    for attribute in np.unique(owners):
        order[owners == attribute] = np.flatnonzero(digits.attribute == attribute)
    return order


def _loss(codes: NDArray[np.int32], digits: Digits, model: CostModel, k: int, order: NDArray[np.int64]) -> float:
    """Return the loss of ORDER and CUT alone, every row a person of its own."""
    n = codes.shape[1]
    points, starts = points_of(codes, line_order(codes, key_table(digits, order)))
    point_of = np.repeat(np.arange(len(points)), np.diff(starts))
    best = np.empty(n + 1)
    cut(points, point_of, np.full(n, n), model, k, 2 * k - 1, best)
    return float(best[n])
