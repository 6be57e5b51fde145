"""How much of the fetched data may be unpacked at once, however small it was packed."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

AT_ONCE = 16 * 1024 * 1024
"""Bytes of values that one poll returns, over all partitions, and not many more.

Decoding makes a few copies of them. Ten thousand records, the most that a poll returns, of 1.6 kB each fit.
"""

FRAMED_AT_ONCE = 1024 * 1024
"""The same of records that name a schema: a byte of theirs may mean 128 bytes of text (`writing.text_buffer`).

Until these are decoded nobody tells the group that we are alive.
"""

SECONDS_AT_ONCE = 0.25
"""Processor time in which one poll unpacks, over all partitions, whatever comes of it.

Meanwhile nobody tells the group that we are alive. Neither values nor bytes tell this work: a few hundred bytes may
unpack to megabytes of keys and of records that are passed over, or to nothing, in thousands of empty parts.
"""


class Holder(Protocol):
    """Somebody who unpacks a large batch piece by piece."""

    def let_go(self) -> None:
        """Drop what is unpacked; the next request unpacks it again from the start."""
        ...


class Budget:
    """What one consumer may unpack in a poll, and the turn to unpack a large batch.

    Parameters
    ----------
    most_value
        Larger values are not kept whole.
    at_once
        Bytes of values that a poll returns, and not many more.
    clock
        The processor time of this thread, in seconds.

    Attributes
    ----------
    left
        Bytes of values that this poll may still return.
    """

    def __init__(
        self, most_value: int, clock: Callable[[], float] = time.thread_time, at_once: int | None = None
    ) -> None:
        self.most_value = most_value
        self._clock = clock
        self._at_once = AT_ONCE if at_once is None else at_once
        self.left, self._seconds = self._at_once, SECONDS_AT_ONCE
        self._began: float | None = None  # when the present work began
        self._polls = 0
        self._holder: weakref.ref[Holder] | None = None
        self._held_at = 0  # the poll in which the holder asked last

    def begin_poll(self) -> None:
        """Allow the full number of bytes and the full time again."""
        self.left, self._seconds = self._at_once, SECONDS_AT_ONCE
        self._polls += 1

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the time of the block as work."""
        self._began = self._clock()
        try:
            yield
        finally:
            self._seconds -= self._clock() - self._began
            self._began = None

    @property
    def is_spent(self) -> bool:
        """Return whether this poll has worked for as long as it may."""
        now = 0.0 if self._began is None else self._clock() - self._began
        return now >= self._seconds

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
