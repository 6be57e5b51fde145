"""The sink for brokers without usable transactions: records first, offsets after all of them are taken.

After a failure between the two, records are published again, and in other classes. That is a weaker promise than
the service is made for, so the settings must ask for it, and the service warns about it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.writing.window_producer import WindowProducer
from stream_anon.ports import Membership, Place, TopicIds

_WHOLE = 1.0  # of the transaction's timeout: there is no transaction that could run out


class AtLeastOnceProducer(WindowProducer):
    """A plain producer and the group's ordinary offsets; see `WindowProducer`."""

    delivery = "at-least-once"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, _WHOLE, _WHOLE)

    async def topic_ids(self, topics: Collection[str]) -> TopicIds:  # noqa: ARG002
        """Return nothing: there is no ledger to compare an id with."""
        return TopicIds()

    async def begin(self) -> None:
        """Do nothing: there is no transaction."""
        self._ready()

    async def add_offsets(self) -> None:
        """Do nothing: offsets are committed by themselves."""

    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `WindowProducer`. The group's generation fences here too."""
        _, requests, _ = self._ready()
        await self._within(_WHOLE, "commit offsets", requests.commit(offsets, membership))

    async def commit(self) -> None:
        """Do nothing: there is no transaction."""
