"""When a member asks the group to look at the load again."""

from __future__ import annotations

import math
from typing import Any

from stream_anon.adapters.kafka.assigning.assignor import REST, Assignor
from stream_anon.adapters.kafka.assigning.measuring import Measured
from stream_anon.adapters.kafka.assigning.packed import OVERLOADED, UNDERLOADED

MARGIN = 5.0
"""Seconds that a member waits beyond `REST`: another one may have learned of the last change a moment later."""
LONGEST_REST = 3600.0


class Asking:
    """Decides when this member asks for a rebalance, in which the leader sees what every member has measured.

    A member knows only its own load. If the group has not changed after it has asked, it waits twice as long before
    it asks again, up to an hour: each rebalance interrupts the reading of all for a few seconds.
    """

    def __init__(self, assignor: Assignor) -> None:
        self._assignor = assignor
        self._asked = -math.inf  # the last time
        self._rest = 0.0  # seconds from then on

    def due(self, now: float, measured: Measured, partitions: int, *, aside: bool = False) -> bool:
        """Return whether to ask now; if so, that counts as asked.

        Parameters
        ----------
        partitions
            How many the member has.
        aside
            Whether it leaves them to workers of a newer policy. Then others should have them, whatever the load.
        """
        note = self._assignor.note
        if note is None or note.members < 2 or (self._assignor.age < REST + MARGIN and not aside):
            return False
        if self._assignor.age < now - self._asked:  # what was asked has changed something
            self._rest = 0.0
        busy, load = measured.busy, measured.load
        overloaded = busy is not None and busy > OVERLOADED and partitions > 1
        underloaded = load is not None and load < UNDERLOADED and note.carriers > 1
        if not (partitions and (aside or overloaded or underloaded)) or now - self._asked < self._rest:
            return False
        self._asked, self._rest = now, min(max(2 * self._rest, REST), LONGEST_REST)
        return True


def rebalance(consumer: Any) -> None:
    """Let a consumer join its group again, and with it all other members."""
    consumer._coordinator.request_rejoin()  # noqa: SLF001 - pinned by a test
