"""Reading in whole batches against the client's own reader, on what a real Kafka keeps and gives."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from stream_anon.adapters.kafka.bulk import unread
from stream_anon.adapters.kafka.bulk.draining import drain_in_batches
from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.bulk.unpacking_budget import Budget
from tests.support.apache_kafka import ApacheKafka

pytestmark = pytest.mark.kafka

CODECS = (None, "gzip", "snappy", "lz4", "zstd")
SIZES = (1, 2, 7, 40, 300)  # records of a batch
BATCH_BYTES = 256 * 1024  # more than the largest
FETCH_BYTES = 8 * 1024  # a few batches an answer
MOST = 113  # records a poll, so that a batch is taken in parts

Row: TypeAlias = tuple[int, int, bytes | None]  # offset, time, value


class Writer:
    """Writes batches of any kind to one partition of some topics and remembers what counts."""

    def __init__(self, kafka: ApacheKafka, draws: random.Random) -> None:
        self._kafka, self._draws = kafka, draws
        self.counted: dict[TopicPartition, list[Row]] = {}
        self._time = 1_700_000_000_000

    @asynccontextmanager
    async def producer(self, codec: str | None, **more: Any) -> AsyncIterator[AIOKafkaProducer]:
        """Yield a producer with a compression."""
        async with AIOKafkaProducer(
            bootstrap_servers=self._kafka.address, compression_type=codec, max_batch_size=BATCH_BYTES, **more
        ) as producer:
            yield producer

    async def write(self, producer: AIOKafkaProducer, place: TopicPartition, count: int, *, counts: bool) -> None:
        """Send one batch; `counts` if readers are to see it."""
        batch, rows = producer.create_batch(), []
        for _ in range(count):
            self._time += self._draws.randint(-50, 200)
            key = self._draws.choice((None, b"", b"key", self._draws.randbytes(20)))
            value = self._draws.choice((None, b"", b"v" * 200, self._draws.randbytes(self._draws.randint(1, 90))))
            headers = [(f"h{n}", self._draws.choice((b"", b"x" * 70))) for n in range(self._draws.randint(0, 3))]
            assert batch.append(key=key, value=value, timestamp=self._time, headers=headers) is not None
            rows.append((self._time, value))
        future = await producer.send_batch(batch, place.topic, partition=place.partition)
        if counts:
            first = (await future).offset
            rows_there = [(first + n, time, value) for n, (time, value) in enumerate(rows)]
            self.counted.setdefault(place, []).extend(rows_there)

    async def storm(self, place: TopicPartition, codecs: tuple[str | None, ...], rounds: int) -> None:
        """Write batches of all sizes, in committed and aborted transactions and between those that are open."""
        for number in range(rounds):
            codec = codecs[number % len(codecs)]
            name = f"{place.topic}-{place.partition}-{number}"
            async with self.producer(codec) as plain, self.producer(codec, transactional_id=name) as bound:
                for kept in (True, False, True):
                    for size in SIZES:
                        await self.write(plain, place, size, counts=True)
                    await bound.begin_transaction()
                    for size in self._draws.sample(SIZES, 3):
                        await self.write(bound, place, size, counts=kept)
                        await self.write(plain, place, self._draws.choice(SIZES), counts=True)
                    await (bound.commit_transaction() if kept else bound.abort_transaction())


async def read(kafka: ApacheKafka, places: list[TopicPartition], *, bulk: bool) -> dict[TopicPartition, list[Row]]:
    """Return what a reader of committed records gets."""
    async with AIOKafkaConsumer(
        bootstrap_servers=kafka.address,
        isolation_level="read_committed",
        enable_auto_commit=False,
        max_partition_fetch_bytes=FETCH_BYTES,
        fetch_max_wait_ms=50,
    ) as consumer:
        budget = Budget(2**31)
        if bulk:
            drain_in_batches(consumer, budget)
        ends = await consumer.end_offsets(places)
        consumer.assign(places)
        for place in places:
            consumer.seek(place, 0)
        found: dict[TopicPartition, list[Row]] = {place: [] for place in places}
        async with asyncio.timeout(20):
            while any([await consumer.position(place) < ends[place] for place in places]):
                budget.begin_poll()
                for place, part in (await consumer.getmany(timeout_ms=50, max_records=MOST)).items():
                    assert isinstance(part, Records) == bulk
                    found[place] += rows(part)
        return found


def rows(part: Any) -> list[Row]:
    if isinstance(part, Records):
        return list(zip(part.offsets.tolist(), part.times.tolist(), part.values, strict=True))
    return [(record.offset, record.timestamp, record.value) for record in part]


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Count what was read, and the batches of aborted transactions and markers that were passed over."""
    taken = {"_keep": 0, "_pass_over": 0}
    for name in taken:
        own: Callable[..., None] = getattr(unread.Unread, name)

        def counting(*given: Any, name: str = name, own: Callable[..., None] = own) -> None:
            taken[name] += 1
            own(*given)

        monkeypatch.setattr(unread.Unread, name, counting)
    return taken


@pytest.mark.timeout(60)
async def test_bulk_reading_gives_what_the_client_reads_from_a_real_broker(
    kafka: ApacheKafka, unique: str, ways: dict[str, int]
) -> None:
    stamped = f"{unique}-stamped"
    await kafka.create_topic(unique, len(CODECS) + 1)
    await kafka.create_topic(stamped, 1, message_timestamp_type="LogAppendTime")
    writer = Writer(kafka, random.Random(1))
    for partition, codec in enumerate(CODECS):
        await writer.storm(TopicPartition(unique, partition), (codec,), 1)
    await writer.storm(TopicPartition(unique, len(CODECS)), CODECS, len(CODECS))
    await writer.storm(TopicPartition(stamped, 0), CODECS, 2)
    places = sorted(writer.counted)
    plain, bulk = await read(kafka, places, bulk=False), await read(kafka, places, bulk=True)
    for place in places:
        assert bulk[place] == plain[place], f"they differ on {place}"
        if place.topic == unique:  # of the other one the broker says the times
            assert bulk[place] == writer.counted[place], f"what was committed to {place} is not what is read"
    assert 0 < ways["_pass_over"] < ways["_keep"], f"nothing was passed over, or nothing read: {ways}"


@pytest.mark.timeout(60)
async def test_holes_that_compaction_left_shift_neither_offsets_nor_times(kafka: ApacheKafka, unique: str) -> None:
    await kafka.create_topic(
        unique,
        1,
        cleanup_policy="compact",
        segment_ms="200",
        min_cleanable_dirty_ratio="0.01",
        max_compaction_lag_ms="500",
    )
    place, draws, written = TopicPartition(unique, 0), random.Random(2), 0
    writer = Writer(kafka, draws)
    for codec in CODECS:
        async with writer.producer(codec) as producer:
            for size in (300, 40):
                batch = producer.create_batch()
                for _ in range(size):
                    value = draws.choice((None, draws.randbytes(40)))
                    key = b"%d" % draws.randint(0, 400)
                    assert batch.append(key=key, value=value, timestamp=None, headers=[("h", b"x")]) is not None
                await (await producer.send_batch(batch, unique, partition=0))
                written += size
        await asyncio.sleep(0.3)  # the next batch begins a segment: the last one is never compacted
    async with asyncio.timeout(30):
        while len((await read(kafka, [place], bulk=False))[place]) > written * 2 // 3:  # noqa: ASYNC110
            await asyncio.sleep(0.5)
        # Compaction may go on between two readings: what is compared is what stood there before and after.
        before, found = None, None
        while (plain := (await read(kafka, [place], bulk=False))[place]) != before:
            before, found = plain, (await read(kafka, [place], bulk=True))[place]
    assert found == plain
