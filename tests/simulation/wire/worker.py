"""A worker: the real sink, ledger, takeover and closing steps; only the group's membership comes from the storm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.writing.kafka_sink import KafkaSink
from stream_anon.adapters.kafka.writing.transactional_producer import TransactionalProducer
from stream_anon.errors import BrokerError
from stream_anon.microdata.output.statement import Statement
from stream_anon.ports import Membership, Parcel, Place, Publication, Source, Targets
from stream_anon.ports.publication import header_of
from stream_anon.service.closing.agreed_time import AgreedTime
from stream_anon.service.closing.closing_steps import ClosingSteps
from stream_anon.service.closing.outgoing import ClosedWindow, OutgoingWindow, QueuedWindow
from stream_anon.service.events import Away, Event, Readings
from stream_anon.service.fault_points import nowhere
from stream_anon.service.retrying import Pauses, Reachability
from stream_anon.service.takeover.ledger_keeping import LedgerKeeper
from stream_anon.service.takeover.taken_over import Beginnings, Moved
from stream_anon.service.takeover.takeover_steps import take_over
from tests.simulation.wire.network import HOST

INPUT, OUTPUT, CERTIFICATES, LEDGER = "people", "out", "out.certificates", "out.ledger"
OUTPUT_PARTITIONS = 2
BUNDLED = 2
_TIME = 1_700_000_000_000


class Clock:
    """The loop's time; see `ports.Clock`."""

    def monotonic(self) -> float:
        """Return seconds."""
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        """Return seconds since the epoch."""
        return _TIME / 1000 + self.monotonic()


class Membered:
    """As much of `ports.Source` as a takeover asks.

    Parameters
    ----------
    ends
        How many records each partition of the input holds.
    """

    def __init__(self, ends: Mapping[int, int]) -> None:
        self.marks = 0
        self.assigned: frozenset[int] = frozenset()
        self.settled = True
        self._ends = ends
        self._membership: Membership | None = None
        self.moved = asyncio.Event()

    def hear(self, membership: Membership, assigned: Collection[int]) -> None:
        """Take the group's word."""
        self._membership, self.assigned = membership, frozenset(assigned)
        self.marks += 1
        self.moved.set()

    def membership(self) -> Membership | None:
        """See `ports.Source`."""
        return self._membership

    def place(self, source: int) -> Place:
        """See `ports.Source`."""
        return INPUT, source

    def seek(self, source: int, offset: int) -> None:
        """See `ports.Source`."""

    def resume(self, sources: Collection[int]) -> None:
        """See `ports.Source`."""

    async def bounds(self, sources: Collection[int], start: str) -> Mapping[int, int]:
        """See `ports.Source`."""
        return {n: 0 if start == "earliest" else self._ends[n] for n in sources}


class _NoRows:
    """No window is open while a takeover runs: this worker publishes each at once."""

    sources: frozenset[int] = frozenset()

    def started_at(self, source: int) -> int:
        raise AssertionError

    position = started_at

    def revoke(self, sources: Collection[int]) -> int:
        return 0

    def open(self, source: int, offset: int, counts: object = None) -> None:
        pass


class Worker:
    """One process.

    Parameters
    ----------
    name
        Of its machine and its member.
    window
        Records that a window takes of each partition at the most.
    batch
        Returns a name for a window.
    """

    def __init__(
        self,
        name: str,
        group: str,
        ends: Mapping[int, int],
        window: int,
        transaction_timeout: float,
        batch: Callable[[], str],
    ) -> None:
        self.name, self.group = name, group
        self.source = Membered(ends)
        self.events: list[Event] = []
        self.stopped: dict[int, str] = {}
        self.positions: dict[int, int] = {}
        self.is_done = False
        self._ends, self._window, self._batch = ends, window, batch
        self._stop = asyncio.Event()
        self._sticks, self._stuck = ("", 0.0), asyncio.Event()
        clock = Clock()
        connection = Connection("model:9091", group, transaction_timeout=transaction_timeout)
        self.ledger = KafkaLedger(connection, LEDGER, output=OUTPUT)
        outputs = (OUTPUT, CERTIFICATES, "")
        self.sink = KafkaSink(TransactionalProducer(connection), self.ledger, [INPUT], outputs)
        reachability = Reachability(clock.monotonic, self.events.append)
        self.keeper = LedgerKeeper(
            ledger=self.ledger, prepare=self._prepare, tell=self.events.append, reachability=reachability
        )
        self.steps = ClosingSteps(
            drawn=cast("Any", None),  # windows come closed
            closer=cast("Any", None),
            writer=cast("Any", None),
            sink=self.sink,
            ledger=self.ledger,
            clock=clock,
            tell=self.events.append,
            at=self._pass,
            reachability=reachability,
            current=self.source.membership,
            keeper=self.keeper,
            first_window=cast("Any", None),
            agreed_time=AgreedTime(Statement(), (), clock, self.events.append),
            busy=cast("Any", None),
            settle_within=transaction_timeout,
        )
        self._beginnings = Beginnings("earliest")
        self._targets = Targets(*outputs, {})
        self._topic_ids: Mapping[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    async def stick(self, step: int, lasts: float) -> None:
        """Let it wait before a step of its next closing; returns when it does."""
        self._sticks = f"closing.{step}", lasts
        self._stuck.clear()
        await self._stuck.wait()

    async def _pass(self, step: str) -> None:
        where, lasts = self._sticks
        if step == where:
            self._sticks = "", 0.0
            self._stuck.set()
            await asyncio.sleep(lasts)

    @staticmethod
    async def _prepare() -> str | None:
        return None  # the ledger exists

    def start(self) -> None:
        """Begin to work."""
        context = copy_context()
        context.run(HOST.set, self.name)
        self._task = asyncio.get_running_loop().create_task(self._run(), context=context)

    async def kill(self) -> None:
        """Do what SIGKILL does, once the network has let go of its machine."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if not self._task.cancelled() and self._task.exception() is not None:
            raise cast("BaseException", self._task.exception())
        await self.sink.discard()
        await self.ledger.discard()

    async def _run(self) -> None:
        pauses = Pauses(self._stop)
        taken = -1
        while True:
            if taken != self.source.marks:
                marks = self.source.marks
                try:
                    await self._take_over()
                except Moved:
                    continue
                except BrokerError:
                    await pauses.pause()
                    continue
                pauses.relax()
                taken = marks
            bundle = self._bundle()
            if not bundle:
                self.is_done = True
                self.source.moved.clear()
                await self.source.moved.wait()
                self.is_done = False
                continue
            result = await self.steps.publish(bundle, self._stop)
            if result.published:
                for sent in result.windows:  # not all of them, if the bundle was divided
                    self.positions |= {n: end for (_, n), end in sent.publication.ends.items()}
            else:
                taken = -1

    async def _take_over(self) -> None:
        await self.sink.open()
        await self.keeper.open(Away.TAKING_OVER)
        source = cast("Source", self.source)
        done = await take_over(source, self.sink, self.ledger, _NoRows(), self._beginnings, nowhere)
        self._membership = done.membership
        self.positions = dict(done.opened)
        self.stopped = {n: stop.reason for n, stop in done.stopped.items()}
        self._topic_ids = done.topic_ids

    def _bundle(self) -> list[QueuedWindow]:
        """Return the next windows, `BUNDLED` of them where there are so many; none if all records are out."""
        positions, stretches = dict(self.positions), list[dict[Place, tuple[int, int]]]()
        for _ in range(BUNDLED):
            ranges = {
                (INPUT, n): (start, min(start + self._window, self._ends[n]))
                for n, start in sorted(positions.items())
                if start < self._ends[n]
            }
            if not ranges:
                break
            stretches.append(ranges)
            positions |= {n: end for (_, n), (_, end) in ranges.items()}
        names = [self._batch() for _ in stretches]
        outgoing = OutgoingWindow(
            cast("Any", None), Readings(), self._membership, (), self._targets, self._topic_ids
        )
        bundle = []
        for ranges, name, following in zip(stretches, names, [*names[1:], None], strict=False):
            closing: asyncio.Future[ClosedWindow] = asyncio.get_running_loop().create_future()
            previous = "" if bundle else None  # as all digests here are
            closing.set_result(self._closed(ranges, name, following, previous))
            bundle.append(QueuedWindow(outgoing, cast("asyncio.Task[ClosedWindow]", closing), 0.0))
        return bundle

    def _closed(
        self, ranges: Mapping[Place, tuple[int, int]], batch: str, following: str | None, previous: str | None
    ) -> ClosedWindow:
        """Return a window; its certificate names the one that follows in its bundle, for the verdict."""
        serials = [[n, offset] for (_, n), (start, end) in ranges.items() for offset in range(start, end)]
        parts = [serials[i::OUTPUT_PARTITIONS] for i in range(OUTPUT_PARTITIONS)]
        parcels = [
            Parcel(OUTPUT, i, [json.dumps(serial).encode() for serial in part], _TIME, header_of(batch))
            for i, part in enumerate(parts)
            if part
        ]
        starts = {place: start for place, (start, _) in ranges.items()}
        ends = {place: end for place, (_, end) in ranges.items()}
        certificate = {
            "batch": batch,
            "records": serials,
            "ends": [[n, end] for (_, n), end in ends.items()],
            "following": following,
        }
        parcels.append(Parcel(CERTIFICATES, 0, [json.dumps(certificate).encode()], _TIME, header_of(batch)))
        publication = Publication(batch, tuple(parcels), starts, ends, "", _TIME, self._topic_ids)
        window, release = cast("Any", None), cast("Any", SimpleNamespace(gate_seconds=0.0))
        return ClosedWindow(window, release, publication, previous, np.random.default_rng(0), 0.0, 0.0, 0)
