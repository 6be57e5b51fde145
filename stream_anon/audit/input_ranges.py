"""How the input ranges of certificates join, partition by partition.

A topic that is deleted and created anew begins a new **life**: Kafka gives it another id, and its offsets mean
other records. Ranges join within a life. Certificates that name no id (of at-least-once delivery) belong to the
first life of their topic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import NamedTuple

from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.scope import Removed, seconds_of
from stream_anon.audit.verdict import Kind, Life
from stream_anon.privacy.certificate import Certificate, CertifiedRange

_UNNAMED = ""  # the life of certificates that name no id
_CLOCKS_DIFFER = 60.0  # seconds, at the most, between workers


class _InputRange(NamedTuple):
    """Ranges that have joined: the batch that begins them, and when the window that ends them closed."""

    start: int
    end: int
    batch: str
    closed: float


@dataclass
class _Partition:
    """The stretches of one partition in one life."""

    by_start: dict[int, _InputRange] = field(default_factory=dict)
    start_of_end: dict[int, int] = field(default_factory=dict)

    def join(self, new: _InputRange) -> bool:
        """Add a range, joined with those that it meets; False if another one begins or ends where it does."""
        if new.start in self.by_start or new.end in self.start_of_end:
            return False
        if new.start in self.start_of_end:
            before = self.by_start.pop(self.start_of_end.pop(new.start))
            new = new._replace(start=before.start, batch=before.batch)
        behind = self.by_start.pop(new.end, None)
        if behind is not None:
            new = new._replace(end=behind.end, closed=behind.closed)
        self.by_start[new.start] = new
        self.start_of_end[new.end] = new.start
        return True


class Ranges:
    """Joins the input ranges of each partition as certificates come, in any order.

    Ranges that meet become one: where all is right, one is left of each partition and life.
    """

    def __init__(self, findings: CollectedViolations) -> None:
        self._findings = findings
        self._partitions: dict[tuple[str, int], dict[str, _Partition]] = {}
        self._lives: dict[str, dict[str, Life]] = {}
        self.lost = 0  # offsets that certificates say nobody could read

    def joined(self, horizon: float = -inf) -> bool:
        """Return whether nothing is open between the ranges, but for gaps that the horizon excuses."""
        return all(
            before.end == after.start or before.closed <= horizon
            for _, stretches in self._joined()
            for before, after in pairwise(stretches)
        )

    def add(self, certificate: Certificate) -> None:
        """Note the ranges of one certificate."""
        batch, places, lived, room = certificate.batch, set[tuple[str, int]](), set[tuple[str, str]](), 0
        closed = seconds_of(certificate.closed)
        for one in certificate.inputs:
            place = (one.topic, one.partition)
            if one.end < one.start or place in places or not _are_inside(one):
                self._findings.add(Kind.WRONG_RANGE, batch, attribute=_name(*place))
            places.add(place)
            lost = sum(max(0, each.end - each.start) for each in one.lost)
            self.lost += lost
            room += max(0, one.end - one.start - lost)
            lives = self._partitions.setdefault(place, {})
            if one.start < one.end:
                topic_id = one.topic_id or _UNNAMED
                lived.add((one.topic, topic_id))
                partition = lives.setdefault(topic_id, _Partition())
                if not partition.join(_InputRange(one.start, one.end, batch, closed)):
                    self._findings.add(Kind.OVERLAP, batch, attribute=_name(*place))
        for topic, topic_id in lived:
            self._live(topic, topic_id, certificate)
        if certificate.records_in > room:
            self._findings.add(Kind.TOO_MANY_RECORDS, batch)

    def _live(self, topic: str, topic_id: str, certificate: Certificate) -> None:
        lives, closed = self._lives.setdefault(topic, {}), certificate.closed
        one, known = Life(topic, topic_id, closed, closed, 1, certificate.batch), lives.get(topic_id)
        lives[topic_id] = one if known is None else known.joined(one)

    def lives(self) -> list[Life]:
        """Return the lives of each topic, oldest first; ranges that name no id are part of the first one."""
        return [life for topic in sorted(self._lives) for life in self._lives_of(topic)]

    def _lives_of(self, topic: str) -> list[Life]:
        lives = dict(self._lives[topic])
        unnamed = lives.pop(_UNNAMED, None)
        ordered = sorted(lives.values(), key=lambda life: (life.first, life.topic_id))
        if unnamed is None:
            return ordered
        if not ordered:
            return [unnamed]
        return [ordered[0].joined(unnamed), *ordered[1:]]

    def _joined(self) -> Iterator[tuple[tuple[str, int], list[_InputRange]]]:
        """Yield the stretches of each partition and life in order of their offsets."""
        first: dict[str, str] = {}
        for place, lives in sorted(self._partitions.items()):
            topic = place[0]
            if topic not in first and topic in self._lives:
                first[topic] = self._lives_of(topic)[0].topic_id
            stretches: dict[str, list[_InputRange]] = defaultdict(list)
            for topic_id, partition in lives.items():
                stretches[topic_id or first[topic]] += partition.by_start.values()
            for part in stretches.values():
                yield place, sorted(part)

    def finish(self, removed: Removed, horizon: float) -> int:
        """Record gaps and overlaps between ranges that do not join; return the number of partitions.

        A life that begins before the one before it has ended is noted too: a topic has one id at a time, and an old
        one does not come back. To release a range a second time under another id, an attacker has to invent a life:
        either it is noted so, or it stands in the report as one more life of its topic.

        Parameters
        ----------
        removed
            Counts the gaps after a window that closed up to `horizon`: the certificates of such a gap may have
            been removed from the start of their topic. Those of a later gap are younger, so that they were not.
        """
        for place, stretches in self._joined():
            self._finish_partition(_name(*place), stretches, removed, horizon)
        for topic in sorted(self._lives):
            for before, after in pairwise(self._lives_of(topic)):
                if seconds_of(after.first) < seconds_of(before.last) - _CLOCKS_DIFFER:
                    self._findings.add(Kind.LIVES_MIXED, after.batch, attribute=topic)
        return len(self._partitions)

    def _finish_partition(self, name: str, stretches: list[_InputRange], removed: Removed, horizon: float) -> None:
        before: _InputRange | None = None
        for stretch in stretches:
            if before is not None and stretch.start > before.end and before.closed <= horizon:
                removed.gaps += 1
            elif before is not None and stretch.start != before.end:
                kind = Kind.GAP if stretch.start > before.end else Kind.OVERLAP
                self._findings.add(kind, stretch.batch, attribute=name)
            if before is None or stretch.end >= before.end:
                before = stretch


def _are_inside(one: CertifiedRange) -> bool:
    """Return whether the lost stretches of a range lie inside it, in order, and none is empty."""
    bounds = [one.start, *(bound for each in one.lost for bound in (each.start, each.end)), one.end]
    return bounds == sorted(bounds) and all(each.start < each.end for each in one.lost)


def _name(topic: str, partition: int) -> str:
    return f"{topic}/{partition}"
