"""Saying goodbye to a client."""

from __future__ import annotations

import asyncio
import time

import pytest

from stream_anon.adapters.kafka.leaving import leave


async def _cancelled_within() -> None:
    raise asyncio.CancelledError


async def _broken() -> None:
    raise AssertionError("a bug of the client's")


async def _hangs() -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize("goodbye", [_cancelled_within, _broken])
async def test_what_a_client_meets_ends_who_stops_it(goodbye) -> None:  # type: ignore[no-untyped-def]
    await leave(goodbye(), 1.0)


async def test_client_that_hangs_holds_up_who_stops_it() -> None:
    begun = time.monotonic()
    await leave(_hangs(), 0.05)
    assert time.monotonic() - begun < 5


async def test_cancelling_who_waits_is_swallowed() -> None:
    task = asyncio.create_task(leave(_hangs(), 60.0))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
