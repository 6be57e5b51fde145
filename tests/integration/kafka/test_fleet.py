"""Several worker processes as one service: one address, restarts, and a stop that leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.service import (
    AT_THE_LATEST,
    PARTITIONS,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _value(fleet: WorkerProcess, series: str) -> float:
    lines = fleet.get("/metrics")[1].splitlines()
    (line,) = [line for line in lines if line.startswith(f"{series} ")]
    return float(line.split()[1])


async def _until(fleet: WorkerProcess, series: str, value: float, within: float = AT_THE_LATEST) -> None:
    deadline = time.monotonic() + within
    while (seen := _value(fleet, series)) != value:
        assert time.monotonic() < deadline, f"{series} is {seen}, not {value}"
        await asyncio.sleep(0.2)


async def test_fleet_adds_up_its_workers_and_replaces_a_dead_one(stage: Stage) -> None:
    await produce(stage, make_records(1500, 1))
    with WorkerProcess(stage.config(kafka={"assignment": "spread"}), workers=3) as fleet:
        await fleet.wait_for("ready", times=3)
        first = await wait_until_accounted(stage, 1500)
        await _until(fleet, "stream_anon_ready", 1)
        assert fleet.get("/readyz")[0] == 200
        await _until(fleet, "stream_anon_partitions_owned", PARTITIONS)
        await _until(fleet, "stream_anon_records_released_total", len(first.records))
        page = json.loads(fleet.get("/status", "admin")[1])
        assert page["records"]["released"] == len(first.records)
        assert sorted(worker["partitions_owned"] for worker in page["workers"]) == [1, 1, 2]
        children = _children(fleet.pid)
        assert len(children) == 3
        os.kill(children[1], signal.SIGKILL)
        line = await fleet.wait_for("worker-ended")
        assert line["code"] == -signal.SIGKILL
        await _until(fleet, "stream_anon_ready", 0)
        assert _value(fleet, "stream_anon_worker_restarts_total") == 1
        await produce(stage, make_records(900, 2, first=1500))
        published = await wait_until_accounted(stage, 2400)
        check_published(published, 2400)
        await _until(fleet, "stream_anon_ready", 1)
        # What the dead worker had published still counts.
        await _until(fleet, "stream_anon_records_released_total", len(published.records))
        await _until(fleet, "stream_anon_partitions_owned", PARTITIONS)
        children = _children(fleet.pid)
        begun = time.monotonic()
        fleet.signal(signal.SIGTERM)
        assert await fleet.ended(12) == 0
        assert time.monotonic() - begun < 10
        assert not [child for child in children if _lives(child)]
        assert len(fleet.said("stopped")) >= 3


async def test_workers_leave_when_their_fleet_was_killed(stage: Stage) -> None:
    with WorkerProcess(stage.config(), workers=2) as fleet:
        await fleet.wait_for("ready", times=2)
        children = _children(fleet.pid)
        assert len(children) == 2
        fleet.kill()
        deadline = time.monotonic() + 10
        while any(map(_lives, children)):
            assert time.monotonic() < deadline, "a worker goes on alone"
            await asyncio.sleep(0.1)
        assert len(fleet.said("stopped")) == 2, "they did not leave the group"
