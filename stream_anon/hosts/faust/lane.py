"""One partition's records on their way from a stream to the worker: none twice, and none left out unnoticed.

A stream shows only offsets, and does not tell what it skipped. It brings **stretches**, each of ascending offsets
without a hole, and begins another one whenever somebody seeks::

    12 13 14 15 │ 9 10 11 12 13 ...     a stretch from 12, and after a seek to 9 one from 9

A record beyond the next offset to take may follow offsets that hold no record (a transaction's marker, a compacted
key). Or it may still belong to a stretch from before a seek, and then the records between are on their way. So a
lane takes it only once the lane is **joined**: once it is certain that the stretch began at or below the next
offset.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stream_anon.ports import Chunk, Place


@dataclass(slots=True, eq=False)
class Lane:
    """Takes the records that continue those taken before. O(1) a record.

    Parameters
    ----------
    number
        The source's number of the partition.
    seen
        The offset that the stream brought last; -1 before any.
    limit
        Offsets up to here come only in a stretch that began where the last seek went, or below.
    floor
        The part of `limit` that is believed by now.
    sought, asked
        When the last seek began, and when it was last asked for.
    read
        Whether a takeover has opened the partition; if not, every record is dropped.
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
    _begins: set[int] = field(default_factory=set)  # where seeks went whose stretches may be on their way
    _values: list[bytes | None] = field(default_factory=list)
    _offsets: list[int] = field(default_factory=list)
    _times: list[int] = field(default_factory=list)
    _holes: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._offsets)

    def aim(self, offset: int, now: float) -> None:
        """Take records from `offset` on; the caller seeks there now.

        The present stretch goes on from `seen` without a hole, so it reaches a later offset by itself. After a seek
        backwards, the new stretch shows by an offset that was seen before and that no stretch of an earlier seek
        further on can bring.
        """
        ahead = [begin - 1 for begin in self._begins if begin > offset]
        self.limit = min(self.seen, *ahead) if ahead else self.seen
        # Faust drops records below the last one that it handed on, and may note that one only now.
        self.floor = self.limit - 1
        self.joined = self.seen < offset and not ahead
        self._begins.add(offset)
        self.next = self.first = offset
        self.sought = self.asked = now
        self.drop()

    def aim_again(self, now: float) -> None:
        """Note that the same seek is asked for once more."""
        self.asked, self.floor = now, self.limit

    def begin_anew(self) -> None:
        """Forget all records on their way, which belong to an old generation of the group."""
        self.seen = self.limit = self.floor = -1
        self.joined, self.read = True, False
        self._begins.clear()
        self.drop()

    def drop(self) -> None:
        """Forget the records that were taken and not yet handed over."""
        self._values, self._offsets, self._times, self._holes = [], [], [], []

    def take(self, offset: int, value: bytes | None, time: int) -> bool:
        """Take a record of the stream, or drop it; return whether it was taken."""
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
        """Return the last missing offset among the waiting records; None if none is missing."""
        return self._holes[-1] if self._holes else None

    def cut(self, earliest: int) -> int | None:
        """Forget what follows the first hole below `earliest`, where records may be gone; return its offset."""
        lost = next((hole for hole in self._holes if hole < earliest), None)
        if lost is not None:
            kept = sum(offset < lost for offset in self._offsets)
            del self._values[kept:], self._offsets[kept:], self._times[kept:]
            self._holes.clear()
            self.next = lost
        return lost

    def chunk(self) -> Chunk:
        """Return all records that were taken, and forget them."""
        offsets, times = np.array(self._offsets, np.int64), np.array(self._times, np.int64)
        chunk = Chunk(self.number, self.first, self._values, offsets, times)
        self.first = chunk.end
        self.drop()
        return chunk
