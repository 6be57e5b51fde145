"""What `check` forbids, `run` refuses, on a real Kafka; what somebody accepts stands in every certificate."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.service import Stage, WorkerProcess, make_records, produce, wait_until_accounted

pytestmark = pytest.mark.kafka


def _revealing(stage: Stage, **kafka: Any) -> Path:
    """Return settings under which a number passes that only one person has."""
    path = stage.config(kafka=kafka)
    document = yaml.safe_load(path.read_text())
    del document["attributes"]["serial"]["accept_linkable"]
    path.write_text(yaml.safe_dump(document))
    return path


async def _certificates(stage: Stage) -> list[dict[str, Any]]:
    records = await stage.kafka.read_to_end(f"{stage.output}.certificates")
    parts = [json.loads(record.value) for record in records]
    return [part for part in parts if "batch" in part]  # policy documents stand beside them


async def test_a_run_is_refused_where_check_forbids_it_and_goes_on_where_that_is_accepted(stage: Stage) -> None:
    await produce(stage, make_records(1000, 1))
    asked = [sys.executable, "-m", "stream_anon.cli.main", "check", "--json", "--config", str(_revealing(stage))]
    told = await asyncio.to_thread(subprocess.run, asked, capture_output=True, timeout=120)
    report = json.loads(told.stdout)
    assert (told.returncode, report["forbids"]) == (1, True)
    assert [f["condition"] for f in report["findings"] if f["severity"] == "forbids"] == ["rare-values"]

    with WorkerProcess(_revealing(stage)) as refused:
        assert await refused.ended(60) == 1
        assert "rare-values: attributes.serial" in refused.text
        assert "--accept-risk rare-values" in refused.text
    with WorkerProcess(_revealing(stage), workers=2) as refused:
        assert await refused.ended(60) == 1
        assert "a worker must not start" in refused.text
    assert await stage.kafka.read_to_end(stage.output) == []

    with WorkerProcess(_revealing(stage, accept_risks=["rare-values"])):
        await wait_until_accounted(stage, 1000)
    certificates = await _certificates(stage)
    assert certificates
    assert all(each["accepted"] == ["rare-values"] for each in certificates)

    with WorkerProcess(_revealing(stage)) as again:
        assert await again.ended(60) == 1, "what was accepted once is not accepted for ever"
