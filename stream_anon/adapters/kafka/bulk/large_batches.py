"""Read the records of a batch that is too large to be unpacked in one go, a few at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from stream_anon.adapters.kafka.bulk.batch_head import BatchHead
from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.bulk.unpacking import Stream, UnsoundError
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget
from stream_anon.microdata.texts import Texts
from stream_anon.ports.headers import NO_HEADERS, HeaderRule

_PIECE = 256 * 1024
_WIDEST, _SHORT = 64, 32  # bits of a varint
_Record = tuple[int, int, bytes | None]


class LargeBatch:
    """The records of one batch, from an offset on; holds one piece of the batch at a time.

    Parameters
    ----------
    wanted
        The first offset that is returned.
    headers
        What headers put before each record's value.
    most_value
        A larger value is cut one byte behind this; the codec rejects it as too large, unread.
    """

    def __init__(
        self, head: BatchHead, stream: Stream, wanted: int, most_value: int, headers: HeaderRule = NO_HEADERS
    ) -> None:
        self._head = head
        self._stream = stream
        self._wanted = wanted
        self._most_value, self._headers, self._names = most_value, headers, headers.names
        self._piece, self._at = b"", 0
        self._unpacked = 0
        self._budget = Budget(most_value)
        self._records = self._parse()
        self._unsound = False
        self.ended = False

    def take(self, most: int, budget: Budget) -> Records:
        """Return up to `most` of the next records, and not much more than `budget.left` bytes of them.

        Returns none at the end, and if the next record needs another turn since the time of this one is spent.

        Raises
        ------
        UnsoundError
            If the batch does not hold what its head says; the records before have been returned.
        """
        if self._unsound:
            raise UnsoundError
        found: list[_Record] = []
        room, self._budget = budget.left, budget
        try:
            with budget.working():
                while len(found) < most and room > 0:
                    record = next(self._records)
                    if record is None:
                        break
                    found.append(record)
                    room -= len(record[2] or b"") + 1
        except StopIteration:
            self.ended = True
        except UnsoundError:
            if not found:
                raise
            self._unsound = True
        offsets, times, values = zip(*found, strict=True) if found else ((), (), ())
        return Records(Texts.of(values), np.array(offsets, np.int64), np.array(times, np.int64))

    def _parse(self) -> Iterator[_Record | None]:
        """Yield records, and None when the time of a turn is spent."""
        head, fixed_time, last = self._head, self._head.fixed_time, -1
        for _ in range(head.records):
            yield from self._turn()
            size = self._short_varint()
            end = self._position + size
            if size < 0:
                raise UnsoundError
            self._bytes(1)  # attributes
            time, offset = self._varint(_WIDEST), self._short_varint()
            if not last < offset <= head.last_offset:
                raise UnsoundError
            last = offset
            yield from self._pass(self._length(end))  # the key
            size = self._length(end)
            value = self._bytes(min(size, self._most_value + 1)) if size >= 0 else None
            if self._position >= end:  # not even the count of headers
                raise UnsoundError
            before = b""
            if self._names and value is not None:
                yield from self._pass(max(size, 0) - len(value))
                before = yield from self._held_by_headers(end)
                if self._position > end:
                    raise UnsoundError
            yield from self._pass(end - self._position)  # headers too
            place = head.base_offset + offset
            if place >= self._wanted:
                self._wanted = place + 1
                moment = _signed(head.first_time + time, _WIDEST) if fixed_time is None else fixed_time
                yield place, moment, None if value is None else before + value
        if self._at < len(self._piece) or self._read():
            raise UnsoundError

    def _turn(self) -> Iterator[None]:
        """Yield if the turn is over."""
        if self._budget.is_spent:
            yield None

    def _held_by_headers(self, end: int) -> Generator[None, None, bytes]:
        """Return what the headers, which must end before `end`, put before the value."""
        held = dict[bytes, bytes]()
        lengths, most = {len(name) for name in self._names}, self._headers.most + 1
        for _ in range(max(self._length(end), 0)):
            yield from self._turn()
            size = self._length(end)
            name = self._bytes(size) if size in lengths else b""
            if size not in lengths:
                yield from self._pass(size)
            size = self._length(end)
            if name in self._names:
                held[name] = self._bytes(min(max(size, 0), most))
                size -= len(held[name])
            yield from self._pass(size)
        return self._headers.before(held)

    @property
    def _position(self) -> int:
        """Return how many bytes were read."""
        return self._unpacked - len(self._piece) + self._at

    def _fill(self) -> None:
        """Take the next piece; raises UnsoundError where the batch ends."""
        self._piece, self._at = self._read(), 0
        if not self._piece:
            raise UnsoundError
        self._unpacked += len(self._piece)

    def _read(self) -> bytes:
        try:
            return self._stream.read(_PIECE)
        except Exception:  # noqa: BLE001 - libraries of four codecs
            raise UnsoundError from None

    def _varint(self, bits: int) -> int:
        """Return a zigzag varint; as Java's clients do, drop what its last byte holds beyond `bits`."""
        value = 0
        for shift in range(0, bits, 7):
            if self._at == len(self._piece):
                self._fill()
            byte = self._piece[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                value &= (1 << bits) - 1
                return value >> 1 ^ -(value & 1)
        raise UnsoundError

    def _short_varint(self) -> int:
        return self._varint(_SHORT)

    def _length(self, end: int) -> int:
        """Return the length of a text that must end before `end`; -1 if it is missing."""
        size = self._short_varint()
        if size > end - self._position:
            raise UnsoundError
        return size

    def _bytes(self, size: int) -> bytes:
        parts = []
        while size:
            if self._at == len(self._piece):
                self._fill()
            parts.append(self._piece[self._at : self._at + size])
            self._at += len(parts[-1])
            size -= len(parts[-1])
        return b"".join(parts)

    def _pass(self, size: int) -> Iterator[None]:
        """Pass over so many bytes, none of which is kept."""
        while size > 0:
            if self._at == len(self._piece):
                yield from self._turn()
                self._fill()
            step = min(size, len(self._piece) - self._at)
            self._at += step
            size -= step


def _signed(number: int, bits: int) -> int:
    """Return the number that the lowest `bits` are, as Java's sums wrap."""
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half
