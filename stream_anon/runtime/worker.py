"""The loop: poll, decode, fill a window; close it while the next one fills; take over what the group gives.

::

    poll ──▶ decode ──▶ engine ──▶ sealed window ──▶ checkpoint (a task of its own, at most one)
     ▲                                  │
     └── waits while one closes and the next is full

One task runs the loop, so that rows, positions and takeovers never meet. Only a closing runs beside it, and a
takeover waits for that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.clock import Clock
from stream_anon.adapters.kafka.seam import Chunk, DeadClient, Ledger, Lost, Membership, Polled, Sink, Source
from stream_anon.engine.engine import Engine
from stream_anon.engine.window import SealedWindow
from stream_anon.errors import BrokerError
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.runtime.arrivals import BrokerTimes
from stream_anon.runtime.checkpoint import Checkpoint, Closing
from stream_anon.runtime.closings import Closings, Unpublished
from stream_anon.runtime.events import (
    Away,
    InputSkipped,
    Listener,
    Outcome,
    PartitionsRevoked,
    PartitionStopped,
    RecordsConsumed,
    TakeoverDone,
    TakeoverStarted,
    WindowAbandoned,
    WindowProgress,
    WorkerStopped,
    WorkerStopping,
)
from stream_anon.runtime.faults import At
from stream_anon.runtime.patience import Pauses, Reachability, describe
from stream_anon.runtime.publication import Targets
from stream_anon.runtime.takeover import Beginnings, Moved, TakenOver, take_over
from stream_anon.windowing.limits import is_mature

MOST_POLLED = 10_000
POLL_SECONDS = 0.2
PROBE_EVERY = 2.0
PROBE_WITHIN = 3.0
POLLS_THAT_MAY_FAIL = 5
FINISH_WITHIN = 7.0  # of the ten seconds that a stop may take; disconnecting needs up to two
DISCONNECT_WITHIN = 1.0

_T = TypeVar("_T")


class Codec(Protocol):
    """Decodes records into coded batches; see `json_codec.codec.JsonCodec`."""

    def decode(self, values: Any, source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        """Return the columns of a stretch of one partition."""
        ...


@dataclass(frozen=True, slots=True)
class Choices:
    """What the settings leave to the operator.

    Parameters
    ----------
    start
        Where a partition begins of which nothing was ever released: `earliest` or `latest`.
    lost_input
        Whether to `stop` or `skip` where records were deleted before they were read.
    outputs
        Topics for records, certificates and dead letters.
    """

    start: str
    lost_input: str
    outputs: tuple[str, str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What a worker is made of; `runtime/wiring.py` puts it together.

    Parameters
    ----------
    prepare
        Awaited once the broker can be reached: makes the ledger where it is missing.
    """

    policy: Policy
    choices: Choices
    source: Source
    sink: Sink
    ledger: Ledger
    codec: Codec
    engine: Engine
    checkpoint: Checkpoint
    reachability: Reachability
    clock: Clock
    tell: Listener
    at: At
    prepare: Callable[[], Awaitable[object]]


class Worker:
    """One member of the group: reads, fills windows and publishes them until `stop` is set."""

    def __init__(self, parts: Parts, stop: asyncio.Event) -> None:
        self._parts = parts
        self._source, self._engine, self._clock = parts.source, parts.engine, parts.clock
        self._tell, self._reachability = parts.tell, parts.reachability
        self._stop = stop
        self._pauses = Pauses(stop)
        self._closings = Closings(parts.checkpoint, parts.clock, parts.tell, stop)
        self._times = BrokerTimes()
        self._targets: Targets | None = None
        self._membership: Membership | None = None
        self._next: dict[int, int] = {}  # what each open source must bring next
        self._beginnings = Beginnings(parts.choices.start)
        self._owned: frozenset[int] = frozenset()
        self._taken = -1  # the source's marks that the last takeover answered
        self._turned_away: Membership | None = None
        self._attempts = 0
        self._takeover_since: float | None = None
        self._failed_polls = 0
        self._probe: asyncio.Task[bool] | None = None
        self._probed = parts.clock.monotonic()

    async def run(self) -> None:
        """Work until `stop` is set, then leave within ten seconds.

        Raises
        ------
        Exception
            Whatever is a bug; a broker that is away is waited for.
        """
        reason = "asked to"
        try:
            if await self.connect():
                while not self._stop.is_set():
                    await self.turn()
        except Exception as error:
            reason = type(error).__name__
            raise
        finally:
            begun = self._clock.monotonic()
            self._tell(WorkerStopping(reason))
            try:
                if reason == "asked to":
                    await self.finish()
            finally:
                await self.disconnect()
                self._tell(WorkerStopped(self._clock.monotonic() - begun))

    # -- connecting ------------------------------------------------------------------------------------------

    async def connect(self) -> bool:
        """Connect to everything and join the group; return False if `stop` came first."""
        steps = (self._parts.sink.open, self._parts.prepare, self._parts.ledger.open, self._find_targets)
        for step in steps:
            if not await self._persist(Away.STARTING, step):
                return False
        return await self._persist(Away.STARTING, self._source.start)

    async def _find_targets(self) -> None:
        output, certificates, dead_letters = self._parts.choices.outputs
        counts = {topic: await self._parts.sink.partitions(topic) for topic in (output, certificates, dead_letters)}
        self._targets = Targets(output, certificates, dead_letters, counts)

    async def _persist(self, doing: Away, step: Callable[[], Awaitable[object]]) -> bool:
        """Try until it works; return False if `stop` came first."""
        while not self._stop.is_set():
            try:
                done, _ = await self._unless_stopped(_call(step))
            except BrokerError as error:
                self._reachability.away(doing, describe(error))
                await self._pauses.pause()
                continue
            if done:
                self._reachability.back(doing)
                self._pauses.relax()
            return done
        return False

    async def _unless_stopped(self, work: Coroutine[Any, Any, _T]) -> tuple[bool, _T | None]:
        """Await work, or cancel it when `stop` is set; return whether it was done, and its result."""
        task, stopped = asyncio.create_task(work), asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED)
            return (True, task.result()) if task.done() else (False, None)
        finally:
            for each in (task, stopped):
                each.cancel()
            await asyncio.gather(task, stopped, return_exceptions=True)

    # -- the loop --------------------------------------------------------------------------------------------

    async def turn(self) -> None:
        """Do what is due once; takes about 0.2 s where nothing is."""
        self._watch_broker()
        self._collect()
        if self._takeover_due():
            await self._take_over()
            return
        assert self._targets is not None  # noqa: S101 - known since connect()
        if not self._closings.full:
            self._put(self._engine.tick(self._clock.monotonic()))
        self._closings.start_next(self._targets)
        paused = self._closings.full or not self._engine.room
        self._tell_progress(paused)
        if paused:
            await self._closings.wait(self._patience())
        else:
            await self._poll()

    def _patience(self) -> float:
        """Return how long to wait for anything: not beyond the open window's deadline."""
        due = self._engine.deadline
        if due is None or self._closings.full:
            return POLL_SECONDS
        return min(max(due - self._clock.monotonic(), 0.0), POLL_SECONDS)

    def _collect(self) -> None:
        unpublished = self._closings.collect()
        if unpublished is not None:
            self._let_go(unpublished)

    def _let_go(self, unpublished: Unpublished) -> None:
        """Close all sources: what they hold follows a window that did not get out."""
        fenced = unpublished.outcome is Outcome.FENCED
        self._closings.abandon("fenced" if fenced else "lost")
        self._turned_away = unpublished.membership if fenced else None
        self._source.pause(self._source.assigned)
        self._engine.revoke(self._engine.sources)
        self._times.keep(())
        self._next.clear()
        self._taken = -1

    def _put(self, window: SealedWindow | None) -> None:
        if window is None:
            return
        assert self._membership is not None  # noqa: S101 - no row without a takeover
        places = tuple(self._source.place(n) for n in range(max(p.source for p in window.ranges) + 1))
        closing = Closing(window, self._membership, places)
        self._closings.put(closing, self._times.take(window.ranges))

    async def _poll(self) -> None:
        most = min(self._parts.policy.window.max_records, MOST_POLLED)
        try:
            polled = await self._source.poll(self._patience(), most)
        except DeadClient as error:
            await self._rejoin(error)
        except BrokerError as error:
            self._failed_polls += 1
            if self._failed_polls > POLLS_THAT_MAY_FAIL:
                await self._rejoin(error)
                return
            self._reachability.away(Away.CONSUMING, describe(error))
            await self._pauses.pause()
        else:
            if self._takeover_due():
                return  # the takeover seeks: what was polled will come again
            await self._take(polled)

    async def _rejoin(self, error: Exception) -> None:
        """Throw the consumer away and join the group anew."""
        self._failed_polls = 0
        self._reachability.away(Away.CONSUMING, describe(error))
        await self._source.stop(DISCONNECT_WITHIN)
        await self._persist(Away.CONSUMING, self._source.start)

    async def _take(self, polled: Polled) -> None:
        for lost in polled.lost:
            await self._answer_loss(lost)
        now = self._clock.monotonic()
        for chunk in polled.chunks:
            if chunk.source not in self._next:
                continue
            if chunk.first != self._next[chunk.source]:
                self._taken = -1  # a stretch is missing: take over again, from where the windows stand
                return
            self._feed(chunk, now)
        if polled.chunks:
            self._failed_polls = 0
            self._pauses.relax()
            count = sum(len(chunk.offsets) for chunk in polled.chunks)
            self._tell(RecordsConsumed(count, sum(chunk.size for chunk in polled.chunks)))

    def _feed(self, chunk: Chunk, now: float) -> None:
        batch = self._parts.codec.decode(chunk.values, chunk.source, chunk.offsets)
        self._times.add(chunk)
        sealed = self._engine.add(batch, now)
        self._next[chunk.source] = chunk.end
        for window in sealed:
            self._put(window)

    async def _answer_loss(self, lost: Lost) -> None:
        if lost.source not in self._next:
            return
        place = self._source.place(lost.source)
        if self._parts.choices.lost_input == "skip":
            try:
                first = (await self._source.bounds([lost.source], "earliest"))[lost.source]
            except BrokerError:
                return  # it will be told again
            if first > lost.position:
                self._source.seek(lost.source, first)
                self._next[lost.source] = first
                self._tell(InputSkipped(place, lost.position, first))
                return
        self._source.pause([lost.source])
        del self._next[lost.source]
        topic, partition = place
        text = (
            f"offset {lost.position} of {topic}-{partition} is not there any more, nor will it be: records were "
            "deleted before they were read. Set the group's offset, or kafka.lost_input: skip"
        )
        self._tell(PartitionStopped(place, "lost-input", text))

    def _tell_progress(self, paused: bool) -> None:
        window = self._engine.open_window
        now = self._clock.monotonic()
        lag = self._source.lag()
        self._tell(WindowProgress(window.records, window.opened_at, now, self._closings.busy, paused, lag))

    def _watch_broker(self) -> None:
        """Ask now and then whether the broker is there: fetching fails in silence."""
        now = self._clock.monotonic()
        if self._probe is not None and self._probe.done():
            there, self._probe = not self._probe.cancelled() and self._probe.result(), None
            if there:
                self._reachability.back(Away.CONSUMING)
            else:
                self._reachability.away(Away.CONSUMING, "no broker answers")
        if self._probe is None and now - self._probed >= PROBE_EVERY:
            self._probed = now
            self._probe = asyncio.create_task(self._ask_broker())

    async def _ask_broker(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_WITHIN):
                return await self._source.reachable()
        except (BrokerError, TimeoutError):
            return False

    # -- taking over -----------------------------------------------------------------------------------------

    def _takeover_due(self) -> bool:
        return self._source.marks != self._taken

    async def _take_over(self) -> None:
        """Take over once nothing is on its way out: how that ends decides where partitions go on."""
        now = self._clock.monotonic()
        if self._takeover_since is None:
            self._takeover_since, self._attempts = now, 0
        if self._closings.busy:
            await self._closings.wait(POLL_SECONDS)
            return
        self._closings.abandon("fenced")
        marks = self._source.marks
        if not self._source.settled or self._still_turned_away(now):
            await self._source.moved(marks, POLL_SECONDS)
            return
        if not self._attempts:
            self._tell(TakeoverStarted(tuple(self._source.place(n) for n in sorted(self._source.assigned))))
        self._attempts += 1
        try:
            await self._parts.sink.open()
            done, taken = await self._unless_stopped(self._takeover())
        except Moved:
            await self._source.moved(marks, 0.02)
        except BrokerError as error:
            self._reachability.away(Away.TAKING_OVER, describe(error))
            await self._pauses.pause()
        else:
            if done and taken is not None:
                self._taken_over(taken)

    def _takeover(self) -> Coroutine[Any, Any, TakenOver]:
        parts = self._parts
        return take_over(parts.source, parts.sink, parts.ledger, parts.engine, self._beginnings, parts.at)

    def _still_turned_away(self, now: float) -> bool:
        """Return whether the membership that was turned away is still the one the client holds.

        Its next heartbeat tells it; until then a takeover would only be turned away again.
        """
        if self._turned_away is None or self._takeover_since is None:
            return False
        return self._source.membership() == self._turned_away and now - self._takeover_since < 10.0

    def _taken_over(self, taken: TakenOver) -> None:
        place, now = self._source.place, self._clock.monotonic()
        lost = self._owned - self._source.assigned
        self._times.keep(taken.kept)
        self._membership, self._taken, self._turned_away = taken.membership, taken.marks, None
        self._next, self._owned = dict(taken.opened), self._source.assigned
        if lost:
            gone = tuple(place(n) for n in sorted(lost))
            self._tell(PartitionsRevoked(gone, taken.gone_rows, len(self._owned)))
        since = now if self._takeover_since is None else self._takeover_since
        self._tell(
            TakeoverDone(
                starts=tuple((*place(n), offset) for n, offset in sorted(taken.opened.items())),
                generation=taken.membership.generation,
                kept=len(taken.kept),
                dropped=taken.dropped,
                read_again=taken.read_again,
                skipped=taken.skipped,
                from_ledger=taken.from_ledger,
                owned=len(self._owned),
                attempts=self._attempts,
                seconds=now - since,
            )
        )
        for number, text in sorted(taken.stopped.items()):
            self._tell(PartitionStopped(place(number), "rewound", text))
        self._takeover_since = None
        self._pauses.relax()
        self._reachability.back(Away.TAKING_OVER)
        self._reachability.joined()

    # -- leaving ---------------------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Close what is worth it and abandon the rest: nothing is lost, the next owner reads it again.

        A window past half of its longest age is closed and committed; a younger one is abandoned.
        """
        try:
            async with asyncio.timeout(FINISH_WITHIN):
                await self._close_rest()
        except TimeoutError:
            await self._closings.cancel("stopping")
        waiting = self._engine.open_window
        if waiting.opened_at is not None:
            self._tell(WindowAbandoned(waiting.records, "stopping"))

    async def _close_rest(self) -> None:
        now = self._clock.monotonic()
        opened = self._engine.open_window.opened_at
        mature = opened is not None and is_mature(opened, now, self._parts.policy.window)
        if mature and not self._takeover_due() and self._targets is not None:
            self._put(self._engine.seal(now))
        while self._closings.busy or self._closings.full:
            if self._targets is not None:
                self._closings.start_next(self._targets)
            await self._closings.wait(POLL_SECONDS)
            self._collect()

    async def disconnect(self) -> None:
        """Leave the group and close all connections."""
        await self._closings.cancel("stopping")
        if self._probe is not None:
            self._probe.cancel()
            await asyncio.gather(self._probe, return_exceptions=True)
        await asyncio.gather(
            self._source.stop(DISCONNECT_WITHIN), self._parts.ledger.discard(), self._parts.sink.discard()
        )


async def _call(step: Callable[[], Awaitable[_T]]) -> _T:
    return await step()
