"""The sink with transactions: a producer whose every failure ends it, and the fence of the group."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Collection, Mapping
from typing import TypeVar

from stream_anon.adapters.kafka.client.connection import Connection, broker_error
from stream_anon.adapters.kafka.protocol.topic_ids import topic_ids
from stream_anon.adapters.kafka.writing.producers import partitions_of
from stream_anon.adapters.kafka.writing.producing_sink import ProducingSink
from stream_anon.errors import BrokerError
from stream_anon.ports import Membership, Place, TopicIds

_READ_WITHIN = 15.0
# A killed worker's transaction stays open for its timeout and until the broker next looks (every 10 s).
_STABLE_WITHIN = 45.0
_T = TypeVar("_T")

# Parts of the transaction's timeout that its steps may take; with the ledger's, together below 1, so that no step
# outlives it.
_BEGIN, _SEND, _SETTLE, _ADD, _FENCE, _COMMIT = 0.05, 0.05, 0.34, 0.10, 0.15, 0.20


class TransactionalSink(ProducingSink):
    """One transactional producer and the group's requests over its client; see `ports.Sink`.

    After an error a producer is never used again: aiokafka's abort sends nothing after some errors, and the next
    commit would publish both attempts. A new one with the same transactional id settles what was open.
    """

    delivery = "exactly-once"

    def __init__(self, connection: Connection) -> None:
        super().__init__(
            connection,
            _SEND,
            _SETTLE,
            # Of this process alone: two workers with one id would turn each other away.
            transactional_id=f"{connection.group}-{secrets.token_hex(16)}",
            transaction_timeout_ms=int(connection.transaction_timeout * 1000),
        )

    async def partitions(self, topic: str) -> int:
        """See `ports.Sink`."""
        producer, _, _ = self._ready()
        return await self._read("looking up partitions", partitions_of(producer, topic))

    async def topic_ids(self, topics: Collection[str]) -> TopicIds:
        """See `ports.Sink`."""
        producer, _, _ = self._ready()
        return await self._read("looking up the ids of topics", topic_ids(producer.client, topics))

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """See `ports.Sink`."""
        _, requests, _ = self._ready()
        return await self._read("reading committed offsets", requests.stable_offsets(places), _STABLE_WITHIN)

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `ports.Sink`."""
        _, requests, _ = self._ready()
        await self._read("committing offsets", requests.commit(offsets, membership))

    async def begin(self) -> None:
        """See `ports.Sink`."""
        producer, _, _ = self._ready()
        await self._within(_BEGIN, "begin", producer.begin_transaction())

    async def add_offsets(self) -> None:
        """See `ports.Sink`."""
        producer, requests, _ = self._ready()
        await self._within(_ADD, "add offsets", requests.add_offsets(producer))

    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `ports.Sink`."""
        producer, requests, _ = self._ready()
        fence = requests.commit_in_transaction(producer, offsets, membership)
        await self._within(_FENCE, "commit offsets", fence)

    async def commit(self) -> None:
        """See `ports.Sink`."""
        producer, _, _ = self._ready()
        await self._within(_COMMIT, "commit", producer.commit_transaction())

    async def _read(self, doing: str, question: Awaitable[_T], within: float = _READ_WITHIN) -> _T:
        try:
            async with asyncio.timeout(within):
                return await question
        except BrokerError:
            raise
        except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
            raise broker_error(doing, error) from None
