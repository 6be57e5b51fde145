"""How large a window may become where nobody has chosen a number: as large as memory and time have shown to allow.

::

    at first      100,000 |----|
    the policy  1,000,000 |------------------------------------------|   windows that fill it fast double it
    learned       500,000 |--------------------|                         one was too large for its time
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

FIRST_RECORDS = 100_000
"""How much the first window may hold: nobody knows yet how fast the brokers are."""
LEAST_MEMORY = 16 * 2**20
MUCH = 0.7  # of the time that a window is given; the next one is smaller
LITTLE = 0.3
MOST_MEMORY = 2**30
_CLOSING = 3
"""What a window takes while it is closed and written, beside what it holds, in times of that: 1.3 to 2.6 were
measured, of windows of 300,000 and 1,000,000 rows with 50 and 1,000 bytes that pass."""
PARTS = 8
"""Into so many the memory is divided: two windows are in it at a time. While one is published (3 parts) the next
one fills or, when it is full, is closed (4 parts). One that is out may still be audited (1 to 2)."""


@dataclass(frozen=True, slots=True)
class WindowBound:
    """What a window holds when it closes, unless it is due before.

    Parameters
    ----------
    records
        Admitted records.
    memory
        Bytes of what is kept of them; it may exceed this by what came at once.
    least
        Records that it takes, however many bytes they are: fewer would be too few people to publish anything. It
        is a number of records, since one of people would tell when the last of them came.
    """

    records: int
    memory: float = math.inf
    least: int = 1

    def room(self, admitted: int, held: int) -> int:
        """Return how many more records a window takes that holds so many, in so many bytes."""
        most = self.records if held < self.memory else min(self.least, self.records)
        return max(0, most - admitted)

    def expected(self, admitted: int, held: int) -> int:
        """Return how many records fill a window, if the others take as many bytes as those that it has."""
        if not held or self.memory == math.inf:
            return self.records
        return min(self.records, max(self.least, math.ceil(admitted * self.memory / held)))


class LearnedBound:
    """The bound of the windows to come, which follows what those before took of time and memory.

    Nothing decides but the number of records and bytes of whole windows, and how long they took.

    Parameters
    ----------
    most
        The bound that the policy and the operator set: it is never exceeded.
    least
        Records below which no window is made for want of time.
    fixed
        Whether somebody has chosen the number of records: then it stays, also if it is too large.
    """

    def __init__(self, most: WindowBound, least: int, *, fixed: bool) -> None:
        self._most = most
        self._least = min(least, most.records)
        self._fixed = fixed
        self.now = most if fixed else replace(most, records=min(max(FIRST_RECORDS, least), most.records))

    def published(self, records: int, share: float) -> None:
        """Note that a window of so many records took this share of the time that it was given."""
        if self._fixed:
            return
        if share > MUCH:
            self._halve_records(records)
        elif share < LITTLE and 2 * records > self.now.records:
            self._set(min(2 * self.now.records, self._most.records), self.now.memory)

    def too_slow(self, records: int) -> bool:
        """Note that so many records were too many for their time; return whether fewer may do."""
        if not self._fixed:
            self._halve_records(records)
        return records > self.now.records

    def sealed(self, held: int, free: int) -> None:
        """Note how much a window held when it was sealed, in bytes, and how much memory was free then.

        Less free memory than its closing takes halves what the next ones hold, rounded up to a power of two: it is
        shown, and so must not tell the bytes of one window. Where there is twice as much as closing a window of
        twice the size takes, they may hold that.
        """
        if self._fixed or self._most.memory == math.inf:
            return
        if free < _CLOSING * held:
            self._set(self.now.records, max(LEAST_MEMORY, _half_of(min(held, self.now.memory))))
        elif free > 4 * _CLOSING * self.now.memory:
            self._set(self.now.records, min(2 * self.now.memory, self._most.memory))

    def _halve_records(self, records: int) -> None:
        """Lower the bound to half of a window; one that is small was slow for another reason than its size."""
        if records > self._least:
            self._set(min(self.now.records, max(self._least, records // 2)), self.now.memory)

    def _set(self, records: int, memory: float) -> None:
        self.now = replace(
            self._most, records=min(records, self._most.records), memory=min(memory, self._most.memory)
        )


def _half_of(held: float) -> float:
    """Return the half of some bytes, rounded up to a power of two; it is less than all of them."""
    return float(2 ** (math.ceil(math.log2(held)) - 1))
