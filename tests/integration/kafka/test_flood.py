"""Producers that send too much: memory stays, what waits grows, nothing is lost, nobody fills a window."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter

import pytest
import yaml
from aiokafka import AIOKafkaProducer

from stream_anon.windowing.bounds import PARTS
from tests.support.late_requests.playing import GUARDED
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
PADDING = 3000
PIECE = 100
TIMES = 10
SECONDS = 20
LEAST = 3000  # records a second, however slow the machine is
FLAT = 12 * 1024 * 1024
AHEAD = 39 * 1024 * 1024  # fetched before there is room: 13 MB for each KB of a record
WINDOWS = 40  # what a process takes in steps is there after twenty


class Watch:
    """What a worker shows of itself, now and then."""

    def __init__(self, worker: WorkerProcess) -> None:
        self._worker = worker
        self.resident: list[int] = []
        self.lag: list[float] = []
        self.consumed: list[float] = []

    async def look(self) -> None:
        text = (await asyncio.to_thread(self._worker.get, "/metrics"))[1]
        series = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        self.resident.append(int(float(series["process_resident_memory_bytes"])))
        self.lag.append(float(series["stream_anon_consumer_lag_records"]))
        self.consumed.append(float(series["stream_anon_records_consumed_total"]))


class Flood:
    """Sends large records in batches, as fast as requested."""

    def __init__(self, stage: Stage, producer: AIOKafkaProducer) -> None:
        self._stage = stage
        self._producer = producer
        self.sent = 0

    async def send(self, pieces: int) -> None:
        taken = []
        for _ in range(pieces):
            batch = self._producer.create_batch()
            for value in make_records(PIECE, self.sent, first=self.sent):
                padded = value[:-1] + b', "padding": "' + b"x" * PADDING + b'"}'
                assert batch.append(key=None, value=padded, timestamp=None) is not None
            batch.close()
            partition = self.sent // PIECE % PARTITIONS
            taken.append(await self._producer.send_batch(batch, self._stage.name, partition=partition))
            self.sent += PIECE
        await asyncio.gather(*taken)


@pytest.mark.soak
async def test_flood_keeps_to_the_bound_on_memory_and_loses_no_record(stage: Stage) -> None:
    # Windows so small, with a transaction each, that these are all the worker can do.
    narrow = stage.config(window={"max_records": 10})
    producer = AIOKafkaProducer(
        bootstrap_servers=stage.kafka.address, acks="all", max_batch_size=2 * PIECE * PADDING, linger_ms=0
    )
    await producer.start()
    flood = Flood(stage, producer)
    try:
        with WorkerProcess(narrow, module=GUARDED) as worker:
            await worker.wait_for("ready")
            watch = Watch(worker)
            await flood.send(20)
            await worker.wait_for("window-published", times=20)
            await watch.look()
            begun = time.monotonic()
            await asyncio.sleep(2)
            await watch.look()
            sustained = (watch.consumed[1] - watch.consumed[0]) / (time.monotonic() - begun)
            assert sustained > 0
            begun, first = time.monotonic(), flood.sent
            while (passed := time.monotonic() - begun) < SECONDS:
                # Ten times what it takes, also when it takes more than at first.
                taken = watch.consumed[-1] - watch.consumed[1]
                due = int(max(TIMES * 1.3 * max(sustained * passed, taken), LEAST * passed)) - (flood.sent - first)
                await flood.send(min(max(due // PIECE, 0), 50))
                await watch.look()
                await asyncio.sleep(0.2)
            offered, taken = flood.sent - first, watch.consumed[-1] - watch.consumed[1]
            middle = len(watch.resident) // 2
            assert offered >= TIMES * taken, f"no flood: {offered} offered, {taken:.0f} taken"
            assert watch.lag[-1] > watch.lag[middle] > watch.lag[1]
            assert watch.lag[-1] > 0.5 * (offered - taken), "the lag that is shown is not the one there is"
            assert (offered - taken) * PADDING > 2 * FLAT, "what waits would fit the bound on memory"
            assert max(watch.resident[2:]) - watch.resident[1] < FLAT, [size >> 20 for size in watch.resident]
        with WorkerProcess(stage.config(window={"max_records": 5000})) as worker:
            await worker.wait_for("ready")
            watch, deadline = Watch(worker), time.monotonic() + 60
            while not watch.lag or watch.lag[-1] != 0:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.3)
                await watch.look()
            check_published(await wait_until_accounted(stage, flood.sent), flood.sent)
    finally:
        await producer.stop()


@pytest.mark.soak
@pytest.mark.parametrize("mebibytes", [16, 32])
async def test_windows_that_only_memory_closes_take_no_more_than_their_share_of_it(
    stage: Stage, mebibytes: int
) -> None:
    config = stage.config(window={"max_records": "auto", "max_memory": f"{mebibytes}MiB", "max_delay": "60s"})
    held = mebibytes * 2**20
    document = yaml.safe_load(config.read_text())
    document["attributes"]["padding"] = {
        "role": "insensitive",
        "accept_linkable": True,
    }  # held until it is published
    config.write_text(yaml.safe_dump(document))
    producer = AIOKafkaProducer(
        bootstrap_servers=stage.kafka.address, acks="all", max_batch_size=2 * PIECE * PADDING, linger_ms=0
    )
    await producer.start()
    flood = Flood(stage, producer)
    try:
        with WorkerProcess(config) as worker:
            await worker.wait_for("ready")
            watch = Watch(worker)
            await watch.look()
            for _ in range(WINDOWS * held // (20 * PIECE * PADDING)):
                await flood.send(20)
                await watch.look()
            await worker.wait_for("window-published", times=WINDOWS - 2)
            await watch.look()
            most = PARTS * held + AHEAD
            assert max(watch.resident) - watch.resident[0] < most, [n >> 20 for n in watch.resident]
    finally:
        await producer.stop()


@pytest.mark.soak
async def test_neither_one_person_nor_one_record_fills_the_windows_of_all(stage: Stage) -> None:
    # The person's thousand records do not count towards 200, but for twenty of them.
    often = [json.dumps({"person": -1, "age": 50, "city": "Bonn", "serial": 600 + i}).encode() for i in range(1000)]
    large = [json.dumps({"person": 1, "age": 5, "city": "B" * 3000, "serial": 1600 + i}).encode() for i in range(7)]
    others = make_records(600, 1)
    mixed = [value for i in range(600) for value in (others[i], *often[i * 1000 // 600 : (i + 1) * 1000 // 600])]
    await produce(stage, [*mixed, *large])
    config = stage.config(
        kafka={"max_record_bytes": 1024},
        window={"max_records": 200, "max_records_per_individual": 20, "max_delay": "3s"},
    )
    with WorkerProcess(config):
        published = await wait_until_accounted(stage, 1607)
    check_published(published, 1607)
    assert {letter["reason"] for letter in published.dead_letters} == {"too-large"}
    assert len(published.dead_letters) == len(large)
    windows = len({c["batch"] for c in published.certificates})
    assert windows <= 5, "the person's records filled windows"
    of_one = [serial for serial in published.serials if 600 <= serial < 1600]
    assert len(of_one) <= 20 * windows
    kept_back: Counter[str] = Counter()
    for certificate in published.certificates:
        kept_back.update(certificate["suppressed_by_reason"])
    assert kept_back["over-limit"] >= 1000 - 20 * windows
