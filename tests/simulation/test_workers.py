"""Several workers on one broker in memory under random faults: every record once, whatever happens.

A run is a seed. Each step lets one worker turn, or sends records, or breaks something: a verb of a transaction, a
worker (stopped, killed, added), the broker, the committed offsets. The groups of every second run pack their
partitions, by loads that are drawn.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter

import numpy as np
import pytest

from stream_anon.service import retrying, worker
from stream_anon.windowing import target_size
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker, MemoryLedger

RUNS = int(os.environ.get("STREAM_ANON_SIMULATION_RUNS", "12"))
STEPS = 250
VERBS = ("begin", "send", "send after", "settle", "add_offsets", "commit_offsets", "commit_offsets after", "commit")


class Storm:
    def __init__(self, seed: int, groups: int = 1) -> None:
        self.draws = np.random.default_rng(seed)
        self.broker = MemoryBroker(3)
        if seed % 2:
            self.broker.load = lambda: float(self.draws.random())
        self.groups = [self.broker, *(self.broker.other_group() for _ in range(groups - 1))]
        self.clock = FakeClock()
        self.workers: list[Driver] = []
        self.sent = 0
        self.born = 0
        self.faults: Counter[str] = Counter()

    async def add_worker(self) -> None:
        home = self.groups[self.born % len(self.groups)]
        self.born += 1
        # Every second worker closes windows at a size that it learns.
        target = {"target_loss": 0.6} if self.born % 2 else {}
        driver = Driver(home, self.clock, f"w{self.born}", window={"max_records": 8, "max_delay": 5} | target)
        await driver.worker.connect()
        self.workers.append(driver)

    def send(self, count: int) -> None:
        self.broker.send(people(count, self.sent), int(self.draws.integers(3)))
        self.sent += count

    def some(self) -> Driver:
        return self.workers[int(self.draws.integers(len(self.workers)))]

    def spare(self) -> Driver | None:
        """Return a worker that is not its group's last."""
        homes = Counter(id(driver.broker) for driver in self.workers)
        chosen = self.some()
        return chosen if homes[id(chosen.broker)] > 1 else None

    async def step(self) -> None:  # noqa: C901, PLR0912 - a table of what may happen
        self.clock.advance(float(self.draws.exponential(0.3)))
        match int(self.draws.integers(40)):
            case 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7:
                self.send(int(self.draws.integers(1, 12)))
            case 8:
                self.some().sink.break_at = [str(self.draws.choice([*VERBS, "commit after"]))]
                self.faults["break"] += 1
            case 9 if len(self.workers) < 4:
                await self.add_worker()
                self.faults["join"] += 1
            case 10 if (victim := self.spare()) is not None:
                self.workers.remove(victim)
                await victim.kill()
                self.faults["kill"] += 1
            case 11 if (victim := self.spare()) is not None:
                self.workers.remove(victim)
                await victim.stop()
                self.faults["stop"] += 1
            case 12:
                # Stopped beyond its session's timeout: the others go on without it, it knows nothing of that.
                sleeper = self.some()
                sleeper.source.asleep = True
                sleeper.broker.leave(sleeper.source.name)
                self.faults["sleep"] += 1
            case 13 | 14:
                sleeper = self.some()
                if sleeper.source.asleep:
                    sleeper.source.wake()
            case 15:
                self.broker.expire()
            case 16:
                self.groups[int(self.draws.integers(len(self.groups)))].rebalance()
                self.faults["rebalance"] += 1
            case 17 if self.draws.random() < 0.3:
                # Deleted while the group rests for a moment, as their expiry would do it.
                self.broker.offsets.clear()
                self.faults["offsets deleted"] += 1
            case 18:
                gate = self.some().sink.gate
                gate.clear() if gate.is_set() else gate.set()
            case _:
                await self.turn(self.some())

    async def turn(self, driver: Driver) -> None:
        """Let a worker turn once; one that waits for something is left to itself."""
        task = asyncio.create_task(driver.worker.turn())
        done, _ = await asyncio.wait([task], timeout=0.02)
        if done:
            task.result()
        else:
            self.broker.expire()  # it waits for the end of somebody's transaction
            await task

    async def blow(self) -> None:
        """Begin with a worker of each group, do all steps, let everything come to rest, and end the workers."""
        for _ in self.groups:
            await self.add_worker()
        for _ in range(STEPS):
            await self.step()
        await self.calm()
        for driver in self.workers:
            driver.stopping.set()
            await driver.worker.disconnect()

    async def calm(self) -> None:
        """Let everything come to rest."""
        self.broker.expire()  # what the dead left open ends with its timeout
        for driver in self.workers:
            driver.sink.break_at.clear()
            driver.sink.gate.set()
            if driver.source.asleep:
                driver.source.wake()
        rounds, patience_ends = 0, asyncio.get_running_loop().time() + 60
        while rounds < 200 and asyncio.get_running_loop().time() < patience_ends:
            busy = any(d.worker._queue.busy for d in self.workers)
            for driver in self.workers:
                await self.turn(driver)
            self.clock.advance(0.5)
            if busy:
                await asyncio.sleep(0.002)  # a thread partitions, slowly under load: no round is lost
                continue
            rounds += 1
            if self.broker.accounted >= self.sent:
                return


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    # What waits for real time waits for little of it.
    monkeypatch.setattr(target_size, "LEAST_CROWDS", 1)  # windows are small here
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.002)
    monkeypatch.setattr(worker, "FINISH_WITHIN", 0.05)
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(retrying, "LONGEST_PAUSE", 0.002)


async def weather(seed: int, groups: int) -> Storm:
    """Return a storm that is over."""
    storm = Storm(seed, groups)
    await storm.blow()
    return storm


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.soak] if seed >= 4 else []) for seed in range(RUNS)]
)
async def test_every_record_is_released_once_in_a_storm(seed: int, groups: int) -> None:
    # Two groups on one output: one of them stops at a partition where the other went on, never both.
    storm = await weather(seed, groups)
    broker = storm.broker
    twice = [serial for serial, times in broker.serials.items() if times > 1]
    assert not twice, f"released twice: {twice} ({storm.faults})"
    assert broker.accounted == storm.sent, f"{broker.accounted} of {storm.sent} ({storm.faults})"
    ends: dict[int, int] = {}
    for certificate in broker.certificates:
        for part in certificate["inputs"]:
            assert ends.get(part["partition"], 0) == part["start"], f"ranges do not join ({storm.faults})"
            ends[part["partition"]] = part["end"]
    assert sum(ends.values()) == storm.sent
    assert not broker.astray, f"certificates name others than those before them ({storm.faults})"


@pytest.mark.parametrize("fence", ["group", "ledger"])
async def test_storm_finds_duplicates_where_a_fence_is_down(fence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A storm that cannot show duplicates without the fences proves nothing about them."""

    async def open_gate(*_: object) -> None:
        pass

    if fence == "ledger":
        monkeypatch.setattr(MemoryLedger, "uncontested", open_gate)
    else:
        monkeypatch.setattr(MemoryBroker, "fence", lambda *_: None)
        monkeypatch.setattr(MemoryLedger, "uncontested", open_gate)
    for seed in range(10):
        storm = await weather(seed, 2 if fence == "ledger" else 1)
        if max(storm.broker.serials.values()) > 1:
            return
    pytest.fail("ten storms, and no record was released twice")
