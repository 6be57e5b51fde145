"""A version before this one and this one as one group, on a real Kafka: forward, back, and stopped in the middle.

docs/reference/versions.md has the table of what each must read of the other.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Mapping
from contextlib import ExitStack

import pytest
from jsonschema import Draft202012Validator

from tests.support.earlier import BEFORE, ROOT, missing_history, unpack
from tests.support.service import (
    Published,
    Stage,
    WorkerProcess,
    check_published,
    command,
    make_records,
    produce,
    wait_until_accounted,
)

NOW: Mapping[str, str] = {}

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.soak]


class Fleet:
    """Two places for workers of one group, each of this version or the one before; under load throughout."""

    def __init__(self, stage: Stage, before: Mapping[str, str], running: ExitStack) -> None:
        self.config = stage.config()
        self._stage, self._running = stage, running
        self._environments = {"before": before, "now": NOW}
        self.workers: list[WorkerProcess] = []
        self.sent = 0
        self._enough = asyncio.Event()
        self._load: asyncio.Task[None] | None = None

    async def start(self, version: str) -> WorkerProcess:
        worker = self._running.enter_context(WorkerProcess(self.config, self._environments[version]))
        await worker.wait_for("ready", within=300)
        self.workers.append(worker)
        if self._load is None:
            self._load = asyncio.create_task(self._send())
        await worker.wait_for("window-published")
        return worker

    async def replace(self, place: int, version: str) -> None:
        """Start a worker of a version, then stop the one whose place it takes, as a rolling update does."""
        await self.start(version)
        old = self.workers.pop(place)
        old.signal(signal.SIGTERM)
        assert await old.ended(30) == 0
        self.workers.insert(place, self.workers.pop())

    async def finish(self) -> Published:
        self._enough.set()
        assert self._load is not None
        await self._load
        published = await wait_until_accounted(self._stage, self.sent)
        for worker in self.workers:
            worker.signal(signal.SIGTERM)
            assert await worker.ended(30) == 0
        return published

    async def _send(self) -> None:
        while not self._enough.is_set():
            records = [*make_records(99, self.sent, first=self.sent), b"{}"]
            await produce(self._stage, records, seed=self.sent)
            self.sent += len(records)
            await asyncio.sleep(0.2)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    if reason := missing_history(BEFORE):
        pytest.skip(reason)
    return unpack(BEFORE, tmp_path_factory.mktemp("before"))


@pytest.mark.timeout(900)
async def test_a_group_is_rolled_forward_and_back_and_each_record_comes_out_once(
    stage: Stage, before: Mapping[str, str]
) -> None:
    with ExitStack() as running:
        fleet = Fleet(stage, before, running)
        await fleet.start("before")
        await fleet.start("before")
        for place, version in ((0, "now"), (1, "now"), (0, "before"), (1, "before"), (0, "now")):
            await fleet.replace(place, version)  # both versions are members between any two steps
        published = await fleet.finish()
    check_published(published, fleet.sent)
    for version, environment in (("now", NOW), ("before", before)):
        _, text = await command("audit", fleet.config, "--json", environment=environment)
        told = json.loads(text)
        assert not told["violations"], (version, told["kinds"])
        assert told["counts"]["windows"] == len({c["batch"] for c in published.certificates}), version
    schema = Draft202012Validator(json.loads((ROOT / "schemas" / "dead-letter.schema.json").read_text()))
    assert published.dead_letters
    assert all(schema.is_valid(letter) for letter in published.dead_letters)
