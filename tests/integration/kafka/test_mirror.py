"""`stream-anon realign` behind a real MirrorMaker 2: the service goes on in cluster B, nothing is released twice."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from tests.support.apache_kafka import ApacheKafka
from tests.support.mirror_maker import IDENTITY, OFFSET_SYNCS, MirrorMaker
from tests.support.service import (
    PARTITIONS,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    read_published,
    wait_until_accounted,
)

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

RELEASED, WAITING, LATER = 600, 300, 400
_COPIED_WITHIN = 90.0


@pytest.fixture
def kafka_b(tmp_path: Path) -> Iterator[ApacheKafka]:
    """Return the broker of the new cluster."""
    with ApacheKafka(tmp_path / "broker-b") as broker:
        yield broker


async def test_a_service_goes_on_behind_a_mirror_and_releases_nothing_twice(
    stage: Stage, kafka_b: ApacheKafka, tmp_path: Path
) -> None:
    stage.folder.joinpath("B").mkdir()
    there = Stage(kafka_b, stage.name, stage.folder / "B")
    topics = [stage.name, stage.output, *(f"{stage.output}.{end}" for end in ("certificates", "ledger"))]
    values = make_records(RELEASED + WAITING + LATER, 1)
    with MirrorMaker(tmp_path / "mm2", stage.kafka, kafka_b, topics, IDENTITY):
        await _produce_in_transactions(stage, values[:RELEASED])
        with WorkerProcess(stage.config()) as worker:
            await wait_until_accounted(stage, RELEASED)
            worker.signal(signal.SIGTERM)
            assert await worker.ended(10) == 0
        await _produce_in_transactions(stage, values[RELEASED : RELEASED + WAITING])
        for topic in topics[:3]:
            await _until_copied(stage.kafka, kafka_b, topic)
    await kafka_b.create_topic(f"{stage.output}.dead-letters")

    # Without the command every partition stops: the ledger is of another topic.
    config = there.config()
    with WorkerProcess(config) as worker:
        await worker.wait_for("partition-stopped", times=PARTITIONS)
        assert {line["reason"] for line in worker.said("partition-stopped")} == {"recreated"}
        worker.signal(signal.SIGTERM)
        assert await worker.ended(10) == 0

    code, text = await _realign(config, "--offset-syncs", OFFSET_SYNCS, "--yes")
    assert code == 0, text
    starts = await _committed(there)
    left = await _lying_behind(there, starts)
    at_most = int(re.findall(r"([\d,]+) records at most are withheld", text)[0].replace(",", ""))
    assert WAITING - len(left) <= at_most
    assert len(left) <= WAITING, "a released record would be read again"

    await produce(there, values[RELEASED + WAITING :], seed=2)
    expected = RELEASED + len(left) + LATER
    with WorkerProcess(config) as worker:
        published = await wait_until_accounted(there, expected)
        assert not worker.said("partition-stopped")
    assert max(published.serials.values()) == 1
    assert sum(c["suppressed"] for c in published.certificates) + len(published.records) == expected
    code, text = await _realign(config, "--offset-syncs", OFFSET_SYNCS, "--yes")
    assert (code, "nothing to realign" in text) == (0, True), text
    check_published(await read_published(stage), RELEASED)


async def _produce_in_transactions(stage: Stage, values: list[bytes], size: int = 60) -> None:
    """Send records in transactions, every second one of which is aborted first: offsets of the copy are others."""
    producer = AIOKafkaProducer(bootstrap_servers=stage.kafka.address, transactional_id=f"{stage.name}.input")
    await producer.start()
    try:
        for begin in range(0, len(values), size):
            for abort in (True, False) if begin % (2 * size) else (False,):
                await producer.begin_transaction()
                for n, value in enumerate(values[begin : begin + size]):
                    await producer.send(stage.name, value, partition=n % PARTITIONS)
                await (producer.abort_transaction() if abort else producer.commit_transaction())
    finally:
        await producer.stop()


async def _until_copied(source: ApacheKafka, target: ApacheKafka, topic: str) -> None:
    count = len(await source.read_to_end(topic))
    deadline = time.monotonic() + _COPIED_WITHIN
    copied = 0
    while time.monotonic() < deadline:
        try:
            copied = len(await target.read_to_end(topic))
        except (KafkaError, ValueError):  # not created yet
            copied = 0
        if copied >= count:
            assert copied == count, f"{topic}: {copied} of {count} records were copied"
            return
        await asyncio.sleep(0.5)
    raise AssertionError(f"{topic}: {copied} of {count} records were copied in {_COPIED_WITHIN:g} s")


async def _committed(stage: Stage) -> dict[int, int]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=stage.kafka.address, group_id=stage.name, enable_auto_commit=False
    )
    await consumer.start()
    try:
        return {n: await consumer.committed(TopicPartition(stage.name, n)) for n in range(PARTITIONS)}
    finally:
        await consumer.stop()


async def _lying_behind(stage: Stage, starts: dict[int, int]) -> list[ConsumerRecord]:
    """Return the records that the service will read, having checked that there is an offset for each partition."""
    found: dict[int, list[ConsumerRecord]] = defaultdict(list)
    for record in await stage.kafka.read_to_end(stage.name):
        if record.offset >= starts[record.partition]:
            found[record.partition].append(record)
    return [record for records in found.values() for record in records]


async def _realign(config: Path, *arguments: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "stream_anon.cli.main", "realign", "--config", str(config), *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"COLUMNS": "200", "PYTHONPATH": ":".join(sys.path)},
    )
    text, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, text.decode()
