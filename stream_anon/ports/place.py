"""Where a record is."""

from __future__ import annotations

from collections.abc import Iterable

Place = tuple[str, int]
"""A topic and a partition."""


def by_topic(places: Iterable[Place]) -> dict[str, list[int]]:
    """Return the partitions of each topic, in order."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(places):
        topics.setdefault(topic, []).append(partition)
    return topics
