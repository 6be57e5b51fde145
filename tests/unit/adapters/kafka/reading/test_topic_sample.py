"""The reader of samples on a client that is made up: what cannot be read is passed over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from stream_anon.adapters.kafka.bulk.draining import Unreadable
from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading import topic_sample
from stream_anon.adapters.kafka.reading.topic_sample import ColumnConsumer, SampleLimits, sample_topic
from stream_anon.ports.headers import NO_HEADERS

ONE, OTHER = (TopicPartition("people", number) for number in range(2))


class Client:
    """An AIOKafkaConsumer that gives what it is told to."""

    def __init__(self) -> None:
        self.answer: dict[TopicPartition, Any] = {}
        self.positions = {ONE: 100, OTHER: 200}
        self.ends = {ONE: 101, OTHER: 201}
        self.paused: list[TopicPartition] = []

    async def getmany(self, **_: Any) -> dict[TopicPartition, Any]:
        return self.answer

    async def position(self, place: TopicPartition) -> int:
        return self.positions[place]

    def last_stable_offset(self, place: TopicPartition) -> int:
        return self.ends[place]

    async def beginning_offsets(self, _: object) -> dict[TopicPartition, int]:
        return dict(self.positions)

    async def end_offsets(self, _: object) -> dict[TopicPartition, int]:
        return self.ends

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.positions[place] = offset

    def pause(self, place: TopicPartition) -> None:
        self.paused.append(place)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(topic_sample, "drain_in_batches", lambda *_: True)
    return Client()


@pytest.fixture
def reader(client: Client) -> ColumnConsumer:
    return ColumnConsumer(client, [ONE, OTHER], 1_000, NO_HEADERS)


def _records(*offsets: int, value: bytes = b"x") -> Records:
    return Records.of([SimpleNamespace(offset=each, timestamp=5, value=value, headers=()) for each in offsets])


async def test_records_come_beside_a_partition_that_cannot_be_read_and_only_that_one_is_sought(
    reader: ColumnConsumer, client: Client
) -> None:
    client.answer = {ONE: Unreadable(107), OTHER: _records(200)}
    client.positions[OTHER] = 201
    answer = await reader.poll()
    assert {place: part.offsets.tolist() for place, part in answer.items()} == {OTHER: [200]}
    assert client.positions == {ONE: 107, OTHER: 201}
    assert reader.unreadable == {ONE: 1}
    assert await reader.at_the_ends()
    assert not reader.given_up


@pytest.mark.parametrize("after", [3, 100])
async def test_a_batch_that_claims_to_end_where_it_was_fetched_is_passed_over_nevertheless(
    after: int, reader: ColumnConsumer, client: Client
) -> None:
    client.answer = {ONE: Unreadable(after)}
    await reader.poll()
    assert client.positions[ONE] == 101


async def test_a_partition_is_given_up_where_nobody_knows_the_end_of_a_batch(
    reader: ColumnConsumer, client: Client
) -> None:
    client.answer = {ONE: Unreadable()}
    await reader.poll()
    assert client.paused == [ONE]
    assert reader.given_up
    client.positions[OTHER] = 201
    assert await reader.at_the_ends(), "the others are read to their ends"


async def test_records_of_a_client_of_another_make_become_columns(reader: ColumnConsumer, client: Client) -> None:
    client.answer = {ONE: [SimpleNamespace(offset=100, timestamp=5, value=b"x", headers=())]}
    (records,) = (await reader.poll()).values()
    assert list(records.values) == [b"x"]


@pytest.mark.parametrize("wanted", [None, lambda value: len(value) < 100])
async def test_records_that_nobody_wants_take_no_room(
    wanted: Callable[[bytes | None], bool] | None, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def getmany(**_: object) -> dict[TopicPartition, Any]:
        client.positions = dict(client.ends)
        return {ONE: _records(100, value=bytes(1_000)), OTHER: _records(200)}

    @asynccontextmanager
    async def connected(*_: object) -> AsyncIterator[Any]:
        yield client, [ONE, OTHER]

    monkeypatch.setattr(client, "getmany", getmany)
    monkeypatch.setattr(topic_sample, "connected_consumer", connected)
    limits = SampleLimits(None, 500, 5.0, 10_000)
    sample = await sample_topic(Connection("127.0.0.1:1", "g"), "people", limits, wanted=wanted)
    assert sample.complete == (wanted is not None)
    assert sorted(map(len, sample.values())) == ([1] if wanted else [1, 1_000])
    assert sample.whole == {0, 1}
