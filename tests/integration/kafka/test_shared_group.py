"""What an operator sees, on a real Kafka, of a stranger that joins the workers' group and takes their partitions.

The stranger is a consumer of the new protocol (KIP-848), on librdkafka. The coordinator turns the workers' group,
which is of the classic protocol, into one of the new protocol, and deals partitions to the stranger too. It does so
only in a group that spreads its partitions. In one that packs them the stranger gets none: what the leader writes
beside the assignment would be lost.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable

import pytest
from aiokafka.admin import NewPartitions
from confluent_kafka import Consumer

from tests.support.plain_kafka import admin_of
from tests.support.service import (
    AT_THE_LATEST,
    PARTITIONS,
    Stage,
    WorkerProcess,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka
SENT = 400
TRIED = 10.0  # seconds; a group that spreads gives a stranger partitions within one or two


def _shown(worker: WorkerProcess, series: str) -> float | None:
    found = re.search(rf"^stream_anon_{re.escape(series)} (\S+)$", worker.get("/metrics")[1], re.MULTILINE)
    return None if found is None else float(found[1])


def _warned(worker: WorkerProcess) -> bool:
    warnings = json.loads(worker.get("/status", "admin")[1])["warnings"]
    return any("no worker is a member" in text for text in warnings)


async def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + AT_THE_LATEST
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


class Stranger:
    """A consumer of the new protocol in the workers' group."""

    def __init__(self, stage: Stage) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": stage.kafka.address,
                "group.id": stage.name,
                "group.protocol": "consumer",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        self._consumer.subscribe([stage.name])
        self.read = 0

    async def poll_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + AT_THE_LATEST
        while not holds():
            assert time.monotonic() < deadline
            messages = await asyncio.to_thread(self._consumer.consume, 1000, 0.2)
            self.read += sum(message.error() is None for message in messages)

    @property
    def owned(self) -> int:
        return len(self._consumer.assignment())

    def commit(self) -> None:
        self._consumer.commit(asynchronous=False)

    async def leave(self) -> None:
        await asyncio.to_thread(self._consumer.close)


async def test_a_stranger_that_takes_partitions_is_warned_of_and_missing_among_their_owners(stage: Stage) -> None:
    size = f'input_partitions{{topic="{stage.name}"}}'
    await produce(stage, make_records(SENT, 1))
    with WorkerProcess(stage.config(kafka={"assignment": "spread"})) as worker:
        await wait_until_accounted(stage, SENT)
        await _until(lambda: _shown(worker, size) == PARTITIONS)
        assert _shown(worker, "partitions_owned") == PARTITIONS
        stranger = Stranger(stage)
        try:
            await stranger.poll_until(lambda: stranger.owned > 0)
            await stranger.poll_until(lambda: _shown(worker, "partitions_owned") == PARTITIONS - stranger.owned)
            await stranger.poll_until(lambda: bool(worker.said("group-shared")))
            assert worker.said("group-shared")[0]["level"] == "warning"
            assert _shown(worker, size) == PARTITIONS
            assert _warned(worker)
            assert worker.get("/readyz")[0] == 200, "the worker itself works"

            before = stranger.read
            await produce(stage, make_records(SENT, 2, SENT))
            await stranger.poll_until(lambda: stranger.read - before >= SENT // 4)
            stranger.commit()
        finally:
            await stranger.leave()
        await _until(lambda: _shown(worker, "partitions_owned") == PARTITIONS)
        await worker.wait_for("offset-skipped")  # what the stranger has committed is not released
        await _until(lambda: not _warned(worker))
        assert len(worker.said("group-shared")) == 1


async def test_a_stranger_takes_no_partition_from_a_group_that_packs(stage: Stage) -> None:
    with WorkerProcess(stage.config()) as worker:
        await worker.wait_for("packed")
        stranger = Stranger(stage)
        try:
            tried = time.monotonic()
            await stranger.poll_until(lambda: time.monotonic() - tried > TRIED)
            assert not stranger.owned
        finally:
            await stranger.leave()
        assert _shown(worker, "partitions_owned") == PARTITIONS


async def test_partitions_that_are_added_count_before_anybody_owns_them(stage: Stage) -> None:
    size = f'input_partitions{{topic="{stage.name}"}}'
    with WorkerProcess(stage.config()) as worker:
        await worker.wait_for("ready")
        await _until(lambda: _shown(worker, size) == PARTITIONS)
        async with admin_of(stage.kafka.address) as admin:
            await admin.create_partitions({stage.name: NewPartitions(PARTITIONS + 2)})
        await _until(lambda: _shown(worker, size) == PARTITIONS + 2)
        await _until(lambda: _shown(worker, "partitions_owned") == PARTITIONS + 2)
