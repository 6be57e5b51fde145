"""A client for one task, with errors that name the task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient

from stream_anon.adapters.kafka.client.connection import Connection, broker_error, connection_error
from stream_anon.errors import BrokerError

_WITHIN = 30.0


@asynccontextmanager
async def administering(connection: Connection, purpose: str, doing: str) -> AsyncIterator[AIOKafkaAdminClient]:
    """Yield a connected admin client; connecting and all questions together take half a minute at the most.

    Parameters
    ----------
    purpose
        Names the client to the brokers.
    doing
        Names in errors what the client is used for.

    Raises
    ------
    BrokerError
        If no broker answers, refuses, or is too slow; our own errors pass as they are.
    """
    admin = connection.client(AIOKafkaAdminClient, purpose)
    try:
        async with asyncio.timeout(_WITHIN):
            try:
                await admin.start()
            except Exception as error:  # noqa: BLE001 - aiokafka raises assertions and bare errors here
                raise await connection_error(connection, "connecting", error) from None
            yield admin
    except BrokerError:
        raise
    except Exception as error:  # noqa: BLE001 - as above
        raise broker_error(doing, error) from None
    finally:
        await admin.close()


@asynccontextmanager
async def asking(
    connection: Connection, purpose: str, doing: str, within: float = 15.0
) -> AsyncIterator[AIOKafkaClient]:
    """Yield a connected bare client, for requests that an admin client does not send; see `administering`.

    Parameters
    ----------
    within
        Seconds for connecting and all questions together.
    """
    client = connection.client(AIOKafkaClient, purpose)
    try:
        async with asyncio.timeout(within):
            await client.bootstrap()
            yield client
    except BrokerError:
        raise
    except Exception as error:  # noqa: BLE001 - as above
        raise await connection_error(connection, doing, error) from None
    finally:
        await client.close()
