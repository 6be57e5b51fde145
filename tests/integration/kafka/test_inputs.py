"""Several input topics, topics and partitions that come later, and what a rebalance costs, on a real Kafka."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka.admin import NewPartitions
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.source import KafkaSource
from stream_anon.operations.check.checking import examine_deployment
from stream_anon.ports.input_topics import InputTopics
from tests.support.apache_kafka import ApacheKafka
from tests.support.plain_kafka import admin_of
from tests.support.service import (
    PARTITIONS,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka


async def _add_partitions(kafka: ApacheKafka, topic: str, total: int) -> None:
    async with admin_of(kafka.address) as admin:
        await admin.create_partitions({topic: NewPartitions(total)})


@pytest.mark.soak
async def test_topics_and_partitions_that_come_later_are_read_from_their_starts(stage: Stage) -> None:
    north, south, east = (f"{stage.name}.in.{where}" for where in ("north", "south", "east"))
    for topic in (north, south):
        await stage.kafka.create_topic(topic, 1)
    config = stage.config(kafka={"input": {"pattern": f"{stage.name}\\.in\\..*"}})
    await produce(stage, make_records(400, 1), topic=north, partitions=1)
    await produce(stage, make_records(400, 2, first=400), topic=south, partitions=1)
    with WorkerProcess(config) as worker:
        await worker.wait_for("ready")
        await wait_until_accounted(stage, 800)
        # Written before the worker knows of them: they are read from their starts.
        await stage.kafka.create_topic(east, 2)
        await produce(stage, make_records(400, 3, first=800), topic=east, partitions=2)
        await _add_partitions(stage.kafka, north, 3)
        await produce(stage, make_records(400, 4, first=1200), topic=north, partitions=3)
        published = await wait_until_accounted(stage, 1600)
        check_published(published, 1600)
        read = {(part["topic"], part["partition"]) for c in published.certificates for part in c["inputs"]}
        assert read == {(north, 0), (north, 1), (north, 2), (south, 0), (east, 0), (east, 1)}


async def test_both_of_two_named_topics_are_read(stage: Stage) -> None:
    other = f"{stage.name}.other"
    await stage.kafka.create_topic(other, 2)
    await produce(stage, make_records(300, 1))
    await produce(stage, make_records(300, 2, first=300), topic=other, partitions=2)
    config = stage.config(kafka={"input": [stage.name, other]})
    with WorkerProcess(config) as first, WorkerProcess(config) as second:
        await first.wait_for("ready")
        await second.wait_for("ready")
        await produce(stage, make_records(300, 3, first=600), topic=other, partitions=2)
        check_published(await wait_until_accounted(stage, 900), 900)


async def test_missing_topic_is_told_and_waited_for(stage: Stage) -> None:
    config = stage.config(kafka={"input": {"pattern": f"{stage.name}\\.later"}})
    with WorkerProcess(config) as worker:
        line = await worker.wait_for("broker-away")
        assert "no topic fits kafka.input" in line["error"]
        assert worker.get("/readyz")[0] == 503
        await stage.kafka.create_topic(f"{stage.name}.later", 1)
        await worker.wait_for("ready")


async def test_check_looks_at_the_topics_that_a_run_reads(stage: Stage) -> None:
    north = f"{stage.name}.in.north"
    await stage.kafka.create_topic(north, 3)
    await produce(stage, make_records(200, 1), topic=north, partitions=3)
    report = await examine_deployment(stage.config(kafka={"input": {"pattern": f"{stage.name}\\.in\\..*"}}))
    assert f"{north}: 3 partitions, 1 replicas" in report.seen
    assert not [line for line in report.seen if line.startswith(f"{stage.name}:")]
    assert report.study is not None
    assert report.study.records == 200
    assert not report.forbids
    nothing = await examine_deployment(stage.config(kafka={"input": {"pattern": f"{stage.name}\\.none"}}))
    assert nothing.study is None
    assert [finding for finding in nothing.findings if "no topic fits it yet" in finding.text]
    several = await examine_deployment(stage.config(kafka={"input": [stage.name, north, f"{stage.name}.gone"]}))
    assert several.forbids
    assert several.study is not None
    assert several.study.records == 200


async def test_rebalance_keeps_the_rows_of_partitions_that_stay(stage: Stage) -> None:
    # One window that does not close meanwhile; what stays must neither leave it nor be read again.
    await produce(stage, make_records(400, 1))
    config = stage.config(window={"max_delay": "60s", "max_records": 10_000}, kafka={"assignment": "spread"})
    with WorkerProcess(config) as first:
        await first.wait_for("ready")
        await _until_read(first, 400)
        with WorkerProcess(config) as second:
            gone = await first.wait_for("revoked")
            assert gone["owned"] == PARTITIONS // 2
            taken = await first.wait_for("taken-over", times=2)
            assert (taken["kept"], taken["dropped"], taken["read_again"]) == (PARTITIONS // 2, 0, 0)
            left = _open_records(first)
            assert left == 400 - gone["dropped"]
            assert 0 < left < 400
            await second.wait_for("taken-over")
            await _until_read(second, 400 - left)


def _open_records(worker: WorkerProcess) -> int:
    text = worker.get("/metrics")[1]
    (line,) = [line for line in text.splitlines() if line.startswith("stream_anon_window_records ")]
    return int(float(line.split()[1]))


async def _until_read(worker: WorkerProcess, records: int) -> None:
    async with asyncio.timeout(30):
        while _open_records(worker) != records:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.1)


async def test_worker_without_a_partition_is_ready_and_takes_over(stage: Stage) -> None:
    topic = f"{stage.name}.narrow"
    await stage.kafka.create_topic(topic, 1)
    config = stage.config(kafka={"input": topic})
    with WorkerProcess(config) as first:
        await first.wait_for("ready")
        with WorkerProcess(config) as second:
            await second.wait_for("ready")
            async with asyncio.timeout(20):  # which of the two is left without, the group decides
                while not (first.said("standing-by") or second.said("standing-by")):  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.1)
            active, idle = (first, second) if second.said("standing-by") else (second, first)
            assert idle.get("/readyz")[0] == 200
            await produce(stage, make_records(300, 1), topic=topic, partitions=1)
            await wait_until_accounted(stage, 300)
            assert not idle.said("window-published")
            active.kill()
            await produce(stage, make_records(300, 2, first=300), topic=topic, partitions=1)
            check_published(await wait_until_accounted(stage, 600), 600)
            assert idle.said("window-published")
            assert len(idle.said("standing-by")) == 1


async def test_member_that_was_away_does_not_claim_what_others_have(kafka: ApacheKafka, unique: str) -> None:
    # Each member must tell its own partitions and the generation in which it had them.
    await kafka.create_topic(unique, 4)
    connection = Connection(kafka.address, unique, session_timeout=2.0)
    one, other = (KafkaSource(connection, InputTopics((unique,))) for _ in range(2))
    try:
        await one.start()
        had = {one.place(n) for n in one.assigned}
        assert len(had) == 4
        marks = one.marks
        await other.start()
        await one.moved(marks + 1, 10)
        assert len(one.assigned) == len(other.assigned) == 2
        assert {one.place(n) for n in one.assigned}.isdisjoint({other.place(n) for n in other.assigned})
        for source in (one, other):
            membership = source.membership()
            assert membership is not None
            told = StickyPartitionAssignor.parse_member_metadata(source._sharing.assignor.metadata({unique}))
            assert told.generation == membership.generation
            assert {(t, p) for t, p in told.partitions} == {source.place(n) for n in source.assigned}
    finally:
        await asyncio.gather(one.stop(2), other.stop(2))
