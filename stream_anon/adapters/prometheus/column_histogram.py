"""A histogram that takes columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector


class ColumnHistogram(Collector):
    """Counts the values of a whole window at once; O(n log buckets) without a Python loop.

    Parameters
    ----------
    bounds
        Ascending upper ends of the buckets; a bucket above all of them is added.
    """

    def __init__(
        self, name: str, documentation: str, bounds: tuple[float, ...], registry: CollectorRegistry
    ) -> None:
        self._name = name
        self._documentation = documentation
        self._bounds = np.array(bounds, np.float64)
        self._labels = [*(f"{bound:g}" for bound in bounds), "+Inf"]
        self._counts = np.zeros(len(bounds) + 1, np.int64)
        self._sum = 0.0
        registry.register(self)

    def observe(self, values: ArrayLike, counts: ArrayLike | None = None) -> None:
        """Add values, each as often as `counts` says; a negative value, of clocks that differ, counts as 0."""
        column = np.maximum(np.atleast_1d(np.asarray(values, np.float64)), 0.0)
        times = np.ones(len(column)) if counts is None else np.atleast_1d(np.asarray(counts, np.float64))
        # A value on a bound belongs below it: buckets are "less or equal".
        buckets = np.searchsorted(self._bounds, column, side="left")
        self._counts += np.bincount(buckets, weights=times, minlength=len(self._counts)).astype(np.int64)
        self._sum += float(column @ times)

    def describe(self) -> Iterator[HistogramMetricFamily]:
        """Return the name without samples, for the registry's check of duplicate names."""
        yield HistogramMetricFamily(self._name, self._documentation)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """Return the samples."""
        below = np.cumsum(self._counts).tolist()
        buckets = list(zip(self._labels, below, strict=True))
        yield HistogramMetricFamily(self._name, self._documentation, buckets=buckets, sum_value=self._sum)
