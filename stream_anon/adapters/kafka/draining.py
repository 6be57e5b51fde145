"""Take what a consumer has fetched in whole batches, not record by record.

aiokafka makes an object of each record, and a `ConsumerRecord` of that one: most of what its reading costs, all of
it under the interpreter's lock. Here a kernel reads the bytes of a fetch. What it does not read - answers with
aborted transactions, the formats before Kafka 0.11, anything that is not sound - aiokafka's own reader gets, from
the batch on at which the kernel has stopped.

This is the only place that reaches into the fetcher. Where it is not made as expected, nothing is changed, and what
it returns is taken record by record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from operator import attrgetter
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from numpy.typing import NDArray

from stream_anon.adapters.kafka import record_kernels as kernels
from stream_anon.adapters.kafka.unpacking import UNPACK
from stream_anon.microdata.keys import PADDING, padded_words
from stream_anon.microdata.texts import Texts

_REPLACED = {"MemoryRecords", "PartitionRecords", "FetchResult"}
_OFFSET, _TIME, _VALUE = attrgetter("offset"), attrgetter("timestamp"), attrgetter("value")


class Unreadable(CorruptRecordException):  # type: ignore[misc] # aiokafka ships no types
    """What a broker gave of one partition cannot be read; `kind` is the client's name for it."""

    def __init__(self, place: TopicPartition, kind: str) -> None:
        super().__init__(kind)
        self.place = place
        self.kind = kind


class Records:
    """Records of one partition as columns, in order.

    Parameters
    ----------
    offsets, times
        int64[n]; times are the broker's, in milliseconds since the epoch.
    """

    __slots__ = ("offsets", "times", "values")

    def __init__(self, values: Texts, offsets: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        self.values = values
        self.offsets = offsets
        self.times = times

    @classmethod
    def of(cls, records: list[Any]) -> Records:
        """Return what the client's own reader made of each record."""
        n = len(records)
        offsets = np.fromiter(map(_OFFSET, records), np.int64, n)
        times = [-1 if time is None else time for time in map(_TIME, records)]  # the first format has none
        return cls(Texts.of(list(map(_VALUE, records))), offsets, np.array(times, np.int64))

    def __len__(self) -> int:
        return len(self.offsets)

    def part(self, first: int, stop: int) -> Records:
        """Return a stretch that shares the arrays."""
        return Records(self.values[first:stop], self.offsets[first:stop], self.times[first:stop])

    @staticmethod
    def joined(parts: list[Records]) -> Records:
        """Return the records of all parts in order."""
        if len(parts) == 1:
            return parts[0]
        return Records(
            Texts.concatenate([part.values for part in parts]),
            np.concatenate([part.offsets for part in parts]),
            np.concatenate([part.times for part in parts]),
        )


def drain_in_batches(consumer: AIOKafkaConsumer) -> bool:
    """Let `getmany` of a consumer that has started return `Records`; return whether that was possible.

    The fetcher's answer to a fetch is a function that names three classes; it gets others by these names.
    """
    own = consumer._fetcher  # noqa: SLF001 - pinned by a test
    answer = getattr(fetcher.Fetcher, "_proc_fetch_request", None)
    if not isinstance(answer, FunctionType) or not set(answer.__code__.co_names) >= _REPLACED:
        return False
    names = {**answer.__globals__, "MemoryRecords": _Fetched, "PartitionRecords": Unread, "FetchResult": _result}
    replaced = FunctionType(answer.__code__, names, answer.__name__)
    own._proc_fetch_request = MethodType(replaced, own)  # noqa: SLF001
    return True


class _Fetched:
    """The bytes of a fetch; the two questions that the fetcher asks are aiokafka's to answer."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._records = MemoryRecords(data)

    def has_next(self) -> bool:
        return bool(self._records.has_next())

    def size_in_bytes(self) -> int:
        return int(self._records.size_in_bytes())


def _result(place: TopicPartition, *, partition_records: Unread, **others: Any) -> fetcher.FetchResult:
    result = fetcher.FetchResult(place, partition_records=partition_records, **others)
    result.getall = partial(_drain, result)
    return result


def _drain(fetched: fetcher.FetchResult, max_records: int | None = None) -> Records | list[Any]:
    """Return the next records of a partition and move its position behind them.

    What raises leaves the position where it is, and is not read on: what came before it went with the error.

    Raises
    ------
    Unreadable
        If the client cannot read them.
    """
    if not fetched.has_more() or not fetched.check_assignment(fetched._topic_partition):  # noqa: SLF001
        return []
    unread: Unread = fetched._partition_records  # noqa: SLF001
    try:
        records = unread.take(max_records)
    except Exception as error:  # noqa: BLE001 - what a producer wrote makes the client raise anything
        fetched._partition_records = None  # noqa: SLF001
        raise Unreadable(fetched._topic_partition, type(error).__name__) from None  # noqa: SLF001
    fetched._update_position()  # noqa: SLF001
    if unread.exhausted:
        fetched._partition_records = None  # noqa: SLF001
    return records


class Unread:
    """What is left of the records of one fetch; takes the place of aiokafka's `PartitionRecords`.

    Parameters
    ----------
    place, records, aborted, fetch_offset, *others
        As of `PartitionRecords`; others are the deserializers, whether checksums are checked (they always are), and
        the isolation level.
    """

    def __init__(
        self, place: TopicPartition, records: _Fetched, aborted: Any, fetch_offset: int, *others: Any
    ) -> None:
        self.next_fetch_offset = fetch_offset
        self._place, self._aborted, self._others = place, aborted, others
        self._data = records.data + PADDING
        self._size = len(records.data)
        self._bytes = np.frombuffer(self._data, np.uint8, self._size)
        self._at = 0
        self._ready: deque[Records] = deque()
        self._reached = fetch_offset  # the position once all that is ready has been taken
        self._own: Any = None  # aiokafka's reader, where it must take over

    @property
    def exhausted(self) -> bool:
        """Return whether nothing is left."""
        return not self._ready and self._own is None and self._at >= self._size

    def take(self, most: int | None) -> Records | list[Any]:
        """Return up to `most` records and move the position behind them; nothing if there are no more."""
        parts: list[Records] = []
        room = self._size if most is None else most
        while room and not self.exhausted:
            if not self._ready:
                if self._own is not None:
                    self._read_on(room)
                else:
                    self._read()
                if not self._ready:
                    self.next_fetch_offset = self._reached
                continue
            first = self._ready.popleft()
            if len(first) > room:
                self._ready.appendleft(first.part(room, len(first)))
                first = first.part(0, room)
            parts.append(first)
            room -= len(first)
            self.next_fetch_offset = int(first.offsets[-1]) + 1 if self._ready else self._reached
        return Records.joined(parts) if parts else []

    def _read(self) -> None:
        """Read what comes next: batches without compression as far as they go, or one with it."""
        if self._aborted:
            self._hand_over()
            return
        run = np.empty(2, np.int64)
        kernels.survey(self._bytes, self._at, run)
        end, count = run.tolist()
        if end > self._at:
            self._read_run(end, count)
        elif not self._read_compressed():
            self._hand_over()

    def _read_run(self, end: int, count: int) -> None:
        columns = _Columns(count, end - self._at, self._reached)
        if columns.read(self._data, self._at, end, checked=False):
            self._at = end
            self._keep(columns)
        else:
            self._hand_over()

    def _read_compressed(self) -> bool:
        """Read one compressed batch; return False where aiokafka must look at it."""
        found = self._head(self._at)
        if found is None:
            return False
        head, end, decode = found
        checksum, attributes = head[4], head[5]
        if decode is None or attributes & 32:
            return False
        if calc_crc32c(self._data[self._at + 21 : end]) != checksum:
            return False
        section = decode(self._data[self._at + kernels.HEAD : end])
        count = head[-1]
        if not 0 <= count <= len(section):
            return False
        whole = kernels.HEAD_FIELDS.pack(*head[:1], kernels.HEAD - 12 + len(section), *head[2:]) + section
        columns = _Columns(count, len(section), self._reached)
        if not columns.read(whole + PADDING, 0, len(whole), checked=True):
            return False
        self._at = end
        self._keep(columns)
        return True

    def _head(self, at: int) -> tuple[tuple[int, ...], int, Callable[[bytes], bytes] | None] | None:
        """Return a batch's head, its end, and what unpacks it; None where no whole one of this format stands."""
        if at + kernels.HEAD > self._size:
            return None
        head = kernels.HEAD_FIELDS.unpack_from(self._data, at)
        end = at + 12 + head[1]
        if head[3] != 2 or not at + kernels.HEAD <= end <= self._size:
            return None
        return head, end, UNPACK.get(head[5] & 7)

    def _keep(self, columns: _Columns) -> None:
        self._reached = columns.next
        if columns.records:
            self._ready.append(columns.taken())

    def _hand_over(self) -> None:
        """Let aiokafka read from here on."""
        self._unpack_on_trial()
        rest = MemoryRecords(self._data[self._at : self._size])
        if rest.has_next():
            self._own = fetcher.PartitionRecords(self._place, rest, self._aborted, self._reached, *self._others)
            self._own._consumer_record = _as_it_is  # noqa: SLF001 - pinned by a test
        self._at = self._size

    def _unpack_on_trial(self) -> None:
        """Raise where aiokafka, which knows no limit, would unpack too much."""
        at = self._at
        while (found := self._head(at)) is not None:  # else aiokafka raises, or the format has no such codecs
            _, end, decode = found
            if decode is not None:
                decode(self._data[at + kernels.HEAD : end])
            at = end

    def _read_on(self, most: int) -> None:
        """Take what aiokafka reads; raises what it raises."""
        records = list(islice(self._own._records_iterator, most))  # noqa: SLF001
        self._reached = self._own.next_fetch_offset
        if len(records) < most:
            self._own = None
        if records:
            self._ready.append(Records.of(records))


def _as_it_is(place: TopicPartition, record: Any) -> Any:  # noqa: ARG001 - called by aiokafka
    return record


class _Columns:
    """Room for the records of a stretch of bytes, and what was found there."""

    def __init__(self, count: int, size: int, wanted: int) -> None:
        room = np.empty(size + len(PADDING), np.uint8)
        self.arrays = (
            room,
            padded_words(room),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.bool_),
        )
        self.found = np.zeros(4, np.int64)
        self.found[kernels.NEXT] = wanted

    def read(self, data: bytes, at: int, end: int, *, checked: bool) -> bool:
        """Read batches of `data`, which ends in `PADDING`; return whether they are sound."""
        text = np.frombuffer(data, np.uint8)
        kernels.read_run(text, padded_words(data), at, end, checked, kernels.CRC_TABLES, *self.arrays, self.found)
        return not self.found[kernels.BROKEN]

    @property
    def next(self) -> int:
        return int(self.found[kernels.NEXT])

    @property
    def records(self) -> int:
        return int(self.found[kernels.RECORDS])

    def taken(self) -> Records:
        n = self.records
        room, _, stops, offsets, times, missing = self.arrays
        none = missing[:n] if missing[:n].any() else None
        room.setflags(write=False)
        return Records(Texts(room, stops[:n], 1, none), offsets[:n], times[:n])


def warm_up() -> None:
    """Compile every kernel that reading calls."""
    from aiokafka.record.default_records import DefaultRecordBatchBuilder

    for compression in (0, 1):
        builder = DefaultRecordBatchBuilder(
            magic=2, compression_type=compression, is_transactional=0, producer_id=-1, producer_epoch=-1,
            base_sequence=-1, batch_size=1 << 16,
        )  # fmt: skip
        builder.append(0, 0, None, bytes(500), [])
        records = _Fetched(bytes(builder.build()))
        Unread(TopicPartition("", 0), records, None, 0, None, None, True, 1).take(None)
