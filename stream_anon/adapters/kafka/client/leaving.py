"""Say goodbye to a broker without being drawn into how the client does it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer

_CANCEL_WITHIN = 0.5


async def leave(goodbye: Coroutine[Any, Any, Any], within: float) -> None:
    """Await the stop of a client for so many seconds at the most; never raises what it meets.

    It runs as a task of its own. A client awaits tasks that it has cancelled; where one of these was just giving
    up, the cancellation comes out of its `stop`, and would cancel whoever awaits that.
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
    """Stop a consumer, polite for `within` seconds; never raises what it meets.

    Its `stop` raises what a task of its fetcher had ended with, before it closes any connection. What the polite
    way left, connections and the tasks behind them, gets `closing` seconds more.
    """
    await leave(consumer.stop(), within)
    await leave(consumer._client.close(), closing)  # noqa: SLF001 - pinned by a test


def _forget(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
