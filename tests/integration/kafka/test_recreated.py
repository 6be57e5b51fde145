"""Topics that are deleted on a real Kafka, under a running worker and while there is none."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from stream_anon.judging.findings import Severity
from stream_anon.operations.check.checking import examine_deployment
from tests.support.plain_kafka import delete_topic
from tests.support.service import (
    PARTITIONS,
    Stage,
    WorkerProcess,
    make_records,
    produce,
    read_published,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka

SENT = 800
AGAIN = 3000


async def _recreate_input(stage: Stage) -> None:
    await delete_topic(stage.kafka.address, stage.name)
    await stage.kafka.create_topic(stage.name, PARTITIONS)
    await produce(stage, make_records(AGAIN, 2, SENT))


async def _leave(worker: WorkerProcess) -> None:
    worker.signal(signal.SIGTERM)
    assert await worker.ended(10) == 0


async def _run(command: str, config: Path, *arguments: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "stream_anon.cli.main", command, "--config", str(config), *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    text, _ = await process.communicate()
    return process.returncode, " ".join(text.decode().split())


async def _command(config: Path, *arguments: str) -> tuple[int | None, str]:
    return await _run("forget", config, *arguments)


@pytest.mark.parametrize(
    "running",
    [
        pytest.param(True, id="under a running worker"),
        pytest.param(False, id="while there is none", marks=pytest.mark.soak),
    ],
)
async def test_a_recreated_input_stops_and_all_of_it_is_released_once_after_the_command(
    stage: Stage, running: bool
) -> None:
    await produce(stage, make_records(SENT, 1))
    config = stage.config()
    with WorkerProcess(config) as worker:
        await wait_until_accounted(stage, SENT)
        if running:
            await _recreate_input(stage)
            await worker.wait_for("partition-stopped", times=PARTITIONS)
        await _leave(worker)
    if not running:
        await _recreate_input(stage)
    with WorkerProcess(config) as worker:
        await worker.wait_for("partition-stopped", times=PARTITIONS)
        assert {line["reason"] for line in worker.said("partition-stopped")} == {"recreated"}
        await _leave(worker)
    assert (await read_published(stage)).accounted == SENT

    code, text = await _command(config, "--yes", "--recreated")
    assert code == 0, text
    assert f"{PARTITIONS} partitions begin anew" in text
    with WorkerProcess(config) as worker:
        published = await wait_until_accounted(stage, SENT + AGAIN)
        assert not worker.said("partition-stopped")
        await _leave(worker)
    assert max(published.serials.values()) == 1
    assert sum(c["released"] for c in published.certificates if c["part"] == 1) == len(published.records)
    code, text = await _command(config, "--recreated")
    assert (code, "no topic was created anew" in text) == (0, True), text
    code, text = await _run("audit", config, "--json")
    report = json.loads(text)
    assert (code, report["kinds"]) == (0, {})
    old, new = report["inputs"]
    assert old["topic"] == new["topic"] == stage.name
    assert old["topic_id"] != new["topic_id"]
    assert old["windows"] + new["windows"] == report["counts"]["windows"]


@pytest.mark.soak
async def test_a_ledger_that_is_deleted_under_a_worker_is_named_and_made_anew_and_releases_go_on(
    stage: Stage,
) -> None:
    await produce(stage, make_records(SENT, 1))
    with WorkerProcess(stage.config()) as worker:
        await wait_until_accounted(stage, SENT)
        await delete_topic(stage.kafka.address, f"{stage.output}.ledger")
        await worker.wait_for("ledger-created", times=2, within=30)
        assert any("out.ledger does not exist" in line["error"] for line in worker.said("broker-away"))
        await worker.wait_for("ledger-entry-missing", within=30)  # what the new one does not hold is said
        await produce(stage, make_records(SENT, 2, SENT))
        published = await wait_until_accounted(stage, 2 * SENT)
        assert max(published.serials.values()) == 1
        await _leave(worker)
    with WorkerProcess(stage.config()) as worker:
        await worker.wait_for("taken-over")
        await produce(stage, make_records(SENT, 3, 2 * SENT))
        published = await wait_until_accounted(stage, 3 * SENT)
        assert max(published.serials.values()) == 1


async def _forge(stage: Stage, following: int) -> None:
    async with AIOKafkaProducer(bootstrap_servers=stage.kafka.address) as producer:
        key, value = f'["{stage.name}",1]'.encode(), f'{{"schema":2,"next":{following}}}'.encode()
        await producer.send_and_wait(f"{stage.output}.ledger", value, key=key, partition=0)


@pytest.mark.soak
async def test_a_forged_entry_is_named_and_forgotten_and_nothing_is_released_twice(stage: Stage) -> None:
    await produce(stage, make_records(SENT, 1))
    config = stage.config()
    with WorkerProcess(config) as worker:
        await wait_until_accounted(stage, SENT)
        await _leave(worker)
    await _forge(stage, 99_999_999)
    with WorkerProcess(config) as worker:
        line = await worker.wait_for("partition-stopped")
        assert (line["partition"], line["reason"]) == (1, "unbacked")
        await _leave(worker)
    code, text = await _command(config, "--yes")
    assert code == 0, text
    assert "newest certificate" in text
    await produce(stage, make_records(SENT, 2, SENT))
    with WorkerProcess(config) as worker:
        published = await wait_until_accounted(stage, 2 * SENT)
        assert not worker.said("partition-stopped")
        await _leave(worker)
    assert max(published.serials.values()) == 1


@pytest.mark.soak
async def test_a_ledger_that_was_deleted_at_rest_with_the_offsets_lets_nothing_out_again(stage: Stage) -> None:
    await produce(stage, make_records(SENT, 1))
    config = stage.config()
    with WorkerProcess(config) as worker:
        await wait_until_accounted(stage, SENT)
        await _leave(worker)
    assert not (await examine_deployment(config)).forbids
    await delete_topic(stage.kafka.address, f"{stage.output}.ledger")
    report = await examine_deployment(config)
    assert [f.place for f in report.findings if f.severity is Severity.FORBIDS] == [f"{stage.output}.ledger"]
    other = stage.config(kafka={"group": f"{stage.name}.other"})  # a group without offsets
    for _ in range(2):  # the second finds what the first has marked
        with WorkerProcess(other) as worker:
            await worker.wait_for("partition-stopped", times=PARTITIONS)
            assert {line["reason"] for line in worker.said("partition-stopped")} == {"unrecorded"}
            await _leave(worker)
    assert (await read_published(stage)).accounted == SENT


async def test_a_ledger_whose_entries_may_expire_is_refused_by_name(stage: Stage) -> None:
    await stage.kafka.create_topic(f"{stage.output}.ledger", 1, cleanup_policy="compact,delete")
    with WorkerProcess(stage.config()) as worker:
        assert await worker.ended(60) == 1
        assert "ledger-cleanup" in worker.text
        assert "cleanup.policy is compact,delete and must be compact, without delete" in worker.text
