"""A service with keys of draws and of digests on a real Kafka."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kafka.test_audit import _audit
from tests.support.service import (
    Published,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka

COUNT = 600
# One window holds all records, whichever of them are read first.
WINDOW = {"max_records": COUNT, "max_delay": "60s", "max_records_per_individual": COUNT}


async def _released(stage: Stage, config: Path, records: list[bytes], seed: int) -> Published:
    """Return what becomes of records that go to partitions drawn by a seed."""
    await produce(stage, records, seed=seed)
    with WorkerProcess(config):
        published = await wait_until_accounted(stage, COUNT)
    check_published(published, COUNT)
    return published


def _by_serial(published: Published) -> Mapping[int, Any]:
    return {record["serial"]: record for _, record in published.records}


async def _report(config: Path, *more: str | Path, code: int = 0) -> dict[str, Any]:
    found, text = await _audit(config, "--json", *map(str, more))
    assert found == code, text
    report: dict[str, Any] = json.loads(text)
    return report


async def test_the_same_records_are_released_alike_and_compared_with_their_digests(
    stage: Stage, tmp_path: Path
) -> None:
    for name in ("draws", "digests", "next"):
        (tmp_path / name).write_text(f"a secret of a test, for {name}\n")
    keys = {"engine": {"draws_key_file": "draws"}, "output": {"digest_key_file": "digests"}, "window": WINDOW}
    config, records = stage.config(**keys), make_records(COUNT, 5)
    first = await _released(stage, config, records, seed=1)
    again = replace(stage, name=f"{stage.name}.again")
    await again.create_topics()
    second = await _released(again, again.config(**keys), records[::-1], seed=2)
    assert _by_serial(first) == _by_serial(second)
    assert {batch for batch, _ in first.records} != {batch for batch, _ in second.records}

    report = await _report(config)
    assert report["counts"]["recounted"] == report["counts"]["windows"] == 1
    # After a change of the key, the windows before it are compared by the old one.
    changed = stage.config(**keys | {"output": {"digest_key_file": "next"}})
    report = await _report(changed, code=1)
    assert (report["counts"]["recounted"], report["uncompared"]) == (0, {"other-key": 1})
    report = await _report(changed, "--digest-key", tmp_path / "digests")
    assert (report["counts"]["recounted"], report["uncompared"]) == (1, {})
