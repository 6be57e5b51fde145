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
    it asks again, up to an hour: each rebalance interrupts the reading of all for a few seconds. An assignment that
    another member asked for, and that load did not change, answers all who told that they need help: they wait as
    if they had asked.
    """

    def __init__(self, assignor: Assignor) -> None:
        self._assignor = assignor
        self._asked = -math.inf  # the last time
        self._rest = 0.0  # seconds from then on
        self._told = False  # whether the leader was told last what others could help with

    def due(self, now: float, measured: Measured, partitions: int, *, aside: bool = False) -> bool:
        """Return whether to ask now; if so, that counts as asked.

        Parameters
        ----------
        partitions
            How many the member has.
        aside
            Whether others should have them, whatever the load; see `packed.KnownMember`.
        """
        note, answered = self._assignor.note, self._assignor.answered
        if note is None or (self._assignor.age < REST + MARGIN and not aside):
            return False
        if self._assignor.age < now - self._asked:  # what was asked has changed something
            self._rest = 0.0
        # Answers come at any time. One soon after another says nothing new and must not double the rest again.
        if self._told and answered - self._asked > self._rest / 2:
            self._ask(answered)
        if now - self._asked < self._rest or not self._could_be_helped(measured, partitions, aside=aside):
            return False
        self._ask(now)
        return True

    def tell(self, measured: Measured, partitions: int, *, aside: bool) -> None:
        """Note what the member tells the leader now: the next assignment answers that, and nothing else."""
        self._told = self._could_be_helped(measured, partitions, aside=aside)

    def _could_be_helped(self, measured: Measured, partitions: int, *, aside: bool) -> bool:
        note, load = self._assignor.note, measured.load
        if note is None or note.members < 2 or not partitions:
            return False
        overloaded = load is not None and load > OVERLOADED and partitions > 1
        underloaded = load is not None and load < UNDERLOADED and note.carriers > 1
        return aside or overloaded or underloaded

    def _ask(self, now: float) -> None:
        self._asked, self._rest = now, min(max(2 * self._rest, REST), LONGEST_REST)


def rebalance(consumer: Any) -> None:
    """Let a consumer join its group again, and with it all other members."""
    consumer._coordinator.request_rejoin()  # noqa: SLF001 - pinned by a test
