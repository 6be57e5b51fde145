"""The batches of one fetch in turn, and which of them readers of committed records pass over."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import READ_COMMITTED
from aiokafka.errors import CorruptRecordException
from aiokafka.record.control_record import ABORT_MARKER, ControlRecord
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from stream_anon.adapters.kafka.bulk import record_kernels as kernels
from stream_anon.adapters.kafka.bulk.old_batches import end_of_batch, last_offset
from stream_anon.adapters.kafka.bulk.unpacking import UnsoundError
from stream_anon.microdata.keys import PADDING

FORMAT, APPEND_TIME = 2, 8  # of a head's fields: the format, and a bit of the attributes
_TRANSACTIONAL, _CONTROL = 16, 32  # of the attributes


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
        self, place: TopicPartition, records: Fetched, aborted: Any, fetch_offset: int, others: Sequence[Any]
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

    def _head(self, at: int) -> tuple[tuple[int, ...], int] | None:
        """Return a batch's head and its end; None if there is no whole batch of this format."""
        if at + kernels.HEAD > self._size:
            return None
        head = kernels.HEAD_FIELDS.unpack_from(self._data, at)
        end = at + 12 + head[1]
        if head[3] != FORMAT or not at + kernels.HEAD <= end <= self._size:
            return None
        return head, end

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

    def _passed_over(self, head: tuple[int, ...], end: int) -> bool:
        """Pass over a batch and return True if it holds markers, or records of an aborted transaction.

        Raises
        ------
        Exception
            If it is damaged.
        """
        checksum, attributes, producer = head[4], head[5], head[9]
        if calc_crc32c(self._data[self._at + 21 : end]) != checksum:
            raise UnsoundError
        while self._aborted and self._aborted[0][1] <= head[0]:
            self._dropped.add(self._aborted.popleft()[0])
        if attributes & _CONTROL:
            if producer in self._dropped and _aborts(self._data[self._at : end]):
                self._dropped.discard(producer)
        elif not (attributes & _TRANSACTIONAL and producer in self._dropped):
            return False
        self._pass_over(head, end)
        return True

    def _pass_over(self, head: tuple[int, ...], end: int) -> None:
        self._at, self._reached = end, max(self._reached, next_offset(head))


def next_offset(head: tuple[int, ...]) -> int:
    """Return the offset behind a batch; compaction keeps it even if the last record is gone."""
    return head[0] + max(head[6], 0) + 1


def _aborts(batch: bytes) -> bool:
    """Return whether a control batch ends an aborted transaction."""
    return bool(ControlRecord.parse(next(MemoryRecords(batch).next_batch()).key) == ABORT_MARKER)
