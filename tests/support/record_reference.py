"""The records of a batch as the specification of the format says, to compare readers with."""

from __future__ import annotations

from collections.abc import Iterator

from stream_anon.adapters.kafka.bulk.batch_head import BatchHead
from stream_anon.adapters.kafka.bulk.unpacking import UnsoundError

Record = tuple[int, int, bytes | None]
"""Offset, time and value."""
_HALF = 1 << 63


class Reference:
    """The format as its specification says, with the numbers as Java's `ByteUtils` reads them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, bits: int, stop: int) -> int:
        """Return a varint: an int has 32 bits in 5 bytes at most, a long 64 in 10; what is beyond is dropped."""
        value = 0
        for place in range(5 if bits == 32 else 10):
            if self.at >= stop:
                raise UnsoundError
            byte = self.data[self.at]
            self.at += 1
            value += byte % 128 << 7 * place
            if byte < 128:
                value %= 1 << bits
                return -(value // 2) - 1 if value % 2 else value // 2
        raise UnsoundError

    def text(self, stop: int) -> bytes | None:
        size = self.number(32, stop)
        if size > stop - self.at:
            raise UnsoundError
        begin, self.at = self.at, self.at + max(size, 0)
        return None if size < 0 else self.data[begin : self.at]

    def walk(self, head: BatchHead) -> Iterator[tuple[int, int, int]]:
        """Yield offset and time of each record, and where it ends; `at` stands at its key, and must end there."""
        before = -1
        for _ in range(head.records):
            size = self.number(32, len(self.data))
            stop = self.at + size
            if size < 0 or stop > len(self.data):
                raise UnsoundError
            self.at += 1  # attributes
            time, place = self.number(64, stop), self.number(32, stop)
            if not before < place <= head.last_offset:
                raise UnsoundError
            before = place
            yield head.base_offset + place, (head.first_time + time + _HALF) % (2 * _HALF) - _HALF, stop
        if self.at != len(self.data):
            raise UnsoundError

    def records(self, head: BatchHead) -> Iterator[Record]:
        """Yield offset, time and value of each record."""
        for offset, time, stop in self.walk(head):
            yield offset, time, self.value(stop)
            self.at = stop

    def value(self, stop: int) -> bytes | None:
        """Return the value of a record, behind its key."""
        self.text(stop)
        value = self.text(stop)
        if self.at >= stop:
            raise UnsoundError  # headers have a count
        return value
