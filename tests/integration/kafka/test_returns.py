"""People who come back to a real Kafka: releases of each are bounded, and count once whatever crashes."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from tests.support.service import (
    CITIES,
    PARTITIONS,
    Published,
    Stage,
    WorkerProcess,
    command,
    wait_until_accounted,
)
from tests.support.storm.returns import Counts, noted, people_released

pytestmark = pytest.mark.kafka
PEOPLE, MOST = 40, 3


def returning(stage: Stage, **more: Any) -> dict[str, Any]:
    """Return the section on privacy with a bound, and write its key."""
    (stage.folder / "returns.key").write_bytes(b"a secret of sixteen bytes or more")
    return {"returning": {"most": MOST, "period": "300d", "key_file": "returns.key", **more}}


def visits(rounds: Iterable[int]) -> list[dict[str, Any]]:
    """Return a record of each person in each round; the serial number tells both."""
    return [
        {"person": who, "age": who % 100, "city": CITIES[who % 4], "serial": PEOPLE * number + who}
        for number in rounds
        for who in range(PEOPLE)
    ]


async def send(stage: Stage, records: list[dict[str, Any]]) -> None:
    """Send records, each person's to one partition."""
    async with AIOKafkaProducer(bootstrap_servers=stage.kafka.address, acks="all") as producer:
        for record in records:
            value = json.dumps(record).encode()
            await producer.send(stage.name, value, partition=record["person"] % PARTITIONS)


def windows_of(published: Published) -> Counter[int]:
    """Return in how many windows each person was released."""
    return Counter(person for person, _ in {(r["serial"] % PEOPLE, batch) for batch, r in published.records})


def released(published: Published) -> Counts:
    """Return how many people were released, by window and partition."""
    people = ((batch, r["serial"] % PEOPLE) for batch, r in published.records)
    return people_released((batch, person % PARTITIONS, person) for batch, person in people)


async def test_nobody_is_released_more_often_than_allowed_whoever_takes_over(stage: Stage) -> None:
    config = stage.config(privacy=returning(stage), window={"max_delay": "500ms"})
    sent = 0
    for number in range(6):
        # Each visit meets a worker that has not seen those before; every second one was killed.
        with WorkerProcess(config) as worker:
            await worker.wait_for("assigned")
            await send(stage, visits([number]))
            sent += PEOPLE
            published = await wait_until_accounted(stage, sent)
            if number % 2:
                worker.kill()
    assert windows_of(published) == dict.fromkeys(range(PEOPLE), MOST)
    assert await noted(stage) == released(published)
    reasons = Counter[str]()
    for certificate in published.certificates:
        reasons.update(certificate["suppressed_by_reason"])
        assert certificate["asked"]["returning"] == {"most": MOST, "period": 300 * 86_400.0}
    assert reasons == {"returning": 3 * PEOPLE}


async def test_two_workers_share_the_people_and_each_bound_holds(stage: Stage) -> None:
    config = stage.config(privacy=returning(stage), window={"max_delay": "500ms"}, kafka={"assignment": "spread"})
    with WorkerProcess(config) as one, WorkerProcess(config) as other:
        await asyncio.gather(one.wait_for("assigned"), other.wait_for("assigned"))
        for number in range(5):
            await send(stage, visits([number]))
            published = await wait_until_accounted(stage, (number + 1) * PEOPLE)
    assert max(windows_of(published).values()) == MOST
    assert await noted(stage) == released(published)


@pytest.mark.parametrize("step", ["closing.5", "closing.9"])
async def test_a_crash_in_a_transaction_neither_loses_nor_doubles_a_count(stage: Stage, step: str) -> None:
    ways = {"privacy": returning(stage, most=1), "window": {"max_delay": "500ms"}}
    with WorkerProcess(stage.config(kafka={"fault": f"{step}:kill"}, **ways)) as worker:
        await worker.wait_for("assigned")
        await send(stage, visits([0]))
        await worker.ended(60)
    with WorkerProcess(stage.config(**ways)):
        await wait_until_accounted(stage, PEOPLE)
        await send(stage, visits([1]))
        published = await wait_until_accounted(stage, 2 * PEOPLE)
    assert windows_of(published) == dict.fromkeys(range(PEOPLE), 1)
    assert await noted(stage) == released(published)


async def test_another_key_counts_anew_and_an_entry_that_is_none_stops_the_takeover(stage: Stage) -> None:
    ways = {"window": {"max_delay": "500ms"}}
    with WorkerProcess(stage.config(privacy=returning(stage, most=1), **ways)) as worker:
        await worker.wait_for("counts-begun")
        await send(stage, visits([0]))
        await wait_until_accounted(stage, PEOPLE)
    (stage.folder / "other.key").write_bytes(b"another secret of sixteen bytes")
    config = stage.config(privacy=returning(stage, most=1, key_file="other.key"), **ways)
    with WorkerProcess(config) as worker:
        await worker.wait_for("assigned")
        assert not worker.said("counts-begun")
        assert (await worker.wait_for("counts-passed-over"))["entries"] > 0
        await send(stage, visits([1]))
        published = await wait_until_accounted(stage, 2 * PEOPLE)
    assert windows_of(published) == dict.fromkeys(range(PEOPLE), 2)
    async with AIOKafkaProducer(bootstrap_servers=stage.kafka.address) as producer:
        await producer.send_and_wait(f"{stage.output}.returns", b"no entry", partition=0)
    with WorkerProcess(config) as worker:
        away = await worker.wait_for("broker-away")
        assert "is not an entry of this version" in away["error"]


async def test_a_topic_that_forgets_too_early_is_refused(stage: Stage) -> None:
    await stage.kafka.create_topic(f"{stage.output}.returns", PARTITIONS, **{"retention.ms": "1000"})
    config = stage.config(privacy=returning(stage))
    code, text = await command("check", config)
    assert code == 1
    assert "retention.ms is 1000 and must be" in text
    with WorkerProcess(config) as worker:
        assert await worker.ended(60) == 1
        assert "retention.ms is 1000" in worker.said("failed")[0]["error"]


async def test_a_run_is_refused_where_one_person_has_records_in_two_partitions(stage: Stage) -> None:
    async with AIOKafkaProducer(bootstrap_servers=stage.kafka.address, acks="all") as producer:
        for record in visits(range(2)):
            partition = record["serial"] % PARTITIONS if record["person"] else record["serial"] // PEOPLE
            await producer.send(stage.name, json.dumps(record).encode(), partition=partition)
    code, text = await command("check", stage.config(privacy=returning(stage)))
    assert code == 1
    assert "scattered-people" in text
    assert f"1 of {PEOPLE} sampled individuals" in " ".join(text.split())
