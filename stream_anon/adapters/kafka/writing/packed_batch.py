"""A record batch that takes many values at once: a kernel writes it, and the client sees its own interface."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.util import calc_crc32c
from numpy.typing import NDArray

from stream_anon.adapters.kafka.bulk.batch_head import (
    AFTER_LENGTH,
    ATTRIBUTES_AT,
    CHECKSUM_AT,
    FORMAT_2,
    HEAD,
    TRANSACTIONAL,
    BatchHead,
)
from stream_anon.adapters.kafka.writing.packing import NONE, PACKERS, packed
from stream_anon.adapters.kafka.writing.value_kernels import BatchRoom, write_values
from stream_anon.formats.writing.varints import zigzag
from stream_anon.microdata.keys import PADDING, padded_words
from stream_anon.microdata.texts import Texts

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
        self._room = _room(_FIRST_ROOM, np.array([0, HEAD], np.int64))

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
        all_of_them = self._filled + values.size - begin + around * (len(values) - first)
        one = HEAD + int(values.stops[first]) - begin + around
        self._make_room(max(min(self._most, all_of_them), one))
        words, later = padded_words(values.room), time - self._first_time
        taken = write_values(words, values.stops, values.gap, first, later, tail, self._most, self._room)
        self._relative_offset += taken
        if taken:
            self._last_time = max(self._last_time, time)
        if taken < len(values) - first:
            self.close()
        return taken

    def _make_room(self, wanted: int) -> None:
        if wanted + len(PADDING) > len(self._room.data):
            room = _room(max(min(4 * wanted, self._most), wanted) + len(PADDING), self._room.written)
            room.data[: self._filled] = self._room.data[: self._filled]
            self._room = room

    @property
    def _filled(self) -> int:
        """Return the bytes of the batch before its records are compressed."""
        return int(self._room.written[1])

    def _set_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        self._producer = (producer_id, producer_epoch, base_sequence)

    def _build(self) -> Any:
        self.close()
        if self._buffer is None:
            count, end = self._room.written.tolist()
            whole = self._room.data[:end].data
            flags, records = packed(whole[HEAD:], self._compression)
            if records is not None:
                whole = memoryview(bytearray(HEAD) + records)
            flags |= TRANSACTIONAL if self._transactional else 0
            times = (self._first_time, self._last_time)
            head = BatchHead(
                0, len(whole) - AFTER_LENGTH, -1, FORMAT_2, 0, flags, count - 1, *times, *self._producer, count
            )
            whole[:HEAD] = head.packed()
            struct.pack_into(">I", whole, CHECKSUM_AT, calc_crc32c(whole[ATTRIBUTES_AT:]))
            self._buffer = whole
        return self._buffer

    def size(self) -> int:
        """Return the bytes of the batch; once it is built, those of its compressed records."""
        return self._filled if self._buffer is None else len(self._buffer)


def _room(size: int, written: NDArray[np.int64]) -> BatchRoom:
    data = np.empty(size, np.uint8)
    return BatchRoom(data, padded_words(data), written)


def _headers(headers: tuple[tuple[str, bytes], ...]) -> NDArray[np.uint8]:
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
    return HEAD + len(zigzag(body)) + body


def warm_up() -> None:
    """Compile every kernel that writing calls."""
    text = np.frombuffer(b"value" + PADDING, np.uint8)
    PackedBatch(1 << 10, transactional=True).extend(Texts(text, np.array([5])), 0, 0, ())
