"""The whole service beside a hostile producer: it starts, stays small, and publishes what others wrote.

Where there is nothing that anybody can read, it does not start.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import time
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.conditions import Condition
from stream_anon.errors import InputError
from stream_anon.judging.findings import Severity
from stream_anon.operations.check.checking import examine_deployment
from stream_anon.operations.samples import sample_of_topic
from stream_anon.operations.starting.rollout import NewestCertificates
from stream_anon.settings.policy_file import load_policy
from tests.support.hostile_batches import HOSTILE, ZSTD, Raw, batch_of
from tests.support.raw_producer import raw_producer
from tests.support.service import (
    AT_THE_LATEST,
    K,
    Stage,
    WorkerProcess,
    make_records,
    produce,
)

pytestmark = pytest.mark.kafka

READY_WITHIN = 60.0  # seconds; usually a few. A start that waits for a reader waits 150
MOST_MEMORY = 2**30  # what the chart allows
LEAST_TAKEN = 30


@cache
def _bomb() -> bytes:
    """Return a gigabyte in 32 kB; every process that collects tests would take two seconds for a constant."""
    return batch_of([Raw(bytes(100_000_000)) for _ in range(10)], codec=ZSTD)


async def _send_hostile(stage: Stage, topic: str) -> None:
    """Send batches that no client makes to one partition, and in the end one that holds a gigabyte."""
    async with raw_producer(stage.kafka.address, topic) as writer:
        taken = [await writer.send(batch) for batch in HOSTILE.values()].count(0)
        assert taken >= LEAST_TAKEN
        assert await writer.send(_bomb()) == 0


def _peak(worker: WorkerProcess) -> int:
    """Return the most bytes of memory that a worker has had."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{worker.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


async def _all_certified(stage: Stage, count: int) -> None:
    """Wait until each of `count` records was released or suppressed; dead letters are of the hostile ones."""
    connection, deadline = Connection(stage.kafka.address, stage.name), time.monotonic() + AT_THE_LATEST
    done = -1
    while done < count and time.monotonic() < deadline:
        found = await NewestCertificates(connection, f"{stage.output}.certificates").read(None)
        certificates = [json.loads(value or b"") for value in found.values()]
        heads = [each for each in certificates if "batch" in each and each["part"] == 1]
        done = sum(each["released"] + each["suppressed"] for each in heads)
    assert done == count


async def test_a_service_starts_and_publishes_whatever_a_hostile_producer_has_written(stage: Stage) -> None:
    config = stage.config(kafka={"lost_input": "skip"})
    await _send_hostile(stage, stage.name)
    await produce(stage, make_records(1000, 1))
    await _send_hostile(stage, stage.name)
    with WorkerProcess(config) as worker:
        await worker.wait_for("ready", READY_WITHIN)
        await _all_certified(stage, 1000)
        assert worker.said("input-lost")
        assert _peak(worker) < MOST_MEMORY
        worker.signal(signal.SIGTERM)
        assert await worker.ended(20) == 0
    await _send_hostile(stage, f"{stage.output}.certificates")
    await produce(stage, make_records(1000, 2, first=1000))
    with WorkerProcess(config) as worker:
        await worker.wait_for("ready", READY_WITHIN)
        await _all_certified(stage, 2000)
        assert _peak(worker) < MOST_MEMORY
        worker.signal(signal.SIGTERM)
        assert await worker.ended(20) == 0
    await _send_hostile(stage, f"{stage.output}.certificates")
    with WorkerProcess(stage.config(privacy={"k": K - 1})) as weaker:
        assert await weaker.ended(READY_WITHIN) == 2, "what was promised is found behind hostile batches"
        assert f"privacy.k was {K} and would fall to {K - 1}" in weaker.text
    serials = Counter(json.loads(record.value)["serial"] for record in await stage.kafka.read_to_end(stage.output))
    assert serials.keys() <= set(range(2000))
    assert set(serials.values()) == {1}


async def test_an_input_of_which_nobody_can_read_a_record_forbids_a_run(stage: Stage) -> None:
    async with raw_producer(stage.kafka.address, stage.name) as writer:
        assert await writer.send(HOSTILE["delta 100 last"]) == 0
    config = stage.config()
    report = await examine_deployment(config)
    (finding,) = [each for each in report.findings if each.severity is Severity.FORBIDS]
    assert finding.condition is Condition.INPUT_UNREADABLE
    assert "none of its newest records can be read" in finding.text
    with pytest.raises(InputError, match="none of its newest records can be read"):
        await asyncio.to_thread(sample_of_topic, load_policy(config), config)
    await produce(stage, make_records(10, 1))
    assert not (await examine_deployment(config)).forbids
