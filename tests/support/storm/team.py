"""The workers of a storm: which run, which are stopped, and which may end."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.service import Stage, WorkerProcess
from tests.support.storm.line import Line

SESSION = 3.0
TRANSACTION = 6.0
_END_WITHIN = 30.0
_JOIN_WITHIN = 90.0


@dataclass(eq=False)
class Member:
    """A worker process, and what was done to it."""

    process: WorkerProcess
    group: str
    asleep: bool = False
    told_to_end: bool = False
    busy: bool = False  # a fault of its own is on its way
    revision: int = 0  # of its policy

    @property
    def alive(self) -> bool:
        return self.process.code is None

    @property
    def owned(self) -> int | None:
        """Return how many partitions it has said last that it has; None if it has said nothing yet."""
        told = [line["owned"] for line in self.process.lines if line["event"] in {"taken-over", "revoked"}]
        return told[-1] if told else None

    @property
    def stopped(self) -> bool:
        """Return whether it has stopped itself or was stopped by a signal."""
        try:
            state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return False
        return state == "T"


@dataclass
class Team:
    """Workers of one or two groups on one input and one output.

    Parameters
    ----------
    lines
        Between workers and broker, by turns; none means no line between.
    module
        What each worker runs.
    privacy
        What the policy of those who join asks beyond the stage's settings.
    packed
        Whether one of the workers reads all partitions and the others stand by.
    """

    stage: Stage
    lines: list[Line]
    draws: np.random.Generator
    module: str = "stream_anon.cli.main"
    members: list[Member] = field(default_factory=list)
    privacy: dict[str, Any] = field(default_factory=dict)
    packed: bool = False
    said: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    _born: int = 0

    def config(self, group: str = "", fault: str = "") -> Path:
        kafka: dict[str, Any] = {
            "group": group or self.stage.name,
            "fault": fault,
            "assignment": "packed" if self.packed else "spread",
            "session_timeout": f"{SESSION:g}s",
            "transaction_timeout": f"{TRANSACTION:g}s",
            "lost_input": "skip",  # for batches that nobody can read
        }
        if self.lines:
            kafka["bootstrap_servers"] = self.lines[self._born % len(self.lines)].address
        return self.stage.config(kafka=kafka, privacy=self.privacy)

    @property
    def revision(self) -> int:
        """Return the revision of the policy that new workers get."""
        return int(self.privacy.get("revision", 0))

    def join(self, group: str = "", fault: str = "") -> Member:
        """Start a worker; it may break at `fault`."""
        process = WorkerProcess(self.config(group, fault), module=self.module)
        member = Member(process, group or self.stage.name, revision=self.revision)
        self._born += 1
        self.members.append(member)
        return member

    def present(self) -> list[Member]:
        """Return the workers that are alive, awake, and without a fault."""
        return [member for member in self.members if member.alive and not member.asleep and not member.busy]

    def reading(self) -> list[Member]:
        """Return the present workers that have partitions, as far as they have said."""
        return [member for member in self.present() if member.owned]

    async def have_joined(self) -> None:
        """Wait until all active workers have joined the group: a start is refused while a topic is missing."""
        deadline = time.monotonic() + _JOIN_WITHIN
        while not all(m.process.said("assigned") or m.process.said("standing-by") for m in self.present()):
            if time.monotonic() > deadline:
                self.failures.append(f"a worker did not join its group within {_JOIN_WITHIN:g} s")
                return
            await asyncio.sleep(0.2)

    def one(self) -> Member | None:
        present = self.present()
        return present[int(self.draws.integers(len(present)))] if present else None

    def kill(self, member: Member) -> None:
        member.told_to_end = True
        member.process.kill()
        self.forget(member)

    async def end(self, member: Member) -> None:
        """Ask a worker to end, and see that it does."""
        member.told_to_end = True
        self.wake(member)
        member.process.signal(signal.SIGTERM)
        try:
            code = await member.process.ended(_END_WITHIN)
        except Exception:  # noqa: BLE001 - it hangs
            self.failures.append(f"a worker did not end {_END_WITHIN:g} s after SIGTERM")
            self.kill(member)
            return
        if code != 0 and not (code == -signal.SIGTERM and not member.process.said("serving")):
            # A process that is only just starting may die of the signal.
            self.failures.append(f"a worker ended with {code} after SIGTERM")
        self.forget(member)

    def sleep(self, member: Member) -> None:
        member.asleep = True
        member.process.signal(signal.SIGSTOP)

    def wake(self, member: Member) -> None:
        if member.alive:
            member.process.signal(signal.SIGCONT)
        member.asleep = False

    def forget(self, member: Member) -> None:
        """Keep what an ended worker's log said."""
        if member not in self.members:
            return
        self.members.remove(member)
        for line in member.process.lines:
            event = str(line.get("event"))
            self.said[event] += 1
            if event == "window-abandoned":
                self.said[f"window-abandoned, {line.get('reason')}"] += 1
            if event == "commit-uncertain" and "another consumer group" in str(line.get("error")):
                self.said["turned away by the ledger"] += 1

    def bury(self) -> None:
        """Let go of workers that have ended; none may end by itself."""
        for member in [member for member in self.members if not member.alive and not member.busy]:
            if not member.told_to_end:
                self.failures.append(f"a worker ended by itself with {member.process.code}")
            self.forget(member)

    async def rest(self) -> None:
        """End all workers."""
        self.bury()
        await asyncio.gather(*(self.end(member) for member in list(self.members)))

    def kill_all(self) -> None:
        for member in list(self.members):
            self.kill(member)
