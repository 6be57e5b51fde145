"""Draining a consumer plainly: the same records and positions as aiokafka's own way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import READ_COMMITTED, FetchResult, PartitionRecords
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from stream_anon.adapters.kafka.draining import drain_plainly

PLACE = TopicPartition("t", 0)


class State:
    """Stands for the position of one partition."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.paused = False

    def consumed_to(self, position: int) -> None:
        self.position = position


class Assignment:
    active = True

    def __init__(self, position: int) -> None:
        self.state = State(position)

    def state_value(self, place: TopicPartition) -> State:
        return self.state


class Consumer:
    """As much of a consumer as draining touches."""

    def __init__(self, fetched: FetchResult) -> None:
        self._fetcher = self
        self._records = {PLACE: fetched}


def _batches(draws: np.random.Generator) -> bytes:
    """Return batches of several producers, some of them aborted, some compressed, with their markers left out."""
    data, offset = b"", 0
    for number in range(int(draws.integers(1, 6))):
        builder = DefaultRecordBatchBuilder(
            magic=2,
            compression_type=int(draws.integers(2)),
            is_transactional=1,
            producer_id=number % 3,
            producer_epoch=0,
            base_sequence=0,
            batch_size=1 << 20,
        )
        count = int(draws.integers(1, 30))
        for i in range(count):
            value = (
                None
                if draws.random() < 0.1
                else bytes(draws.integers(0, 256, int(draws.integers(0, 50)), np.uint8))
            )
            builder.append(i, 1000 + offset + i, b"k", value, [("h", b"v")])
        batch = bytearray(builder.build())
        batch[0:8] = offset.to_bytes(8, "big")
        data += bytes(batch)
        offset += count
    return data


def _fetched(data: bytes, start: int) -> FetchResult:
    records = PartitionRecords(PLACE, MemoryRecords(data), [(1, 0)], start, None, None, True, READ_COMMITTED)
    return FetchResult(PLACE, assignment=Assignment(start), partition_records=records, backoff=0)


def _all(fetched: FetchResult, most: int, plainly: bool) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    while fetched.has_more():
        if plainly:
            drain_plainly(Consumer(fetched))  # type: ignore[arg-type]
        records = fetched.getall(most)
        assert len(records) <= most
        found += [(record.offset, record.timestamp, record.value) for record in records]
        found.append(("position", fetched._assignment.state.position))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_draining_plainly_loses_shifts_or_invents_a_record(seed: int) -> None:
    draws = np.random.default_rng(seed)
    data, start, most = _batches(draws), int(draws.integers(0, 8)), int(draws.integers(1, 40))
    plain, own = _fetched(data, start), _fetched(data, start)
    assert _all(plain, most, plainly=True) == _all(own, most, plainly=False)


def test_paused_partition_is_drained() -> None:
    fetched = _fetched(_batches(np.random.default_rng(0)), 0)
    drain_plainly(Consumer(fetched))  # type: ignore[arg-type]
    fetched._assignment.state.paused = True
    assert fetched.getall(5) == []
    assert not fetched.has_more()
