"""Spearman's rank correlation with bootstrap intervals, and the differences between correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1_000
_CELLS = 4_000_000  # comparisons at once


@dataclass(frozen=True)
class Interval:
    """A correlation, and between which values 95 % of the resamples lie."""

    rho: float
    low: float
    high: float


def written(found: Any) -> Any:
    """Return correlations as an object that JSON can hold."""
    if isinstance(found, Interval):
        return asdict(found)
    return {name: written(own) for name, own in found.items()} if isinstance(found, dict) else found


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return mean ranks from 0 within each row, float64[r, n]; equal values have equal ones. O(r n^2)."""
    found = np.empty(values.shape)
    piece = max(1, _CELLS // max(1, values.shape[1] ** 2))
    for start in range(0, len(values), piece):
        part = values[start : start + piece]
        lower = (part[:, None, :] < part[:, :, None]).sum(axis=2)
        equal = (part[:, None, :] == part[:, :, None]).sum(axis=2)
        found[start : start + piece] = lower + (equal - 1) / 2
    return found


def spearman(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return Spearman's rho (1904): Pearson's correlation of the ranks; 0 where one of them is constant."""
    return float(_by_row(one[None], other[None])[0])


def _by_row(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    first, second = (own - own.mean(axis=1, keepdims=True) for own in (ranks(one), ranks(other)))
    scale = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    return np.asarray((first * second).sum(axis=1) / np.where(scale > 0, scale, 1.0), np.float64)


def mean_spearman(
    pairs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """Return the mean of the rho of several groups, which are resampled one by one.

    Parameters
    ----------
    pairs
        Two columns of one length a group.
    """
    draws = np.random.default_rng(seed)
    found = np.zeros(resamples)
    for one, other in pairs:
        chosen = draws.integers(0, len(one), (resamples, len(one)))
        found += _by_row(one[chosen], other[chosen]) / len(pairs)
    low, high = np.quantile(found, [0.025, 0.975])
    return Interval(float(np.mean([spearman(*pair) for pair in pairs])), float(low), float(high))


def mean_difference(
    groups: Sequence[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]],
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return by how much the mean rho of one column exceeds that of another, both with the same outcome.

    A paired bootstrap: every resample takes the same rows of all three columns, so that what makes both
    correlations high or low at once does not count as doubt about which is higher.

    Parameters
    ----------
    groups
        Columns of one length a group: one, the other, and the outcome.
    """
    draws = np.random.default_rng(seed)
    found = np.zeros(resamples)
    for one, other, outcome in groups:
        chosen = draws.integers(0, len(outcome), (resamples, len(outcome)))
        result = outcome[chosen]
        found += (_by_row(one[chosen], result) - _by_row(other[chosen], result)) / len(groups)
    low, high = np.quantile(found, [0.025, 0.975])
    told = np.mean([spearman(one, outcome) - spearman(other, outcome) for one, other, outcome in groups])
    return Interval(float(told), float(low), float(high))
