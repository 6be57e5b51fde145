"""The time in which one poll unpacks is bounded, whatever comes of it."""

from __future__ import annotations

import time

import pytest
from aiokafka import TopicPartition

from stream_anon.adapters.kafka.bulk.batches import Fetched
from stream_anon.adapters.kafka.bulk.unpacking_budget import SECONDS_AT_ONCE, Budget
from stream_anon.adapters.kafka.bulk.unread import Unread
from tests.support.clock import ticking
from tests.support.hostile_batches import GOOD, GZIP, LZ4, NONE, SNAPPY, ZSTD, batch_of, varint
from tests.support.traced import traced

MEGABYTE = 1 << 20


def with_key(size: int, base: int, codec: int) -> bytes:
    """Return a batch of one record whose key has so many bytes, and whose value none."""
    body = b"\0\0\0" + varint(size) + bytes(size) + b"\0\0"
    return batch_of([], base=base, codec=codec, count=1, last=0, tail=varint(len(body)) + body)


def unread(data: bytes, budget: Budget) -> Unread:
    return Unread(TopicPartition("t", 0), Fetched(data), None, 0, None, None, True, 1, budget=budget)


@pytest.mark.parametrize(("size", "looks"), [(MEGABYTE, 3), (12 * MEGABYTE, 30)])
@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_batches_that_give_few_bytes_of_values_share_the_time_of_a_poll(codec: int, size: int, looks: int) -> None:
    data = b"".join(with_key(size, base, codec) for base in range(12))
    budget = Budget(1_000, ticking(SECONDS_AT_ONCE / looks))
    part, offsets, polls = unread(data, budget), list[int](), 0
    while not part.exhausted:
        budget.begin_poll()
        got = part.take(10_000)
        polls += 1
        if len(got):
            offsets += got.offsets.tolist()  # type: ignore[union-attr]
        assert polls < 1_000
    assert offsets == list(range(12))
    assert polls >= 4


def test_records_without_compression_are_read_when_the_time_of_a_poll_is_spent() -> None:
    budget = Budget(1_000, ticking(SECONDS_AT_ONCE))
    with budget.working():
        assert budget.is_spent
    assert budget.is_spent
    packed, plain = (unread(batch_of(GOOD, codec=codec), budget) for codec in (ZSTD, NONE))
    assert len(packed.take(10)) == 0
    assert len(plain.take(10)) == 3
    budget.begin_poll()
    assert len(packed.take(10)) == 3


def many_headers(base: int, headers: int) -> bytes:
    """Return a batch of one record with so many empty headers, which are bytes of nothing when packed."""
    body = b"\0\0\0" + varint(-1) + b"\0" + varint(headers) + b"\0\0" * headers
    return batch_of([], base=base, codec=ZSTD, count=1, last=0, tail=varint(len(body)) + body)


def test_reading_what_was_unpacked_counts_as_time_too() -> None:
    """The kernel takes longer for headers than the unpacking of them does."""
    budget = Budget(1_000)
    part = unread(b"".join(many_headers(base, 3_900_000) for base in range(40)), budget)
    part.take(1)  # kernels are compiled
    budget.begin_poll()
    begun = time.thread_time()
    part.take(10_000)
    assert time.thread_time() - begun < 4 * SECONDS_AT_ONCE


def test_keys_and_headers_of_many_batches_take_no_room_once_they_are_read() -> None:
    data = b"".join(with_key(6 * MEGABYTE, base, ZSTD) for base in range(40))
    budget = Budget(1_000, lambda: 0.0)  # time stands still
    part = unread(data, budget)
    part.take(1)
    budget.begin_poll()
    with traced() as memory:
        got = part.take(10_000)
        peak = memory()[1]
    assert len(got) == 39
    assert peak < 40 * MEGABYTE
