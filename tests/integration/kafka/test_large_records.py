"""Records that fit the input and, once they are generalized, not the output; and batches that hold too much."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from aiokafka import AIOKafkaProducer

from stream_anon.adapters.kafka.bulk.unpacking import AT_ONE_GO
from stream_anon.adapters.kafka.bulk.unpacking_budget import AT_ONCE
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.ports import Held
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import ApacheKafka
from tests.support.service import K, Stage, WorkerProcess, make_records, produce, wait_until_accounted

pytestmark = pytest.mark.kafka
LARGEST_INPUT = 1_048_510  # bytes of a value that a topic takes by default


def with_notes(stage: Stage) -> Path:
    """Return settings by which a text passes."""
    path = stage.config(window={"max_records": 43, "max_delay": "3s"})
    document = yaml.safe_load(path.read_text())
    document["attributes"]["note"] = {"role": "insensitive", "accept_linkable": True}
    path.write_text(yaml.safe_dump(document))
    return path


async def test_records_that_outgrow_the_output_are_dead_letters_and_later_ones_come_out(stage: Stage) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=stage.kafka.address, acks="all", max_request_size=2**21
    ) as producer:
        for n in range(3):
            record = {"person": 10_000 + n, "age": 30 + n, "city": "Bonn", "serial": n, "note": ""}
            room = LARGEST_INPUT - len(json.dumps(record))
            value = json.dumps({**record, "note": "x" * room}).encode()
            assert len(value) == LARGEST_INPUT
            await producer.send_and_wait(stage.name, value, partition=0)
    await produce(stage, make_records(40, 1, first=3))
    with WorkerProcess(with_notes(stage)) as worker:
        published = await wait_until_accounted(stage, 43)
        letters = [(e["reason"], e["attribute"], e["partition"], e["offset"]) for e in published.dead_letters]
        assert sorted(letters) == [("too-large", None, 0, offset) for offset in range(3)]
        assert not worker.said("commit-uncertain"), "a record that does not fit was sent"
        await produce(stage, make_records(40, 2, first=43))
        published = await wait_until_accounted(stage, 83)
        assert worker.get("/readyz")[0] == 200
    counts = Counter(published.serials)
    assert set(counts) <= set(range(3, 83))
    assert max(counts.values()) == 1
    heads = [c for c in published.certificates if c["part"] == 1]
    assert all(c["in"] == c["released"] + c["suppressed"] + c["rejected"] for c in heads)
    assert sum(c["rejected"] for c in heads) == 3
    assert min(each["individuals"] for c in published.certificates for each in c["classes"]) >= K


async def send_batches(kafka: ApacheKafka, topic: str, partition: int, batches: Iterable[list[int]]) -> None:
    """Send compressed batches whose records have so many bytes."""
    async with AIOKafkaProducer(
        bootstrap_servers=kafka.address, compression_type="zstd", max_batch_size=2**27, max_request_size=2**27
    ) as producer:
        for sizes in batches:
            batch = producer.create_batch()
            for size in sizes:
                assert batch.append(key=None, value=b"x" * size, timestamp=None) is not None
            await (await producer.send_batch(batch, topic, partition=partition))


async def opened(kafka: ApacheKafka, topic: str, max_record_bytes: int) -> KafkaSource:
    """Return a source that reads all partitions of a topic from their beginning."""
    # Nobody takes over here: a machine that does much else must not be thrown out of the group.
    connection = Connection(kafka.address, topic, session_timeout=60.0)
    source = KafkaSource(connection, InputTopics((topic,)), max_record_bytes)
    await source.start()
    while not source.assigned:
        await source.moved(source.marks, 1.0)
    for number in source.assigned:
        source.seek(number, 0)
    source.resume(source.assigned)
    return source


def memory(field: str) -> int:
    """Return bytes of this process: VmRSS, or VmHWM since it was last reset."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


async def test_batches_that_hold_gigabytes_fill_no_memory(kafka: ApacheKafka, unique: str) -> None:
    await kafka.create_topic(unique, 2)
    for partition in range(2):
        await send_batches(kafka, unique, partition, ([1_000_000] * 60 for _ in range(10)))
    source = await opened(kafka, unique, 1_048_576)
    try:
        await asyncio.to_thread(Path("/proc/self/clear_refs").write_text, "5")
        before, count, largest = memory("VmRSS"), 0, 0
        async with asyncio.timeout(120):
            while count < 2 * 10 * 60:
                polled = await source.poll(0.2, 10_000)
                assert not polled.lost
                size = sum(len(value or b"") for chunk in polled.chunks for value in chunk.values)
                largest = max(largest, size)
                count += sum(len(chunk.offsets) for chunk in polled.chunks)
        assert largest <= AT_ONCE + AT_ONE_GO
        peak = memory("VmHWM") - before
        assert peak < 12 * AT_ONCE, f"{peak >> 20} MiB for {count} records of 1 MB"
    finally:
        await source.stop(2)


async def test_a_batch_of_many_large_records_gives_them_all_and_cuts_off_only_those_beyond_the_limit(
    kafka: ApacheKafka, unique: str
) -> None:
    await kafka.create_topic(unique, 1)
    sizes = [1_000_000 if n % 10 else 3_000_000 for n in range(70)]
    await send_batches(kafka, unique, 0, [sizes, [5]])
    source = await opened(kafka, unique, 1_048_576)
    try:
        found: list[int] = []
        offsets: list[int] = []
        async with asyncio.timeout(60):
            while len(found) < 71:
                polled = await source.poll(0.2, 10_000)
                assert not polled.lost, "the partition stops"
                for chunk in polled.chunks:
                    found += [len(value or b"") for value in chunk.values]
                    offsets += chunk.offsets.tolist()
        assert found == [*(min(size, 1_048_577) for size in sizes), 5]
        assert offsets == list(range(71))
    finally:
        await source.stop(2)


async def test_a_transaction_left_open_on_the_input_counts_as_lag_and_is_told(
    kafka: ApacheKafka, unique: str
) -> None:
    await kafka.create_topic(unique, 1)
    stranger = AIOKafkaProducer(
        bootstrap_servers=kafka.address, transactional_id=unique, transaction_timeout_ms=60_000
    )
    plain = AIOKafkaProducer(bootstrap_servers=kafka.address)
    await stranger.start()
    await plain.start()
    source = await opened(kafka, unique, 1000)
    try:
        await plain.send_and_wait(unique, b"before", partition=0)
        await stranger.begin_transaction()
        await stranger.send_and_wait(unique, b"open", partition=0)
        for _ in range(50):
            await plain.send_and_wait(unique, b"behind", partition=0)
        read = 0
        async with asyncio.timeout(30):
            while source.held([0]).records != 51 or source.held([0]).seconds < 1:
                read += sum(len(chunk.offsets) for chunk in (await source.poll(0.2, 100)).chunks)
        assert read == 1
        assert source.lag([0]) == 51
        await stranger.abort_transaction()
        async with asyncio.timeout(30):
            # The marker that ends a transaction counts until a record follows it.
            while source.held([0]) != Held() or (source.lag([0]) or 0) > 1 or read < 51:
                read += sum(len(chunk.offsets) for chunk in (await source.poll(0.2, 100)).chunks)
        assert read == 51
    finally:
        await asyncio.gather(stranger.stop(), plain.stop(), source.stop(2))
