"""What holds a worker up from outside is named, on a real Kafka: a stranger's transaction, and quotas."""

from __future__ import annotations

import asyncio
import json
import re
import time

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.entry_format import key_of, value_of
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.errors import BrokerError
from stream_anon.ports import LedgerEntry
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import ApacheKafka
from tests.support.service import (
    AT_THE_LATEST,
    PARTITIONS,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    read_published,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka
SENT = 400
QUOTA = 20_000  # bytes a second


def _held(worker: WorkerProcess) -> float:
    found = re.search(r"^stream_anon_ledger_held_seconds (\S+)$", worker.get("/metrics")[1], re.MULTILINE)
    assert found is not None
    return float(found[1])


@pytest.mark.soak
async def test_a_strangers_open_transaction_on_the_ledger_is_named_while_it_holds_windows_back(
    stage: Stage,
) -> None:
    await produce(stage, make_records(SENT, 1))
    stranger = AIOKafkaProducer(
        bootstrap_servers=stage.kafka.address,
        transactional_id=f"{stage.name}-strange",
        transaction_timeout_ms=600_000,
    )
    with WorkerProcess(stage.config()) as worker:
        await wait_until_accounted(stage, SENT)
        assert worker.said("ledger-held") == []
        await stranger.start()
        try:
            await stranger.begin_transaction()
            for partition in range(PARTITIONS):  # they may be of who released the same records
                entry, key = value_of(LedgerEntry(10**9)), key_of((stage.name, partition))
                await stranger.send_and_wait(f"{stage.output}.ledger", entry, key=key, partition=0)
            await produce(stage, make_records(SENT, 2, SENT))
            told = await worker.wait_for("ledger-held")
            assert (told["level"], told["topic"]) == ("error", f"{stage.output}.ledger")
            assert told["seconds"] >= 12, "three transactions of a worker, which may last four seconds each"
            assert _held(worker) >= 12
            warnings = json.loads(worker.get("/status", "admin")[1])["warnings"]
            assert any("somebody's open transaction" in text for text in warnings)
            assert (await read_published(stage)).accounted == SENT, "nothing is released while it is not decided"
            await stranger.abort_transaction()
        finally:
            await stranger.stop()
        check_published(await wait_until_accounted(stage, 2 * SENT), 2 * SENT)
        deadline = time.monotonic() + AT_THE_LATEST
        while _held(worker):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)
        assert len(worker.said("ledger-held")) == 1, "it is said once, and again only after minutes"


async def test_brokers_that_hold_a_client_back_by_a_quota_are_heard(kafka: ApacheKafka, unique: str) -> None:
    await kafka.create_topic(unique, 1)
    quota = ("--alter", "--add-config", f"consumer_byte_rate={QUOTA}", "--entity-type", "clients")
    name = f"{unique}-source"
    await kafka.tool("kafka.admin.ConfigCommand", *quota, "--entity-name", name)
    plain = AIOKafkaProducer(bootstrap_servers=kafka.address)
    await plain.start()
    connections = [Connection(kafka.address, group, session_timeout=60.0) for group in (unique, f"{unique}.free")]
    sources = [KafkaSource(connection, InputTopics((unique,))) for connection in connections]
    try:
        for _ in range(100):
            await plain.send_and_wait(unique, bytes(4000), partition=0)
        for source in sources:
            await source.start()
            while not source.assigned:
                await source.moved(source.marks, 1.0)
            source.seek(0, 0)
            source.resume([0])
        async with asyncio.timeout(AT_THE_LATEST):
            read = [0, 0]
            while not connections[0].throttling.seconds or read[1] < 100:
                for number, source in enumerate(sources):
                    polled = await source.poll(0.2, 1000)
                    read[number] += sum(len(chunk.offsets) for chunk in polled.chunks)
        assert connections[1].throttling.seconds == 0, "a client that no quota is for"
    finally:
        await asyncio.gather(plain.stop(), *(source.stop(2) for source in sources))


async def test_a_stranger_in_the_group_is_named_with_what_to_do(stage: Stage) -> None:
    # Its one way of assigning partitions is none of ours.
    stranger = AIOKafkaConsumer(
        stage.name,
        bootstrap_servers=stage.kafka.address,
        group_id=stage.name,
        partition_assignment_strategy=(RoundRobinPartitionAssignor,),
    )
    await stranger.start()
    source = KafkaSource(Connection(stage.kafka.address, stage.name), InputTopics((stage.name,)))
    try:
        with pytest.raises(BrokerError, match=r"kafka\.group has a member that is not a worker"):
            await source.start()
    finally:
        await source.stop(1.0)
        await stranger.stop()
