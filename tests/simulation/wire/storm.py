"""One run: workers publish a few windows in bad weather, then a clean worker of each group ends the work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from stream_anon.ports import Membership
from tests.simulation.wire.fences import without
from tests.simulation.wire.loop import JumpingLoop, jumping
from tests.simulation.wire.model.broker import Cluster
from tests.simulation.wire.network import Network
from tests.simulation.wire.verdict import Verdict, judge
from tests.simulation.wire.weather import Blow, Weather
from tests.simulation.wire.worker import CERTIFICATES, INPUT, LEDGER, OUTPUT, Worker

RECORDS = {0: 13, 1: 11}
"""Of each partition of the input."""
_LASTS = 3.0  # seconds of bad weather, at the most
_SESSION = 0.3  # seconds until a group lets go of a member that is silent
_ENDS_WITHIN = 120.0


@dataclass
class Team:
    """A group: its members in the order in which they joined."""

    name: str
    members: list[Worker] = field(default_factory=list)


class Storm:
    """What happens in one run."""

    def __init__(self, seed: int, level: int) -> None:
        self.loop = asyncio.get_running_loop()
        assert isinstance(self.loop, JumpingLoop)
        self.weather = weather = Weather(seed, self.loop.time)
        lead = iter(weather.leaders)
        topics = {
            INPUT: (1, 1),
            OUTPUT: (next(lead), next(lead)),
            CERTIFICATES: (next(lead),),
            LEDGER: (next(lead),),
        }
        self.cluster = Cluster(
            level, topics, transactions_at=next(lead), groups_at=next(lead), hop=weather.hop, nodes=weather.nodes
        )
        self.network = Network(self.cluster, weather)
        self.loop.connect = self.network.connect
        self.teams = [Team(f"g{n}") for n in range(weather.groups)]
        self._numbers, self._windows = count(1), count(1)
        self._alive: set[Worker] = set()
        self._deaf: dict[str, float] = {}  # until when a worker hears nothing of its group
        self._leaving: set[asyncio.Task[None]] = set()

    def add_worker(self, team: Team) -> None:
        name = f"w{next(self._numbers)}"
        worker = Worker(
            name,
            team.name,
            RECORDS,
            self.weather.window,
            self.weather.transaction_timeout,
            lambda: f"{name}.{next(self._windows)}",
        )
        team.members.append(worker)
        self._alive.add(worker)
        worker.start()

    def move(self, team: Team) -> None:
        """Begin a generation; a member that is silent hears of it afterwards."""
        group = self.cluster.group(team.name)
        group.move({worker.name for worker in team.members})
        for i, worker in enumerate(team.members):
            given = [n for n in RECORDS if n % len(team.members) == i]
            membership = Membership(group.generation, worker.name)
            hears = max(self._deaf.get(worker.name, 0.0), self.loop.time())
            self.loop.call_at(hears, worker.source.hear, membership, given)

    def bury(self, worker: Worker) -> None:
        """End a process; its group does not know yet."""
        self._alive.remove(worker)
        self.network.kill(worker.name)
        self._leaving.add(self.loop.create_task(worker.kill()))

    def _expel(self, team: Team, worker: Worker) -> None:
        if worker in team.members:
            team.members.remove(worker)
        self.add_worker(team)
        self.move(team)

    async def strike(self, blow: Blow) -> None:
        """Let a blow befall a worker."""
        team = self.teams[blow.which % len(self.teams)]
        worker = team.members[blow.which // 2 % len(team.members)]
        await self.network.passed(f"{worker.name} {team.name}-sink", blow.after, _LASTS)
        if worker not in self._alive:
            return
        self.weather.tell(f"{worker.name}: {blow.kind} {blow.lasts:.4f} s")
        match blow.kind:
            case "join":
                self.add_worker(team)
                self.move(team)
            case "kill":
                self.bury(worker)
                await asyncio.sleep(_SESSION)
                self._expel(team, worker)
            case "hang":
                self.network.hangs[worker.name] = self.loop.time() + blow.lasts + _SESSION
                await self._silence(team, worker, blow.lasts)
            case "stick":
                await worker.stick(blow.step, blow.lasts + _SESSION)
                await self._silence(team, worker, blow.lasts)

    async def _silence(self, team: Team, worker: Worker, lasts: float) -> None:
        """Let a group go on without a member that says nothing; it joins again when it hears of that."""
        self._deaf[worker.name] = self.loop.time() + _SESSION + lasts
        await asyncio.sleep(_SESSION)
        self._expel(team, worker)
        await asyncio.sleep(lasts)
        if worker in self._alive and worker not in team.members:
            team.members.append(worker)
            self.move(team)

    async def run(self) -> Verdict:
        for team in self.teams:
            for _ in range(self.weather.workers):
                self.add_worker(team)
            self.move(team)
        blows = [self.loop.create_task(self.strike(blow)) for blow in self.weather.blows]
        ends = self.loop.time() + _LASTS
        while self.loop.time() < ends and not self._all_out():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)
        for blow in blows:
            blow.cancel()
        for done in await asyncio.gather(*blows, return_exceptions=True):
            if isinstance(done, Exception):
                raise done
        self.weather.is_calm = True
        self.weather.tell("calm")
        await self._end()
        for worker in list(self._alive):
            self.bury(worker)
        await asyncio.sleep(self.weather.transaction_timeout + 1.0)  # what is late has come, and nothing is open
        for left in await asyncio.gather(*self._leaving, return_exceptions=True):
            if isinstance(left, Exception):
                raise left
        verdict = judge(self.cluster, RECORDS, self.teams[0].name if len(self.teams) == 1 else None)
        await self.network.close()
        return verdict

    async def _end(self) -> None:
        """Let one clean worker of each group end the work."""
        for worker in list(self._alive):
            self.bury(worker)
        for team in self.teams:
            team.members.clear()
            self.add_worker(team)
            self.move(team)
        last = [team.members[0] for team in self.teams]
        ends = self.loop.time() + _ENDS_WITHIN
        while self.loop.time() < ends and not all(w.is_done for w in last):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)
        for worker in last:
            if worker.stopped:
                self.weather.tell(f"{worker.name}: stopped at {worker.stopped}")

    def _all_out(self) -> bool:
        return all(
            any(worker.positions.get(n) == end for team in self.teams for worker in team.members)
            for n, end in RECORDS.items()
        )


@dataclass(frozen=True)
class Run:
    """How a run ended."""

    seed: int
    level: int
    verdict: Verdict
    told: Sequence[str]

    def __str__(self) -> str:
        faults = "\n".join(self.told)
        again = f"python -m tests.simulation.wire {self.seed} --level {self.level}"
        return f"{again}: {self.verdict}\n{faults}"


def level_of(seed: int) -> int:
    """Return the transaction.version that a seed runs at if nobody asks for another."""
    return seed % 3


def run(
    seed: int, level: int | None = None, fences_off: Collection[str] = (), *, tells_frames: bool = False
) -> Run:
    """Return how the run of a seed ends.

    Parameters
    ----------
    fences_off
        See `fences.without`.
    tells_frames
        Whether each frame that arrives is told beside the faults.
    """
    at = level_of(seed) if level is None else level

    async def weather() -> tuple[Verdict, Sequence[str]]:
        storm = Storm(seed, at)
        storm.network.tells = tells_frames
        return await storm.run(), storm.weather.told

    with _silent(logging.getLogger("aiokafka")), jumping(seed) as runner, without(fences_off):
        return Run(seed, at, *runner.run(weather()))


@contextmanager
def _silent(log: logging.Logger) -> Iterator[None]:
    before = log.level
    log.setLevel(logging.CRITICAL + 1)  # faults are drawn here, and told elsewhere
    try:
        yield
    finally:
        log.setLevel(before)
