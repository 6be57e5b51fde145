"""The log of one partition: batches as bytes, what is known of their producers, and open transactions."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass, field

from aiokafka.record.util import calc_crc32c

from tests.simulation.wire.model.codes import (
    INVALID_PRODUCER_EPOCH,
    INVALID_TXN_STATE,
    OUT_OF_ORDER_SEQUENCE,
    Refused,
)

_HEAD = struct.Struct(">qiibIhiqqqhii")
_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_REMEMBERED = 5  # batches of a producer, by which a repeated one is known
_LAST_SEQUENCE = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of records."""

    data: bytes
    base: int
    last: int
    producer: int
    epoch: int
    first_sequence: int
    transactional: bool
    control: bool = False

    @classmethod
    def read(cls, data: bytes, base: int) -> Batch:
        """Return a batch as a client sent it, at an offset."""
        fields = _HEAD.unpack_from(data)
        flags, delta, producer, epoch, sequence = fields[5], fields[6], fields[9], fields[10], fields[11]
        crc = calc_crc32c(data[21:])
        if crc != fields[4]:
            raise ValueError("the checksum of a batch is wrong")
        placed = struct.pack(">q", base) + data[8:]
        return cls(placed, base, base + delta, producer, epoch, sequence, bool(flags & _TRANSACTIONAL))

    @property
    def last_sequence(self) -> int:
        """Return the sequence number of its last record."""
        return (self.first_sequence + self.last - self.base) % (_LAST_SEQUENCE + 1)


def marker(base: int, producer: int, epoch: int, *, commits: bool) -> Batch:
    """Return the control batch that ends a transaction."""
    key, value = struct.pack(">hh", 0, int(commits)), struct.pack(">hi", 0, 0)
    record = bytes([0, 0, 0, 2 * len(key)]) + key + bytes([2 * len(value)]) + value + b"\x00"
    record = bytes([2 * len(record)]) + record
    flags = _TRANSACTIONAL | _CONTROL
    tail = struct.pack(">hiqqqhii", flags, 0, 0, 0, producer, epoch, -1, 1) + record
    data = struct.pack(">qiibI", base, len(tail) + 9, 0, 2, calc_crc32c(tail)) + tail
    return Batch(data, base, base, producer, epoch, -1, transactional=True, control=True)


@dataclass(slots=True)
class _Producer:
    epoch: int
    batches: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    begun: int | None = None  # the first offset of its open transaction


@dataclass(frozen=True, slots=True)
class Aborted:
    """An aborted transaction, from its first record to its marker."""

    producer: int
    first: int
    marker: int


class Partition:
    """One partition of one topic, with the checks of its leader."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.aborted: list[Aborted] = []
        self._producers: dict[int, _Producer] = {}
        self._verifying: dict[int, object] = {}

    @property
    def end(self) -> int:
        """Return the next offset."""
        return self.batches[-1].last + 1 if self.batches else 0

    @property
    def stable(self) -> int:
        """Return where the oldest open transaction begins, or the end."""
        return min((p.begun for p in self._producers.values() if p.begun is not None), default=self.end)

    def is_open(self, producer: int, epoch: int) -> bool:
        """Whether a producer has written to this partition in a transaction that has not ended."""
        known = self._producers.get(producer)
        return known is not None and known.begun is not None and known.epoch == epoch

    def verify(self, producer: int) -> object:
        """Return a guard: a batch may be the first of a transaction as long as no marker has come since."""
        return self._verifying.setdefault(producer, object())

    def append(self, data: bytes, guard: object | None) -> int:
        """Append a batch of a client and return its offset; that of a repeated batch is the first one's.

        Parameters
        ----------
        guard
            What `verify` returned before the coordinator was asked, if it had to be.
        """
        batch = Batch.read(data, self.end)
        if batch.producer >= 0:
            known = self._producers.get(batch.producer)
            again = self._again(known, batch)
            if again is not None:
                return again
            if batch.transactional:
                self._must_be_verified(batch.producer, batch.epoch, guard)
            self._check(known, batch)
            known = self._at_epoch(batch.producer, batch.epoch)
            known.batches.append((batch.first_sequence, batch.last_sequence, batch.base))
            if batch.transactional:
                self._begin(batch.producer, known, batch.base)
        self.batches.append(batch)
        return batch.base

    def hold(self, producer: int, epoch: int, guard: object | None) -> None:
        """Note that a transaction has written here, as a group's coordinator writes: without sequence numbers."""
        self._must_be_verified(producer, epoch, guard)
        known = self._producers.get(producer)
        if known is not None and epoch < known.epoch:
            raise Refused(INVALID_PRODUCER_EPOCH)
        self._begin(producer, self._at_epoch(producer, epoch), self.end)

    def _must_be_verified(self, producer: int, epoch: int, guard: object | None) -> None:
        if not self.is_open(producer, epoch) and (guard is None or self._verifying.get(producer) is not guard):
            raise Refused(INVALID_TXN_STATE)

    def _at_epoch(self, producer: int, epoch: int) -> _Producer:
        known = self._producers.get(producer)
        if known is None or known.epoch != epoch:
            known = self._producers[producer] = _Producer(epoch, begun=None if known is None else known.begun)
        return known

    def _begin(self, producer: int, known: _Producer, offset: int) -> None:
        self._verifying.pop(producer, None)
        if known.begun is None:
            known.begun = offset

    @staticmethod
    def _again(known: _Producer | None, batch: Batch) -> int | None:
        if known is None or known.epoch != batch.epoch:
            return None
        same = (batch.first_sequence, batch.last_sequence)
        return next((base for first, last, base in known.batches if (first, last) == same), None)

    @staticmethod
    def _check(known: _Producer | None, batch: Batch) -> None:
        if known is None:
            return
        if batch.epoch < known.epoch:
            raise Refused(INVALID_PRODUCER_EPOCH)
        if batch.epoch > known.epoch:
            if batch.first_sequence != 0:
                raise Refused(OUT_OF_ORDER_SEQUENCE)
            return
        last = known.batches[-1][1] if known.batches else -1
        if batch.first_sequence != (last + 1) % (_LAST_SEQUENCE + 1):
            raise Refused(OUT_OF_ORDER_SEQUENCE)

    def mark(self, producer: int, epoch: int, *, commits: bool) -> None:
        """Append the marker that ends a producer's transaction here."""
        known = self._producers.setdefault(producer, _Producer(epoch))
        if epoch < known.epoch:
            raise Refused(INVALID_PRODUCER_EPOCH)
        at = self.end
        self.batches.append(marker(at, producer, epoch, commits=commits))
        if known.begun is not None and not commits:
            self.aborted.append(Aborted(producer, known.begun, at))
        known.begun = None
        if epoch > known.epoch:
            known.epoch = epoch
            known.batches.clear()
        self._verifying.pop(producer, None)

    def read(self, offset: int, most_bytes: int, *, committed: bool) -> tuple[bytes, list[Aborted]]:
        """Return batches from an offset on, and the aborted transactions among them."""
        upper = self.stable if committed else self.end
        found, size, end = [], 0, offset
        for batch in self.batches:
            if batch.last < offset:
                continue
            if batch.base >= upper or (found and size + len(batch.data) > most_bytes):
                break
            found.append(batch.data)
            size += len(batch.data)
            end = batch.last + 1
        aborted = [a for a in self.aborted if a.marker >= offset and a.first < end] if committed else []
        return b"".join(found), aborted
