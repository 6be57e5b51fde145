"""Ten kinds of outages in an order drawn by a seed; each begins when all has recovered from the one before."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from aiokafka import TopicPartition
from aiokafka.admin import NewPartitions
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.errors import KafkaError

from stream_anon.settings.loading import load_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.apache_kafka.launcher import high_watermarks
from tests.support.apache_kafka.secured import USER
from tests.support.apache_kafka.three import Node, ThreeBrokers
from tests.support.outages.worker import clock_of
from tests.support.plain_kafka import admin_of
from tests.support.service import Stage, compile_once
from tests.support.storm.crowd import Crowd
from tests.support.storm.input import InputRecord, read_input
from tests.support.storm.offsets import ledger_of
from tests.support.storm.report import Report
from tests.support.storm.team import SESSION, Member, Team
from tests.support.storm.verdict import Life, Verdict, judge, read_topics

WORKERS = 2
HOURS = 7200.0
_QUOTA = 2000  # bytes a second and broker: less than is sent
_GONE_WITHIN = 60.0
_ABSENT = (KafkaError, OSError, TimeoutError)
_READINGS, _A_READING = 4, 10.0


@asynccontextmanager
async def stage_on(cluster: ThreeBrokers, name: str, folder: Path) -> AsyncIterator[Stage]:
    """Make topics, permissions and settings for workers on three brokers."""
    stage = Stage(cluster.any, name, folder, {"kafka": {**cluster.settings(), "development": False}})
    await stage.create_topics(min_insync_replicas="2")
    await cluster.allow_service(stage.name, stage.output)
    await asyncio.to_thread(compile_once, stage.config())
    yield stage


@dataclass
class Outages:
    """Workers and people on one stage, and what happens to the brokers.

    Parameters
    ----------
    module
        What each worker runs.
    rate
        Records a second.
    within
        Seconds from the end of an outage until all workers are ready and what was there then is released; also from
        the end of all until everything is.
    say
        Is told of each outage and of how long the recovery from it took.
    """

    cluster: ThreeBrokers
    stage: Stage
    seed: int
    module: str = "tests.support.outages.worker"
    rate: float = 300.0
    within: float = 60.0
    say: Callable[[str], None] = lambda _: None
    recovered_after: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._draws = np.random.default_rng([self.seed, 0])
        self.team = Team(self.stage, [], np.random.default_rng([self.seed, 2]), self.module)
        self.crowd = Crowd(self.stage, self.seed, self.rate)
        self._seen: dict[tuple[int, int], InputRecord] = {}
        self._gone: list[InputRecord] = []
        self.kinds: Mapping[str, Callable[[], Awaitable[None]]] = {
            "rolling-restart": self._restart_all,
            "coordinator-frozen": self._freeze_coordinator,
            "coordinator-killed": self._kill_coordinator,
            "disk-full": self._fill_disk,
            "two-of-three-down": self._kill_two,
            "partition-added": self._add_partition,
            "retention-passed": self._let_retention_pass,
            "clock-set": self._set_clock,
            "quota": self._hold_back,
            "worker-killed": self._kill_worker,
        }

    async def run(self, faults: int, limit: float) -> Report:
        """Let so many outages happen, but begin none after `limit` seconds; then wait for calm and judge.

        Every kind happens once before any happens again.
        """
        begun, stop, happened, deck = time.monotonic(), asyncio.Event(), Counter[str](), list[str]()
        sending = asyncio.create_task(self.crowd.send_until(stop))
        try:
            for _ in range(WORKERS):
                self.team.join()
            await self._until_recovered("start")
            while happened.total() < faults and time.monotonic() < begun + limit:
                if not deck:
                    deck = list(self.kinds)
                    self._draws.shuffle(deck)
                kind = deck.pop()
                self.say(f"{time.monotonic() - begun:7.1f} s  {kind}")
                await self.kinds[kind]()
                happened[kind] += 1
                await self._until_recovered(kind)
            stop.set()
            await sending
            verdict = await self._calm()
        finally:
            stop.set()
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            self.team.kill_all()
        seconds = time.monotonic() - begun
        return Report(self.seed, verdict, happened, 0, self.team.said, self.team.failures, seconds)

    async def _until_recovered(self, after: str) -> None:
        """Wait until all workers are ready, and all is released that was in the input at the end of an outage."""
        begun, ends = time.monotonic(), dict[int, int]()
        while not (ends and self._all_ready() and await self._released(ends)):
            self.team.bury()
            ends = ends or await self._ends()
            if time.monotonic() > begun + 2 * self.within:
                break
            await asyncio.sleep(0.2)
        took = time.monotonic() - begun
        self.recovered_after[after].append(round(took, 1))
        self.say(f"           recovered after {took:.1f} s")
        if took > self.within and after != "start":
            self.team.failures.append(f"not ready {self.within:g} s after {after}")
        # The next outage would be another one: a cluster with one copy too few loses two with the next broker.
        await self.cluster.until_whole()

    def _all_ready(self) -> bool:
        with contextlib.suppress(OSError, IndexError):  # IndexError: it has no pages yet
            return all(member.process.get("/readyz")[0] == 200 for member in self.team.members)
        return False

    async def _ledger(self) -> dict[int, int]:
        """Return the ledger's entries; a client that was made among outages may ask a wrong leader for ever."""
        for _ in range(_READINGS):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_A_READING):
                    return await ledger_of(self.stage)
        raise TimeoutError(f"the ledger was not read within {_READINGS} times {_A_READING:g} s")

    async def _released(self, ends: Mapping[int, int]) -> bool:
        with contextlib.suppress(*_ABSENT):
            entries = await self._ledger()
            return all(entries.get(number, 0) >= end for number, end in ends.items())
        return False

    async def _ends(self) -> dict[int, int]:
        """Return the ends of the input's partitions; of none while one of them has no leader."""
        places = [TopicPartition(self.stage.name, number) for number in range(self.crowd.partitions)]
        with contextlib.suppress(*_ABSENT):
            ends = await high_watermarks(self.stage.kafka.address, places)
            return {place.partition: end for place, end in ends.items()}
        return {}

    def _some(self, low: float, high: float) -> float:
        return float(self._draws.uniform(low, high))

    # -- brokers -------------------------------------------------------------------------------------------------

    def _node(self) -> Node:
        return self.cluster.nodes[int(self._draws.integers(len(self.cluster.nodes)))]

    async def _restart_all(self) -> None:
        for node in self.cluster.nodes:
            await asyncio.to_thread(node.stop)
            await asyncio.to_thread(node.start)
            await self.cluster.until_whole()

    async def _freeze_coordinator(self) -> None:
        """Let it stand still until others have taken its place, and wake it: it believes that it still has it."""
        node = await self.cluster.coordinator_of(self.stage.name)
        assert node.pid is not None
        os.kill(node.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(self._some(8, 12))
        finally:
            os.kill(node.pid, signal.SIGCONT)

    async def _kill_coordinator(self) -> None:
        node = await self.cluster.coordinator_of(self.stage.name)
        await asyncio.to_thread(node.kill)
        await asyncio.sleep(self._some(4, 8))
        await asyncio.to_thread(node.start)

    async def _fill_disk(self) -> None:
        """Let no file of a broker grow: to it as if its disk were full, and it gives up."""
        node = self._node()
        assert node.pid is not None
        resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
        await asyncio.to_thread(node.wait_until_gone, _GONE_WITHIN)
        await asyncio.sleep(self._some(2, 6))
        await asyncio.to_thread(node.start)

    async def _kill_two(self) -> None:
        """Leave one broker: nothing can be written, and nobody can elect a leader."""
        spared = self._node()
        killed = [node for node in self.cluster.nodes if node is not spared]
        for node in killed:
            await asyncio.to_thread(node.kill)
        await asyncio.sleep(self._some(5, 9))
        await asyncio.to_thread(self.cluster.start, killed)

    async def _hold_back(self) -> None:
        """Let the brokers hold the workers back for a while."""
        await self._quota("--add-config", f"producer_byte_rate={_QUOTA},consumer_byte_rate={_QUOTA}")
        await asyncio.sleep(self._some(8, 12))
        await self._quota("--delete-config", "producer_byte_rate,consumer_byte_rate")

    async def _quota(self, *change: str) -> None:
        user = ("--entity-type", "users", "--entity-name", USER)
        await self.cluster.any.tool("kafka.admin.ConfigCommand", "--alter", *change, *user)

    # -- the input -----------------------------------------------------------------------------------------------

    async def _add_partition(self) -> None:
        async with admin_of(self.cluster.any.address) as admin:
            answer = await admin.create_partitions({self.stage.name: NewPartitions(self.crowd.partitions + 1)})
        assert all(code == 0 for _, code, *_ in answer.topic_errors), answer
        added = self.crowd.partitions
        self.crowd.partitions += 1
        async with asyncio.timeout(self.within):
            while not (await self._ends()).get(added):  # noqa: ASYNC110 - until somebody has sent to it
                await asyncio.sleep(0.2)

    async def _let_retention_pass(self) -> None:
        """Delete unread records of half of the partitions, while all workers sleep beyond their sessions."""
        asleep = self.team.present()
        for member in asleep:
            self.team.sleep(member)
        await asyncio.sleep(SESSION + self._some(1, 3))
        ends = await self._look()
        drawn = self._draws.choice(self.crowd.partitions, self.crowd.partitions // 2, replace=False).tolist()
        places = {number: ends[number] for number in drawn if number in ends}
        async with admin_of(self.cluster.any.address) as admin:
            await admin.delete_records(
                {TopicPartition(self.stage.name, number): RecordsToDelete(end) for number, end in places.items()}
            )
        released = await self._ledger()  # nothing changes it: whatever was on its way has ended
        for number, end in places.items():
            unread = [(number, offset) for offset in range(released.get(number, 0), end)]
            self._gone += [self._seen.pop(spot) for spot in unread if spot in self._seen]
        for member in asleep:
            self.team.wake(member)

    async def _look(self) -> dict[int, int]:
        """Remember the input's records as they are now, and return its ends."""
        found = await read_input(self.stage.kafka.address, self.stage.name)
        self._seen |= {(record.partition, record.offset): record for record in found.records}
        return found.ends

    # -- workers -------------------------------------------------------------------------------------------------

    def _worker(self) -> Member:
        member = self.team.one()
        assert member is not None, "no worker is left"
        return member

    async def _set_clock(self) -> None:
        """Set a worker's clock two hours ahead or back for a while, as somebody might set its machine's."""
        file = clock_of(self.stage.folder, self._worker().process.pid)
        scratch = file.with_suffix(".new")
        scratch.write_text(str(HOURS if self._draws.random() < 2 / 3 else -HOURS))
        scratch.rename(file)
        await asyncio.sleep(self._some(6, 10))
        file.unlink()

    async def _kill_worker(self) -> None:
        self.team.kill(self._worker())
        self.team.join()

    # -- afterwards ----------------------------------------------------------------------------------------------

    async def _calm(self) -> Verdict:
        ends, deadline = await self._look(), time.monotonic() + self.within
        while await ledger_of(self.stage) != ends:
            if time.monotonic() > deadline:
                self.team.failures.append(f"not all records were accounted for after {self.within:g} s of calm")
                break
            await asyncio.sleep(0.5)
        await self.team.rest()
        if self._told_as_lost() != {(record.partition, record.offset) for record in self._gone}:
            self.team.failures.append("workers told other records as lost than retention had deleted unread")
        topics = await read_topics(self.stage)
        lived = Life("", list(self._seen.values()), gone=self._gone)
        config = self.team.config()
        policy = build_policy(load_settings(config), config)
        return judge(replace(topics, lives=[lived]), self.crowd.people, self.crowd.acknowledged, policy)

    def _told_as_lost(self) -> set[tuple[int, int]]:
        """Return partition and offset of each record that the log of a worker calls deleted before it was read."""
        logs = [file.read_text().splitlines() for file in self.stage.folder.glob("*.log")]
        told = [json.loads(line) for log in logs for line in log if '"event": "input-lost"' in line]
        return {(line["partition"], offset) for line in told for offset in range(line["start"], line["end"])}


def figures(outages: Outages, report: Report) -> dict[str, Any]:
    """Return what a failed test shows."""
    return {**report.figures(), "recovered_after": dict(outages.recovered_after)}
