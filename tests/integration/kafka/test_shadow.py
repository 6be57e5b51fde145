"""A shadow beside a running service, on a real Kafka: nothing that others see is changed by it."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import (
    AT_THE_LATEST,
    K,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def _certified(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text().splitlines() if file.exists() else []
    parts = [json.loads(line) for line in lines]
    return [part for part in parts if "batch" in part]  # the policy document stands among them


async def _accounted(file: Path, count: int) -> list[dict[str, Any]]:
    """Return the shadow's certificates once they speak of so many records."""
    deadline = time.monotonic() + AT_THE_LATEST
    while sum(c["in"] for c in _certified(file) if c["part"] == 1) < count:
        assert time.monotonic() < deadline, f"{len(_certified(file))} certificates"
        await asyncio.sleep(0.1)
    return _certified(file)


async def _contents(stage: Stage) -> dict[str, list[tuple[int, int, bytes | None]]]:
    topics = [stage.output, *(f"{stage.output}.{side}" for side in ("certificates", "dead-letters", "ledger"))]
    read = {topic: await stage.kafka.read_to_end(topic) for topic in topics}
    return {topic: sorted((r.partition, r.offset, r.value) for r in records) for topic, records in read.items()}


async def test_a_shadow_certifies_what_a_policy_would_release_and_writes_no_topic(stage: Stage) -> None:
    file = stage.folder / "shadow.jsonl"
    with WorkerProcess(stage.config()) as service:
        await service.wait_for("ready")
        await produce(stage, [*make_records(400, 1), b"no record"])
        await wait_until_accounted(stage, 401)
        before = await _contents(stage)
        # A policy that the service itself would have to accept, and of another revision.
        config = stage.config(privacy={"k": 2 * K, "revision": 7})
        with WorkerProcess(config, options=["--shadow", str(file)]) as shadow:
            certificates = await _accounted(file, 401)
            assert await _contents(stage) == before
            assert {(c["asked"]["k"], c["revision"], c["delivery"]) for c in certificates} == {(2 * K, 7, "file")}
            assert sum(c["rejected"] for c in certificates) == 1
            assert 'delivery="shadow"' in shadow.get("/metrics")[1]
            assert "SHADOW" in shadow.get("/status", "admin")[1]
            # The service goes on as if there were none: all partitions are its own, each record comes once.
            await produce(stage, make_records(200, 2, first=400))
            published = await wait_until_accounted(stage, 601)
            await _accounted(file, 601)
        assert len(published.certificates) == len({c["batch"] for c in published.certificates})
        assert {c["revision"] for c in published.certificates} == {0}
        check_published(published, 601)
        assert not service.said("revoked")
