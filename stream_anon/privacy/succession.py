"""Which of several windows came last, by the offsets that they cover.

Offsets of a partition never fall within a life of its topic, whereas the time at which a window closed is that of a
worker's clock, which may have been set back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from stream_anon.privacy.certificate import CertifiedRange

InputLife: TypeAlias = tuple[str, int, str | None]
"""A topic, a partition, and the id of the topic where it is known."""


def covered(inputs: Iterable[CertifiedRange]) -> Iterator[tuple[InputLife, int, int]]:
    """Yield the stretches that are not empty: where they lie, their start and their end."""
    for one in inputs:
        if one.start < one.end:
            yield (one.topic, one.partition, one.topic_id), one.start, one.end


def unfollowed(ends: Sequence[Mapping[InputLife, int]]) -> list[int]:
    """Return the places in `ends` of those that no other one follows on any partition; all if each is followed.

    Parameters
    ----------
    ends
        How far each window, or group of windows, reaches; O(their number x partitions).
    """
    furthest: dict[InputLife, int] = {}
    for each in ends:
        for life, end in each.items():
            furthest[life] = max(end, furthest.get(life, 0))
    last = [n for n, each in enumerate(ends) if all(end == furthest[life] for life, end in each.items())]
    return last or list(range(len(ends)))
