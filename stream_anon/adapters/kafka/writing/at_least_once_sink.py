"""The sink for brokers without usable transactions: records first, offsets after all of them are taken.

A failure between the two publishes records again: in other classes, which is a weaker promise than the service is
for. It must be written out in the settings and is warned about.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.writing.producers import partitions_of
from stream_anon.adapters.kafka.writing.producing_sink import ProducingSink
from stream_anon.ports import Membership, Place, TopicIds

_WHOLE = 1.0  # of the transaction's timeout: no transaction runs out meanwhile


class AtLeastOnceSink(ProducingSink):
    """A plain producer and the group's ordinary offsets; see `ports.Sink`."""

    delivery = "at-least-once"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, _WHOLE, _WHOLE)

    async def partitions(self, topic: str) -> int:
        """See `ports.Sink`."""
        producer, _, _ = self._ready()
        return await self._within(_WHOLE, "looking up partitions", partitions_of(producer, topic))

    async def topic_ids(self, topics: Collection[str]) -> TopicIds:  # noqa: ARG002
        """Return nothing: there is no ledger that an id could be compared with."""
        return TopicIds()

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """See `ports.Sink`."""
        _, requests, _ = self._ready()
        return await self._within(_WHOLE, "reading committed offsets", requests.stable_offsets(places))

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `ports.Sink`."""
        await self.commit_offsets(offsets, membership)

    async def begin(self) -> None:
        """Do nothing: there is no transaction."""
        self._ready()

    async def add_offsets(self) -> None:
        """Do nothing: offsets are committed by themselves."""

    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """See `ports.Sink`. The group's generation fences here too."""
        _, requests, _ = self._ready()
        await self._within(_WHOLE, "commit offsets", requests.commit(offsets, membership))

    async def commit(self) -> None:
        """Do nothing: there is no transaction."""
