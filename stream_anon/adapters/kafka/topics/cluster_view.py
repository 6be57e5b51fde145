"""What the brokers say about a group and its topics, without joining the group or committing anything."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, for_code

from stream_anon.adapters.kafka.client.administering import administering
from stream_anon.adapters.kafka.client.connection import Connection, broker_error
from stream_anon.errors import BrokerError
from stream_anon.ports import Place

_WITHIN = 30.0
_RETRY = 0.1
_NO_GROUP = 69  # since Kafka 4.0; older brokers say that an unknown group has no members
_T = TypeVar("_T")


class ClusterView:
    """Questions about a group and its topics; each opens a connection of its own and closes it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def partitions(self, topic: str) -> int | None:
        """Return how many partitions a topic has; None if it does not exist. Raises BrokerError."""

        async def ask(admin: AIOKafkaAdminClient) -> int | None:
            (answer,) = await admin.describe_topics([topic])
            _raise_if_temporary(answer["error_code"])
            return len(answer["partitions"]) or None

        return await self._ask("describing a topic", ask)

    async def topics(self) -> Collection[str]:
        """Return all topics that this user may see. Raises BrokerError."""

        async def ask(admin: AIOKafkaAdminClient) -> Collection[str]:
            found: Collection[str] = await admin.list_topics()
            return found

        return await self._ask("listing the topics", ask)

    async def members(self) -> int:
        """Return how many members the group has, dead ones that the group has not noticed yet included.

        Raises BrokerError.
        """
        group = self._connection.group

        async def ask(admin: AIOKafkaAdminClient) -> int:
            (answer,) = await admin.describe_consumer_groups([group])
            code, *_, members = answer.groups[0][:6]
            if code == _NO_GROUP:
                return 0
            _raise_if_temporary(code)
            return len(members)

        return await self._ask("describing the group", ask)

    async def first_offsets(self, places: Collection[Place]) -> dict[Place, int]:
        """Return the first offset that can still be read of each partition. Raises BrokerError."""
        return await self._bounds(places, AIOKafkaConsumer.beginning_offsets)

    async def end_offsets(self, places: Collection[Place]) -> dict[Place, int]:
        """Return where each partition ends. Raises BrokerError."""
        return await self._bounds(places, AIOKafkaConsumer.end_offsets)

    async def _bounds(self, places: Collection[Place], ask: Callable[..., Awaitable[Any]]) -> dict[Place, int]:
        consumer = self._connection.client(AIOKafkaConsumer, "view", enable_auto_commit=False)
        try:
            async with asyncio.timeout(_WITHIN):
                await consumer.start()
                found = await ask(consumer, [TopicPartition(*place) for place in sorted(places)])
        except BrokerError:
            raise
        except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
            raise broker_error("reading the input's bounds", error) from None
        finally:
            with contextlib.suppress(TimeoutError, KafkaError, OSError, AssertionError):
                async with asyncio.timeout(2.0):
                    await consumer.stop()
        return {(place.topic, place.partition): offset for place, offset in found.items()}

    async def _ask(self, doing: str, question: Callable[[AIOKafkaAdminClient], Awaitable[_T]]) -> _T:
        """Ask again until the brokers do not answer "later"."""
        async with administering(self._connection, "view", doing) as admin:
            while True:
                try:
                    return await question(admin)
                except KafkaError as error:
                    if not error.retriable:
                        raise
                    await asyncio.sleep(_RETRY)


def _raise_if_temporary(code: int) -> None:
    """Raise any error but "no such topic"; `_ask` knows which errors pass with time."""
    if code not in (0, 3):
        raise for_code(code)
