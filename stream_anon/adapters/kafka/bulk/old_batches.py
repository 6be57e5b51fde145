"""Batches of the formats from before Kafka 0.11, which aiokafka reads."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import islice
from typing import Any

from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.memory_records import MemoryRecords

from stream_anon.adapters.kafka.bulk.records import Records
from stream_anon.adapters.kafka.bulk.unpacking import UnsoundError
from stream_anon.ports.headers import HeaderRule

_HEAD = struct.Struct(">qi")  # its last offset, and its length behind these two


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


def next_offset(data: bytes, at: int = 0) -> int:
    """Return the offset that a batch of any format says is at least behind its first, by its first bytes."""
    return int(_HEAD.unpack_from(data, at)[0]) + 1


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
        self.after = next_offset(data)
        self.ended = False
        self._headers = headers
        self._records = fetcher.PartitionRecords(place, MemoryRecords(data), None, wanted, *others)
        self._records._consumer_record = _as_it_is  # noqa: SLF001 - pinned by a test

    def take(self, most: int) -> tuple[Records, int]:
        """Return up to `most` of the next records, and the offset behind them; may raise anything."""
        found = list(islice(self._records._records_iterator, most))  # noqa: SLF001
        self.ended = len(found) < most
        return Records.of(found, self._headers), int(self._records.next_fetch_offset)


def _as_it_is(place: TopicPartition, record: Any) -> Any:  # noqa: ARG001 - called by aiokafka
    return record
