"""How certificates join: each worker's chain, and the input ranges of each partition."""

from __future__ import annotations

from itertools import pairwise
from math import inf

from stream_anon.audit.times import seconds_of
from stream_anon.audit.verdict import Findings, Kind, Removed
from stream_anon.privacy.certificate import Certificate


class Chain:
    """Follows each worker's certificates: every one names the one before it, and no two name the same."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._known: set[str] = set()
        self._claimed: dict[str, str] = {}
        self._unknown: set[str] = set()

    @property
    def joined(self) -> bool:
        """Return whether no certificate follows an unknown one."""
        return not self._unknown

    def add(self, certificate: Certificate, digest: str) -> None:
        """Note a certificate and the one it follows."""
        self._known.add(digest)
        self._unknown.discard(digest)
        previous = certificate.previous
        if previous is None:
            return
        if previous in self._claimed:
            self._findings.add(Kind.PREVIOUS_TWICE, certificate.batch)
        self._claimed.setdefault(previous, certificate.batch)
        if previous not in self._known:
            self._unknown.add(previous)

    def finish(self, removed: Removed, horizon: float) -> None:
        """Note certificates that follow an unknown one.

        Where certificates were removed from the start of their topic, every chain may begin with a removed one:
        that no window is missing between the others is for `Ranges` to say.
        """
        if horizon > -inf:
            removed.chains += len(self._unknown)
            return
        for previous in sorted(self._unknown):
            self._findings.add(Kind.UNKNOWN_PREVIOUS, self._claimed[previous])


class Ranges:
    """Joins the input ranges of each partition as certificates come, in any order.

    Ranges that meet become one: where all is right, one is left of each partition.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._places: set[tuple[str, int]] = set()
        self._by_start: dict[tuple[str, int, int], tuple[int, str]] = {}  # to end, and the batch that starts it
        self._by_end: dict[tuple[str, int, int], tuple[int, float]] = {}  # to start, and when the end was released

    def joined(self, horizon: float = -inf) -> bool:
        """Return whether nothing is open between the ranges, but for gaps that the horizon excuses."""
        if len({place[:2] for place in self._by_start}) == len(self._by_start):
            return True
        places = sorted(self._by_start)
        ends = ((place, self._by_start[place][0]) for place in places)
        behind = {place: self._by_end[(*place[:2], end)][1] for place, end in ends}
        return all(behind[one] <= horizon for one, other in pairwise(places) if one[:2] == other[:2])

    def add(self, certificate: Certificate) -> None:
        """Note the ranges of one certificate."""
        batch, places, room = certificate.batch, set[tuple[str, int]](), 0
        closed = seconds_of(certificate.closed)
        for one in certificate.inputs:
            place = (one.topic, one.partition)
            if one.end < one.start or place in places:
                self._findings.add(Kind.WRONG_RANGE, batch, attribute=_name(*place))
            places.add(place)
            room += max(0, one.end - one.start)
            if one.start < one.end:
                self._join(one.topic, one.partition, (one.start, one.end), batch, closed)
        self._places |= places
        if certificate.records_in > room:
            self._findings.add(Kind.TOO_MANY_RECORDS, batch)

    def _join(self, topic: str, partition: int, stretch: tuple[int, int], batch: str, closed: float) -> None:
        start, end = stretch
        if (topic, partition, start) in self._by_start or (topic, partition, end) in self._by_end:
            self._findings.add(Kind.OVERLAP, batch, attribute=_name(topic, partition))
            return
        first, _ = self._by_end.pop((topic, partition, start), (start, closed))
        if first != start:
            batch = self._by_start[topic, partition, first][1]
        follower = self._by_start.pop((topic, partition, end), None)
        last = follower[0] if follower is not None else end
        if last != end:
            _, closed = self._by_end[topic, partition, last]
        self._by_start[topic, partition, first] = (last, batch)
        self._by_end[topic, partition, last] = (first, closed)

    def finish(self, removed: Removed, horizon: float) -> int:
        """Note gaps and overlaps between what did not join; return the number of partitions.

        Parameters
        ----------
        removed
            Counts the gaps behind a window that closed up to `horizon`: the certificates of such a gap may have
            been removed from the start of their topic. Those of a later gap are younger, so that they were not.
        """
        before: tuple[str, int, int, float] | None = None
        for topic, partition, start in sorted(self._by_start):
            end, batch = self._by_start[topic, partition, start]
            closed = self._by_end[topic, partition, end][1]
            if before is not None and before[:2] == (topic, partition):
                if start > before[2] and before[3] <= horizon:
                    removed.gaps += 1
                else:
                    kind = Kind.GAP if start > before[2] else Kind.OVERLAP
                    self._findings.add(kind, batch, attribute=_name(topic, partition))
                if before[2] > end:
                    end, closed = before[2], before[3]
            before = (topic, partition, end, closed)
        return len(self._places)


def _name(topic: str, partition: int) -> str:
    return f"{topic}/{partition}"
