"""Brokers that create what a client asks for (Kafka's default): a topic that is missing stays missing."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import UnknownTopicOrPartitionError
from typer.testing import CliRunner

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.cli.main import app
from stream_anon.errors import BrokerError
from tests.support.apache_kafka import ApacheKafka
from tests.support.service import Stage, WorkerProcess

pytestmark = pytest.mark.kafka


@pytest.fixture
def missing(kafka: ApacheKafka, unique: str, tmp_path: Path) -> Stage:
    """Return a stage none of whose topics exists."""
    return Stage(kafka, unique, tmp_path)


async def _created(stage: Stage) -> set[str]:
    """Return the topics of a stage that exist.

    A client of aiokafka itself asks for a topic, which creates it a moment later. What was created before is there
    by then. Asking for all topics creates none.
    """
    canary = f"canary.{uuid.uuid4().hex}"
    client = AIOKafkaClient(bootstrap_servers=stage.kafka.address)
    try:
        await client.bootstrap()
        await client.set_topics([canary])
        assert canary in client._topics
        async with asyncio.timeout(30):
            while canary not in (there := (await client.fetch_all_metadata()).topics()):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return {topic for topic in there if topic.startswith(stage.name)}
    finally:
        await client.close()


@pytest.mark.parametrize("kind", [AIOKafkaConsumer, AIOKafkaProducer, AIOKafkaAdminClient, AIOKafkaClient])
async def test_no_kind_of_client_creates_what_it_asks_for(missing: Stage, kind: type) -> None:
    connection = Connection(missing.kafka.address, missing.name, transaction_timeout=1.0)
    made = connection.client(kind, "test")
    client = made if kind is AIOKafkaClient else getattr(made, "client", None) or made._client
    try:
        await (client.bootstrap() if made is client else made.start())
        await client.set_topics([missing.name])
        with pytest.raises(UnknownTopicOrPartitionError):
            await client._wait_on_metadata(missing.name)
        if kind is AIOKafkaAdminClient:
            assert [each["error_code"] for each in await made.describe_topics([missing.name])] == [3]
        if kind is AIOKafkaProducer:
            with pytest.raises(UnknownTopicOrPartitionError):
                await made.partitions_for(missing.name)
        if kind is AIOKafkaConsumer:
            made.subscribe([missing.name])
            assert await made.getmany(timeout_ms=300) == {}
        assert await _created(missing) == set()
        await missing.kafka.create_topic(missing.name, 2)
        assert await client._wait_on_metadata(missing.name) == {0, 1}, "it sees what others create"
    finally:
        await (client.close() if made is client or kind is AIOKafkaAdminClient else made.stop())


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("topics",), "--create creates what is missing"),
        (("topics", "--print"), "kafka-topics.sh"),
        (("check",), "A run must not start"),
        (("plan", "--rate", "10/s"), "there is no such topic"),
        (("leakage",), "there is no such topic"),
        (("negotiate",), "there is no such topic"),
        (("audit",), "does not exist"),
        (("forget", "--yes"), "does not exist"),
        (("realign", "--to-end", "--yes"), "does not exist"),
        (("realign", "--offset-syncs", "{name}.syncs", "--yes"), "does not exist"),
    ],
    ids=str,
)
async def test_no_command_creates_a_topic_by_looking_for_it(
    missing: Stage, command: tuple[str, ...], said: str
) -> None:
    name, *options = (word.format(name=missing.name) for word in command)
    arguments = [name, "-c", str(missing.config()), *options]
    done = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    assert await _created(missing) == set()
    assert said in f"{done.output}{done.exception}"


async def test_a_ledger_that_is_missing_is_not_created_by_opening_it(missing: Stage) -> None:
    ledger = KafkaLedger(Connection(missing.kafka.address, missing.name), f"{missing.name}.ledger")
    with pytest.raises(BrokerError, match="does not exist"):
        await ledger.open()
    assert await _created(missing) == set()


@pytest.mark.parametrize(("shadow", "then"), [(False, ("broker-away", 2)), (True, ("ready", 1))])
async def test_a_run_that_waits_for_its_topics_creates_none_of_them(
    missing: Stage, shadow: bool, then: tuple[str, int]
) -> None:
    options = ["--shadow", str(missing.folder / "shadow.jsonl")] if shadow else []
    with WorkerProcess(missing.config(), options=options) as worker:
        await worker.wait_for("broker-away")
        await asyncio.sleep(2)  # it tries again and again
        assert await _created(missing) == set()
        for topic in (missing.name, missing.output):  # now it asks for more
            await missing.kafka.create_topic(topic)
        await worker.wait_for(then[0], times=then[1])
        assert await _created(missing) == {missing.name, missing.output}
