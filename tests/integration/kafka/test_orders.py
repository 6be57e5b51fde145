"""Pause, resume and drain a running service, on a real Kafka and through the command line."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.service import (
    AT_THE_LATEST,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


async def _order(config: Path, name: str) -> None:
    command = [sys.executable, "-m", "stream_anon.cli.main", name, "--config", str(config)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=AT_THE_LATEST)
    assert done.returncode == 0, done.stderr


async def _until_lag(worker: WorkerProcess, records: int) -> None:
    deadline = time.monotonic() + AT_THE_LATEST
    while f"stream_anon_consumer_lag_records {records}.0" not in worker.get("/metrics")[1]:
        assert time.monotonic() < deadline, "the lag never shows what waits"
        await asyncio.sleep(0.1)


async def test_a_paused_service_reads_nothing_until_it_is_resumed_and_a_drain_publishes_the_rest(
    stage: Stage,
) -> None:
    config = stage.config(window={"max_delay": "10m"}, http={"port": 0, "admin_port": free_port()})
    with WorkerProcess(config) as worker:
        await worker.wait_for("ready")
        await _order(config, "pause")
        await worker.wait_for("paused")
        await produce(stage, make_records(300, 1))
        await _until_lag(worker, 300)
        assert "stream_anon_records_consumed_total 0.0" in worker.get("/metrics")[1]
        assert worker.get("/readyz")[0] == 200
        await _order(config, "resume")
        await wait_until_accounted(stage, 200)  # a whole window; a hundred wait in the next, which is young
        await _order(config, "drain")
        assert await worker.ended(20) == 0
        check_published(await wait_until_accounted(stage, 300), 300)
