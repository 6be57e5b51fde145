"""Declare metrics of the service: their prefix, and counters whose labels come from a closed set."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge

from stream_anon.adapters.prometheus.column_histogram import ColumnHistogram

PREFIX = "stream_anon"
OTHER = "other"  # stands for a label outside its set, which is a bug but must not make series grow without bound


class Family:
    """A counter with one label from a closed set; every series exists from the start."""

    def __init__(self, counter: Counter, labels: Iterable[str]) -> None:
        self._children = {label: counter.labels(label) for label in (*labels, OTHER)}

    def add(self, label: str, amount: float = 1) -> None:
        """Count; a label outside the set counts as `OTHER`."""
        self._children.get(label, self._children[OTHER]).inc(amount)


class Declaring:
    """Declares metrics in `registry`; each of them once."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def counter(self, name: str, documentation: str, labels: tuple[str, ...] = ()) -> Counter:
        """Declare a count."""
        return Counter(f"{PREFIX}_{name}", documentation, labels, registry=self._registry)

    def family(self, name: str, documentation: str, label: str, values: Iterable[str]) -> Family:
        """Declare a count by a label that has one of these values."""
        return Family(self.counter(name, documentation, (label,)), values)

    def gauge(self, name: str, documentation: str, labels: tuple[str, ...] = ()) -> Gauge:
        """Declare a number that rises and falls."""
        return Gauge(f"{PREFIX}_{name}", documentation, labels, registry=self._registry)

    def histogram(self, name: str, documentation: str, bounds: tuple[float, ...]) -> ColumnHistogram:
        """Declare a histogram with these upper ends of its buckets."""
        return ColumnHistogram(f"{PREFIX}_{name}", documentation, bounds, self._registry)
