"""What breaks at the broker while a worker runs: it recovers or says why not, and never stalls in silence."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_anon.adapters.kafka.permissions import Acl, Operation, Resource, least_privileges
from stream_anon.adapters.kafka.topics import Topics
from tests.support.apache_kafka.secured import PASSWORD, USER, SecuredKafka
from tests.support.service import (
    Stage,
    WorkerProcess,
    check_published,
    make_records,
    produce,
    wait_until_accounted,
)

pytestmark = pytest.mark.kafka
WITHIN = 60.0


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


async def test_lost_right_stalls_the_worker_in_silence(stage: Stage, secured: SecuredKafka) -> None:
    out = stage.output
    topics = Topics(stage.name, out, f"{out}.certificates", f"{out}.dead-letters", f"{out}.ledger")
    needed = least_privileges(stage.name, topics)
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
            await _stays(_unready(worker), 3.0, f"unready without {right}")
            await secured.allow([lost])
            check_published(await wait_until_accounted(stage, 200 * turn + 200), 200 * turn + 200)
            await _until(_ready(worker), f"ready again with {right}")
        assert _most_lines_a_second(worker) < 20
        assert PASSWORD not in worker.text
