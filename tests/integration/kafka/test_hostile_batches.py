"""Batches that no client makes, on a real broker: what it takes hides no record of another producer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.adapters.kafka.reading.topic_sample import SampleLimits, TopicSample, sample_topic
from stream_anon.errors import BrokerError
from stream_anon.ports import Lost
from stream_anon.ports.input_topics import InputTopics
from tests.integration.kafka.test_large_records import memory
from tests.support.apache_kafka import ApacheKafka
from tests.support.hostile_batches import GZIP, HOSTILE, ODD, ZSTD, Raw, batch_of
from tests.support.raw_producer import raw_producer

pytestmark = pytest.mark.kafka

WITHIN = 90.0
LEAST_TAKEN = 75
MANY = 100
NEWEST = ("a header without a text", f"junk behind the stream of {GZIP}", "bits 112 beyond 32 of a place",
          "bits 112 beyond 32 of a length", "delta 100 last", f"junk behind the stream of {ZSTD}")  # fmt: skip


async def test_what_a_broker_takes_of_a_hostile_producer_hides_no_record_of_another(
    kafka: ApacheKafka, unique: str
) -> None:
    await kafka.create_topic(unique, 1)
    taken = list[str]()
    async with raw_producer(kafka.address, unique) as writer:
        for name, batch in HOSTILE.items():
            if await writer.send(batch) == 0:
                taken.append(name)
                assert await writer.send(batch_of([Raw(f"good {name}".encode())])) == 0
    assert len(taken) >= LEAST_TAKEN
    wanted = [f"good {name}".encode() for name in taken]

    source = KafkaSource(Connection(kafka.address, unique), InputTopics((unique,)))
    found, told = list[bytes | None](), list[Lost]()
    await source.start()
    try:
        async with asyncio.timeout(WITHIN):
            while not source.assigned:
                await source.moved(source.marks, 0.1)
            [number] = source.assigned
            source.seek(number, 0)
            source.resume([number])
            while wanted[-1] not in found:
                try:
                    polled = await source.poll(0.1, 1_000)
                except BrokerError:  # an unreadable batch is fetched again before it is told
                    continue
                found += [value for chunk in polled.chunks for value in chunk.values]
                for lost in polled.lost:
                    assert lost.unreadable
                    assert lost.after is not None
                    assert lost.after > lost.position
                    told.append(lost)
                    source.seek(number, lost.after)  # as `lost_input: skip` does
    finally:
        await source.stop(5.0)
    assert [value for value in found if value in set(wanted)] == wanted
    assert told


async def test_many_hostile_batches_of_one_partition_keep_back_no_record_of_another(
    kafka: ApacheKafka, unique: str
) -> None:
    await kafka.create_topic(unique, 2)
    async with raw_producer(kafka.address, unique) as writer:
        for _ in range(MANY):
            assert await writer.send(HOSTILE["delta 100 last"]) == 0
        for _ in range(MANY):
            assert await writer.send(batch_of([Raw(b"good")]), partition=1) == 0
    source = KafkaSource(Connection(kafka.address, unique), InputTopics((unique,)))
    found, told = 0, 0
    await source.start()
    try:
        async with asyncio.timeout(WITHIN):
            while len(source.assigned) < 2:
                await source.moved(source.marks, 0.1)
            for number in source.assigned:
                source.seek(number, 0)
            source.resume(source.assigned)
            while found < MANY:
                polled = await source.poll(0.1, 1_000)
                found += sum(len(chunk.values) for chunk in polled.chunks)
                for lost in polled.lost:
                    assert lost.after is not None
                    source.seek(lost.source, lost.after)
                    told += 1
    finally:
        await source.stop(5.0)
    assert told < MANY / 2


async def test_odd_batches_are_taken_by_a_broker_and_read_by_every_client(kafka: ApacheKafka, unique: str) -> None:
    """What a storm sends must be in the input as it was sent, or the storm proves nothing."""
    await kafka.create_topic(unique, 1)
    wanted = list[bytes]()
    async with raw_producer(kafka.address, unique) as writer:
        for name, odd in ODD.items():
            values = [f"{name} {number}".encode() for number in range(3)]
            assert await writer.send(odd(values)) == 0, name
            wanted += values
    assert [record.value for record in await kafka.read_to_end(unique)] == wanted


async def test_a_sample_of_a_topic_is_taken_whatever_its_newest_records_are(
    kafka: ApacheKafka, unique: str
) -> None:
    await kafka.create_topic(unique, 1)
    taken = 0
    async with raw_producer(kafka.address, unique) as writer:
        assert await writer.send(batch_of([Raw(b"%d" % number) for number in range(100)])) == 0
        for name in NEWEST:
            taken += await writer.send(HOSTILE[name]) == 0
    assert taken >= 4
    sample = await _sampled(kafka.address, unique, 100)
    assert sample.complete
    assert sample.unreadable >= 1
    assert not sample.whole
    values = list(sample.records[0].values)
    assert values[:80] == [b"%d" % number for number in range(100 - values.index(b"99") - 1, 100)][:80]


async def test_a_sample_of_a_batch_that_holds_a_gigabyte_takes_a_fraction_of_it(
    kafka: ApacheKafka, unique: str
) -> None:
    await kafka.create_topic(unique, 1)
    async with raw_producer(kafka.address, unique) as writer:
        assert await writer.send(batch_of([Raw(b"small")])) == 0
        assert await writer.send(batch_of([Raw(bytes(100_000_000)) for _ in range(10)], codec=ZSTD)) == 0
    await asyncio.to_thread(Path("/proc/self/clear_refs").write_text, "5")  # VmHWM counts anew
    before = memory("VmRSS")
    sample = await _sampled(kafka.address, unique, 100)
    assert memory("VmHWM") - before < 250_000_000
    assert sample.complete
    assert [len(value or b"") for value in sample.records[0].values] == [5, *[1_001] * 10]


async def _sampled(address: str, topic: str, newest: int) -> TopicSample:
    return await sample_topic(Connection(address, topic), topic, SampleLimits(newest, 2**26, 60.0, 1_000))
