"""Spearman's rank correlation with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1_000


@dataclass(frozen=True)
class Interval:
    """A correlation, and between which values 95 % of the resamples lie."""

    rho: float
    low: float
    high: float


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return mean ranks from 0; equal values have equal ones."""
    unique, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray(
        (ends - (counts + 1) / 2)[inverse.reshape(values.shape)] if len(unique) else values, np.float64
    )


def spearman(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return Spearman's rho (1904): Pearson's correlation of the ranks; 0 where one of them is constant."""
    first, second = ranks(one), ranks(other)
    first, second = first - first.mean(), second - second.mean()
    scale = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / scale if scale else 0.0


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
    found = np.empty(resamples)
    for number in range(resamples):
        chosen = [draws.integers(0, len(one), len(one)) for one, _ in pairs]
        found[number] = np.mean(
            [spearman(one[rows], other[rows]) for (one, other), rows in zip(pairs, chosen, strict=True)]
        )
    low, high = np.quantile(found, [0.025, 0.975])
    return Interval(float(np.mean([spearman(*pair) for pair in pairs])), float(low), float(high))
