"""`stream-anon forget` on a real Kafka: refused beside a worker, and then the records flow exactly once more."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from functools import partial

import pytest

from tests.support.service import (
    PARTITIONS,
    Published,
    Stage,
    WorkerProcess,
    check_published,
    command,
    make_records,
    produce,
    read_published,
    wait_until_accounted,
)
from tests.support.storm.offsets import set_offsets

pytestmark = pytest.mark.kafka

SENT = 600
SET_BACK = {1: 3, 2: 10}  # partition, offset

_forget = partial(command, "forget")


async def _release_all(stage: Stage) -> Published:
    with WorkerProcess(stage.config()) as worker:
        published = await wait_until_accounted(stage, SENT)
        check_published(published, SENT)
        worker.signal(signal.SIGTERM)
        assert await worker.ended(10) == 0
    return published


def _ends(published: Published) -> dict[int, int]:
    ends: Counter[int] = Counter()
    for certificate in published.certificates:
        for part in certificate["inputs"]:
            ends[part["partition"]] = max(ends[part["partition"]], part["end"])
    return dict(ends)


@pytest.mark.soak
async def test_forgotten_records_flow_exactly_once_more(stage: Stage) -> None:
    await produce(stage, make_records(SENT, 1))
    config = stage.config()
    code, text = await _forget(config, "--yes")
    assert (code, "nothing to forget" in text) == (0, True), text  # no group, no ledger

    before = await _release_all(stage)
    ends = _ends(before)
    again = sum(ends[partition] - offset for partition, offset in SET_BACK.items())
    await set_offsets(stage, SET_BACK)

    # Two partitions stop, and beside the worker that says so nothing is forgotten.
    with WorkerProcess(config) as worker:
        await worker.wait_for("partition-stopped", times=2)
        assert {line["partition"] for line in worker.said("partition-stopped")} == set(SET_BACK)
        code, text = await _forget(config, "--yes")
        assert code == 1, text
        assert "has 1 live member:" in text
        await asyncio.sleep(1.5)
        assert (await read_published(stage)).accounted == SENT
        worker.signal(signal.SIGTERM)
        assert await worker.ended(10) == 0

    # Nobody is there to confirm: nothing happens but that it is shown.
    code, text = await _forget(config)
    assert code == 1, text
    assert "--yes" in text
    for word in (f"{again:,} records at most", f"{stage.name}:1", f"{stage.name}:2", "recognised"):
        assert word in text
    with WorkerProcess(config) as worker:
        await worker.wait_for("partition-stopped", times=2)
        worker.signal(signal.SIGTERM)
        assert await worker.ended(10) == 0

    # One of the two, and only that one.
    code, text = await _forget(config, "--yes", "--partition", f"{stage.name}:1")
    assert code == 0, text
    with WorkerProcess(config) as worker:
        assert (await worker.wait_for("partition-stopped"))["partition"] == 2
        await wait_until_accounted(stage, SENT + ends[1] - SET_BACK[1])
        assert len(worker.said("partition-stopped")) == 1
        worker.signal(signal.SIGTERM)
        assert await worker.ended(10) == 0

    # The other, by default; the entries of all others are still there.
    code, text = await _forget(config, "--yes")
    assert code == 0, text
    assert "has forgotten" in text
    with WorkerProcess(config) as worker:
        published = await wait_until_accounted(stage, SENT + again)
        assert not worker.said("partition-stopped")
        worker.signal(signal.SIGTERM)
        assert await worker.ended(10) == 0
    assert max(published.serials.values()) == 2
    assert sum(c["released"] for c in published.certificates if c["part"] == 1) == len(published.records)
    assert _ends(published) == ends
    code, text = await _forget(config)
    assert (code, "nothing to forget" in text) == (0, True), text

    # The released range is in the ledger again: setting back stops again.
    await set_offsets(stage, SET_BACK)
    with WorkerProcess(config) as worker:
        await worker.wait_for("partition-stopped", times=2)


async def test_a_killed_worker_is_a_member_until_its_session_ends(stage: Stage) -> None:
    await produce(stage, make_records(SENT, 2))
    with WorkerProcess(stage.config()) as worker:
        await wait_until_accounted(stage, SENT)
        worker.kill()
        # It is a member until its session is over; there is nothing to forget, so that is no refusal.
        code, text = await _forget(stage.config(), "--yes")
        assert (code, "nothing to forget" in text) == (0, True), text
    await asyncio.sleep(2.5)
    # Its ledger outlives it, and the offsets of another group: asked for by name, all of it can be forgotten.
    other = stage.config(kafka={"group": f"{stage.name}.other"})
    names = [argument for n in range(PARTITIONS) for argument in ("--partition", f"{stage.name}:{n}")]
    code, text = await _forget(other, "--yes")
    assert (code, "nothing to forget" in text) == (0, True), text
    code, text = await _forget(other, "--yes", *names)
    assert code == 0, text
    assert f"{SENT:,} records at most" in text
    with WorkerProcess(other):
        published = await wait_until_accounted(stage, 2 * SENT)
    assert max(published.serials.values()) == 2
