"""The unread rest of one fetch: batches of bytes, which are read in turn as records are asked for."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from stream_anon.adapters.kafka.bulk import record_kernels as kernels
from stream_anon.adapters.kafka.bulk.batch_head import AFTER_LENGTH, HEAD, BatchHead
from stream_anon.adapters.kafka.bulk.batches import Batches
from stream_anon.adapters.kafka.bulk.large_batches import LargeBatch
from stream_anon.adapters.kafka.bulk.old_batches import OldBatch
from stream_anon.adapters.kafka.bulk.record_columns import KernelFaultError, RecordColumns, Records
from stream_anon.adapters.kafka.bulk.unpacking import STREAMS, UNPACK, UnsoundError
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget
from stream_anon.microdata.keys import PADDING
from stream_anon.ports.headers import NO_HEADERS, HeaderRule

_NO_LIMIT = 2**31


class Unread(Batches):
    """The unread rest of one fetch, as columns; see `Batches`.

    Parameters
    ----------
    fetched
        As of `Batches`.
    budget
        How much may be unpacked.
    headers
        What headers put before each record's value.
    """

    def __init__(self, *fetched: Any, budget: Budget | None = None, headers: HeaderRule = NO_HEADERS) -> None:
        super().__init__(*fetched)
        self._headers = headers
        self._budget = budget or Budget(_NO_LIMIT)
        self._bytes = np.frombuffer(self._data, np.uint8, self._size)
        self._ready: deque[Records] = deque()
        self._one_by_one = 0  # batches below this place are not read together
        self._large: LargeBatch | None = None
        self._large_at = -1  # where a batch begins that is known to be too large
        self._old: OldBatch | None = None

    @property
    def exhausted(self) -> bool:
        """Return whether nothing is left."""
        return not self._ready and self._old is None and self._at >= self._size and self._error is None

    def let_go(self) -> None:
        """See `unpacking_budget.Holder`."""
        self._large = None

    def take(self, most: int | None) -> Records | list[Any]:
        """Return up to `most` records, as far as the budget reaches, and move the position behind them.

        Raises
        ------
        Exception
            If the next batch cannot be read; earlier calls have returned everything before it.
        """
        if self._error is not None:
            raise self._error
        parts: list[Records] = []
        room = self._size if most is None else most
        while room and self._budget.left > 0 and not self.exhausted:
            if not self._ready:
                try:
                    goes_on = self._read(room)
                except Exception as error:
                    if not parts:
                        raise
                    self._error = error.with_traceback(None)  # its frames would keep what was fetched
                    break
                if not self._ready:
                    self.next_fetch_offset = self._reached
                    if not goes_on:
                        break
                continue
            first = self._ready.popleft()
            if len(first) > room:
                self._ready.appendleft(first.part(room, len(first)))
                first = first.part(0, room)
            parts.append(first)
            room -= len(first)
            self._budget.left -= first.values.size
            self.next_fetch_offset = int(first.offsets[-1]) + 1 if self._ready else self._reached
        return Records.joined(parts) if parts else []

    def _read(self, most: int) -> bool:
        """Read the next batches; return False if it is somebody else's turn, or if another turn is needed."""
        if self._large is not None:
            return self._read_large(most)
        if self._old is not None:
            self._read_old(self._old, most)
            return True
        if not self._aborted and not self._dropped and self._at >= self._one_by_one:
            run = np.empty(2, np.int64)
            kernels.survey(self._bytes, self._at, run)
            end, count = run.tolist()
            if end > self._at:
                self._read_run(end, count)
                return True
        head = self._head()
        if head is None:  # a batch of an older format, or a part of one
            self._begin_old()
            return True
        try:
            return self._read_one(*head)
        except Exception as error:  # noqa: BLE001 - on malformed bytes libraries raise what they like
            raise self._unreadable(head[0].next_offset, fault=isinstance(error, KernelFaultError)) from None

    def _read_run(self, end: int, count: int) -> None:
        """Read batches without compression; if one of them is not sound, those before it are read one by one."""
        columns = RecordColumns(count, end - self._at, self._reached, self._headers)
        if columns.read(self._data, self._at, end, checked=False):
            self._at = end
            self._keep(columns)
        else:
            self._one_by_one = end

    def _read_one(self, head: BatchHead, end: int) -> bool:
        """Read one batch, or pass over it. May raise anything if it is not sound."""
        return self._passed_over(head, end) or self._read_records(head, end)

    def _read_records(self, head: BatchHead, end: int) -> bool:
        packed = self._data[self._at + HEAD : end]
        if head.codec and self._budget.is_spent:
            return False
        with self._budget.working():
            section = self._section(head.codec, packed)
            if section is None:
                return self._begin_large(head, packed)
            self._read_section(head, section)
        self._at = end
        return True

    def _read_section(self, head: BatchHead, section: bytes) -> None:
        """Read the unpacked records of a batch."""
        if not 0 <= head.records <= len(section) // kernels.LEAST_RECORD:
            raise UnsoundError
        # The kernel reads the section as a batch without compression.
        end = HEAD + len(section)
        whole = head._replace(length=end - AFTER_LENGTH).packed()
        columns = RecordColumns(head.records, len(section), self._reached, self._headers)
        if not columns.read(b"".join((whole, section, PADDING)), 0, end, checked=True):
            raise KernelFaultError if columns.fault else UnsoundError
        self._keep(columns)

    def _section(self, codec: int, packed: bytes) -> bytes | None:
        """Return the records of a batch; None if they are too large for one go, or not sound."""
        if not codec:
            return packed
        if self._at == self._large_at:
            return None
        try:
            return UNPACK[codec](packed)
        except Exception:  # noqa: BLE001 - the stream will tell that it is not sound
            return None

    def _begin_large(self, head: BatchHead, packed: bytes) -> bool:
        self._large_at = self._at
        if not self._budget.admits(self):
            return False
        stream = STREAMS[head.codec](packed)
        self._large = LargeBatch(head, stream, self._reached, self._budget.most_value, self._headers)
        return True

    def _read_large(self, most: int) -> bool:
        """Take some records of a large batch; our place stays at its beginning until it is read to its end."""
        large, head = self._large, self._head()
        assert large is not None and head is not None  # noqa: S101, PT018 - read before
        if not self._budget.admits(self) or self._budget.is_spent:
            return False
        try:
            records = large.take(most, self._budget)
        except Exception:  # noqa: BLE001 - as of a small batch
            self._budget.release()
            raise self._unreadable(head[0].next_offset) from None
        if len(records):
            self._reached = int(records.offsets[-1]) + 1
            self._ready.append(records)
        if large.ended:
            self._large = None
            self._budget.release()
            self._pass_over(*head)
        return large.ended or bool(len(records))

    def _keep(self, columns: RecordColumns) -> None:
        self._reached = columns.next
        if columns.records:
            self._ready.append(columns.taken())

    def _begin_old(self) -> None:
        """Begin a batch of an older format, or end with a part of one."""
        batch = self._old_batch()
        if batch is not None:
            self._old = OldBatch(self._place, batch, self._reached, self._others, self._headers)
            self._at += len(batch)

    def _read_old(self, old: OldBatch, most: int) -> None:
        try:
            records, after = old.take(most)
        except Exception:  # noqa: BLE001 - as of a new batch
            raise self._unreadable(old.after) from None
        self._reached = max(self._reached, after)
        if old.ended:
            self._old = None
        if len(records):
            self._ready.append(records)
