"""`stream-anon report` of real topics: the figures of what readers see."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from jsonschema import Draft202012Validator

from tests.integration.kafka.test_audit import remove_starts
from tests.integration.kafka.test_returns import MOST, returning, send, visits, windows_of
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
    assert told["cautions"] == []
    code, text = await command("report", config, "--to", "1h")
    assert code == 0, text
    assert "0 windows" in text

    # Of the certificates the last one of a partition remains, with its marker: the others are in no figure.
    assert await remove_starts(stage, f"{stage.output}.certificates", lambda _: 2)
    for since in ((), ("--from", "1h")):
        code, text = await command("report", config, *since, "--json", str(file))
        assert code == 0, text
        told = json.loads(file.read_text())
        start, uncertified = told["cautions"]
        assert start.startswith("The topic of certificates has lost its start, and so a part of this period")
        gone = len(published.records) - told["records"]["released"]
        assert uncertified.startswith(f"Of {gone:,} released records the certificate is gone")


async def test_a_report_tells_how_many_people_were_released_how_often(stage: Stage, tmp_path: Path) -> None:
    """Forty people come once, half of them again, and ten more often than allowed. Who reports has no key."""
    config = stage.config(privacy=returning(stage), window={"max_delay": "500ms"})
    sent: list[dict[str, Any]] = []
    with WorkerProcess(config) as worker:
        await worker.wait_for("assigned")
        for number, coming in enumerate((40, 20, 10, 10, 10)):
            visitors = [one for one in visits([number]) if one["person"] < coming]
            await send(stage, visitors)
            sent += visitors
            published = await wait_until_accounted(stage, len(sent))
    often = Counter(windows_of(published).values())
    assert max(often) == MOST
    (stage.folder / "returns.key").unlink()
    file, page = tmp_path / "report.json", tmp_path / "report.html"
    written = ("--json", str(file), "--html", str(page))
    code, text = await command("report", config, *written)
    assert code == 0, text
    told = json.loads(file.read_text())
    Draft202012Validator(json.loads((ROOT / "schemas" / "report.schema.json").read_text())).validate(told)
    assert told["returning"]["most"] == MOST
    assert told["returning"]["suppressed"] == 20
    found = told["returning"]["releases"]
    [period] = found["periods"]
    assert {one["releases"]: one["people"] for one in period["people"]} == often
    assert (period["keys"], found["unread"]) == (1, None)
    assert "People who return" in page.read_text()
    entries = await stage.kafka.read_to_end(f"{stage.output}.returns")
    assert not any(entry.value[17:25].hex() in page.read_text() + file.read_text() for entry in entries)
    async with AIOKafkaProducer(bootstrap_servers=stage.kafka.address) as producer:
        await producer.send_and_wait(f"{stage.output}.returns", b"no entry", partition=0)
    code, text = await command("report", config, *written)
    assert code == 0, text
    found = json.loads(file.read_text())["returning"]["releases"]
    assert found["periods"] == []
    assert "is not an entry of this version" in found["unread"]
