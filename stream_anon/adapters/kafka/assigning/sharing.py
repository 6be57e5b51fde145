"""A worker's part in sharing out the input: what it measures and tells, and when it asks for a rebalance."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from stream_anon.adapters.kafka.assigning.asking import Asking, rebalance
from stream_anon.adapters.kafka.assigning.assignor import Assignor, Told
from stream_anon.adapters.kafka.assigning.measuring import Measured
from stream_anon.ports import GroupView, Place


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
    revision
        Of its policy.
    """

    def __init__(
        self,
        busy: Callable[[], float] = lambda: 0.0,
        aside: Callable[[], bool] = lambda: False,
        *,
        packed: bool = False,
        revision: int = 0,
    ) -> None:
        self._busy, self._aside, self._revision = busy, aside, revision
        self._measured = Measured()
        self._read: Counter[Place] = Counter()
        now: Callable[[], float] = lambda: asyncio.get_running_loop().time()  # noqa: E731 - it is typed so
        self.assignor = Assignor(now, self._told if packed else None)
        self._asking = Asking(self.assignor)

    def _told(self) -> Told:
        return Told(self._measured.busy, self._measured.loads, self._aside(), self._revision)

    def read(self, place: Place, records: int) -> None:
        """Count records that were read."""
        self._read[place] += records

    def look(self, consumer: Any, now: float, waiting: Mapping[Place, int]) -> None:
        """Measure the partitions of a member whose group is settled, and ask for a rebalance if it is due.

        Parameters
        ----------
        waiting
            The records of each of its partitions that are not read yet.
        """
        self._measured.note(now, self._busy(), {place: self._read[place] for place in waiting}, waiting)
        if self._asking.due(now, self._measured, len(waiting), aside=self._aside()):
            rebalance(consumer)

    def seen(self, view: GroupView) -> GroupView:
        """Return a view of the group with what is known of its load."""
        note, busy = self.assignor.note, self._measured.busy
        members, carriers = (0, 0) if note is None else (note.members, note.carriers)
        return replace(view, members=members, carriers=carriers, busy=None if busy is None else round(busy, 2))
