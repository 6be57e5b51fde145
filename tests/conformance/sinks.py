"""Every sink that the conformance suite of sinks tests; a new one adds an entry here and no test of laws."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.no_ledger import NoLedger
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.adapters.kafka.writing.at_least_once_producer import AtLeastOnceProducer
from stream_anon.adapters.kafka.writing.kafka_sink import KafkaSink
from stream_anon.adapters.kafka.writing.shadow_producer import ShadowProducer
from stream_anon.adapters.kafka.writing.transactional_producer import TransactionalProducer
from stream_anon.adapters.kafka.writing.window_producer import WindowProducer
from stream_anon.ports import Membership, Sink
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import ApacheKafka
from tests.support.memory import INPUT, OUTPUTS, MemoryBroker, MemoryLedger, MemorySink, MemorySource
from tests.support.sockets import until_closed

Sent = tuple[int, bytes | None, bytes | None, int, tuple[tuple[str, bytes], ...]]
"""Partition, key, value, time and headers of a record."""


class Output(Protocol):
    """A sink that has not been opened, and the topics and the group that it is for."""

    @property
    def sink(self) -> Sink: ...

    @property
    def input(self) -> str:
        """Return a topic of two partitions, of which the group has committed nothing."""

    @property
    def output(self) -> str:
        """Return a topic of three partitions for records."""

    @property
    def certificates(self) -> str:
        """Return a topic of one partition for certificates."""

    @property
    def membership(self) -> Membership:
        """Return that of a member that the group has given both partitions of the input."""

    async def visible(self, topic: str) -> list[Sent]:
        """Return what readers of committed records see of a topic, each partition in order."""


@dataclass(frozen=True)
class Destination:
    """A sink and what stands around it.

    Parameters
    ----------
    open
        Makes it on a broker with a name that nobody else uses.
    publishes
        Whether what is sent is published; a shadow's is not.
    transactions
        Whether what is sent, and the offsets, become visible together or not at all.
    broker
        Whether it needs a real one.
    of
        Its class, by module and name.
    producer
        The package's class that sends for it.
    """

    open: Callable[[ApacheKafka | None, str], AbstractAsyncContextManager[Output]]
    publishes: bool = True
    transactions: bool = True
    broker: bool = True
    of: str = "stream_anon.adapters.kafka.writing.kafka_sink.KafkaSink"
    producer: type[WindowProducer] | None = None


class _InMemory:
    input = INPUT
    output, certificates, _ = OUTPUTS

    def __init__(self) -> None:
        self._broker = MemoryBroker()
        self.source = MemorySource(self._broker, "one")
        self.sink = KafkaSink(MemorySink(self._broker, "one"), MemoryLedger(self._broker, "one"), [INPUT], OUTPUTS)
        self._broker.missing.add("nowhere")

    @property
    def membership(self) -> Membership:
        return _known(self.source.membership())

    async def visible(self, topic: str) -> list[Sent]:
        return [
            (parcel.partition, key, value, parcel.time, parcel.headers)
            for parcel in self._broker.committed
            if parcel.topic == topic
            for key, value in zip(parcel.keys or [None] * len(parcel.values), parcel.values, strict=True)
        ]


def _known(membership: Membership | None) -> Membership:
    assert membership is not None
    return membership


@asynccontextmanager
async def _memory(_: ApacheKafka | None, __: str) -> AsyncIterator[Output]:
    stage = _InMemory()
    await stage.source.start()
    yield stage


class _OnKafka:
    def __init__(self, broker: ApacheKafka, name: str, source: KafkaSource, producer: WindowProducer) -> None:
        self._broker, self._source = broker, source
        self.input, self.output, self.certificates = name, f"{name}.out", f"{name}.out.certificates"
        outputs = (self.output, self.certificates, f"{name}.out.dead-letters")
        self.sink = KafkaSink(producer, NoLedger(), [name], outputs)

    @property
    def membership(self) -> Membership:
        return _known(self._source.membership())

    async def visible(self, topic: str) -> list[Sent]:
        records = await self._broker.read_to_end(topic)
        return [
            (record.partition, record.key, record.value, record.timestamp, tuple(record.headers))
            for record in sorted(records, key=lambda record: (record.partition, record.offset))
        ]


def _kafka(
    make: Callable[[Connection, str], WindowProducer],
) -> Callable[[ApacheKafka | None, str], AbstractAsyncContextManager[Output]]:
    @asynccontextmanager
    async def opened(broker: ApacheKafka | None, name: str) -> AsyncIterator[Output]:
        assert broker is not None
        for topic, partitions in (("", 2), (".out", 3), (".out.certificates", 1), (".out.dead-letters", 1)):
            await broker.create_topic(name + topic, partitions)
        connection = Connection(broker.address, name, session_timeout=2.0)
        source = KafkaSource(connection, InputTopics((name,)))
        stage = _OnKafka(broker, name, source, make(connection, name))
        await source.start()
        try:
            yield stage
        finally:
            await stage.sink.discard()
            await source.stop(5.0)
            await until_closed()

    return opened


def _shadow(connection: Connection, name: str) -> WindowProducer:
    outputs = (f"{name}.out", f"{name}.out.certificates")
    return ShadowProducer(connection, outputs[1], outputs, lambda _: None)


SINKS: Mapping[str, Destination] = {
    "memory": Destination(_memory, broker=False),
    "transactional": Destination(
        _kafka(lambda connection, _: TransactionalProducer(connection)), producer=TransactionalProducer
    ),
    "at-least-once": Destination(
        _kafka(lambda connection, _: AtLeastOnceProducer(connection)),
        transactions=False,
        producer=AtLeastOnceProducer,
    ),
    "shadow": Destination(_kafka(_shadow), publishes=False, transactions=False, producer=ShadowProducer),
}
