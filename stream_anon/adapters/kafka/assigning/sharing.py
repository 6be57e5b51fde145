"""A worker's part in sharing out the input: what it measures and tells, and when it asks for a rebalance."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from stream_anon.adapters.kafka.assigning.asking import Asking, rebalance
from stream_anon.adapters.kafka.assigning.assignor import REST, Assignor, Told
from stream_anon.adapters.kafka.assigning.measuring import Measured
from stream_anon.ports import GroupView, Place

UNABLE_AFTER = 60.0
"""Seconds for which a worker was not ready until it gives its partitions to others."""


class Sharing:
    """Measures the load of one member, gives its assignor, and asks the group to look again if that may help.

    Parameters
    ----------
    packed
        Whether the group should give all partitions to as few members as carry the load.
    busy
        Returns for how many seconds this worker has been busy since its start.
    aside
        Returns whether it leaves its partitions to workers of a newer policy.
    ready
        Returns whether it can work. If it cannot for `UNABLE_AFTER` seconds, others should have its partitions.
    revision
        Of its policy.
    """

    def __init__(
        self,
        busy: Callable[[], float] = lambda: 0.0,
        aside: Callable[[], bool] = lambda: False,
        ready: Callable[[], bool] = lambda: True,
        *,
        packed: bool = False,
        revision: int = 0,
    ) -> None:
        self._busy, self._superseded, self._ready, self._revision = busy, aside, ready, revision
        self._able = self._looked = -math.inf  # when it was so last, and the last look
        self._looking, self._missed = True, True  # nobody has looked yet
        self._unable_until = -math.inf
        self._partitions = 0
        self._measured = Measured()
        self._read: Counter[Place] = Counter()
        now: Callable[[], float] = lambda: asyncio.get_running_loop().time()  # noqa: E731 - it is typed so
        self.assignor = Assignor(now, self._told if packed else None)
        self._asking = Asking(self.assignor)

    def _told(self) -> Told:
        self._asking.tell(self._measured, self._partitions, aside=self._aside)
        return Told(self._measured.busy, self._measured.loads, self._aside, self._revision)

    @property
    def _aside(self) -> bool:
        return self._superseded() or self._looked < self._unable_until

    def read(self, place: Place, records: int) -> None:
        """Count records that were read."""
        self._read[place] += records

    def begin_look(self) -> None:
        """Note that the broker is asked, which may fail; if not, `look` follows while the group is settled."""
        self._missed, self._looking = self._looking, True

    def look(self, consumer: Any, now: float, waiting: Mapping[Place, int]) -> None:
        """Measure the partitions of a member whose group is settled, and ask for a rebalance if it is due.

        Parameters
        ----------
        waiting
            The records of each of its partitions that are not read yet.
        """
        self._partitions = len(waiting)
        self._look_whether_able(now)
        self._measured.note(now, self._busy(), {place: self._read[place] for place in waiting}, waiting)
        if self._asking.due(now, self._measured, self._partitions, aside=self._aside):
            rebalance(consumer)

    def _look_whether_able(self, now: float) -> None:
        """Note since when the worker cannot work.

        Without partitions it may be ready, though it would not be with them. So it stands aside for a while longer,
        or it would be given them again at once. While the broker is away looks fail, which is no fault of its own.
        """
        ready = self._ready()
        if ready or self._missed:
            self._able = now
        if now - self._able >= UNABLE_AFTER:
            self._unable_until = now + REST
        elif ready and self._partitions:
            self._unable_until = now
        self._looked, self._looking, self._missed = now, False, False

    def seen(self, view: GroupView) -> GroupView:
        """Return a view of the group with what is known of its load."""
        note, busy = self.assignor.note, self._measured.busy
        members, carriers = (0, 0) if note is None else (note.members, note.carriers)
        return replace(view, members=members, carriers=carriers, busy=None if busy is None else round(busy, 2))
