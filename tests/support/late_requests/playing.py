"""Play a schedule with a real service on a cluster, and judge what readers of committed records see."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka.errors import KafkaError

from stream_anon.settings.loading import load_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.late_requests.cluster import Cluster, Node
from tests.support.late_requests.schedules import Killed, Schedule
from tests.support.late_requests.script import Holding
from tests.support.service import PARTITIONS, Stage, WorkerProcess, make_records, produce
from tests.support.storm.verdict import Verdict, judge, read_topics

GUARDED, UNGUARDED = "tests.support.late_requests.one_by_one", "tests.support.late_requests.unguarded"
_GATHERING = "stream_anon.cli.main"
_WITHIN = 240.0
_STUCK_AFTER = 30.0  # seconds after which a stopped partition will not go on
_SETTLED_AFTER = 3.0
_COORDINATOR = 2  # the broker that stands still
_SINK_OF = {"transaction_timeout": "20s", "session_timeout": "6s"}
_ZOMBIE = {"transaction_timeout": "300s", "session_timeout": "2s"}
_SAYS = ("commit-uncertain", "commit-settled", "commit-found", "commit-fenced", "partition-stopped", "taken-over")


@dataclass(frozen=True)
class Played:
    """What became of a schedule.

    Parameters
    ----------
    held, arrived
        Whether a request was held, and whether it has reached the broker.
    codes
        With which the broker answered it.
    verdict
        None if a transaction stayed open.
    said
        How often the service said what.
    """

    held: bool
    arrived: bool
    codes: list[int]
    verdict: Verdict | None
    said: Counter[str]

    @property
    def clean(self) -> bool:
        """Return whether each record is out once, whole windows only, and no partition had to stop."""
        return self.verdict is not None and self.verdict.clean and not self.said["partition-stopped"]

    @property
    def in_short(self) -> dict[str, Any]:
        """Return the figures as JSON has them."""
        verdict = self.verdict
        figures = {} if verdict is None else {"lost": verdict.lost, "twice": verdict.duplicated, **verdict.notes}
        return {
            "clean": self.clean,
            "arrived": self.arrived,
            "codes": self.codes,
            **figures,
            "said": dict(self.said),
        }


async def play(schedule: Schedule, cluster: Cluster, folder: Path, module: str = GUARDED) -> Played:
    """Play a schedule; several may be played on one cluster at a time, unless one of them is `alone`.

    Parameters
    ----------
    module
        What a worker runs: `GUARDED` or `UNGUARDED`.
    """
    return await _Play(schedule, cluster, folder, module).run()


class _Play:
    def __init__(self, schedule: Schedule, cluster: Cluster, folder: Path, module: str) -> None:
        self.schedule, self.cluster = schedule, cluster
        self.module = _GATHERING if schedule.gathers and module == GUARDED else module
        folder.mkdir(parents=True, exist_ok=True)
        self.stage = Stage(cluster.nodes[0], f"e{uuid.uuid4().hex[:8]}", folder)
        self.script = Holding(schedule.key, schedule.number, schedule.moment)
        self.workers: list[WorkerProcess] = []
        self.killed = False
        self._restarting: asyncio.Task[None] | None = None
        timeouts = _ZOMBIE if schedule.zombie else _SINK_OF
        self.settings: dict[str, Any] = {
            "kafka": {"bootstrap_servers": cluster.lines[0].address, **timeouts},
            "window": {"max_records": schedule.window, "max_delay": "3s"},
        }

    async def run(self) -> Played:
        await self._prepare()
        for line in self.cluster.lines:
            line.scripts[self.stage.name] = self.script
        try:
            self._start()
            await self._until_over()
            self.script.let_go()
            return await self._judged()
        finally:
            for worker in self.workers:
                worker.kill()
            if self._restarting is not None:  # or the broker would be started behind the end of its cluster
                await asyncio.wait([self._restarting])

    async def _prepare(self) -> None:
        name, cluster, last = self.stage.name, self.cluster, self.cluster.size
        if self.schedule.moves:
            await cluster.let_coordinate(_COORDINATOR)
        await cluster.create(name, PARTITIONS, 1)
        await cluster.create(self.stage.output, self.schedule.partitions, 1)
        await cluster.create(f"{self.stage.output}.certificates", 2, last)
        await cluster.create(f"{self.stage.output}.dead-letters", 1, 1)
        await cluster.create(f"{self.stage.output}.ledger", 1, last, cleanup_policy="compact")
        values = make_records(self.schedule.records, 7)
        self.people = [json.loads(value)["person"] for value in values]
        await asyncio.sleep(1)  # until every broker has heard of the topics
        await produce(self.stage, values, seed=3)
        script = self.script
        script.on_arrival = self._on_arrival
        if self.schedule.killed is Killed.AFTER_NEXT_END:
            script.on_next_end = self._kill
        if self.schedule.zombie:
            script.stall = self._overtake
        if self.schedule.restarts:
            script.on_hold = self._restart_soon
        if self.schedule.moves:
            script.on_hold, script.before_arrival = self._stand_still, self._wake

    def _start(self, **kafka: str) -> WorkerProcess:
        # Who joins must be given partitions.
        given = {**self.settings["kafka"], "assignment": "spread", **kafka}
        config = self.stage.config(**{**self.settings, "kafka": given})
        worker = WorkerProcess(config, module=self.module)
        self.workers.append(worker)
        return worker

    # -- what happens at the moments of the script ---------------------------------------------------------------

    async def _on_arrival(self) -> None:
        await asyncio.sleep(0.5)  # the coordinator writes its markers
        if self.schedule.killed is Killed.AT_ARRIVAL:
            await self._kill()

    async def _kill(self) -> None:
        if not self.killed:
            self.killed = True
            self.script.let_go()
            self.workers[0].kill()
            self._start()

    async def _overtake(self) -> None:
        other = await asyncio.to_thread(self._start, bootstrap_servers=self.stage.kafka.address)
        await other.wait_for("window-published", 90)

    async def _restart_soon(self) -> None:
        self._restarting = asyncio.create_task(asyncio.to_thread(_restart, self.cluster.nodes[0]))
        await asyncio.sleep(0.2)

    async def _stand_still(self) -> None:
        os.kill(self._coordinator, signal.SIGSTOP)

    async def _wake(self) -> None:
        os.kill(self._coordinator, signal.SIGCONT)

    @property
    def _coordinator(self) -> int:
        pid = self.cluster.nodes[_COORDINATOR - 1].pid
        assert pid is not None
        return pid

    # -- until all records are accounted for ---------------------------------------------------------------------

    async def _until_over(self) -> None:
        deadline, stuck = time.monotonic() + _WITHIN, None
        while time.monotonic() < deadline:
            await asyncio.sleep(0.5)
            arrived = self.script.arrived or self.script.held is None
            if arrived and await self._all_accounted():
                await asyncio.sleep(_SETTLED_AFTER)
                return
            worker = self.workers[-1]
            if worker.code is not None:
                return
            if worker.said("partition-stopped"):
                stuck = stuck or time.monotonic() + _STUCK_AFTER
                if time.monotonic() > stuck:
                    return

    async def _all_accounted(self) -> bool:
        """Return whether certificates speak of every record."""
        with contextlib.suppress(
            TimeoutError, KafkaError, AssertionError
        ):  # a transaction is open, or a broker away
            found = await self.stage.kafka.read_to_end(f"{self.stage.output}.certificates", within=2)
            parts = [json.loads(record.value) for record in found if "batch" in dict(record.headers)]
            covered = {
                (each["partition"], offset)
                for part in parts
                if part["part"] == 1
                for each in part["inputs"]
                for offset in range(each["start"], each["end"])
            }
            return len(covered) >= self.schedule.records
        return False

    async def _judged(self) -> Played:
        for worker in self.workers:
            worker.kill()
        config = self.stage.config(**self.settings)
        policy = build_policy(load_settings(config), config)
        verdict = None
        with contextlib.suppress(TimeoutError):
            topics = await read_topics(self.stage, within=20)
            verdict = judge(topics, self.people, set(range(self.schedule.records)), policy)
        said = Counter(line["event"] for worker in self.workers for line in worker.lines if line["event"] in _SAYS)
        return Played(self.script.held is not None, self.script.arrived, self.script.codes, verdict, said)


def _restart(node: Node) -> None:
    node.kill()
    time.sleep(0.5)
    node.start()
