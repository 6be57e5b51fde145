"""A record batch that takes many values at once: a kernel writes it, and the client sees its own interface."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.util import calc_crc32c

from stream_anon.adapters.kafka.bulk import record_kernels as kernels
from stream_anon.adapters.kafka.bulk.packing import NONE, PACKERS, packed
from stream_anon.formats.writing.varints import zigzag
from stream_anon.microdata.keys import PADDING, padded_words
from stream_anon.microdata.texts import Texts

_TRANSACTIONAL = 0x10
_MOST_AROUND = 32  # bytes of a record beside value and headers, at the most
_FIRST_ROOM = 4096


class PackedBatch(BatchBuilder):  # type: ignore[misc] # aiokafka ships no types
    """Records without keys.

    Parameters
    ----------
    most
        Bytes that no record but the first may reach, before they are compressed.
    compression
        One of `packing.PACKERS`.
    """

    def __init__(self, most: int, *, transactional: bool, compression: str = NONE) -> None:
        super().__init__(most, 0, is_transactional=transactional)
        self._most = most
        self._transactional = transactional
        self._compression = compression
        self._producer = (-1, -1, 0)
        self._first_time = self._last_time = 0
        self._buffer: memoryview | None = None
        self._room = np.empty(_FIRST_ROOM, np.uint8)
        self._written = np.array([0, kernels.HEAD], np.int64)

    @classmethod
    def of(cls, producer: AIOKafkaProducer) -> PackedBatch:
        """Return an empty batch as `create_batch` does."""
        accumulator = producer._message_accumulator  # noqa: SLF001 - pinned by a test
        manager = producer._txn_manager  # noqa: SLF001
        transactional = manager is not None and manager.transactional_id is not None
        kind = accumulator._compression_type  # noqa: SLF001
        compression = next(name for name, packer in PACKERS.items() if packer.flag == kind)
        return cls(accumulator._batch_size, transactional=transactional, compression=compression)  # noqa: SLF001

    def extend(self, values: Texts, first: int, time: int, headers: tuple[tuple[str, bytes], ...]) -> int:
        """Append values from `first` on; return how many the batch took. Less than all: it takes no more.

        Parameters
        ----------
        time
            Of all these values, in milliseconds since the epoch. Records tell theirs as what it is later than that
            of the first one of the batch, so a batch takes none that are earlier.
        """
        if self._relative_offset and time < self._first_time:
            self.close()
        if self._closed:
            return 0
        if not self._relative_offset:
            self._first_time = time
        tail = _headers(headers)
        begin = int(values.stops[first - 1]) if first else 0
        around = _MOST_AROUND + len(tail)
        all_of_them = int(self._written[1]) + values.size - begin + around * (len(values) - first)
        one = kernels.HEAD + int(values.stops[first]) - begin + around
        self._make_room(max(min(self._most, all_of_them), one))
        taken = kernels.write_values(
            padded_words(values.room), values.stops, values.gap, first, time - self._first_time, tail,
            self._most, self._room, padded_words(self._room), self._written,
        )  # fmt: skip
        self._relative_offset += taken
        if taken:
            self._last_time = max(self._last_time, time)
        if taken < len(values) - first:
            self.close()
        return taken

    def _make_room(self, wanted: int) -> None:
        if wanted + len(PADDING) > len(self._room):
            room = np.empty(max(min(4 * wanted, self._most), wanted) + len(PADDING), np.uint8)
            filled = int(self._written[1])
            room[:filled] = self._room[:filled]
            self._room = room

    def _set_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        self._producer = (producer_id, producer_epoch, base_sequence)

    def _build(self) -> Any:
        self.close()
        if self._buffer is None:
            count, end = self._written.tolist()
            whole = self._room[:end].data
            flags, records = packed(whole[kernels.HEAD :], self._compression)
            if records is not None:
                whole = memoryview(bytearray(kernels.HEAD) + records)
                end = len(whole)
            flags |= _TRANSACTIONAL if self._transactional else 0
            times = (self._first_time, self._last_time)
            fields = (flags, count - 1, *times, *self._producer, count)
            kernels.HEAD_FIELDS.pack_into(whole, 0, 0, end - 12, -1, 2, 0, *fields)
            struct.pack_into(">I", whole, 17, calc_crc32c(whole[21:]))
            self._buffer = whole
        return self._buffer

    def size(self) -> int:
        """Return the bytes of the batch; once it is built, those of its compressed records."""
        return int(self._written[1]) if self._buffer is None else len(self._buffer)


def _headers(headers: tuple[tuple[str, bytes], ...]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return headers as they are written in a record, with their count."""
    parts = [part for name, value in headers for part in (name.encode(), value)]
    text = zigzag(len(headers)) + b"".join(zigzag(len(part)) + part for part in parts)
    return np.frombuffer(text, np.uint8)


def most_bytes_of_value(most: int, headers: tuple[tuple[str, bytes], ...]) -> int:
    """Return the bytes of the largest value, without a key, that a batch of at most `most` bytes can hold alone."""
    value = most - least_batch_bytes(0, headers)
    while value > 0 and least_batch_bytes(value, headers) > most:
        value -= 1
    return max(value, 0)


def least_batch_bytes(value: int, headers: tuple[tuple[str, bytes], ...]) -> int:
    """Return the bytes of a batch that holds one value of so many bytes, without a key."""
    body = 4 + len(zigzag(value)) + value + len(_headers(headers))  # attributes, time, place, no key: a byte each
    return kernels.HEAD + len(zigzag(body)) + body


def warm_up() -> None:
    """Compile every kernel that writing calls."""
    text = np.frombuffer(b"value" + PADDING, np.uint8)
    PackedBatch(1 << 10, transactional=True).extend(Texts(text, np.array([5])), 0, 0, ())
