"""What no method can stay below: a row loses at least its cost to the nearest rows that could hide it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.castle import union_loss
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.model import CostModel


def lower_bounds(rows: Columns, model: CostModel, ks: Sequence[int], sample: int = 1_000) -> dict[int, float]:
    """Return for each k a bound on the GCP of a window, the mean over `sample` of its rows; O(sample x n q).

    A class holds a row and rows of k - 1 other individuals, so its box costs at least what the row costs together
    with the (k - 1)th nearest individual's nearest row. Windows larger than `sample` give an estimate of the bound.
    """
    codes = np.ascontiguousarray(rows.codes.T)
    order = np.argsort(rows.individuals, kind="stable")
    codes, people = codes[order], rows.individuals[order]
    starts = np.flatnonzero(np.diff(people, prepend=-1))
    n = len(codes)
    chosen = np.random.default_rng(0).permutation(n)[:sample]
    total = dict.fromkeys(ks, 0.0)
    for row in chosen:
        nearest = np.minimum.reduceat(union_loss(codes, codes, codes[row], codes[row], model), starts)
        own = np.searchsorted(starts, row, side="right") - 1
        nearest = np.delete(nearest, own)
        for k in ks:
            total[k] += _kth(nearest, k - 1)
    return {k: value / len(chosen) for k, value in total.items()}


def _kth(costs: NDArray[np.float64], k: int) -> float:
    """Return the kth least cost; 1, the loss of a suppressed row, where there are fewer."""
    if k < 1:
        return 0.0
    return float(np.partition(costs, k - 1)[k - 1]) if k <= len(costs) else 1.0
