"""The offsets that a group has committed, as far as no transaction is open."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from aiokafka.client import AIOKafkaClient

from stream_anon.adapters.kafka.client.connection import Connection, connection_error
from stream_anon.adapters.kafka.protocol.group_fencing import GroupRequests
from stream_anon.errors import BrokerError
from stream_anon.ports import Place

_WITHIN = 20.0


async def committed_offsets(connection: Connection, places: Collection[Place]) -> dict[Place, int | None]:
    """Return the offset of each partition, None where none was committed. Raises BrokerError."""
    client = connection.client(AIOKafkaClient, "check")
    try:
        async with asyncio.timeout(_WITHIN):
            await client.bootstrap()
            return await GroupRequests(client, connection.group).stable_offsets(places)
    except BrokerError:
        raise
    except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
        raise await connection_error(connection, "reading committed offsets", error) from None
    finally:
        await client.close()
