"""Hostile bytes in the service's own topics, on a real broker: read in bounded memory, or told with their place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.reading.topic_reader import CommittedRecord, committed_records, read_topic
from stream_anon.adapters.kafka.topics.offset_syncs import read_offset_syncs
from stream_anon.errors import BrokerError, TopicError, UnreadableRecords
from tests.integration.kafka.test_large_records import memory
from tests.support.apache_kafka import ApacheKafka
from tests.support.hostile_batches import GZIP, HOSTILE, ZSTD, Raw, batch_of, varint
from tests.support.raw_producer import raw_producer

pytestmark = pytest.mark.kafka

KEY = b'["people",0]'
ODD = ("a header without a text", f"junk behind the stream of {GZIP}", "bits 112 beyond 32 of a place")
BEYOND = "delta 100 last"  # a record that claims an offset of others: the broker takes it


def entry(number: int) -> bytes:
    """Return a batch with an entry of the ledger that has a header whose name is no text."""
    value = json.dumps({"schema": 2, "next": number}).encode()
    return batch_of([Raw(value, key=KEY, tail=varint(1) + varint(1) + b"\xff" + varint(-1))])


async def _write(kafka: ApacheKafka, topic: str, *batches: bytes) -> None:
    await kafka.create_topic(topic, 1)
    async with raw_producer(kafka.address, topic) as writer:
        for batch in batches:
            assert await writer.send(batch) == 0


async def test_a_ledger_is_read_whatever_its_headers_are_and_stops_at_what_nobody_can_read(
    kafka: ApacheKafka, unique: str
) -> None:
    await _write(kafka, unique, entry(7))
    ledger = KafkaLedger(Connection(kafka.address, unique), unique)
    try:
        await ledger.open()
        assert (await ledger.caught_up())["people", 0].next == 7
        async with raw_producer(kafka.address, unique) as writer:
            assert await writer.send(HOSTILE[BEYOND]) == 0
            assert await writer.send(entry(9)) == 0
        for ask in (ledger.caught_up, ledger.open):  # opening it again changes nothing
            with pytest.raises(TopicError, match=rf"{unique}-0: the batch .* offset 3 on .* offset 4\."):
                await ask()
    finally:
        await ledger.discard()


async def test_what_may_say_that_records_were_released_is_read_or_told(kafka: ApacheKafka, unique: str) -> None:
    await _write(kafka, unique, *(HOSTILE[name] for name in ODD), HOSTILE[BEYOND], batch_of([Raw(b"behind")]))
    connection = Connection(kafka.address, unique)
    asked: list[Callable[[], Awaitable[object]]] = [
        lambda: read_topic(connection, unique, newest=4096),
        lambda: read_offset_syncs(connection, unique),
    ]
    for ask in asked:
        with pytest.raises(UnreadableRecords, match=rf"^{unique}-0: the batch .* offset 8 on") as raised:
            await ask()
        assert not isinstance(raised.value, TopicError), "callers take a TopicError for a topic that is not there"


async def test_records_behind_what_nobody_can_read_are_audited_and_the_stretch_is_told(
    kafka: ApacheKafka, unique: str
) -> None:
    await _write(kafka, unique, *(HOSTILE[name] for name in ODD), HOSTILE[BEYOND], batch_of([Raw(b"behind")]))
    other = f"{unique}.other"
    await _write(kafka, other, *(batch_of([Raw(b"%d" % number)]) for number in range(5)), HOSTILE[BEYOND])
    found, told = list[CommittedRecord](), list[UnreadableRecords]()
    connection = Connection(kafka.address, unique)
    async for records in committed_records(connection, [unique, other], lambda: True, 1.0, told.append):
        found += records
    values = [record.value for record in found if record.topic == unique]
    assert values == [b"a", *(b"a", b"b", b"c"), *(b"a", b"b"), *(b"a", b"b"), b"behind"]
    assert [record.value for record in found if record.topic == other] == [
        *(b"%d" % number for number in range(5)), *(b"a", b"b"),
    ]  # fmt: skip
    assert sorted((error.topic, error.offset, error.after) for error in told) == [(unique, 8, 9), (other, 7, 8)]


async def test_a_topic_whose_batch_holds_hundreds_of_megabytes_is_read_or_told_in_a_fraction_of_it(
    kafka: ApacheKafka, unique: str
) -> None:
    most = 12 * 1024 * 1024
    await _write(kafka, unique, batch_of([Raw(bytes(most)) for _ in range(30)], codec=ZSTD))
    other = f"{unique}.other"
    await _write(kafka, other, batch_of([Raw(bytes(4 * 10**8))], codec=ZSTD))
    await asyncio.to_thread(Path("/proc/self/clear_refs").write_text, "5")  # VmHWM counts anew
    before, count = memory("VmRSS"), 0
    connection = Connection(kafka.address, unique)
    async for records in committed_records(connection, [unique], lambda: True, 1.0, _unexpected):
        count += sum(len(record.value or b"") == most for record in records)
    with pytest.raises(UnreadableRecords, match=r"offset 0 on .* begins at offset 1$"):
        await read_topic(connection, other)
    assert memory("VmHWM") - before < 150_000_000
    assert count == 30


def _unexpected(error: UnreadableRecords) -> None:
    raise BrokerError(str(error))
