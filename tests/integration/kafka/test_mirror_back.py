"""Moves behind a real MirrorMaker 2 that do not go straight: it is killed in the middle, or a service goes back."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from aiokafka.errors import KafkaError

from tests.support.apache_kafka import ApacheKafka
from tests.support.mirror_maker import IDENTITY, MirrorMaker, offset_syncs
from tests.support.mirror_maker.moving import behind, produce_in_transactions, realign, until_copied
from tests.support.plain_kafka import admin_of
from tests.support.service import (
    AT_THE_LATEST,
    Published,
    Stage,
    WorkerProcess,
    command,
    make_records,
    produce,
    read_published,
    wait_until_accounted,
)

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.soak]

RELEASED, WAITING, LATER = 600, 300, 400


@pytest.fixture
def there(stage: Stage, tmp_path: Path) -> Iterator[Stage]:
    """Return the same service in the new cluster, without topics."""
    folder = stage.folder / "B"
    folder.mkdir()
    with ApacheKafka(tmp_path / "broker-b") as broker:
        yield Stage(broker, stage.name, folder)


async def test_behind_a_mirror_that_was_killed_and_copied_again_nothing_is_released_twice(
    stage: Stage, there: Stage, tmp_path: Path
) -> None:
    copied, certificates = f"A.{stage.name}", f"{stage.output}.certificates"
    values = make_records(RELEASED + WAITING + LATER, 1)
    mirror = MirrorMaker(tmp_path / "mm2", stage.kafka, there.kafka, [stage.name, stage.output, certificates])
    with mirror:
        await produce(stage, values[:100], seed=1)
        await _until(lambda: _count(there.kafka, copied), 100)
        writing = asyncio.create_task(produce(stage, values[100:RELEASED], seed=2, rate=100))
        await _until(lambda: _count(there.kafka, copied), 200)
        mirror.kill()
        assert not writing.done(), "it was not killed in the middle"
    with mirror:
        await writing
        await _release(stage, stage.config(), RELEASED)
        await produce(stage, values[RELEASED : RELEASED + WAITING], seed=3)
        for topic in (stage.name, certificates):
            values_of_a = {record.value for record in await stage.kafka.read_to_end(topic)}
            await _until(partial(_distinct, there.kafka, f"A.{topic}"), len(values_of_a))
    assert await _count(there.kafka, copied) > RELEASED + WAITING, "nothing was copied twice: this proves nothing"

    for topic in (there.output, f"{there.output}.certificates", f"{there.output}.dead-letters"):
        await there.kafka.create_topic(topic)
    config = there.config(kafka={"input": copied})
    left, at_most = await _realigned(
        there, config, copied, "--offset-syncs", offset_syncs("A"), "--source-alias", "A"
    )
    assert min(left, default=RELEASED) >= RELEASED, "a released record would be read again"
    assert len(left) == len(set(left)), "a record that was copied twice would be released twice"
    assert WAITING - len(left) <= at_most
    await produce(there, values[RELEASED + WAITING :], seed=4, topic=copied)
    published = await _release(there, config, len(left) + LATER)
    assert max(published.serials.values()) == 1
    assert not (await read_published(stage)).serials.keys() & published.serials.keys()
    await _audit_finds_nothing(stage, stage.config())
    await _audit_finds_nothing(there, config)


async def test_a_service_that_goes_to_another_cluster_and_back_releases_nothing_twice(
    stage: Stage, there: Stage, tmp_path: Path
) -> None:
    topics = [stage.name, stage.output, *(f"{stage.output}.{end}" for end in ("certificates", "ledger"))]
    letters = f"{stage.output}.dead-letters"
    values = make_records(RELEASED + 2 * WAITING + 2 * LATER, 1)
    first, second = RELEASED + WAITING, RELEASED + WAITING + LATER
    with MirrorMaker(tmp_path / "there", stage.kafka, there.kafka, topics, IDENTITY):
        await produce_in_transactions(stage, values[:RELEASED])
        await _release(stage, stage.config(), RELEASED)
        await produce_in_transactions(stage, values[RELEASED:first])
        for topic in topics[:3]:
            await until_copied(stage.kafka, topic, there.kafka, topic)
    await _audit_finds_nothing(stage, stage.config())

    await there.kafka.create_topic(letters)
    left, at_most = await _realigned(there, there.config(), there.name, "--offset-syncs", offset_syncs("A"))
    assert min(left, default=RELEASED) >= RELEASED
    assert WAITING - len(left) <= at_most
    await produce(there, values[first:second], seed=2)
    accounted = RELEASED + len(left) + LATER  # the copied certificates are A's
    in_b = await _release(there, there.config(), accounted)
    assert max(in_b.serials.values()) == 1
    await _audit_finds_nothing(there, there.config())

    # Back, into new topics: the old ones count offsets of A.
    await produce(there, values[second : second + WAITING], seed=3)
    await _delete(stage.kafka, [*topics, letters])
    with MirrorMaker(tmp_path / "back", there.kafka, stage.kafka, topics, IDENTITY, flow=("B", "A")):
        for topic in topics[:3]:
            await until_copied(there.kafka, topic, stage.kafka, topic)
    await stage.kafka.create_topic(letters)
    left, at_most = await _realigned(stage, stage.config(), stage.name, "--offset-syncs", offset_syncs("B"))
    assert min(left, default=second) >= second, "a record that was released in A or B would be read again"
    assert WAITING - len(left) <= at_most
    await produce(stage, values[second + WAITING :], seed=4)
    in_a = await _release(stage, stage.config(), accounted + len(left) + LATER)
    assert max(in_a.serials.values()) == 1
    assert in_b.serials.keys() < in_a.serials.keys()
    await _audit_finds_nothing(stage, stage.config())


async def _release(stage: Stage, config: Path, accounted: int) -> Published:
    """Let a worker release until certificates speak of so many records, and stop it."""
    with WorkerProcess(config) as worker:
        published = await wait_until_accounted(stage, accounted)
        assert not worker.said("partition-stopped")
        worker.signal(signal.SIGTERM)
        assert await worker.ended(10) == 0
    return published


async def _realigned(stage: Stage, config: Path, topic: str, *arguments: str) -> tuple[list[int], int]:
    """Return the serial numbers that will be read from now on, and how many records are withheld at most."""
    code, text = await realign(config, *arguments, "--yes")
    assert code == 0, text
    at_most = int(re.findall(r"([\d,]+) records at most are withheld", text)[0].replace(",", ""))
    return await behind(stage, topic), at_most


async def _audit_finds_nothing(stage: Stage, config: Path) -> None:
    code, text = await command("audit", config)
    assert code == 0, text


async def _until(count: Callable[[], Awaitable[int]], wanted: int) -> None:
    deadline = time.monotonic() + AT_THE_LATEST
    found = -1
    while time.monotonic() < deadline:
        found = await count()
        if found >= wanted:
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"{found} of {wanted} were copied")


async def _count(kafka: ApacheKafka, topic: str) -> int:
    try:
        return len(await kafka.read_to_end(topic))
    except (KafkaError, ValueError):  # not created yet
        return 0


async def _distinct(kafka: ApacheKafka, topic: str) -> int:
    try:
        return len({record.value for record in await kafka.read_to_end(topic)})
    except (KafkaError, ValueError):
        return 0


async def _delete(kafka: ApacheKafka, topics: list[str]) -> None:
    async with admin_of(kafka.address) as admin:
        answer = await admin.delete_topics(topics)
        assert {code for _, code, *_ in answer.topic_error_codes} == {0}
        for _ in range(100):
            if not set(topics) & set(await admin.list_topics()):
                return
            await asyncio.sleep(0.1)
        raise AssertionError("topics are still there")
