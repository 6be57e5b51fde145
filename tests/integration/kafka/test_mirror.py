"""`stream-anon realign` behind a real MirrorMaker 2: the service goes on in cluster B."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from tests.support.apache_kafka import ApacheKafka
from tests.support.mirror_maker import EXACTLY_ONCE, IDENTITY, OFFSET_SYNCS, MirrorMaker
from tests.support.service import (
    PARTITIONS,
    Stage,
    WorkerProcess,
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


@pytest.mark.parametrize(("alias", "exactly_once"), [(None, False), ("A", False), ("A", True)])
async def test_a_service_goes_on_behind_a_mirror_and_releases_nothing_twice(
    stage: Stage, kafka_b: ApacheKafka, tmp_path: Path, alias: str | None, exactly_once: bool
) -> None:
    stage.folder.joinpath("B").mkdir()
    there = Stage(kafka_b, stage.name, stage.folder / "B")
    topics = [stage.name, stage.output, *(f"{stage.output}.{end}" for end in ("certificates", "ledger"))]
    copied = stage.name if alias is None else f"{alias}.{stage.name}"
    values = make_records(RELEASED + WAITING + LATER, 1)
    properties = (IDENTITY if alias is None else {}) | (EXACTLY_ONCE if exactly_once else {})
    with MirrorMaker(tmp_path / "mm2", stage.kafka, kafka_b, topics, properties):
        await _produce_in_transactions(stage, values[:RELEASED])
        with WorkerProcess(stage.config()) as worker:
            await wait_until_accounted(stage, RELEASED)
            worker.signal(signal.SIGTERM)
            assert await worker.ended(10) == 0
        await _produce_in_transactions(stage, values[RELEASED : RELEASED + WAITING])
        for topic in topics[:3]:
            await _until_copied(stage.kafka, topic, kafka_b, topic if alias is None else f"{alias}.{topic}")
    config = there.config(kafka={"input": copied})
    own = [f"{there.output}.dead-letters"]
    own += [] if alias is None else [there.output, f"{there.output}.certificates"]
    for topic in own:
        await kafka_b.create_topic(topic)

    if alias is None:  # without the command every partition stops: the ledger is of another topic
        with WorkerProcess(config) as worker:
            await worker.wait_for("partition-stopped", times=PARTITIONS)
            assert {line["reason"] for line in worker.said("partition-stopped")} == {"recreated"}
            worker.signal(signal.SIGTERM)
            assert await worker.ended(10) == 0

    # An exactly-once mirror copies in transactions, whose markers take offsets.
    assert await _has_gaps(kafka_b, copied) == exactly_once
    code, text = await _realign(config, "--offset-syncs", "elsewhere", "--yes")
    assert (code, "offset-syncs.topic.location" in text) == (3, True), text
    arguments = ["--offset-syncs", OFFSET_SYNCS, *([] if alias is None else ["--source-alias", alias]), "--yes"]
    arguments += ["--exactly-once-mirror"] if exactly_once else []
    code, text = await _realign(config, *arguments)
    assert code == 0, text
    left = await _behind(there, copied)
    assert min(left, default=RELEASED) >= RELEASED, "a released record would be read again"
    at_most = int(re.findall(r"([\d,]+) records at most are withheld", text)[0].replace(",", ""))
    assert WAITING - len(left) <= at_most

    await produce(there, values[RELEASED + WAITING :], seed=2, topic=copied)
    expected = len(left) + LATER + (RELEASED if alias is None else 0)  # the mirrored output is that of A
    with WorkerProcess(config) as worker:
        published = await wait_until_accounted(there, expected)
        assert not worker.said("partition-stopped")
    released = (await read_published(stage)).serials
    assert max(published.serials.values()) == 1
    assert alias is None or not released.keys() & published.serials.keys()
    assert sum(c["suppressed"] for c in published.certificates) + len(published.records) == expected
    code, text = await _realign(config, *arguments)
    assert (code, "nothing to realign" in text) == (0, True), text


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


async def _until_copied(source: ApacheKafka, topic: str, target: ApacheKafka, copy: str) -> None:
    count = len(await source.read_to_end(topic))
    deadline = time.monotonic() + _COPIED_WITHIN
    copied = 0
    while time.monotonic() < deadline:
        try:
            copied = len(await target.read_to_end(copy))
        except (KafkaError, ValueError):  # not created yet
            copied = 0
        if copied >= count:
            assert copied == count, f"{topic}: {copied} of {count} records were copied"
            return
        await asyncio.sleep(0.5)
    raise AssertionError(f"{topic}: {copied} of {count} records were copied in {_COPIED_WITHIN:g} s")


async def _has_gaps(kafka: ApacheKafka, topic: str) -> bool:
    """Return whether there are offsets without a record."""
    offsets = [(record.partition, record.offset) for record in await kafka.read_to_end(topic)]
    return any((partition, offset - 1) not in offsets for partition, offset in offsets if offset)


async def _behind(stage: Stage, topic: str) -> list[int]:
    """Return the serial numbers of the records that the service will read, from its group's offsets on."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=stage.kafka.address, group_id=stage.name, enable_auto_commit=False
    )
    await consumer.start()
    try:
        starts = {n: await consumer.committed(TopicPartition(topic, n)) for n in range(PARTITIONS)}
    finally:
        await consumer.stop()
    records = await stage.kafka.read_to_end(topic)
    return [json.loads(each.value)["serial"] for each in records if each.offset >= starts[each.partition]]


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
