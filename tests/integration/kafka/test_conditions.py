"""`run` refuses what `check` forbids, on a real Kafka; accepted risks are in every certificate."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from stream_anon.adapters.kafka.bulk.batch_head import AFTER_LENGTH, HEAD, MARKERS, BatchHead
from tests.support.plain_kafka import admin_of
from tests.support.service import (
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

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


def _misspelt(stage: Stage, **kafka: Any) -> Path:
    """Return settings with a declared field that no record has."""
    path = stage.config(kafka=kafka)
    document = yaml.safe_load(path.read_text())
    document["attributes"]["agee"] = document["attributes"].pop("age")
    path.write_text(yaml.safe_dump(document))
    return path


async def test_a_field_that_never_comes_is_not_published_though_the_input_was_empty_at_the_start(
    stage: Stage,
) -> None:
    with WorkerProcess(_misspelt(stage)) as worker:
        await worker.wait_for("ready")
        await produce(stage, make_records(1000, 1))
        assert await worker.ended(60) == 1
        (line,) = worker.said("window-withheld")
        assert (line["attributes"], line["level"]) == (["agee"], "error")
        assert "missing-field: attributes.agee: none of " in worker.text
        assert "--accept-risk missing-field" in worker.text
        assert "Traceback" not in worker.text
    assert await stage.kafka.read_to_end(stage.output, isolation="read_uncommitted") == []
    assert await _certificates(stage) == []

    with WorkerProcess(_misspelt(stage)) as again:  # now a sample tells, and what resembles the field
        assert await again.ended(60) == 1
        assert "missing-field: attributes.agee: none of 1,000 sampled records" in again.text
        assert not again.said("ready")

    with WorkerProcess(stage.config()) as mended:
        published = await wait_until_accounted(stage, 1000)
        assert mended.code is None
    check_published(published, 1000)
    assert {record["age"] is None for _, record in published.records} == {False}


@pytest.mark.soak
async def test_a_fleet_whose_first_window_lacks_a_field_ends_and_says_so(stage: Stage) -> None:
    with WorkerProcess(_misspelt(stage), workers=2) as fleet:
        await fleet.wait_for("taken-over", times=2)
        await produce(stage, make_records(1000, 1))
        assert await fleet.ended(60) == 1
        assert fleet.said("window-withheld")
        assert "missing-field: attributes.agee" in fleet.text
    assert await stage.kafka.read_to_end(stage.output) == []


async def test_a_field_that_never_comes_is_published_as_null_where_that_was_accepted(stage: Stage) -> None:
    with WorkerProcess(_misspelt(stage, accept_risks=["missing-field"])) as worker:
        await worker.wait_for("ready")
        await produce(stage, make_records(400, 1))
        published = await wait_until_accounted(stage, 400)
    assert {record["agee"] for _, record in published.records} == {None}
    assert all(each["accepted"] == ["missing-field"] for each in published.certificates)


async def test_after_the_last_day_of_a_release_no_run_starts_and_audits_go_on(
    stage: Stage,
) -> None:
    def stated(day: str, **kafka: Any) -> Path:
        return stage.config(kafka=kafka, release={"owner": "dpo@example.org", "valid_until": day})

    await produce(stage, make_records(400, 1))
    with WorkerProcess(stated("2999-12-31")):
        await wait_until_accounted(stage, 400)
    documents = [json.loads(r.value) for r in await stage.kafka.read_to_end(f"{stage.output}.certificates")]
    texts = [json.loads(each["text"]) for each in documents if "text" in each]
    assert [text["release"]["owner"] for text in texts] == ["dpo@example.org"]

    over = stated("2020-02-29")
    with WorkerProcess(over) as refused:
        assert await refused.ended(60) == 1
        assert "release-expired: release.valid_until: was 2020-02-29" in refused.text
        assert "dpo" not in refused.text
    command = [sys.executable, "-m", "stream_anon.cli.main"]
    for name, code in (("check", 1), ("audit", 0)):
        told = await asyncio.to_thread(
            subprocess.run, [*command, name, "--config", str(over)], capture_output=True, timeout=120
        )
        assert told.returncode == code, told.stdout

    await produce(stage, make_records(400, 1, first=400))
    with WorkerProcess(stated("2020-02-29", accept_risks=["release-expired"])):
        await wait_until_accounted(stage, 800)
    read = {True: 0, False: 0}
    for each in await _certificates(stage):
        read[each["accepted"] == ["release-expired"]] += each["in"]
    assert read == {True: 400, False: 400}


async def _stamped_by_brokers(stage: Stage, topic: str, kind: str) -> None:
    """Say who puts the time on a topic's records: `LogAppendTime` or `CreateTime`."""
    async with admin_of(stage.kafka.address) as admin:
        change = ConfigResource(ConfigResourceType.TOPIC, topic, {"message.timestamp.type": kind})
        await admin.alter_configs([change])


def _batches(stage: Stage, topic: str) -> Iterator[tuple[bool, int]]:
    """Yield of each batch in a topic's log whether it is a marker, and its time in milliseconds."""
    for segment in sorted((stage.kafka.folder / "data").glob(f"{topic}-[0-9]*/*.log")):
        data, at = segment.read_bytes(), 0
        while at + HEAD <= len(data):
            head = BatchHead.at(data, at)
            if not head.length:
                break  # the rest of the file is reserved, and empty
            yield bool(head.attributes & MARKERS), head.largest_time
            at += AFTER_LENGTH + head.length


@pytest.mark.soak
async def test_an_output_on_whose_records_the_brokers_put_the_time_is_refused_by_name(stage: Stage) -> None:
    await produce(stage, make_records(1000, 1))
    await _stamped_by_brokers(stage, stage.output, "LogAppendTime")
    asked = [sys.executable, "-m", "stream_anon.cli.main", "check", "--json", "--config", str(stage.config())]
    told = await asyncio.to_thread(subprocess.run, asked, capture_output=True, timeout=120)
    report = json.loads(told.stdout)
    forbidding = [f for f in report["findings"] if f["severity"] == "forbids"]
    assert (told.returncode, [f["condition"] for f in forbidding]) == (1, ["append-time"])
    with WorkerProcess(stage.config()) as refused:
        assert await refused.ended(60) == 1
        assert f"append-time: {stage.output}: message.timestamp.type is LogAppendTime" in refused.text
    assert await stage.kafka.read_to_end(stage.output) == []

    # The same on the controller's topics forbids nothing: the controller knows the time anyway.
    await _stamped_by_brokers(stage, stage.output, "CreateTime")
    await _stamped_by_brokers(stage, f"{stage.output}.certificates", "LogAppendTime")
    await _stamped_by_brokers(stage, f"{stage.output}.dead-letters", "LogAppendTime")
    with WorkerProcess(stage.config()):
        await wait_until_accounted(stage, 1000)


async def test_records_carry_the_second_and_the_brokers_markers_of_their_transactions_the_millisecond(
    stage: Stage,
) -> None:
    """What docs/explain/privacy.md says of commit markers."""
    await produce(stage, make_records(2000, 1))
    with WorkerProcess(stage.config()):
        await wait_until_accounted(stage, 2000)
    batches = list(_batches(stage, stage.output))
    records = [time for is_marker, time in batches if not is_marker]
    markers = [time for is_marker, time in batches if is_marker]
    assert records
    assert all(time % 1000 == 0 for time in records)
    assert any(time % 1000 for time in markers)
