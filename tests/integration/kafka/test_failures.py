"""What breaks at the broker while a worker runs: it recovers or says why not, and never stalls in silence."""

from __future__ import annotations

import asyncio
import resource
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.adapters.kafka.topics.permissions import Acl, Operation, Resource, least_privileges
from stream_anon.adapters.kafka.writing.transactional_producer import TransactionalProducer
from stream_anon.errors import BrokerError
from stream_anon.ports import Parcel
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka.secured import PASSWORD, USER, SecuredKafka
from tests.support.plain_kafka import admin_of, delete_topic
from tests.support.service import (
    AT_THE_LATEST,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka
WITHIN = AT_THE_LATEST


@pytest.fixture
async def stage(secured: SecuredKafka, unique: str, tmp_path: Path) -> Stage:
    stage = Stage(secured, unique, tmp_path)
    await stage.create_topics()
    return stage


async def _until(holds: Callable[[], bool], what: str, within: float = WITHIN) -> None:
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, f"not within {within:g} s: {what}"
        await asyncio.sleep(0.1)


async def _stays(holds: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert holds(), f"does not stay: {what}"
        await asyncio.sleep(0.1)


def _unready(worker: WorkerProcess, *words: str) -> Callable[[], bool]:
    def holds() -> bool:
        code, reason = worker.get("/readyz")
        return code == 503 and all(word in reason for word in words)

    return holds


def _ready(worker: WorkerProcess) -> Callable[[], bool]:
    return lambda: worker.get("/readyz")[0] == 200


def _most_lines_a_second(worker: WorkerProcess) -> int:
    return max(Counter(line["timestamp"][:19] for line in worker.lines).values())


LOST = {
    "reading the input": (Resource.TOPIC, "{}", Operation.READ),
    "reading the input that it sees": (Resource.TOPIC, "{}", Operation.READ),
    "writing the output": (Resource.TOPIC, "{}.out", Operation.WRITE),
    "writing the ledger": (Resource.TOPIC, "{}.out.ledger", Operation.WRITE),
    "being in the group": (Resource.GROUP, "{}", Operation.READ),
    "the transactional ids": (Resource.TRANSACTIONAL_ID, "{}-", Operation.WRITE),
}


@pytest.mark.soak
async def test_lost_right_is_told_and_the_worker_goes_on_once_it_is_back(
    stage: Stage, secured: SecuredKafka
) -> None:
    out = stage.output
    topics = Topics(InputTopics((stage.name,)), out, f"{out}.certificates", f"{out}.dead-letters", f"{out}.ledger")
    needed = least_privileges(stage.name, topics, (stage.name,))
    await secured.allow(needed)
    security = {
        "protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "username": USER,
        "password": PASSWORD,
        "ca_file": str(secured.authority.certificate),
    }
    config = stage.config(kafka={"bootstrap_servers": secured.at("SASL"), "security": security})
    with WorkerProcess(config) as worker:
        await worker.wait_for("ready")
        for turn, (right, (resource, name, operation)) in enumerate(LOST.items()):
            what = (resource, name.format(stage.name), operation)
            (lost,) = (acl for acl in needed if (acl.resource, acl.name, acl.operation) == what)
            if "sees" in right:
                await secured.allow([Acl(Resource.TOPIC, stage.name, Operation.DESCRIBE)])
            await secured.forbid([lost])
            await produce(stage, make_records(200, turn, first=200 * turn))
            await _until(_unready(worker, "uthoriz"), f"unready without {right}, and the reason is named")
            assert "stream_anon_ready 0" in worker.get("/metrics")[1]
            await _stays(_unready(worker), 2.5, f"unready without {right}")
            await secured.allow([lost])
            check_published(await wait_until_accounted(stage, 200 * turn + 200), 200 * turn + 200)
            await _until(_ready(worker), f"ready again with {right}")
        assert _most_lines_a_second(worker) < 20
        assert PASSWORD not in worker.text


async def _configure(kafka: SecuredKafka, topic: str, **settings: str) -> None:
    async with admin_of(kafka.address) as admin:
        configs = {key.replace("_", "."): value for key, value in settings.items()}
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=configs)])


async def test_record_too_large_for_the_output_is_explained_and_tried_again(
    stage: Stage, secured: SecuredKafka
) -> None:
    # Batches of a few records are too large first: those are made smaller, and nobody is needed for it.
    await _configure(secured, stage.output, max_message_bytes="1000")
    # Time enough for a slow machine, which would be told to raise it.
    with WorkerProcess(stage.config(kafka={"transaction_timeout": "30s"})) as worker:
        await worker.wait_for("ready")
        await produce(stage, make_records(300, 1))
        check_published(await wait_until_accounted(stage, 300), 300)
        await _until(_ready(worker), "ready with smaller batches")
        # A single record is too large: somebody must decide.
        await _configure(secured, stage.output, max_message_bytes="80")
        await produce(stage, make_records(300, 2, first=300))
        await _until(
            _unready(worker, f"{stage.output}: a single record", "max.message.bytes"),
            "the topic is named",
            within=300,
        )
        assert "stream_anon_ready 0" in worker.get("/metrics")[1]
        assert "raise kafka.transaction_timeout" not in worker.text
        await _configure(secured, stage.output, max_message_bytes="1048576")
        check_published(await wait_until_accounted(stage, 600), 600)
        await _until(_ready(worker), "ready when the limit was raised")
        assert _most_lines_a_second(worker) < 20


async def test_deleted_output_costs_no_window_once_it_is_back(stage: Stage, secured: SecuredKafka) -> None:
    with WorkerProcess(stage.config()) as worker:
        await worker.wait_for("ready")
        await produce(stage, make_records(300, 1))
        old = {c["batch"] for c in (await wait_until_accounted(stage, 300)).certificates}
        await delete_topic(secured.address, stage.output)
        await produce(stage, make_records(300, 2, first=300))
        await _until(_unready(worker, f"{stage.output}: does not exist"), "the topic is named")
        # With fewer partitions than before.
        await secured.create_topic(stage.output, 1)
        new = await wait_until_accounted(stage, 600)
        await _until(_ready(worker), "ready when the output is back")
        assert len(new.records) == sum(c["released"] for c in new.certificates if c["batch"] not in old)
        assert max(new.serials.values()) == 1
        assert min(new.serials) >= 300


@pytest.mark.soak
async def test_worker_goes_on_after_the_broker_forgot_its_producer(stage: Stage) -> None:
    # The broker forgets a producer that is idle for five seconds.
    with WorkerProcess(stage.config()) as worker:
        await worker.wait_for("ready")
        await produce(stage, make_records(300, 1))
        await wait_until_accounted(stage, 300)
        await asyncio.sleep(8)
        await produce(stage, make_records(300, 2, first=300))
        check_published(await wait_until_accounted(stage, 600), 600)
        assert worker.said("commit-uncertain"), "it was not forgotten: this proves nothing"
        await _until(_ready(worker), "ready again")


async def test_a_dead_sender_ends_the_transaction_within_its_time(
    secured: SecuredKafka, stage: Stage, unique: str
) -> None:
    sink = TransactionalProducer(Connection(secured.address, unique, transaction_timeout=15.0))
    try:
        await sink.open()
        producer = sink._producer
        assert producer is not None
        producer._sender.sender_task.cancel()
        begun = time.monotonic()
        await sink.begin()
        await sink.send([Parcel(stage.output, 0, [b"a"], 1000)])
        with pytest.raises(BrokerError):  # by the step's own deadline: nobody else would end it
            await sink.settle()
        assert time.monotonic() - begun < 15
        await sink.discard()
        await sink.open()
        await sink.begin()
        await sink.send([Parcel(stage.output, 0, [b"b"], 1000)])
        await sink.settle()
        await sink.commit()
    finally:
        await sink.discard()
    assert [record.value for record in await secured.read_to_end(stage.output)] == [b"b"]


@pytest.mark.soak
async def test_full_disk_of_the_broker_is_survived_and_told_in_few_lines(
    stage: Stage, secured: SecuredKafka
) -> None:
    with WorkerProcess(stage.config()) as worker:
        await worker.wait_for("ready")
        await produce(stage, make_records(300, 1))
        await wait_until_accounted(stage, 300)
        # No file may grow beyond its first KiB: to the broker as if the disk were full, and it gives up.
        assert secured.pid is not None
        resource.prlimit(secured.pid, resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
        await asyncio.to_thread(secured.wait_until_gone, WITHIN)
        begun = len(worker.lines)
        await _until(_unready(worker), "unready")
        await asyncio.sleep(5)
        told = Counter(line["timestamp"][:19] for line in worker.lines[begun:])
        assert max(told.values(), default=0) < 10
        assert "stream_anon_broker_reachable 0" in worker.get("/metrics")[1]
        await asyncio.to_thread(secured.start)
        await produce(stage, make_records(300, 2, first=300))
        check_published(await wait_until_accounted(stage, 600), 600)
        await _until(_ready(worker), "ready again")
