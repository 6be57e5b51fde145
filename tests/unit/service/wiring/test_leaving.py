"""SIGTERM sets the stop, and ends the process where something hangs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from io import StringIO

import pytest

from stream_anon.adapters.logs import open_log
from stream_anon.service.wiring import leaving


async def test_a_process_that_hangs_after_sigterm_is_ended_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "GONE_WITHIN", 0.05)
    text, loop, codes = StringIO(), asyncio.get_running_loop(), asyncio.Queue[int]()
    log = open_log(lambda: 0.0, "json", stream=text)
    try:
        stop = leaving.stop_at_signals(log, lambda code: loop.call_soon_threadsafe(codes.put_nowait, code))
        for _ in range(2):  # asking twice does not make it wait longer
            os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), 5)
        assert await asyncio.wait_for(codes.get(), 5) == leaving.LEFT_LATE
        assert codes.empty()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
    assert [json.loads(line)["event"] for line in text.getvalue().splitlines()] == ["left-late"]


def test_a_process_is_gone_within_ten_seconds() -> None:
    assert leaving.GONE_WITHIN < 10
