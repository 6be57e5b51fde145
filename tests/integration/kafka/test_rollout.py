"""A policy is changed while the service runs, on a real Kafka."""

from __future__ import annotations

import asyncio
import re
import signal

import pytest

from tests.support.service import (
    K,
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    read_published,
    wait_until_accounted,
)

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


async def test_a_weaker_policy_publishes_nothing_until_exactly_it_is_accepted(stage: Stage) -> None:
    with WorkerProcess(stage.config()) as worker:
        await worker.wait_for("ready")
        await produce(stage, make_records(200, 1))
        await wait_until_accounted(stage, 200)
        worker.signal(signal.SIGTERM)
        assert await worker.ended(20) == 0

    with WorkerProcess(stage.config(privacy={"k": 3})) as worker:
        assert await worker.ended(60) == 2
        assert f"privacy.k was {K} and would fall to 3" in worker.text
        (line,) = set(re.findall(r"`accept_weaker: (sha256:[0-9a-f]{64})` under", worker.text))
        assert not worker.said("taken-over")

    with WorkerProcess(stage.config(privacy={"k": 3, "accept_weaker": line})) as worker:
        await worker.wait_for("ready")
        await produce(stage, make_records(200, 2, first=200))
        published = await wait_until_accounted(stage, 400)
        assert {c["asked"]["k"] for c in published.certificates} == {K, 3}


@pytest.mark.soak
async def test_after_the_first_window_of_a_higher_revision_none_of_a_lower_one_is_published(stage: Stage) -> None:
    spread = {"assignment": "spread"}  # both policies have partitions at once
    old = stage.config(privacy={"k": K, "revision": 1}, kafka=spread)
    new = stage.config(privacy={"k": 2 * K, "revision": 2}, kafka=spread)
    enough = asyncio.Event()
    with WorkerProcess(old) as one, WorkerProcess(old) as two:
        for worker in (one, two):
            await worker.wait_for("ready")
        producing = asyncio.create_task(_produce_until(stage, enough))
        await one.wait_for("window-published")
        with WorkerProcess(new) as three, WorkerProcess(new) as four:
            await three.wait_for("window-published")
            for worker in (one, two):  # they keep partitions as long as they are members
                line = await worker.wait_for("superseded")
                assert (line["by"], line["own"]) == (2, 1)
                status, text = worker.get("/readyz")
                assert status == 200
                assert "revision 2" in text
            for worker in (one, two):
                worker.signal(signal.SIGTERM)
                assert await worker.ended(20) == 0
            enough.set()
            sent = await producing
            published = await wait_until_accounted(stage, sent)
            assert not three.said("superseded")
            assert not four.said("superseded")
    check_published(published, sent)
    order = await _revisions_in_order_of_commits(stage)
    assert {(r, k) for r, k in order} == {(1, K), (2, 2 * K)}
    assert order == sorted(order), "a window of the old policy follows one of the new"


async def _produce_until(stage: Stage, enough: asyncio.Event) -> int:
    """Send some hundred records a second until it is enough; return how many there were."""
    sent = 0
    while not enough.is_set():
        await produce(stage, make_records(200, sent, first=sent))
        sent += 200
        await asyncio.sleep(0.3)
    return sent


async def _revisions_in_order_of_commits(stage: Stage) -> list[tuple[int, int]]:
    """Return revision and k of each window in the order of the ledger, whose one partition all windows share."""
    asked = {c["batch"]: (c["revision"], c["asked"]["k"]) for c in (await read_published(stage)).certificates}
    order: dict[str, tuple[int, int]] = {}
    for record in await stage.kafka.read_to_end(f"{stage.output}.ledger"):
        batch = re.search(rb'"batch":"([0-9a-f]+)"', record.value or b"")
        assert batch is not None
        order[batch[1].decode()] = asked[batch[1].decode()]
    return list(order.values())
