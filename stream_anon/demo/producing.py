"""Produce the demo's events, spread over some seconds, and remember where each one lies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from stream_anon.adapters.kafka.client.connection import Connection, broker_error
from stream_anon.demo.made_up_events import partition_of
from stream_anon.errors import BrokerError
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Clock
from stream_anon.settings.sections.kafka_settings import KafkaSettings

INPUT_PARTITIONS = 4
OUTPUT_PARTITIONS = 2
SENT_WITHIN = 8.0  # seconds over which the events are spread, more if that were more than a laptop can do
MOST_A_SECOND = 15_000
_SEND_EVERY = 0.05


class EventSource:
    """A producer of events that come in over some seconds.

    Parameters
    ----------
    topic
        With `INPUT_PARTITIONS` partitions.
    """

    def __init__(self, connection: Connection, topic: str, policy: Policy, events: Sequence[bytes]) -> None:
        self._connection = connection
        self._topic = topic
        self._policy = policy
        self._events = events
        self._places: dict[tuple[int, int], int] = {}  # partition and offset of each event
        self.sent = 0

    async def send(self, clock: Clock) -> None:
        """Send all events at an even pace.

        Raises
        ------
        BrokerError
            If the broker does not take one.
        """
        producer = self._connection.client(AIOKafkaProducer, "events", acks="all", linger_ms=10)
        total = len(self._events)
        seconds = max(SENT_WITHIN, total / MOST_A_SECOND)
        futures: list[asyncio.Future[Any]] = []
        try:
            await producer.start()
            begun = clock.monotonic()
            while self.sent < total:
                due = min(total, int((clock.monotonic() - begun) / seconds * total) + 1)
                futures += [await self._send_one(producer, number) for number in range(self.sent, due)]
                self.sent = due
                await asyncio.sleep(_SEND_EVERY)
            for number, metadata in enumerate(await asyncio.gather(*futures)):
                self._places[metadata.partition, metadata.offset] = number
        except (KafkaError, OSError) as error:
            raise broker_error("producing the events", error) from None
        finally:
            await producer.stop()

    async def _send_one(self, producer: AIOKafkaProducer, number: int) -> asyncio.Future[Any]:
        value = self._events[number]
        partition = partition_of(value, self._policy, number, INPUT_PARTITIONS)
        sent: asyncio.Future[Any] = await producer.send(self._topic, value, partition=partition)
        return sent

    def between(self, partition: int, start: int, end: int) -> Iterator[bytes]:
        """Yield the events that lie from offset `start` up to, without, `end`."""
        for offset in range(start, end):
            number = self._places.get((partition, offset))
            if number is not None:
                yield self._events[number]


async def create_topics(connection: Connection, kafka: KafkaSettings) -> None:
    """Create the demo's topics.

    Raises
    ------
    BrokerError
        If the broker refuses.
    """
    admin = connection.client(AIOKafkaAdminClient, "admin")
    try:
        await admin.start()
        topics = [
            *(NewTopic(topic, INPUT_PARTITIONS, 1) for topic in kafka.inputs.names),
            NewTopic(kafka.output, OUTPUT_PARTITIONS, 1),
            NewTopic(kafka.certificates, 1, 1),
            NewTopic(kafka.dead_letters, 1, 1),
        ]
        answer = await admin.create_topics(topics)
    except (KafkaError, OSError) as error:
        raise broker_error("creating the demo's topics", error) from None
    finally:
        await admin.close()
    if any(code for _, code, *_ in answer.topic_errors):
        raise BrokerError("the embedded broker refuses to create topics")
