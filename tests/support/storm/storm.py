"""A storm: faults drawn by a seed, until so many have happened; then calm, and a verdict."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from stream_anon.settings.loading import load_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.registry.apicurio import Apicurio
from tests.support.service import PARTITIONS, Stage
from tests.support.storm.crowd import Crowd
from tests.support.storm.input import read_input
from tests.support.storm.line import Line
from tests.support.storm.offsets import ledger_of
from tests.support.storm.operator import Operator
from tests.support.storm.report import Report
from tests.support.storm.returns import bounded, check_families, check_returns, with_families
from tests.support.storm.team import SESSION, Member, Team
from tests.support.storm.verdict import Verdict, judge, read_topics
from tests.support.storm.weather import CHANGES, Change

WORKERS, MOST = 3, 5
STEPS = [f"closing.{n}" for n in (1, 3, 4, 5, 6, 7, 8, 9, 10)] + [f"takeover.{n}" for n in range(1, 8)]
STEP_FAULTS = [f"{step}:{how}" for step in STEPS for how in ("kill", "stop")]
_BREAKS_WITHIN = 60.0
_CALM_WITHIN = 150.0


@dataclass
class Storm:
    """Workers, people and faults on one stage.

    Parameters
    ----------
    rate
        Records a second.
    say
        Is told of each fault.
    registry
        Is killed and started again too, where the stage has one.
    packed
        Whether one worker reads all partitions and the others stand by, or all read some.
    most
        How often one person may be released; None without a bound. Then records are keyed by person.
    families
        Whether people have an illness that is published as its family.
    workers
        How many there are as a rule; never more than `MOST`, never fewer than one.
    """

    stage: Stage
    lines: list[Line]
    seed: int
    rate: float = 300.0
    say: Callable[[str], None] = lambda _: None
    registry: Apicurio | None = None
    packed: bool = True
    most: int | None = None
    families: bool = False
    workers: int = WORKERS
    faults: Counter[str] = field(default_factory=Counter)
    missed: int = 0

    def __post_init__(self) -> None:
        self._draws = np.random.default_rng([self.seed, 0])
        draws = np.random.default_rng([self.seed, 2])
        if self.families:
            self.stage = with_families(self.stage)
        if self.most is not None:
            self.stage = bounded(self.stage, self.most)
        self.team = Team(self.stage, self.lines, draws, packed=self.packed)
        self.crowd = Crowd(
            self.stage, self.seed, self.rate, by_person=self.most is not None, families=self.families
        )
        self.operator = Operator(self.stage, self.team, self.crowd, self._draws, self.workers, self._heal)
        self._healing: set[asyncio.Task[None]] = set()
        self._begun = time.monotonic()
        self._kinds: dict[str, Callable[[], Awaitable[bool]]] = {
            "sigkill": self._kill,
            "sigterm": self._leave,
            "sigstop": self._zombie,
            "join": self._join,
            "leave": self._leave,
            "broker-stop": partial(self._restart_broker, self.stage.kafka.stop),
            "broker-kill": partial(self._restart_broker, self.stage.kafka.kill),
            "odd-batches": self.crowd.send_odd_batches,
            "unreadable-batches": self.crowd.send_unreadable_batches,
            **{name: partial(self._change, change) for name, change in CHANGES.items()},
            **self.operator.faults(),
        }
        if self.registry is not None:
            self._kinds |= {"registry-kill": partial(self._restart_registry, self.registry)}

    async def run(self, faults: int, limit: float) -> Report:
        """Break so many things, but no longer than `limit` seconds; then wait for calm and judge.

        Parameters
        ----------
        limit
            Fewer faults may have happened when it is over: the report says how many.
        """
        self._begun = time.monotonic()
        stop = asyncio.Event()
        sending = asyncio.create_task(self.crowd.send_until(stop))
        try:
            for _ in range(self.workers):
                self.team.join()
            await self.team.members[0].process.wait_for("ready", within=90)
            await self._break(faults, self._begun + limit)
            await self.operator.until_the_ledger_is_whole()
            stop.set()
            await sending
            verdict = await self._calm()
        finally:
            stop.set()
            for task in [*self._healing, sending]:
                task.cancel()
            await asyncio.gather(*self._healing, sending, return_exceptions=True)
            self.team.kill_all()
        seconds = time.monotonic() - self._begun
        team = self.team
        return Report(self.seed, verdict, self.faults, self.missed, team.said, team.failures, seconds)

    async def _break(self, faults: int, deadline: float) -> None:
        # A short storm would seldom draw the one fault that only its registry has.
        first = [] if self.registry is None else ["registry-kill"] * 2
        decks: dict[str, list[str]] = {"steps": [], "others": first}
        while self.faults.total() < faults and time.monotonic() < deadline:
            steps_running = sum(member.busy for member in self.team.members)
            name = "steps" if self._draws.random() < 0.5 and steps_running < 2 else "others"
            if not decks[name]:
                decks[name] = list(STEP_FAULTS if name == "steps" else self._kinds)
                self._draws.shuffle(decks[name])
            kind = decks[name].pop()
            if name == "steps":
                self._later(self._break_at(kind))
            elif await self._kinds[kind]():
                self._count(kind)
            self.team.bury()
            self._replace_old()
            await asyncio.sleep(float(self._draws.exponential(0.7)))
            while len(self.team.present()) < 2 and len(self.team.members) < MOST:
                self.team.join()
        while self._healing and time.monotonic() < deadline:  # fault points that are still on their way
            await asyncio.wait(self._healing, timeout=1)

    def _count(self, kind: str) -> None:
        self.faults[kind] += 1
        self.say(f"{time.monotonic() - self._begun:7.1f} s  {self.faults.total():4d}  {kind}")

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._healing.add(task)
        task.add_done_callback(self._healed)

    def _healed(self, task: asyncio.Task[None]) -> None:
        self._healing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.team.failures.append(f"healing: {task.exception()!r}")

    def _some(self, low: float, high: float) -> float:
        return float(self._draws.uniform(low, high))

    # -- workers -------------------------------------------------------------------------------------------------

    async def _kill(self) -> bool:
        member = self.team.one()
        if member is None:
            return False
        self.team.kill(member)
        return True

    async def _leave(self) -> bool:
        member = self.team.one()
        if member is None:
            return False
        member.busy = True
        self._later(self.team.end(member))
        return True

    def _replace_old(self) -> None:
        """End workers of an older policy: they stand by, and keep the partitions that their group gave them."""
        for member in self.team.present():
            if member.revision < self.team.revision:
                member.busy = True
                self._later(self.team.end(member))

    async def _join(self) -> bool:
        if len(self.team.members) >= MOST:
            return False
        self.team.join()
        return True

    async def _zombie(self) -> bool:
        """Stop a worker for longer than its session, then wake it."""
        member = self.team.one()
        if member is None:
            return False
        self.team.sleep(member)
        self._later(self._wake(member, SESSION + self._some(1, 3)))
        return True

    async def _wake(self, member: Member, after: float) -> None:
        await asyncio.sleep(after)
        self.team.wake(member)

    async def _break_at(self, kind: str) -> None:
        """Let a new worker break at a numbered step: it dies there, or sleeps for longer than its session."""
        while len(self.team.members) >= PARTITIONS:  # a worker without a partition never closes a window
            if not await self._kill():
                return
            self._count("sigkill")
        repeats = int(self._draws.integers(1, 4)) if kind.startswith("closing") else 1
        member = self.team.join(fault=f"{kind}@{repeats}")
        member.busy = True
        deadline = time.monotonic() + _BREAKS_WITHIN
        while member.alive and not member.stopped and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
            if self.packed and member.owned == 0:
                await self._make_room()
        if member.alive and not member.stopped:
            self.missed += 1
        else:
            self._count(kind)
        if member.stopped:
            member.asleep = True
            await asyncio.sleep(SESSION + self._some(1, 3))
            self.team.wake(member)
        member.told_to_end = member.told_to_end or not member.alive
        member.busy = False

    async def _make_room(self) -> None:
        """Kill those who have partitions: a worker that stands by never closes a window."""
        for other in self.team.reading():
            self.team.kill(other)
            self._count("sigkill")
        await asyncio.sleep(SESSION)

    # -- the broker and the lines to it --------------------------------------------------------------------------

    async def _restart_broker(self, end: Callable[[], None]) -> bool:
        await asyncio.to_thread(end)
        await asyncio.sleep(self._some(0, 2))
        await asyncio.to_thread(self.stage.kafka.start)
        return True

    async def _restart_registry(self, registry: Apicurio) -> bool:
        await asyncio.to_thread(registry.kill)
        await asyncio.sleep(self._some(0, 4))
        await asyncio.to_thread(registry.start)
        return True

    async def _change(self, change: Change) -> bool:
        line = self.lines[int(self._draws.integers(len(self.lines)))]
        seconds = change(line, self._draws)
        if seconds:
            self._later(self._mend(line, seconds))
        return True

    async def _mend(self, line: Line, after: float) -> None:
        await asyncio.sleep(after)
        line.heal()

    async def _heal(self) -> None:
        """Wait until nothing is broken any more."""
        while self._healing:
            await asyncio.wait(self._healing, timeout=_BREAKS_WITHIN)
        for line in self.lines:
            line.heal()
        for member in self.team.members:
            self.team.wake(member)
        if self.stage.kafka.pid is None:
            await asyncio.to_thread(self.stage.kafka.start)

    # -- afterwards ----------------------------------------------------------------------------------------------

    async def _calm(self) -> Verdict:
        """Let two workers finish, and judge what is there."""
        await self.operator.bring_to_rest()
        await self.operator.put_right()
        config = self.team.config()
        policy = build_policy(load_settings(config), config)
        for _ in range(2):
            self.team.join()
        deadline = time.monotonic() + _CALM_WITHIN
        ends = (await read_input(self.stage.kafka.address, self.stage.name)).ends
        while time.monotonic() < deadline:
            if await ledger_of(self.stage) == ends:
                break
            await asyncio.sleep(1)
        else:
            self.team.failures.append(f"not all records were accounted for after {_CALM_WITHIN:g} s of calm")
        await self.team.rest()
        topics = await read_topics(self.stage, self.operator.lives)
        verdict = judge(topics, self.crowd.people, self.crowd.acknowledged, policy, self.operator.asked)
        if self.families:
            check_families(verdict, topics)
        if self.most is not None:
            entries = await self.stage.kafka.read_to_end(f"{self.stage.output}.returns", within=120.0)
            check_returns(verdict, topics, entries, self.crowd.people, self.most)
        return verdict
