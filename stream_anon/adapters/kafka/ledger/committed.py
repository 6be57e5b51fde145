"""The offsets that a group has committed, as far as no transaction is open."""

from __future__ import annotations

from collections.abc import Collection

from stream_anon.adapters.kafka.client.administering import asking
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.protocol.group_fencing import GroupRequests
from stream_anon.ports import Place

_WITHIN = 20.0


async def committed_offsets(connection: Connection, places: Collection[Place]) -> dict[Place, int | None]:
    """Return the offset of each partition, None where none was committed. Raises BrokerError."""
    async with asking(connection, "check", "reading committed offsets", _WITHIN) as client:
        return await GroupRequests(client, connection.group).stable_offsets(places)
