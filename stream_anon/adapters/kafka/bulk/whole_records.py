"""Whole records, with keys and headers, in bounded memory: for topics that are read record by record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.memory_records import MemoryRecords
from numpy.typing import NDArray

from stream_anon.adapters.kafka.bulk import record_kernels as kernels
from stream_anon.adapters.kafka.bulk.batch_head import HEAD, BatchHead
from stream_anon.adapters.kafka.bulk.batches import Batches, UnreadableBatch
from stream_anon.adapters.kafka.bulk.header_reading import EACH_HEADER, MOST_RECORD, Headers, read_headers
from stream_anon.adapters.kafka.bulk.old_batches import bounded, last_offset
from stream_anon.adapters.kafka.bulk.unpacking import STREAMS, Stream, UnsoundError
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget

EACH_RECORD = 512
"""Bytes that the object of a record takes in memory, beside those of the record."""

_PIECE = 256 * 1024
_ROWS = 512  # records of which a kernel finds the parts at once


def size_of(record: ConsumerRecord) -> int:
    """Return about how many bytes a record takes in memory."""
    parts = (record.key, record.value, *(value for _, value in record.headers))
    return EACH_RECORD + EACH_HEADER * len(record.headers) + sum(len(part or b"") for part in parts)


class UnreadWhole(Batches):
    """The unread rest of one fetch, as aiokafka's own records; see `Batches`.

    One batch is unpacked at a time, in all partitions of a consumer, and a piece of it at a time.

    Parameters
    ----------
    fetched
        As of `Batches`.
    budget
        How much may be unpacked.
    """

    def __init__(self, *fetched: Any, budget: Budget) -> None:
        super().__init__(*fetched)
        self._budget = budget
        self._batch: WholeBatch | OldWholeBatch | None = None
        self._end, self._after = 0, 0  # of that batch: where it ends, and the offset behind it

    @property
    def exhausted(self) -> bool:
        """Return whether nothing is left."""
        return self._batch is None and self._at >= self._size and self._error is None

    def let_go(self) -> None:
        """See `unpacking_budget.Holder`."""
        self._batch = None

    def take(self, most: int | None) -> list[ConsumerRecord]:
        """Return up to `most` records, as far as the budget reaches, and move the position behind them.

        Raises
        ------
        UnreadableBatch
            If the next batch cannot be read; earlier calls have returned everything before it.
        """
        if self._error is not None:
            raise self._error
        found: list[ConsumerRecord] = []
        try:
            while self._budget.left > 0 and not self.exhausted and (most is None or len(found) < most):
                if self._batch is None:
                    self._begin()
                elif self._budget.is_spent or not self._budget.admits(self):
                    break
                else:
                    with self._budget.working():
                        found += self._some(self._batch, _ROWS if most is None else min(most - len(found), _ROWS))
        except UnreadableBatch as error:
            self._error = error
            if not found:
                raise
        finally:
            self.next_fetch_offset = self._reached
        return found

    def _begin(self) -> None:
        """Begin the next batch or pass over it, or end with a part of one."""
        found = self._head()
        if found is None:
            self._begin_old()
            return
        head, end = found
        try:
            if self._passed_over(head, end):
                return
            packed = self._data[self._at + HEAD : end]
            stream = STREAMS[head.codec](packed) if head.codec else _Plain(packed)
        except Exception:  # noqa: BLE001 - on malformed bytes libraries raise what they like
            raise self._unreadable(head.next_offset) from None
        self._batch = WholeBatch(self._place, head, stream, self._reached, max(MOST_RECORD, len(packed)))
        self._end, self._after = end, head.next_offset

    def _begin_old(self) -> None:
        """Begin a batch of an older format, or end with a part of one."""
        batch = self._old_batch()
        if batch is not None:
            self._batch = OldWholeBatch(self._place, batch, self._reached, self._others)
            self._end, self._after = self._at + len(batch), last_offset(batch) + 1

    def _some(self, batch: WholeBatch | OldWholeBatch, most: int) -> list[ConsumerRecord]:
        try:
            found = batch.take(most, self._budget)
        except Exception:  # noqa: BLE001 - as above
            self._batch = None
            self._budget.release()
            raise self._unreadable(self._after) from None
        if found:
            self._reached = int(found[-1].offset) + 1
        if batch.ended:
            self._batch, self._at = None, self._end
            self._reached = max(self._reached, self._after)
            self._budget.release()
        return found


class WholeBatch:
    """The records of one batch, from an offset on; holds one piece of the batch at a time.

    Parameters
    ----------
    wanted
        The first offset that is returned.
    most
        Bytes of a record; a larger one is not sound.

    Attributes
    ----------
    ended
        Whether nothing is left of it.
    """

    def __init__(
        self, place: TopicPartition, head: BatchHead, stream: Stream, wanted: int, most: int = MOST_RECORD
    ) -> None:
        self._place = place
        self._head, self._fixed_time = head, head.fixed_time
        self._left = head.records
        self._stream, self._piece, self._at = stream, b"", 0
        self._wanted, self._most = wanted, most
        self._last = -1  # the last record's place
        self._headers: tuple[bytes, Headers] = b"\0", ()  # of the last record, in bytes and read
        self._unsound = False
        self.ended = False

    def take(self, most: int, budget: Budget) -> list[ConsumerRecord]:
        """Return up to `most` of the next records; maybe none, although it has not ended.

        What is unpacked and what the records take is counted down from `budget.left`.

        Raises
        ------
        UnsoundError
            If the batch does not hold what its head says; the records before have been returned.
        """
        if self._unsound or self._left < 0:
            raise UnsoundError
        if not self._left:
            if self._at < len(self._piece) or self._read(budget):
                raise UnsoundError
            self.ended = True
            return []
        made: list[ConsumerRecord] = []
        try:
            for row in self._rows(min(most, self._left), budget):
                made.append(self._record(row, budget))  # noqa: PERF401 - those before an error count
        except UnsoundError:
            if not made:
                raise
            self._unsound = True
        return made

    def _rows(self, most: int, budget: Budget) -> list[list[int]]:
        """Return where the parts of the next records are, as far as the piece reaches; read on if it holds none."""
        spans, found = np.empty((most, kernels.SPANS), np.int64), np.zeros(4, np.int64)
        found[kernels.LAST] = self._last
        while True:
            found[kernels.AT] = self._at
            text = np.frombuffer(self._piece, np.uint8)
            kernels.read_spans(text, len(text), self._most, self._head.last_offset, spans, found)
            count, self._at, self._last, needed = found.tolist()
            if count:
                break
            if needed < 0:
                raise UnsoundError
            self._fill(needed, budget)
        self._left -= count
        return self._wanted_of(spans[:count])

    def _wanted_of(self, spans: NDArray[np.int64]) -> list[list[int]]:
        if self._fixed_time is None:
            spans[:, 1] += self._head.first_time  # beyond 64 bits it wraps, as Java's sums do
        else:
            spans[:, 1] = self._fixed_time
        first = np.searchsorted(spans[:, 0], self._wanted - self._head.base_offset)
        rows: list[list[int]] = spans[first:].tolist()
        return rows

    def _record(self, row: list[int], budget: Budget) -> ConsumerRecord:
        place, time, key_at, key_end, value_at, value_end, headers_at, stop = row
        key = None if key_end < 0 else self._piece[key_at:key_end]
        value = None if value_end < 0 else self._piece[value_at:value_end]
        text = self._piece[headers_at:stop]
        if text != self._headers[0]:  # the records of a window have the same
            self._headers = text, read_headers(text)
        headers = self._headers[1]
        budget.left -= EACH_RECORD + stop - key_at + EACH_HEADER * len(headers)
        sizes = (-1 if part is None else len(part) for part in (key, value))
        by_broker = int(self._fixed_time is not None)
        offset = self._head.base_offset + place
        return ConsumerRecord(*self._place, offset, time, by_broker, key, value, None, *sizes, headers)

    def _fill(self, needed: int, budget: Budget) -> None:
        """Read on until so many bytes are there that have not been looked at; raise UnsoundError without them."""
        parts, size = [self._piece[self._at :]], len(self._piece) - self._at
        while size < needed:
            part = self._read(budget)
            if not part:
                raise UnsoundError
            parts.append(part)
            size += len(part)
        self._piece, self._at = b"".join(parts), 0

    def _read(self, budget: Budget) -> bytes:
        try:
            part = self._stream.read(_PIECE)
        except Exception:  # noqa: BLE001 - libraries of four codecs
            raise UnsoundError from None
        budget.left -= len(part)
        return part


class OldWholeBatch:
    """The records of one batch of an older format; see `old_batches.OldBatch`."""

    def __init__(self, place: TopicPartition, data: bytes, wanted: int, others: Sequence[Any]) -> None:
        self.ended = False
        self._left = bounded(data, fetcher.PartitionRecords(place, MemoryRecords(data), None, wanted, *others))

    def take(self, most: int, budget: Budget) -> list[ConsumerRecord]:
        """Return up to `most` of the next records; may raise anything."""
        found = list(islice(self._left, most))
        budget.left -= sum(map(size_of, found))
        self.ended = len(found) < most
        return found


class _Plain:
    """The records of a batch without compression, as a stream."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, most: int) -> bytes:  # noqa: ARG002 - they are in memory already
        data, self._data = self._data, b""
        return data
