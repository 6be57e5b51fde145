"""One partition's records on their way from a stream to the worker: none twice, and none left out unnoticed.

A stream shows offsets and nothing else, so what it skipped is not to be seen. What is known: it brings
**stretches**, each of ascending offsets without a hole, and it begins another one whenever somebody seeks::

    12 13 14 15 │ 9 10 11 12 13 ...     a stretch from 12, and after a seek to 9 one from 9

A record beyond the next offset to take may follow offsets that hold no record (a transaction's marker, a compacted
key), or it may still belong to a stretch from before a seek, and then records between are on their way. So a lane
takes it only once it is **joined**: once it is certain that its stretch began at or below the next offset to take.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stream_anon.ports import Chunk, Place


@dataclass(slots=True, eq=False)
class Lane:
    """Takes what continues what was taken before. O(1) a record.

    Parameters
    ----------
    number
        The source's number of the partition.
    seen
        The offset that the stream brought last; -1 before any.
    limit
        Only a stretch that began where the last seek went, or below, brings offsets up to here.
    floor
        As far as that is believed by now.
    sought, asked
        When the last seek began, and when it was asked for last.
    read
        Whether a takeover opened it; else all that comes is dropped.
    """

    number: int
    place: Place
    seen: int = -1
    limit: int = -1
    floor: int = -1
    joined: bool = True
    read: bool = False
    next: int = 0
    first: int = 0
    sought: float = 0.0
    asked: float = 0.0
    _begins: set[int] = field(default_factory=set)  # of seeks whose stretches may be on their way
    _values: list[bytes | None] = field(default_factory=list)
    _offsets: list[int] = field(default_factory=list)
    _times: list[int] = field(default_factory=list)
    _holes: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._offsets)

    def aim(self, offset: int, now: float) -> None:
        """Take records from `offset` on; somebody seeks there now.

        What is on its way goes on from `seen` without a hole, so an offset beyond is reached by itself. Going back,
        the new stretch shows by an offset that was there already, and that no stretch of an earlier seek further
        on can bring.
        """
        ahead = [begin - 1 for begin in self._begins if begin > offset]
        self.limit = min(self.seen, *ahead) if ahead else self.seen
        # Faust drops what lies below the last record that it handed on, and may note that one only now.
        self.floor = self.limit - 1
        self.joined = self.seen < offset and not ahead
        self._begins.add(offset)
        self.next = self.first = offset
        self.sought = self.asked = now
        self.drop()

    def aim_again(self, now: float) -> None:
        """Take note that the same seek is asked for once more."""
        self.asked, self.floor = now, self.limit

    def begin_anew(self) -> None:
        """Forget all that was on its way: it belongs to a generation of the group that is over."""
        self.seen = self.limit = self.floor = -1
        self.joined, self.read = True, False
        self._begins.clear()
        self.drop()

    def drop(self) -> None:
        """Forget what was taken and not yet handed over."""
        self._values, self._offsets, self._times, self._holes = [], [], [], []

    def take(self, offset: int, value: bytes | None, time: int) -> bool:
        """Return whether a record of the stream is taken."""
        self.seen = offset
        if not self.joined and offset <= self.floor:
            self.joined, self._begins = True, {self.first}
        if not self.read or not self.joined or offset < self.next:
            return False
        if offset > self.next:
            self._holes.append(self.next)
        self._values.append(value)
        self._offsets.append(offset)
        self._times.append(time)
        self.next = offset + 1
        return True

    @property
    def hole(self) -> int | None:
        """Return the last offset waiting here that no record has; None without one."""
        return self._holes[-1] if self._holes else None

    def cut(self, earliest: int) -> int | None:
        """Forget what follows the first hole below `earliest`: its records may be gone. Return where it begins."""
        lost = next((hole for hole in self._holes if hole < earliest), None)
        if lost is not None:
            kept = sum(offset < lost for offset in self._offsets)
            del self._values[kept:], self._offsets[kept:], self._times[kept:]
            self._holes.clear()
            self.next = lost
        return lost

    def chunk(self) -> Chunk:
        """Return all that was taken and forget it."""
        offsets, times = np.array(self._offsets, np.int64), np.array(self._times, np.int64)
        chunk = Chunk(self.number, self.first, self._values, offsets, times)
        self.first = chunk.end
        self.drop()
        return chunk
