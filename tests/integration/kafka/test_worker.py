"""Workers as real processes on a real Kafka: every record once, whatever breaks.

Two runs each with different seeds; `STREAM_ANON_TEST_RUNS=20` for the long version.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from tests.support.service import (
    PARTITIONS,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    read_published,
    wait_until_accounted,
)
from tests.support.storm.offsets import set_offsets

RUNS = int(os.environ.get("STREAM_ANON_TEST_RUNS", "2"))

pytestmark = pytest.mark.kafka
every_seed = pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.soak] if seed else []) for seed in range(RUNS)]
)


@every_seed
async def test_one_worker_loses_repeats_and_exposes_no_record(stage: Stage, seed: int) -> None:
    await produce(stage, make_records(2000, seed), seed=seed)
    with WorkerProcess(stage.config()) as worker:
        await worker.wait_for("ready")
        assert worker.get("/readyz")[0] == 200
        bad = [b"{", b'{"person": 1, "age": "x", "city": "Bonn", "serial": 1}']
        await produce(stage, [*make_records(500, seed + 100, first=2000), *bad], seed=seed)
        published = await wait_until_accounted(stage, 2502)
        check_published(published, 2502)
        assert len(published.records) > 2400
        assert {letter["reason"] for letter in published.dead_letters} == {"malformed", "wrong-type"}


@every_seed
async def test_worker_killed_in_a_transaction_neither_loses_nor_repeats_its_window(stage: Stage, seed: int) -> None:
    # Between settle and offsets, between offsets and commit, after the commit, before anything was sent.
    point = ("closing.9", "closing.7", "closing.10", "closing.5")[seed % 4]
    broken = stage.config(kafka={"fault": f"{point}:kill@{2 + seed % 3}"})
    with WorkerProcess(broken) as first:
        await first.wait_for("ready")
        # Slowly, so that windows do not gather for one transaction.
        await produce(stage, make_records(1500, seed), rate=750, seed=seed)
        assert await first.ended(40) == -signal.SIGKILL
    with WorkerProcess(stage.config()):
        check_published(await wait_until_accounted(stage, 1500), 1500)
    aborted = await stage.kafka.read_to_end(stage.output, isolation="read_uncommitted")
    if point in ("closing.9", "closing.7"):
        assert len(aborted) > len((await read_published(stage)).records), "the kill met no open transaction"


@every_seed
async def test_joining_and_leaving_workers_publish_every_record_once(stage: Stage, seed: int) -> None:
    left, sent = asyncio.Event(), 0

    async def send() -> None:
        nonlocal sent
        while not left.is_set():  # however long the second takes to start
            await produce(stage, make_records(450, seed + sent, first=sent), rate=450, seed=seed + sent)
            sent += 450

    config = stage.config(kafka={"assignment": "spread"})
    with WorkerProcess(config) as first:
        await first.wait_for("ready")
        sending = asyncio.create_task(send())
        with WorkerProcess(config) as second:
            taken = await second.wait_for("taken-over")
            assert taken["partitions"] == PARTITIONS // 2
            await second.wait_for("window-published")
            if seed % 2:
                second.kill()  # its partitions come back after the session's timeout
            else:
                second.signal(signal.SIGTERM)
                assert await second.ended(10) == 0
            left.set()
            await sending
            check_published(await wait_until_accounted(stage, sent), sent)
            assert first.said("window-published")


@every_seed
async def test_worker_stopped_beyond_its_session_publishes_nothing_twice(stage: Stage, seed: int) -> None:
    # It wakes before the fence, holding a window that its successor has read again: it must be turned away.
    point = ("closing.8", "closing.4")[seed % 2]
    records = make_records(1500, seed)
    await produce(stage, records[:300], seed=seed)
    with WorkerProcess(stage.config(kafka={"fault": f"{point}:stop@2"})) as zombie:
        await zombie.wait_for("window-published")
        await produce(stage, records[300:], seed=seed)
        await asyncio.sleep(0.5)
        with WorkerProcess(stage.config()) as successor:
            # The zombie's transaction is open until its own timeout.
            check_published(await wait_until_accounted(stage, 1500), 1500)
            zombie.signal(signal.SIGCONT)
            await zombie.wait_for("window-abandoned")
            await produce(stage, make_records(400, seed + 100, first=1500), seed=seed)
            check_published(await wait_until_accounted(stage, 1900), 1900)
            assert successor.said("window-published")


@every_seed
async def test_worker_goes_on_after_a_restart_of_the_broker_and_repeats_nothing(stage: Stage, seed: int) -> None:
    with WorkerProcess(stage.config()) as worker:
        await worker.wait_for("ready")
        sending = asyncio.create_task(produce(stage, make_records(2800, seed), rate=400, seed=seed))
        await worker.wait_for("window-published", times=2 + seed % 3)
        await asyncio.to_thread(stage.kafka.kill if seed % 2 else stage.kafka.stop)
        await worker.wait_for("broker-away")
        assert worker.get("/readyz")[0] == 503
        await asyncio.to_thread(stage.kafka.start)
        await worker.wait_for("broker-back")
        await sending
        check_published(await wait_until_accounted(stage, 2800), 2800)
        assert worker.get("/readyz")[0] == 200
        assert len(worker.said("broker-away")) <= 4, "a log line for every attempt"


@every_seed
async def test_sigterm_takes_less_than_ten_seconds_and_loses_no_record(stage: Stage, seed: int) -> None:
    config = stage.config(window={"max_delay": "4s", "max_records": 350})
    records = make_records(3600, seed)
    for turn in range(3):
        # More for each worker; what the one before left unfinished is read again.
        await produce(stage, records[900 * turn : 900 * turn + 900], seed=seed)
        with WorkerProcess(config) as worker:
            await worker.wait_for("window-published")
            await asyncio.sleep(0.3 * (turn + seed % 3))
            begun = time.monotonic()
            worker.signal(signal.SIGTERM)
            assert await worker.ended(10) == 0
            assert time.monotonic() - begun < 10
    await produce(stage, records[2700:], seed=seed)
    with WorkerProcess(config):
        check_published(await wait_until_accounted(stage, 3600), 3600)


async def test_stop_without_a_broker_ends_in_time(stage: Stage) -> None:
    nowhere = stage.config(kafka={"bootstrap_servers": "127.0.0.1:9"})
    with WorkerProcess(nowhere) as worker:
        await worker.wait_for("broker-away")
        code, reason = worker.get("/readyz")
        assert (code, "not ready" in reason) == (503, True)
        assert worker.get("/livez")[0] == 200
        worker.signal(signal.SIGTERM)
        assert await worker.ended(10) == 0


async def test_another_group_name_releases_nothing_again(stage: Stage) -> None:
    await produce(stage, make_records(600, 1))
    with WorkerProcess(stage.config()):
        check_published(await wait_until_accounted(stage, 600), 600)
    with WorkerProcess(stage.config(kafka={"group": f"{stage.name}.other"})) as other:
        taken = await other.wait_for("taken-over")
        assert taken["from_ledger"] == PARTITIONS
        await produce(stage, make_records(300, 2, first=600))
        check_published(await wait_until_accounted(stage, 900), 900)


@every_seed
async def test_two_groups_on_one_output_release_no_record_in_both(stage: Stage, seed: int) -> None:
    one, other = stage.config(), stage.config(kafka={"group": f"{stage.name}.other"})
    with WorkerProcess(one) as first, WorkerProcess(other) as second:
        await first.wait_for("ready")
        await second.wait_for("ready")
        await produce(stage, make_records(3000, seed), rate=600, seed=seed)
        # Of each partition one group goes on and the other stops, whichever came second.
        check_published(await wait_until_accounted(stage, 3000), 3000)
        met = [line for worker in (first, second) for line in worker.said("commit-uncertain")]
        assert any("another consumer group" in line["error"] for line in met), "the groups never met"


async def test_rewound_partition_stops_and_the_others_go_on(stage: Stage) -> None:
    await produce(stage, make_records(600, 1))
    with WorkerProcess(stage.config()) as worker:
        check_published(await wait_until_accounted(stage, 600), 600)
        worker.signal(signal.SIGTERM)
        assert await worker.ended(10) == 0
    await set_offsets(stage, {1: 3})
    with WorkerProcess(stage.config()) as worker:
        line = await worker.wait_for("partition-stopped")
        assert (line["partition"], line["reason"]) == (1, "rewound")
        assert "committed offset 3" in line["explanation"]
        await produce(stage, make_records(400, 2, first=600))
        await worker.wait_for("window-published", times=2)
        await asyncio.sleep(1)
        published = await read_published(stage)
        assert max(published.serials.values()) == 1
        parts = [part for c in published.certificates for part in c["inputs"]]
        assert len([part for part in parts if part["start"] == 3]) == 0
        assert 600 < published.accounted < 1000, "the other partitions go on"
