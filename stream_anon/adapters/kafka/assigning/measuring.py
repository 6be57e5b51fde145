"""What the last minute of a member tells of the load of its partitions."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import fsum

from stream_anon.ports import Place

MINUTE = 60.0
CATCH_UP = 300.0
"""Seconds within which what waits should be read: by then load may change the assignment again."""


class Measured:
    """Measures the partitions of one member over the last minute; it begins anew when they change.

    Cost: `note` is linear in the partitions, and a minute of notes is kept.
    """

    def __init__(self) -> None:
        self._places: frozenset[Place] = frozenset()
        self._notes: deque[tuple[float, float, Mapping[Place, int]]] = deque()
        self._waiting: Mapping[Place, int] = {}

    def note(self, now: float, busy: float, read: Mapping[Place, int], waiting: Mapping[Place, int]) -> None:
        """Note how things stand.

        Parameters
        ----------
        now, busy
            Seconds: the time, and for how long the worker was busy since its start.
        read
            Records that were read of each partition since it was given.
        waiting
            Records of each partition that were not read yet.
        """
        places = frozenset(read)
        if places != self._places:
            self._places = places
            self._notes.clear()
        self._notes.append((now, busy, dict(read)))
        while len(self._notes) > 1 and self._notes[1][0] <= now - MINUTE:
            self._notes.popleft()
        self._waiting = dict(waiting)

    @property
    def busy(self) -> float | None:
        """Return the busy share of the last minute; None before there was one."""
        if not self._notes:
            return None
        (begun, before, _), (now, busy, _) = self._notes[0], self._notes[-1]
        return min(max((busy - before) / (now - begun), 0.0), 1.0) if now - begun >= MINUTE else None

    @property
    def loads(self) -> Mapping[Place, float]:
        """Return the busy share that each partition needs so that what waits is read in time; empty if not known.

        A record that waits is reckoned to cost what one cost that was read within the last minute.
        """
        busy = self.busy
        if busy is None:
            return {}
        before, after = self._notes[0][2], self._notes[-1][2]
        span = self._notes[-1][0] - self._notes[0][0]
        read = {place: max(after[place] - before[place], 0) for place in self._places}
        total, waiting = sum(read.values()), sum(self._waiting.values())
        if not total:
            return {} if waiting else dict.fromkeys(self._places, busy / max(len(self._places), 1))
        needed = {place: count + self._waiting.get(place, 0) * span / CATCH_UP for place, count in read.items()}
        return {place: busy * count / total for place, count in needed.items()}

    @property
    def load(self) -> float | None:
        """Return the sum of the loads, if known."""
        return fsum(self.loads.values()) if self.loads else None
