"""Every source that the conformance suite of sources tests; a new one adds an entry here and no test of laws."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from aiokafka import AIOKafkaProducer
from aiokafka.admin import RecordsToDelete
from aiokafka.structs import TopicPartition

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.ports import Source
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import ApacheKafka
from tests.support.memory import MemoryBroker, MemorySource
from tests.support.plain_kafka import admin_of
from tests.support.sockets import until_closed

PARTITIONS = 2


class Input(Protocol):
    """A source that has not been started, and the topic of two partitions that it is to read."""

    @property
    def source(self) -> Source: ...

    async def write(self, partition: int, values: Collection[bytes | None]) -> None:
        """Add records at the end of a partition."""

    async def delete(self, partition: int, first: int) -> None:
        """Delete the records below an offset."""

    async def reassign(self) -> None:
        """Let the group take all partitions and give them anew; return once the source has heard of it."""


Open = Callable[[ApacheKafka | None, str], AbstractAsyncContextManager[Input]]


@dataclass(frozen=True)
class Origin:
    """A source and what stands around it.

    Parameters
    ----------
    of
        Its class, by module and name.
    open
        Makes it on a broker with a name that nobody else uses.
    broker
        Whether it needs a real one.
    """

    of: str
    open: Open
    broker: bool = False


class _InMemory:
    def __init__(self) -> None:
        self._broker = MemoryBroker(PARTITIONS)
        self.source = MemorySource(self._broker, "one")

    async def write(self, partition: int, values: Collection[bytes | None]) -> None:
        self._broker.send(list(values), partition, 1000)

    async def delete(self, partition: int, first: int) -> None:
        self._broker.lose(partition, first)

    async def reassign(self) -> None:
        self._broker.rebalance()


@asynccontextmanager
async def _memory(_: ApacheKafka | None, __: str) -> AsyncIterator[Input]:
    yield _InMemory()


class _InFaust:
    def __init__(self, topic: str) -> None:
        from stream_anon.hosts.faust.faust_source import FaustSource
        from tests.support.faust_stream import FaustStream

        self._topic = topic
        self.stream = FaustStream([(topic, partition) for partition in range(PARTITIONS)])
        self.source = FaustSource(self.stream, [topic], SystemClock())

    async def write(self, partition: int, values: Collection[bytes | None]) -> None:
        self.stream.write((self._topic, partition), values)

    async def delete(self, partition: int, first: int) -> None:
        self.stream.first[self._topic, partition] = first

    async def reassign(self) -> None:
        self.stream.give(self.source)


@asynccontextmanager
async def _faust(_: ApacheKafka | None, name: str) -> AsyncIterator[Input]:
    app = _InFaust(name)
    joining = asyncio.get_running_loop().call_later(0.05, app.stream.give, app.source)
    yield app
    joining.cancel()
    await app.source.stop(1.0)
    await app.stream.stop()


class _OnKafka:
    def __init__(self, broker: ApacheKafka, topic: str, producer: AIOKafkaProducer) -> None:
        self._broker, self._topic, self._producer = broker, topic, producer
        connection = Connection(broker.address, topic, session_timeout=2.0)
        self.source = KafkaSource(connection, InputTopics((topic,)))

    async def write(self, partition: int, values: Collection[bytes | None]) -> None:
        for value in values:
            await self._producer.send(self._topic, value, key=b"k", partition=partition)  # a tombstone needs one
        await self._producer.flush()

    async def delete(self, partition: int, first: int) -> None:
        async with admin_of(self._broker.address) as admin:
            await admin.delete_records({TopicPartition(self._topic, partition): RecordsToDelete(first)})

    async def reassign(self) -> None:
        """Let another member come and go again."""
        generation = _generation(self.source)
        other = KafkaSource(Connection(self._broker.address, self._topic), InputTopics((self._topic,)))
        joining = asyncio.create_task(other.start())
        while not joining.done():  # a member joins again only where somebody asks it
            await self.source.moved(self.source.marks, 0.05)
        await joining
        await other.stop(2.0)
        async with asyncio.timeout(20):
            while len(self.source.assigned) < PARTITIONS or _generation(self.source) <= generation:
                await self.source.moved(self.source.marks, 0.05)


def _generation(source: Source) -> int:
    membership = source.membership()
    return -1 if membership is None else membership.generation


@asynccontextmanager
async def _kafka(broker: ApacheKafka | None, name: str) -> AsyncIterator[Input]:
    assert broker is not None
    await broker.create_topic(name, PARTITIONS)
    producer = AIOKafkaProducer(bootstrap_servers=broker.address)
    await producer.start()
    stage = _OnKafka(broker, name, producer)
    try:
        yield stage
    finally:
        await stage.source.stop(5.0)
        await producer.stop()
        await until_closed()


SOURCES: Mapping[str, Origin] = {
    "memory": Origin("tests.support.memory.MemorySource", _memory),
    "faust": Origin("stream_anon.hosts.faust.faust_source.FaustSource", _faust),
    "kafka": Origin("stream_anon.adapters.kafka.reading.source.KafkaSource", _kafka, broker=True),
}
