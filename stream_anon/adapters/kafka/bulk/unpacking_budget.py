"""How much of the fetched data may be unpacked at once, however small it was packed."""

from __future__ import annotations

import weakref
from typing import Protocol

AT_ONCE = 16 * 1024 * 1024
"""Bytes of values that one poll returns, over all partitions, and not many more.

Decoding makes a few copies of them. Ten thousand records, the most that a poll returns, of 1.6 kB each fit.
"""


WORK_AT_ONCE = 256 * 1024 * 1024
"""Bytes that one poll unpacks, over all partitions, whatever comes of them: a fraction of a second's.

Meanwhile nobody tells the group that we are alive. Values do not tell this work: a few hundred bytes may unpack to
megabytes of keys and of records that are passed over.
"""


class Holder(Protocol):
    """Somebody who unpacks a large batch piece by piece."""

    def let_go(self) -> None:
        """Drop what is unpacked; the next request unpacks it again from the start."""
        ...


class Budget:
    """The bytes that one consumer may unpack in a poll, and the turn to unpack a large batch.

    Parameters
    ----------
    most_value
        Larger values are not kept whole.
    """

    def __init__(self, most_value: int) -> None:
        self.most_value = most_value
        self.left, self.work = AT_ONCE, WORK_AT_ONCE
        self._polls = 0
        self._holder: weakref.ref[Holder] | None = None
        self._held_at = 0  # the poll in which the holder asked last

    def begin_poll(self) -> None:
        """Allow the full number of bytes again."""
        self.left, self.work = AT_ONCE, WORK_AT_ONCE
        self._polls += 1

    def admits(self, asker: Holder) -> bool:
        """Return whether it is the asker's turn to unpack a large batch.

        The turn lasts until `release`, until the asker is thrown away, or until a poll passes in which it does not
        ask, since its partition may be paused.
        """
        holder = None if self._holder is None else self._holder()
        if holder is not None and holder is not asker:
            if self._held_at >= self._polls - 1:
                return False
            holder.let_go()
        self._holder, self._held_at = weakref.ref(asker), self._polls
        return True

    def release(self) -> None:
        """End the present turn."""
        self._holder = None
