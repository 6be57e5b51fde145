"""Every consumer reads in bounded memory, and raises what it cannot read once all before it was returned."""

from __future__ import annotations

import re
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer import fetcher

import stream_anon
from stream_anon.adapters.kafka.bulk.batches import Fetched
from stream_anon.adapters.kafka.bulk.bounded_consumer import BoundedConsumer
from stream_anon.adapters.kafka.bulk.draining import drain_whole, warm_up
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.errors import BrokerError, UnreadableRecords
from tests.support.data import ROOT
from tests.support.hostile_batches import GOOD, Raw, batch_of
from tests.unit.adapters.kafka.bulk.test_draining import Assignment

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)
BAD = [Raw(b"d"), Raw(b"e", delta=9)]


async def test_a_connection_makes_bounded_consumers_only() -> None:
    consumer = Connection("127.0.0.1:9", "g").client(AIOKafkaConsumer, "test")
    assert isinstance(consumer, BoundedConsumer)
    await consumer.stop()


def test_nothing_is_read_but_by_getmany() -> None:
    """`getone` and iteration take records one by one, which a bounded consumer does not give."""
    package = ROOT / stream_anon.__name__
    other = re.compile(r"\.getone\(|async for \w+ in \w*consumer\b")
    found = [file.name for file in package.rglob("*.py") if other.search(file.read_text())]
    assert found == []


async def test_a_started_consumer_reads_whole_records_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(self: Any) -> None:
        self._fetcher = object.__new__(fetcher.Fetcher)

    monkeypatch.setattr(AIOKafkaConsumer, "start", start)
    consumer: Any = Connection("127.0.0.1:9", "g").client(AIOKafkaConsumer, "test")
    await consumer.start()
    assert "UnreadWhole" in repr(consumer._fetcher._proc_fetch_request.__func__.__globals__["PartitionRecords"])
    consumer._fetcher = None
    await consumer.stop()


class Reader:
    """A bounded consumer with what was fetched of two partitions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **batches: bytes) -> None:
        async def getmany(_: Any, **__: Any) -> dict[TopicPartition, list[Any]]:
            answer = {place: fetched.getall(None) for place, fetched in self.fetched.items() if fetched.has_more()}
            return {place: records for place, records in answer.items() if records}

        warm_up()  # to compile kernels would take all the time of a poll
        monkeypatch.setattr(AIOKafkaConsumer, "getmany", getmany)
        self.consumer: Any = Connection("127.0.0.1:9", "g").client(AIOKafkaConsumer, "test")
        self.consumer._fetcher = object.__new__(fetcher.Fetcher)
        drain_whole(self.consumer, self.consumer._budget, self.consumer._unreadable)
        self._names = self.consumer._fetcher._proc_fetch_request.__func__.__globals__
        self.consumer._fetcher = None
        self.fetched = {
            place: self.fetch(place, data) for place, data in zip((P, Q), batches.values(), strict=True)
        }

    def fetch(self, place: TopicPartition, data: bytes) -> Any:
        unread = self._names["PartitionRecords"](place, Fetched(data), None, 0, None, None, True, 1)
        return self._names["FetchResult"](place, assignment=Assignment(0), partition_records=unread, backoff=0)

    async def poll(self) -> list[tuple[TopicPartition, bytes]]:
        answer = await self.consumer.getmany()
        return [(place, record.value) for place, records in answer.items() for record in records]

    def position(self, place: TopicPartition) -> int:
        return int(self.fetched[place]._assignment.state.position)


async def test_what_others_partitions_hold_comes_before_the_error_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(monkeypatch, p=batch_of(GOOD) + batch_of(BAD, base=3), q=batch_of(GOOD))
    assert await reader.poll() == [*((P, value) for value in (b"a", b"b", b"c", b"d")),
                                   *((Q, value) for value in (b"a", b"b", b"c"))]  # fmt: skip
    assert (reader.position(P), reader.position(Q)) == (4, 3)
    for _ in range(2):
        with pytest.raises(UnreadableRecords) as raised:
            await reader.poll()
        error = raised.value
        assert (error.topic, error.partition, error.offset, error.after) == ("t", 0, 4, 5)
    await reader.consumer.stop()


async def test_an_error_is_raised_while_records_of_other_partitions_go_on_coming(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = Reader(monkeypatch, p=batch_of(BAD[1:]), q=batch_of(GOOD))
    assert [place for place, _ in await reader.poll()] == [Q, Q, Q]
    reader.fetched[Q] = reader.fetch(Q, batch_of(GOOD))
    with pytest.raises(UnreadableRecords):
        await reader.poll()
    await reader.consumer.stop()


async def test_errors_of_two_partitions_are_both_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(monkeypatch, p=batch_of(BAD), q=batch_of(BAD[1:]))
    assert await reader.poll() == [(P, b"d")]
    found = set()
    for _ in range(2):
        with pytest.raises(UnreadableRecords) as raised:
            await reader.poll()
        found.add(raised.value.partition)
        reader.fetched.pop(TopicPartition("t", raised.value.partition))  # as seeking does
    assert found == {0, 1}
    assert await reader.poll() == []
    await reader.consumer.stop()


async def test_a_paused_partition_gives_no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(monkeypatch, p=batch_of(GOOD), q=batch_of(GOOD))
    reader.fetched[P]._assignment.state.paused = True
    assert [place for place, _ in await reader.poll()] == [Q, Q, Q]
    assert not reader.fetched[P].has_more()
    await reader.consumer.stop()


async def test_a_client_whose_memory_cannot_be_bounded_is_stopped_before_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    did: list[str] = []

    async def start(consumer: Any) -> None:
        consumer._fetcher = object.__new__(fetcher.Fetcher)
        did.append("start")

    async def stop(_: Any) -> None:
        did.append("stop")

    monkeypatch.setattr(AIOKafkaConsumer, "start", start)
    monkeypatch.setattr(AIOKafkaConsumer, "stop", stop)
    monkeypatch.setattr(fetcher.Fetcher, "_proc_fetch_request", start)
    consumer: Any = Connection("127.0.0.1:9", "g").client(AIOKafkaConsumer, "test")
    with pytest.raises(BrokerError, match="could not bound the memory"):
        await consumer.start()
    assert did == ["start", "stop"]
    consumer._closed = True  # it was never connected
