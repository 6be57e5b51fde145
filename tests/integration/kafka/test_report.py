"""`stream-anon report` of real topics: the figures of what readers see."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.support.data import ROOT
from tests.support.service import Stage, WorkerProcess, command, make_records, produce, wait_until_accounted

pytestmark = pytest.mark.kafka


async def test_a_report_of_a_topic_has_the_figures_of_what_readers_see(stage: Stage, tmp_path: Path) -> None:
    await produce(stage, make_records(2_000, 1))
    config = stage.config()
    with WorkerProcess(config):
        published = await wait_until_accounted(stage, 2_000)
    file = tmp_path / "report.json"
    code, text = await command("report", config, "--from", "1h", "--json", str(file))
    assert code == 0, text
    told = json.loads(file.read_text())
    Draft202012Validator(json.loads((ROOT / "schemas" / "report.schema.json").read_text())).validate(told)
    windows = Counter(batch for batch, _ in published.records)
    assert told["records"]["windows"] == told["audit"]["counts"]["windows"] >= len(windows)
    assert told["records"]["released"] == len(published.records)
    assert told["records"]["in"] == 2_000
    assert told["risks"]["after"][0]["highest"] <= 1 / told["policy"]["k"]
    assert told["history"]["deliveries"][0]["name"] == "exactly-once"
    code, text = await command("report", config, "--to", "1h")
    assert code == 0, text
    assert "0 windows" in text
