"""Batches that no client makes, on a real broker: what it takes hides no record of another producer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.produce import ProduceRequest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.input_topics import InputTopics
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.errors import BrokerError
from stream_anon.ports import Lost
from tests.support.apache_kafka import ApacheKafka
from tests.support.hostile_batches import HOSTILE, Raw, batch_of

pytestmark = pytest.mark.kafka

WITHIN = 90.0
LEAST_TAKEN = 30


class Writer:
    """Sends batches as they are to partition 0 of a topic."""

    def __init__(self, client: AIOKafkaClient, topic: str, leader: int) -> None:
        self._client, self._topic, self._leader = client, topic, leader

    async def send(self, batch: bytes) -> int:
        """Return the broker's error, 0 where it took the batch."""
        request = ProduceRequest(
            transactional_id=None, required_acks=-1, timeout=5_000, topics=[(self._topic, [(0, batch)])]
        )
        answer = await self._client.send(self._leader, request)
        [(_, [(_, error, *_)])] = answer.topics
        return int(error)


@asynccontextmanager
async def _writer(kafka: ApacheKafka, topic: str) -> AsyncIterator[Writer]:
    client = AIOKafkaClient(bootstrap_servers=kafka.address)
    await client.bootstrap()
    try:
        client.add_topic(topic)
        await client.force_metadata_update()
        leader = client.cluster.leader_for_partition(TopicPartition(topic, 0))
        assert leader is not None
        yield Writer(client, topic, leader)
    finally:
        await client.close()


async def test_what_a_broker_takes_of_a_hostile_producer_hides_no_record_of_another(
    kafka: ApacheKafka, unique: str
) -> None:
    await kafka.create_topic(unique, 1)
    taken = list[str]()
    async with _writer(kafka, unique) as writer:
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
