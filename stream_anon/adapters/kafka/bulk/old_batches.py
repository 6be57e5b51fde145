"""Batches of the formats from before Kafka 0.11, which aiokafka reads."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.memory_records import MemoryRecords

from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.bulk.unpacking import AT_ONE_GO, STREAMS, TooLargeError, UnsoundError
from stream_anon.ports.headers import HeaderRule

_HEAD = struct.Struct(">qi")  # its last offset, and its length behind these two
_FORMAT, _ATTRIBUTES, _CODEC = 16, 17, 7
_KEY = {0: 18, 1: 26}  # where the length of a message's key stands, by format
_LENGTH = struct.Struct(">i")
_LZ4, _LZ4_FRAME = 3, b"\x04\x22\x4d\x18"
_LEAST = 14  # bytes of a message behind its length


def end_of_batch(data: bytes, at: int, size: int) -> int | None:
    """Return where a batch of any format ends; None if the bytes end within it.

    Raises
    ------
    UnsoundError
        If its length is negative.
    """
    if at + _HEAD.size > size:
        return None
    length = int(_HEAD.unpack_from(data, at)[1])
    if length < 0:
        raise UnsoundError
    end = at + _HEAD.size + length
    return end if end <= size else None


def last_offset(data: bytes, at: int = 0) -> int:
    """Return the last offset of a batch of an older format."""
    return int(_HEAD.unpack_from(data, at)[0])


def bounded(batch: bytes, records: Iterator[Any]) -> Iterator[Any]:
    """Yield what aiokafka reads of a batch, unless it would unpack more than `AT_ONE_GO` bytes.

    Raises
    ------
    Exception
        If it would, or if the batch is not sound.
    """
    _refuse_large(batch)
    yield from records


def _refuse_large(batch: bytes) -> None:
    """Raise an exception if a batch unpacks to too much, or to messages that aiokafka would read without an end.

    Such a batch is a message; if it is compressed, its value holds others.
    """
    codec = batch[_ATTRIBUTES] & _CODEC
    if not codec:
        return
    if codec == _LZ4 and batch.count(_LZ4_FRAME) > 1:  # aiokafka unpacks what is behind the first frame too
        raise UnsoundError
    at = _KEY[batch[_FORMAT]]
    at += _LENGTH.size + max(_LENGTH.unpack_from(batch, at)[0], 0) + _LENGTH.size
    stream, inner = STREAMS[codec](batch[at:]), bytearray()
    while piece := stream.read(AT_ONE_GO):
        inner += piece
        if len(inner) > AT_ONE_GO:
            raise TooLargeError
    at = 0
    while at < len(inner):
        size = _HEAD.unpack_from(inner, at)[1]
        if size < _LEAST:
            raise UnsoundError
        at += _HEAD.size + size


class OldBatch:
    """The records of one batch; such a format has no transactions.

    aiokafka gets it alone, since it takes a batch of a newer format behind it for a damaged one.

    Parameters
    ----------
    data
        The batch.
    wanted
        The first offset that is returned.
    others
        See `Unread`.

    Attributes
    ----------
    after
        The offset behind the batch.
    ended
        Whether nothing is left of it.
    """

    def __init__(
        self, place: TopicPartition, data: bytes, wanted: int, others: Sequence[Any], headers: HeaderRule
    ) -> None:
        self.after = last_offset(data) + 1
        self.ended = False
        self._headers = headers
        self._records = fetcher.PartitionRecords(place, MemoryRecords(data), None, wanted, *others)
        self._records._consumer_record = _as_it_is  # noqa: SLF001 - pinned by a test
        self._left = bounded(data, self._records)

    def take(self, most: int) -> tuple[Records, int]:
        """Return up to `most` of the next records, and the offset behind them; may raise anything."""
        found = list(islice(self._left, most))
        self.ended = len(found) < most
        return Records.of(found, self._headers), int(self._records.next_fetch_offset)


def _as_it_is(place: TopicPartition, record: Any) -> Any:  # noqa: ARG001 - called by aiokafka
    return record
