"""Which tasks of aiokafka's must run for a consumer to fetch; pinned, since it does not promise to keep them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator, NoGroupCoordinator
from aiokafka.errors import GroupAuthorizationFailedError

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.client.liveness import has_died
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.errors import BrokerError
from stream_anon.ports import DeadClient
from stream_anon.ports.input_topics import InputTopics


@pytest.mark.parametrize("ends", ["fetcher", "coordinator"])
async def test_member_of_a_group_whose_fetching_has_ended_is_dead(ends: str) -> None:
    client = AIOKafkaConsumer("t", group_id="g")
    fetcher = Fetcher(client._client, client._subscription)
    coordinator = GroupCoordinator(client._client, client._subscription)
    consumer = SimpleNamespace(_fetcher=fetcher, _coordinator=coordinator)
    source = KafkaSource(Connection("127.0.0.1:9", "g"), InputTopics(("t",)))
    source._consumer = consumer
    try:
        assert not has_died(consumer)
        task = fetcher._fetch_task if ends == "fetcher" else coordinator._coordination_task
        task.cancel()
        await asyncio.wait([task])
        assert has_died(consumer)
        with pytest.raises(DeadClient, match="a task of the consumer has ended"):
            await source.poll(0.01, 1)
    finally:
        coordinator._coordination_task.cancel()
        await fetcher.close()
        await client.stop()


async def test_consumer_without_a_group_is_dead_once_its_tasks_have_ended() -> None:
    client = AIOKafkaConsumer("t")
    fetcher = Fetcher(client._client, client._subscription)
    coordinator = NoGroupCoordinator(client._client, client._subscription)
    consumer = SimpleNamespace(_fetcher=fetcher, _coordinator=coordinator)
    try:
        assert not has_died(consumer)
        await fetcher.close()
        assert has_died(consumer)
    finally:
        await coordinator.close()
        await client.stop()


async def test_a_refusal_of_the_group_is_told() -> None:
    client = AIOKafkaConsumer("t", group_id="g")
    fetcher = Fetcher(client._client, client._subscription)
    coordinator = GroupCoordinator(client._client, client._subscription)
    source = KafkaSource(Connection("127.0.0.1:9", "g"), InputTopics(("t",)))
    source._consumer = SimpleNamespace(_fetcher=fetcher, _coordinator=coordinator)
    try:
        until_it_is_heard = coordinator._push_error_to_user(GroupAuthorizationFailedError("g"))
        with pytest.raises(BrokerError, match="joining the group again: GroupAuthorizationFailedError"):
            await source.moved(source.marks, 0.01)
        await asyncio.wait_for(until_it_is_heard, 10)
    finally:
        coordinator._coordination_task.cancel()
        await fetcher.close()
        await client.stop()
