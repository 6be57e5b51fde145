"""Send batches of records to a broker as they are, whatever they hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.produce import ProduceRequest

_NOT_LEADER = 6  # not yet, of a topic that has just been created


class RawProducer:
    """Sends batches as they are to partitions of a topic that have one leader."""

    def __init__(self, client: AIOKafkaClient, topic: str, leader: int) -> None:
        self._client, self._topic, self._leader = client, topic, leader

    async def send(self, batch: bytes, partition: int = 0) -> int:
        """Return the broker's error, 0 where it took the batch."""
        request = ProduceRequest(
            transactional_id=None, required_acks=-1, timeout=5_000, topics=[(self._topic, [(partition, batch)])]
        )
        error = _NOT_LEADER
        while error == _NOT_LEADER:
            answer = await self._client.send(self._leader, request)
            [(_, [(_, error, *_)])] = answer.topics
        return int(error)


@asynccontextmanager
async def raw_producer(address: str, topic: str) -> AsyncIterator[RawProducer]:
    client = AIOKafkaClient(bootstrap_servers=address)
    await client.bootstrap()
    try:
        client.add_topic(topic)
        await client.force_metadata_update()
        leader = client.cluster.leader_for_partition(TopicPartition(topic, 0))
        assert leader is not None
        yield RawProducer(client, topic, leader)
    finally:
        await client.close()
