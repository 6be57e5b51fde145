"""Disconnect clients in bounded time, whatever goes wrong inside them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer

_CANCEL_WITHIN = 0.5


async def leave(goodbye: Coroutine[Any, Any, Any], within: float) -> None:
    """Await the stop of a client for `within` seconds at the most; never raises what the stop raises.

    The stop runs as a task of its own. A client awaits tasks that it has cancelled, and such a cancellation can
    come out of its `stop`. It would then cancel the caller.
    """
    task = asyncio.ensure_future(goodbye)
    try:
        await asyncio.wait([task], timeout=within)
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=_CANCEL_WITHIN)
    finally:
        task.cancel()
        task.add_done_callback(_forget)


async def leave_consumer(consumer: AIOKafkaConsumer, within: float, closing: float) -> None:
    """Stop a consumer within `within` seconds, then close its connections within `closing` more; never raises.

    If a task of the fetcher has ended with an error, the consumer's `stop` raises that error before it closes any
    connection. So the connections, and the tasks behind them, are closed apart.
    """
    await leave(consumer.stop(), within)
    await leave(consumer._client.close(), closing)  # noqa: SLF001 - pinned by a test


def _forget(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
