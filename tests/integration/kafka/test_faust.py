"""The service in real Faust apps on a real Kafka: what leaves, whatever crashes, wakes late or comes and goes."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from tests.support.apache_kafka import ApacheKafka
from tests.support.service import (
    CITIES,
    PARTITIONS,
    Stage,
    WorkerProcess,
    check_published,
    command,
    make_records,
    produce,
    read_published,
    wait_until_accounted,
)
from tests.support.storm.returns import FAMILIES, ILLNESSES

pytest.importorskip("faust", reason="needs the extra `faust`")
pytestmark = pytest.mark.kafka


@pytest.fixture
async def stage(kafka: ApacheKafka, unique: str, tmp_path: Path) -> Stage:
    # A short session, so that a dead app is missed soon; transactions end before it.
    stage = Stage(kafka, unique, tmp_path, {"kafka": {"session_timeout": "6s"}})
    await stage.create_topics()
    return stage


class FaustProcess(WorkerProcess):
    """A Faust app in a process of its own."""

    def __init__(self, config: Path, guarantee: str = "at_least_once") -> None:
        super().__init__(config, {"FAUST_GUARANTEE": guarantee}, module="tests.support.faust_app")


async def abort(stage: Stage, values: list[bytes]) -> None:
    """Send records to the input in a transaction that is aborted."""
    async with AIOKafkaProducer(
        bootstrap_servers=stage.kafka.address, transactional_id=f"{stage.name}.aborted"
    ) as producer:
        await producer.begin_transaction()
        for number, value in enumerate(values):
            await producer.send_and_wait(stage.name, value, partition=number % PARTITIONS)
        await producer.abort_transaction()


@pytest.mark.parametrize("guarantee", [pytest.param("at_least_once", marks=pytest.mark.soak), "exactly_once"])
async def test_app_publishes_every_record_once_and_reads_no_aborted_one(stage: Stage, guarantee: str) -> None:
    await abort(stage, make_records(40, 7, first=90_000))
    await produce(stage, make_records(1500, 1))
    config = stage.config()
    with FaustProcess(config, guarantee) as app:
        await app.wait_for("window-published", within=90)
        bad = [b"{", b'{"person": 1, "age": "x", "city": "Bonn", "serial": 1}']
        await abort(stage, make_records(40, 8, first=91_000))
        await produce(stage, [*make_records(500, 2, first=1500), *bad])
        published = await wait_until_accounted(stage, 2002)
        check_published(published, 2002)
        assert len(published.records) > 1900
        assert {letter["reason"] for letter in published.dead_letters} == {"malformed", "wrong-type"}
        assert {c["delivery"] for c in published.certificates} == {"exactly-once"}
        app.signal(signal.SIGTERM)
        assert await app.ended(25) == 0
        assert "Bonn" not in app.text, "a value in a log"
    code, text = await command("audit", config)
    assert code == 0, text


async def test_app_publishes_families_and_rejects_a_value_in_none(stage: Stage) -> None:
    families = [list(family) for family in FAMILIES]
    label_of = {value: "|".join(family) for family in FAMILIES for value in family}
    privacy = {"sensitive": {"illness": {"invariant": 3, "families": families}}}
    records = [json.loads(value) for value in make_records(800, 3)]
    for record in records:
        record["illness"] = (*ILLNESSES, "unheard of")[record["serial"] % 7]
    await produce(stage, [json.dumps(record).encode() for record in records])
    config = stage.config(privacy=privacy, attributes={"illness": {"role": "sensitive"}})
    with FaustProcess(config) as app:
        published = await wait_until_accounted(stage, 800)
        check_published(published, 800)
        app.signal(signal.SIGTERM)
        assert await app.ended(25) == 0
        assert "unheard" not in app.text, "a value in a log"
    assert Counter(letter["reason"] for letter in published.dead_letters) == {"unknown-value": 114}
    shown = {record["serial"]: record["illness"] for _, record in published.records}
    assert len(shown) > 600
    assert shown == {serial: label_of[records[serial]["illness"]] for serial in shown}
    code, text = await command("audit", config)
    assert code == 0, text


async def test_apps_and_workers_that_take_over_from_each_other_count_who_was_released(stage: Stage) -> None:
    (stage.folder / "returns.key").write_bytes(b"a secret of sixteen bytes or more")
    people, most = 40, 2
    bound = {"returning": {"most": most, "period": "300d", "key_file": "returns.key"}}
    config = stage.config(privacy=bound, window={"max_delay": "500ms"})
    # Apps and workers speak other protocols of the group: the one must have left before the other comes.
    for number, host in enumerate((FaustProcess, FaustProcess, WorkerProcess, FaustProcess)):
        with host(config) as worker:
            await worker.wait_for("assigned", within=90)
            async with AIOKafkaProducer(bootstrap_servers=stage.kafka.address, acks="all") as producer:
                for who in range(people):
                    record = {"person": who, "age": who, "city": CITIES[who % 4], "serial": people * number + who}
                    await producer.send(stage.name, json.dumps(record).encode(), partition=who % PARTITIONS)
            published = await wait_until_accounted(stage, people * (number + 1))
            if number == 0:
                worker.kill()
            else:
                worker.signal(signal.SIGTERM)
                assert await worker.ended(25) == 0
    windows = Counter(who for who, _ in {(one["serial"] % people, batch) for batch, one in published.records})
    assert windows == dict.fromkeys(range(people), most)


# Between settle and offsets, between offsets and commit, after the commit.
@pytest.mark.parametrize(
    "point", ["closing.9", *(pytest.param(other, marks=pytest.mark.soak) for other in ("closing.7", "closing.10"))]
)
async def test_app_killed_in_a_transaction_neither_loses_nor_repeats_its_window(stage: Stage, point: str) -> None:
    records = make_records(1200, 3)
    await produce(stage, records[:200])
    with FaustProcess(stage.config(kafka={"fault": f"{point}:kill@2"})) as first:
        await first.wait_for("window-published", within=90)
        await produce(stage, records[200:])
        assert await first.ended(90) == -signal.SIGKILL
    with FaustProcess(stage.config()):
        check_published(await wait_until_accounted(stage, 1200, 90), 1200)
    if point != "closing.10":
        aborted = await stage.kafka.read_to_end(stage.output, isolation="read_uncommitted")
        assert len(aborted) > len((await read_published(stage)).records), "the kill met no open transaction"


@pytest.mark.soak
async def test_app_stopped_beyond_its_session_publishes_nothing_twice(stage: Stage) -> None:
    # It wakes before the fence, holding a window that its successor has read again: it must be turned away.
    records = make_records(1200, 4)
    await produce(stage, records[:200])
    with FaustProcess(stage.config(kafka={"fault": "closing.8:stop@2"})) as zombie:
        await zombie.wait_for("window-published", within=90)
        await produce(stage, records[200:])
        await asyncio.sleep(0.5)
        with FaustProcess(stage.config()) as successor:
            check_published(await wait_until_accounted(stage, 1200, 90), 1200)
            zombie.signal(signal.SIGCONT)
            await zombie.wait_for("window-abandoned")
            await produce(stage, make_records(400, 5, first=1200))
            check_published(await wait_until_accounted(stage, 1600), 1600)
            assert successor.said("window-published")


@pytest.mark.soak
async def test_apps_that_come_and_go_publish_every_record_once(stage: Stage) -> None:
    with FaustProcess(stage.config()) as first:
        await first.wait_for("ready", within=90)
        sending = asyncio.create_task(produce(stage, make_records(6000, 6), rate=200))
        with FaustProcess(stage.config()) as second:
            assert (await second.wait_for("taken-over", within=90))["partitions"] == PARTITIONS // 2
            await second.wait_for("window-published")
            second.kill()
            await sending
            check_published(await wait_until_accounted(stage, 6000, 90), 6000)
            assert first.said("window-published")


@pytest.mark.soak
async def test_at_least_once_is_called_at_least_once(stage: Stage) -> None:
    # All records of the second window are out, its offsets are not committed: they leave a second time.
    records, weaker = make_records(1200, 9), {"delivery": "at-least-once"}
    await produce(stage, records[:200])
    with FaustProcess(stage.config(kafka={**weaker, "fault": "closing.8:kill@2"})) as first:
        await first.wait_for("window-published", within=90)
        await produce(stage, records[200:])
        assert await first.ended(90) == -signal.SIGKILL
        assert first.said("at-least-once"), "no warning at the start"
    with FaustProcess(stage.config(kafka=weaker)) as second:
        await second.wait_for("ready", within=90)
        await second.wait_for("window-published", times=5)
        deadline = 100
        while (await read_published(stage)).serials.keys() < set(range(1150)) and deadline:
            await asyncio.sleep(0.2)
            deadline -= 1
    published = await read_published(stage)
    assert {c["delivery"] for c in published.certificates} == {"at-least-once"}
    twice = [serial for serial, times in published.serials.items() if times == 2]
    assert len(twice) > 150, "the crash repeated nothing: this test shows nothing"
    assert max(published.serials.values()) == 2
    assert not json.dumps(published.certificates).count("exactly-once")
