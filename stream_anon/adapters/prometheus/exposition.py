"""Write the metrics as text, and read them."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class _WithoutCreated(Collector):
    """A registry without the `_created` series, which double the text and which nobody reads."""

    def __init__(self, registry: CollectorRegistry | Collector) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


def exposition(registry: CollectorRegistry | Collector) -> bytes:
    """Return all metrics of a registry in Prometheus' text format, to be sent as `CONTENT_TYPE`."""
    return generate_latest(_WithoutCreated(registry))


def metrics_of(text: str) -> list[Metric]:
    """Return the metrics that a process has written as text. Raises ValueError if it is none."""
    return list(text_string_to_metric_families(text))


def watch_process(registry: CollectorRegistry) -> None:
    """Add memory, processor time and open files of this process, as `process_*`."""
    ProcessCollector(registry=registry)
