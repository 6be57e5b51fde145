"""The batches of one fetch in turn, and which of them readers of committed records pass over."""

from __future__ import annotations

from collections import deque
from operator import itemgetter
from typing import Any

from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import READ_COMMITTED
from aiokafka.errors import CorruptRecordException
from aiokafka.record.control_record import ABORT_MARKER, ControlRecord
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from stream_anon.adapters.kafka.bulk.batch_head import (
    AFTER_LENGTH,
    ATTRIBUTES_AT,
    FORMAT_2,
    HEAD,
    MARKERS,
    TRANSACTIONAL,
    BatchHead,
)
from stream_anon.adapters.kafka.bulk.old_batches import end_of_batch, last_offset
from stream_anon.adapters.kafka.bulk.unpacking import UnsoundError
from stream_anon.microdata.keys import PADDING


class UnreadableBatch(CorruptRecordException):  # type: ignore[misc] # aiokafka ships no types
    """A batch is not sound; `after` is the offset behind it, and a `fault` is a kernel's, which left its bounds."""

    def __init__(self, after: int, *, fault: bool = False) -> None:
        super().__init__()
        self.after, self.fault = after, fault


class Fetched:
    """The bytes of a fetch; aiokafka answers the two questions that its fetcher asks about them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._records = MemoryRecords(data)

    def has_next(self) -> bool:
        """Return whether there is a whole batch."""
        return bool(self._records.has_next())

    def size_in_bytes(self) -> int:
        """Return the bytes, a batch that was cut off included."""
        return int(self._records.size_in_bytes())


class Batches:
    """The batches of one fetch, in the place of aiokafka's `PartitionRecords`; what they hold is read below.

    Parameters
    ----------
    place, records, aborted, fetch_offset, others
        As of `PartitionRecords`; the others are the deserializers, whether checksums are checked (they always are)
        and the isolation level.
    """

    def __init__(
        self, place: TopicPartition, records: Fetched, aborted: Any, fetch_offset: int, *others: Any
    ) -> None:
        self.next_fetch_offset = fetch_offset
        self._place, self._others = place, others
        self._data = records.data + PADDING
        self._size = len(records.data)
        self._at = 0
        self._reached = fetch_offset  # the position once everything that was read has been taken
        committed = others[-1] == READ_COMMITTED
        # Producers and their first offsets.
        self._aborted = deque(sorted(aborted or (), key=itemgetter(1)) if committed else ())
        self._dropped: set[int] = set()  # producers of aborted transactions that are open at this place
        self._error: Exception | None = None  # the next call raises it

    def _head(self) -> tuple[BatchHead, int] | None:
        """Return the head and the end of the batch at our place; None if there is no whole one of this format."""
        records = self._at + HEAD
        if records > self._size:
            return None
        head = BatchHead.at(self._data, self._at)
        end = self._at + AFTER_LENGTH + head.length
        return (head, end) if head.format == FORMAT_2 and records <= end <= self._size else None

    def _unreadable(self, after: int, *, fault: bool = False) -> UnreadableBatch:
        """Return what tells that a batch cannot be read, which says that it ends before an offset."""
        return UnreadableBatch(max(self._reached, after), fault=fault)

    def _old_batch(self) -> bytes | None:
        """Return the batch of an older format at our place; None, and end there, if it is cut off.

        Raises
        ------
        UnreadableBatch
            If its length is negative.
        """
        try:
            end = end_of_batch(self._data, self._at, self._size)
        except UnsoundError:
            raise self._unreadable(last_offset(self._data, self._at) + 1) from None
        if end is None:
            self._at = self._size
            return None
        return self._data[self._at : end]

    def _passed_over(self, head: BatchHead, end: int) -> bool:
        """Pass over a batch and return True if it holds markers, or records of an aborted transaction.

        Raises
        ------
        Exception
            If it is damaged.
        """
        if calc_crc32c(self._data[self._at + ATTRIBUTES_AT : end]) != head.checksum:
            raise UnsoundError
        while self._aborted and self._aborted[0][1] <= head.base_offset:
            self._dropped.add(self._aborted.popleft()[0])
        if head.attributes & MARKERS:
            if head.producer in self._dropped and _aborts(self._data[self._at : end]):
                self._dropped.discard(head.producer)
        elif not (head.attributes & TRANSACTIONAL and head.producer in self._dropped):
            return False
        self._pass_over(head, end)
        return True

    def _pass_over(self, head: BatchHead, end: int) -> None:
        self._at, self._reached = end, max(self._reached, head.next_offset)


def _aborts(batch: bytes) -> bool:
    """Return whether a control batch ends an aborted transaction."""
    return bool(ControlRecord.parse(next(MemoryRecords(batch).next_batch()).key) == ABORT_MARKER)
