"""Saying goodbye to a client."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from stream_anon.adapters.kafka.client.disconnecting import leave, leave_consumer


async def _cancelled_within() -> None:
    raise asyncio.CancelledError


async def _broken() -> None:
    raise AssertionError("a bug of the client's")


async def _hangs() -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize("goodbye", [_cancelled_within, _broken])
async def test_an_error_of_a_client_does_not_end_its_stop(goodbye) -> None:  # type: ignore[no-untyped-def]
    await leave(goodbye(), 1.0)


async def test_client_that_hangs_does_not_hold_up_its_stop() -> None:
    begun = time.monotonic()
    await leave(_hangs(), 0.05)
    assert time.monotonic() - begun < 5


async def test_cancelling_a_stop_is_passed_on() -> None:
    task = asyncio.create_task(leave(_hangs(), 60.0))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_connections_are_closed_even_where_stopping_a_consumer_breaks() -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    # aiokafka's stop raises what a task of the fetcher had ended with, before it closes the client.
    await leave_consumer(SimpleNamespace(stop=_broken, _client=SimpleNamespace(close=close)), 1.0, 1.0)
    assert closed == [True]
