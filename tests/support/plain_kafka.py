"""Topics and records by the clients of Kafka alone, with nothing of the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic


@asynccontextmanager
async def admin_of(address: str, **options: Any) -> AsyncIterator[AIOKafkaAdminClient]:
    """Yield a connected admin client of the brokers at an address."""
    admin = AIOKafkaAdminClient(bootstrap_servers=address, **options)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def create_topics(address: str, names: Iterable[str], partitions: int = 2) -> None:
    """Create topics of one copy."""
    async with admin_of(address) as admin:
        await admin.create_topics([NewTopic(name, partitions, 1) for name in names])


async def delete_topic(address: str, topic: str) -> None:
    """Delete a topic, and wait until it is gone."""
    async with admin_of(address) as admin:
        await admin.delete_topics([topic])
        while topic in await admin.list_topics():  # noqa: ASYNC110 - nothing tells of its end
            await asyncio.sleep(0.05)


async def fill(
    address: str, topic: str, values: Sequence[bytes | None], partitions: int = 2, key: bytes | None = None
) -> None:
    """Send records to the partitions of a topic in turns."""
    async with AIOKafkaProducer(bootstrap_servers=address) as producer:
        sent = [await producer.send(topic, v, key=key, partition=i % partitions) for i, v in enumerate(values)]
        await asyncio.gather(*sent)
