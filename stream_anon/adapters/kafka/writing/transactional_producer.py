"""The sink with transactions: a producer that is thrown away after any failure, and the fence of the group.

How a transaction ended whose answer was lost, `service/closing/ending.py` finds out.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping

from aiokafka import AIOKafkaProducer

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.protocol.sent_once import SentOnce
from stream_anon.adapters.kafka.protocol.topic_ids import topic_ids
from stream_anon.adapters.kafka.writing.window_producer import WindowProducer
from stream_anon.ports import Membership, Place, TopicIds

# Parts of the transaction's timeout that its steps may take. With the ledger's part their sum is below 1, so that
# no step outlives the transaction.
_BEGIN, _SEND, SETTLE, _ADD, _FENCE, _COMMIT = 0.05, 0.05, 0.34, 0.10, 0.15, 0.20


class TransactionalProducer(WindowProducer):
    """One transactional producer and the group's requests over its client; see `WindowProducer`.

    After an error a producer is never used again: aiokafka's abort sends nothing after some errors, and the next
    commit would publish both attempts. A new one with the same transactional id settles what was open.
    """

    delivery = "exactly-once"

    def __init__(self, connection: Connection) -> None:
        super().__init__(
            connection,
            _SEND,
            SETTLE,
            # Unique to this process: two workers with one id would fence each other.
            transactional_id=f"{connection.group}-{secrets.token_hex(16)}",
            transaction_timeout_ms=int(connection.transaction_timeout * 1000),
        )
        self._once: SentOnce | None = None

    async def _start(self, producer: AIOKafkaProducer) -> None:
        self._once = SentOnce(producer)
        await super()._start(producer)
        await self._once.ask_level(producer)

    def _cause(self, error: Exception) -> str:
        return (self._once and self._once.unanswered) or super()._cause(error)

    async def topic_ids(self, topics: Collection[str]) -> TopicIds:
        """See `WindowProducer`."""
        producer, _, _ = self._ready()
        return await self._asked("looking up the ids of topics", topic_ids(producer.client, topics))

    async def begin(self) -> None:
        """See `WindowProducer`."""
        producer, _, _ = self._ready()
        await self._within(_BEGIN, "begin", producer.begin_transaction())

    async def add_offsets(self) -> None:
        """See `WindowProducer`."""
        producer, requests, _ = self._ready()
        await self._within(_ADD, "add offsets", requests.add_offsets(producer))

    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `WindowProducer`."""
        producer, requests, _ = self._ready()
        fence = requests.commit_in_transaction(producer, offsets, membership)
        await self._within(_FENCE, "commit offsets", fence)

    async def commit(self) -> None:
        """See `WindowProducer`."""
        producer, _, _ = self._ready()
        await self._within(_COMMIT, "commit", producer.commit_transaction())
