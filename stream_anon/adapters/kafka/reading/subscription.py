"""The topics that a consumer reads: those that are named, or all that fit a pattern."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.client import AIOKafkaClient
from aiokafka.cluster import ClusterMetadata
from aiokafka.errors import KafkaError

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.errors import Cause, TopicError
from stream_anon.ports.input_topics import InputTopics

LOOK_EVERY = 10.0
"""Seconds until a new topic or a new partition is noticed."""


class Subscription:
    """Subscribes a consumer, and does so anew when other topics fit the pattern.

    A pattern is resolved here and not by the client. Once the client has lost the leader of one topic, it asks for
    the metadata of that topic alone, takes the other topics for deleted and drops them.
    """

    def __init__(self, connection: Connection, inputs: InputTopics) -> None:
        self._connection = connection
        self._inputs = inputs
        self._topics: tuple[str, ...] = ()
        self._looking: asyncio.Task[None] | None = None

    async def begin(self, consumer: AIOKafkaConsumer, listener: ConsumerRebalanceListener) -> None:
        """Subscribe. Raises TopicError if no topic fits the pattern yet, and KafkaError."""
        if self._inputs.pattern is None:
            self._topics = self._inputs.names
        else:
            client = self._connection.client(AIOKafkaClient, "source")
            try:
                await client.bootstrap()
                self._topics = self._fitting(await client.fetch_all_metadata())
            finally:
                await client.close()
            if not self._topics:
                raise TopicError(f"no topic fits kafka.input {self._inputs} yet")
        consumer.subscribe(list(self._topics), listener=listener)

    def watch(self, consumer: Any, listener: ConsumerRebalanceListener, left: Callable[[], None]) -> None:
        """Look for other topics until `stop`; `left` is called before the client forgets its partitions."""
        if self._inputs.pattern is not None:
            self._looking = asyncio.create_task(self._look(consumer, listener, left))

    async def _look(self, consumer: Any, listener: ConsumerRebalanceListener, left: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            with contextlib.suppress(KafkaError, OSError):  # without an answer nothing is known to have changed
                topics = self._fitting(await consumer._client.fetch_all_metadata())  # noqa: SLF001 - pinned by a test
                if topics and topics != self._topics:
                    self._topics = topics
                    left()
                    consumer.subscribe(list(topics), listener=listener)

    def _fitting(self, cluster: ClusterMetadata) -> tuple[str, ...]:
        public: Collection[str] = cluster.topics(exclude_internal_topics=True)
        return self._inputs.among(public)

    def partitions(self, cluster: ClusterMetadata) -> Mapping[str, int]:
        """Return how many partitions each topic has.

        Raises
        ------
        TopicError
            For a topic that may not be read or is gone. The client would take it for a topic without partitions,
            join for none of them and report no error.
        """
        counts = {topic: len(cluster.partitions_for_topic(topic) or ()) for topic in self._topics}
        for topic, partitions in counts.items():
            if topic in cluster.unauthorized_topics:
                raise TopicError(f"{topic}: this user is not authorized to read it", Cause.PERMISSION)
            if not partitions:
                raise TopicError(f"{topic}: does not exist; create it, then the worker continues by itself")
        return counts

    async def stop(self) -> None:
        """Look no further."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
            self._looking = None
