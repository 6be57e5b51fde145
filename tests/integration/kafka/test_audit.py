"""`stream-anon audit` on real topics: a right output passes, also while it is written; a stray record does not."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from stream_anon.audit.verdict import Kind
from tests.support.apache_kafka import ApacheKafka
from tests.support.hostile_batches import HOSTILE, Raw, batch_of, varint
from tests.support.raw_producer import raw_producer
from tests.support.service import Stage, WorkerProcess, command, make_records, produce, wait_until_accounted

pytestmark = pytest.mark.kafka


async def _audit(config: Path, *more: str) -> tuple[int | None, str]:
    return await command("audit", config, *more)


async def _send(
    stage: Stage, topic: str, value: bytes, *headers: tuple[str, bytes], partition: int | None = None
) -> None:
    now = int(time.time()) * 1000  # a broker deletes what is older than its retention
    async with AIOKafkaProducer(bootstrap_servers=stage.kafka.address) as producer:
        await producer.send_and_wait(topic, value, partition=partition, headers=list(headers), timestamp_ms=now)


async def test_a_right_topic_passes_and_a_wrong_one_is_accused(stage: Stage) -> None:
    await produce(stage, make_records(1500, 1))
    config = stage.config()
    with WorkerProcess(config) as worker:
        # Two audits while the service writes.
        writing = asyncio.create_task(produce(stage, make_records(3000, 2, first=1500), rate=400))
        await worker.wait_for("window-published", times=3)
        for _ in range(2):
            code, text = await _audit(config)
            assert code == 0, text
            assert "no violation found" in text
        await writing
        published = await wait_until_accounted(stage, 4500)
    code, text = await _audit(config)
    assert code == 0, text
    assert f"{len(published.records):,}" in text

    batch, record = published.records[0]
    await _send(stage, stage.output, json.dumps(record).encode(), ("batch", batch.encode()))
    async with raw_producer(stage.kafka.address, stage.output) as writer:
        empty_header = varint(1) + varint(5) + b"batch" + varint(-1)
        assert await writer.send(batch_of([Raw(b"{}", tail=empty_header)])) == 0
        assert await writer.send(HOSTILE["delta 100 last"]) == 0
    code, text = await _audit(config)
    assert code == 1
    for kind in (Kind.EXTRA_RECORDS, Kind.NO_BATCH, Kind.UNREADABLE):
        assert kind.value in text
    assert batch in text
    assert f"{stage.output}/0" in text


async def remove_starts(stage: Stage, topic: str, last: Callable[[int], int]) -> int:
    """Delete the start of each partition, as retention does; return how many offsets are gone.

    `last` gives the number of last offsets that remain, from a partition's end.
    """
    consumer = AIOKafkaConsumer(bootstrap_servers=stage.kafka.address)
    admin = AIOKafkaAdminClient(bootstrap_servers=stage.kafka.address)
    await consumer.start()
    await admin.start()
    try:
        places = [TopicPartition(topic, n) for n in sorted(await _partitions(consumer, topic))]
        ends = await consumer.end_offsets(places)
        kept = {place: max(0, end - last(end)) for place, end in ends.items()}
        await admin.delete_records({place: RecordsToDelete(before_offset=start) for place, start in kept.items()})
        starts = await consumer.beginning_offsets(places)
        assert starts == kept
        return sum(starts.values())
    finally:
        await admin.close()
        await consumer.stop()


async def _partitions(consumer: AIOKafkaConsumer, topic: str) -> set[int]:
    await consumer._client.force_metadata_update()
    return set(await consumer._client._wait_on_metadata(topic))


@pytest.mark.soak
async def test_windows_of_two_policies_are_sound_and_what_retention_removed_is_told(stage: Stage) -> None:
    config = stage.config()
    await produce(stage, make_records(1200, 1))
    with WorkerProcess(config):
        await wait_until_accounted(stage, 1200)
    await produce(stage, make_records(1200, 2, first=1200))
    # Another k, and another delay, which promises nothing.
    changed = {"STREAM_ANON__PRIVACY__K": "8", "STREAM_ANON__WINDOW__MAX_DELAY": "2s"}
    with WorkerProcess(config, environment=changed):
        published = await wait_until_accounted(stage, 2400)
    code, text = await _audit(config, "--json")
    report = json.loads(text)
    assert code == 0, report["violations"][:5]
    assert [policy["k"] for policy in report["policies"]] == [5, 8]
    assert report["policies"][1]["change"] == {"weaker": [], "stronger": ["privacy.k"]}
    assert report["pending"] == {"weaker": ["privacy.k was 8 and would fall to 5"], "stronger": []}
    assert (report["counts"]["on_trust"], report["removed"]["windows"]) == (0, 0)
    batch, _ = published.records[-1]
    code, text = await _audit(config, "--batch", batch, "--since", "1h", "--json")
    assert (code, json.loads(text)["counts"]["windows"]) == (0, 1)

    # Of the certificates the last one remains (and its marker), so that most records have lost theirs.
    removals: tuple[tuple[str, Callable[[int], int], str], ...] = (
        (stage.output, lambda end: end - end // 4, "records"),
        (f"{stage.output}.certificates", lambda end: 2, "uncertified"),
    )
    for topic, last, told_as in removals:
        assert await remove_starts(stage, topic, last)
        code, text = await _audit(config, "--json")
        report = json.loads(text)
        assert code == 0, report["violations"][:5]
        assert report["removed"][told_as] > 0
    assert report["counts"]["records"] < len(published.records)


async def test_a_record_that_belongs_to_no_window_is_found(stage: Stage) -> None:
    config = stage.config()
    code, text = await _audit(config)
    assert code == 0, text
    await _send(stage, stage.output, b'{"person":"Mrs Smith"}')
    await _send(stage, f"{stage.output}.certificates", b'{"schema":2,"who":"Mrs Smith"}', ("batch", b"ff"))
    code, text = await _audit(config)
    assert code == 1, text
    for kind in (Kind.NO_BATCH, Kind.IDENTIFYING_FIELD, Kind.MISSING_FIELD, Kind.MALFORMED_CERTIFICATE):
        assert kind.value in text
    assert "Smith" not in text


async def test_a_missing_topic_is_an_error_and_no_clean_audit(
    kafka: ApacheKafka, unique: str, tmp_path: Path
) -> None:
    stage = Stage(kafka, unique, tmp_path)
    code, text = await _audit(stage.config())
    assert code == 3
    assert text.strip().endswith(f"stream-anon: {stage.output}: does not exist, or this user may not see it")
    assert "cluster metadata" not in text  # the library's words
