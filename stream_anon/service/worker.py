"""The loop: poll, decode, fill a window; close it while the next one fills; take over what the group gives.

::

    poll ──▶ decode ──▶ engine ──▶ sealed window ──▶ close and publish (tasks of their own)
     ▲                                  │
     └── waits while a window is published and the next one waits, or as many small ones as `queue` allows

One task runs the loop, so that rows, positions and takeovers never meet. Only closing and publishing run beside it,
and a takeover waits until they have ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import nullcontext
from functools import partial

from stream_anon.errors import BrokerError, RegistryError
from stream_anon.service.closing.outgoing import OutgoingWindow
from stream_anon.service.closing.preparing import Ahead
from stream_anon.service.closing.queue import ClosingQueue
from stream_anon.service.components import Components
from stream_anon.service.events import Away, WindowAbandoned, WorkerStopped, WorkerStopping
from stream_anon.service.intake.input_reader import Full, Reader
from stream_anon.service.joining import DISCONNECT_WITHIN, Joining
from stream_anon.service.orders import Orders
from stream_anon.service.pausing import Pausing
from stream_anon.service.progress import Progress
from stream_anon.service.retrying import Patience
from stream_anon.service.taking_over import TakingOver
from stream_anon.windowing.limits import is_mature
from stream_anon.windowing.loss_law import WindowLoss

POLL_SECONDS = 0.2
GATHERING_SECONDS = 0.01  # windows wait for no more than what is at hand
# A stop may take ten seconds. These are part of them, beside cancelling a publication and ending the process.
FINISH_WITHIN = 6.0
DRAIN_WITHIN = 60.0  # a drain waits for a broker too
LEAVE_WITHIN = 2.0


class Worker:
    """One member of the group: reads, fills windows and publishes them until `stop` is set."""

    def __init__(self, parts: Components, stop: asyncio.Event) -> None:
        self._parts, self._stop = parts, stop
        self._source, self._engine, self._clock, self._tell = parts.source, parts.engine, parts.clock, parts.tell
        self._reader = Reader(parts)
        self._pausing = Pausing(Orders(stop, parts.clock), parts.source, lambda: self._reader.reading)
        self._patience = Patience(stop, parts.reachability)
        self._joining = Joining(parts.source, parts.reachability, self._patience)
        self._taking_over = TakingOver(parts, self._reader, self._joining, self._patience)
        self._queue = ClosingQueue(
            parts.closing_steps,
            parts.clock,
            parts.tell,
            stop,
            parts.rechecks,
            parts.leakages,
            parts.bounding,
            parts.sizes,
        )
        self._ahead = Ahead(parts.engine, parts.clock)
        self._progress = Progress(parts, self._reader)

    def obey(self, orders: Orders) -> None:
        """Follow these orders from now on."""
        self._pausing.orders = orders

    async def run(self) -> None:
        """Work until `stop` is set, then leave within ten seconds.

        Raises
        ------
        Exception
            After a bug. The worker waits for a broker that is away.
        """
        reason = "asked to"
        watching = asyncio.create_task(self._parts.troubles.watch())
        try:
            self._pausing.look()
            if await self.connect():
                while not self._stop.is_set():
                    await self.turn()
        except Exception as error:
            reason = type(error).__name__
            raise
        finally:
            begun = self._clock.monotonic()
            self._tell(WorkerStopping(reason, self._pausing.orders.forgets))
            try:
                if reason == "asked to":
                    await self.finish()
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
                await self.disconnect()
                self._tell(WorkerStopped(self._clock.monotonic() - begun))

    # -- connecting ------------------------------------------------------------------------------------------

    def published_under(self, revision: int) -> None:
        """Note the revision under which the output was published last, as its certificates say."""
        self._taking_over.beginnings.published_revision = revision

    def learn_from(self, window: WindowLoss) -> None:
        """Begin to learn sizes with the window that was published last under this policy, whoever published it."""
        if self._parts.sizes is not None:
            self._parts.sizes.begin(window)

    @property
    def is_superseded(self) -> bool:
        """Return whether the output has been published under a higher revision, as the last takeover saw it."""
        return self._taking_over.holdings.is_superseded

    @property
    def is_ready(self) -> bool:
        """Return whether the worker can work: its first takeover is done, and no broker or registry is away."""
        return self._parts.reachability.ready

    def expect(self, attributes: Collection[str]) -> None:
        """Publish nothing before each of these attributes has had a value; see `first_window.FirstWindow`."""
        self._parts.closing_steps.first_window.expect(attributes)

    async def connect(self) -> bool:
        """Connect to everything and join the group; return False if `stop` came first."""
        parts = self._parts
        follow = partial(parts.keeper.open, Away.STARTING)  # the ledger may be deleted just after it was created
        steps = (parts.sink.open, parts.keeper.make, follow, self._taking_over.find_targets)
        for step in steps:
            if not await self._patience.persist(Away.STARTING, step):
                return False
        if not await self._patience.persist(Away.ASKING_REGISTRY, parts.codec.open):
            return False
        return await self._patience.persist(Away.STARTING, self._source.start)

    # -- the loop --------------------------------------------------------------------------------------------

    async def turn(self) -> None:
        """Do once what is due; takes about 0.2 s if nothing is."""
        self._reader.watch_broker()
        self._progress.tell_view()
        self._pausing.look()
        self._collect()
        if self._taking_over.due:
            await self._take_over()
            return
        self._pausing.heed()
        if not self._queue.full:
            due = self._engine.tick(self._clock.monotonic())
            if due is not None:
                self._put(self._reader.filled(due))
        self._queue.start_next(behind=self._reader.is_behind)
        full = self._queue.full
        paused = full or not self._engine.room
        self._progress.tell(self._taking_over.holdings.left, closing=self._queue.busy, paused=paused)
        if paused:
            occupied = self._parts.busy.working() if full and self.is_ready else nullcontext()
            with occupied:
                await self._queue.wait(self._how_long())
        else:
            await self._poll()
        self._ahead.look()

    def _how_long(self) -> float:
        """Return how long the loop may wait: at most until the open window's deadline; windows gather briefly."""
        due = self._engine.deadline
        if self._queue.full:
            return POLL_SECONDS
        most = GATHERING_SECONDS if self._queue.gathers else POLL_SECONDS
        return most if due is None else min(max(due - self._clock.monotonic(), 0.0), most)

    def _collect(self) -> None:
        """Take note of how a publication has ended; close all sources if a window was not published.

        Their rows follow that window.
        """
        unpublished = self._queue.collect()
        if unpublished is None:
            return
        self._queue.abandon(unpublished.outcome.value)
        self._source.pause(self._source.assigned)
        self._engine.revoke(self._engine.sources)
        self._reader.let_go()
        self._taking_over.unpublished(unpublished.outcome, unpublished.membership)

    def _put(self, full: Full) -> None:
        targets, holdings = self._taking_over.targets, self._taking_over.holdings
        # There is no row before connect() and a takeover.
        assert holdings.membership is not None and targets is not None  # noqa: S101, PT018
        places = tuple(self._source.place(n) for n in range(max(p.source for p in full.window.ranges) + 1))
        self._parts.bounding.sealed(full.window)
        outgoing = OutgoingWindow(
            full.window,
            full.readings,
            holdings.membership,
            places,
            targets,
            holdings.topic_ids,
        )
        self._queue.put(outgoing)

    async def _poll(self) -> None:
        try:
            with self._pausing.orders.reading():
                polled = await self._reader.poll(self._how_long(), self._queue.room)
        except BrokerError as error:
            await self._joining.poll_failed(error)
            return
        if self._taking_over.due:
            return  # the takeover seeks, so the polled records come again
        try:
            with self._pausing.orders.reading():  # nobody looks between the two
                full = await self._reader.take(polled)
        except RegistryError as error:
            self._parts.reachability.failed(Away.ASKING_REGISTRY, error)
            return
        if polled.chunks and not self._reader.waits:
            self._joining.polled()
        if full is None:
            self._taking_over.demand()
            return
        for window in full:
            self._put(window)

    async def _take_over(self) -> None:
        """Take over once no window is being published: its outcome decides where partitions go on."""
        self._taking_over.begin()
        if self._queue.busy:
            await self._queue.wait(POLL_SECONDS)
            return
        self._queue.abandon("fenced")
        await self._taking_over.attempt()

    # -- leaving ---------------------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Publish the open window if it is old enough, and abandon it otherwise; the next owner reads it again.

        A window past half of its longest age is published; a younger one only if a drain was ordered. A drain has
        more time.
        """
        try:
            async with asyncio.timeout(DRAIN_WITHIN if self._pausing.orders.draining else FINISH_WITHIN):
                await self._close_rest()
        except TimeoutError:
            await self._queue.cancel("stopping")
        waiting = self._engine.open_window
        if waiting.opened_at is not None:
            self._tell(WindowAbandoned(waiting.records, "stopping"))

    async def _close_rest(self) -> None:
        now = self._clock.monotonic()
        opened = self._engine.open_window.opened_at
        mature = opened is not None and (
            self._pausing.orders.draining or is_mature(opened, now, self._parts.policy.window)
        )
        if mature and not self._engine.held and not self._taking_over.due:
            window = self._engine.seal(now)
            if window is not None:
                self._put(self._reader.filled(window))
        while not self._queue.empty:
            self._queue.start_next()
            await self._queue.wait(POLL_SECONDS)
            self._collect()

    async def disconnect(self) -> None:
        """Leave the group and close all connections."""
        await self._queue.cancel("stopping")
        await self._ahead.stop()
        await self._reader.close()
        parts = (self._source.stop(DISCONNECT_WITHIN), self._parts.ledger.discard(), self._parts.sink.discard())
        left, late = await asyncio.wait([asyncio.create_task(part) for part in parts], timeout=LEAVE_WITHIN)
        for task in late:
            task.cancel()
        for task in left:
            task.result()
