"""The loop: poll, decode, fill a window; close it while the next one fills; take over what the group gives.

::

    poll ──▶ decode ──▶ engine ──▶ sealed window ──▶ close and publish (tasks of their own, one window at a time)
     ▲                                  │
     └── waits while one window is published and the next is full

One task runs the loop, so that rows, positions and takeovers never meet. Only closing and publishing run beside it,
and a takeover waits until they have ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from functools import partial

from stream_anon.errors import BrokerError, RegistryError
from stream_anon.ports import DeadClient, GroupView, Membership, Targets
from stream_anon.service.closing.outgoing import OutgoingWindow
from stream_anon.service.closing.preparing import Ahead
from stream_anon.service.closing.queue import ClosingQueue, Unpublished
from stream_anon.service.components import Components
from stream_anon.service.events import (
    Away,
    GroupSeen,
    Outcome,
    PartitionsRevoked,
    PartitionStopped,
    StandingBy,
    Superseded,
    TakeoverStarted,
    WindowAbandoned,
    WindowProgress,
    WorkerStopped,
    WorkerStopping,
)
from stream_anon.service.intake.input_reader import Full, Reader
from stream_anon.service.orders import Orders, Pause
from stream_anon.service.retrying import Patience
from stream_anon.service.takeover.steps import take_over
from stream_anon.service.takeover.taken_over import Beginnings, Moved, TakenOver
from stream_anon.windowing.limits import is_mature

POLL_SECONDS = 0.2
POLLS_THAT_MAY_FAIL = 5
# A stop may take ten seconds. These are part of them, beside cancelling a publication and ending the process.
FINISH_WITHIN = 6.0
DRAIN_WITHIN = 60.0  # a drain waits for a broker too
LEAVE_WITHIN = 2.0
DISCONNECT_WITHIN = 1.0  # seconds for a polite end, before connections are cut


class Worker:
    """One member of the group: reads, fills windows and publishes them until `stop` is set."""

    def __init__(self, parts: Components, stop: asyncio.Event) -> None:
        self._parts = parts
        self._orders = Orders(stop, parts.clock)
        self._pause: Pause | None = None  # in force at the last look
        self._withheld = False  # whether a pause keeps the source from fetching
        self._view = GroupView({})  # as it was told last
        self._source, self._engine, self._clock = parts.source, parts.engine, parts.clock
        self._tell, self._reachability = parts.tell, parts.reachability
        self._stop = stop
        self._reader = Reader(parts)
        self._patience = Patience(stop, parts.reachability)
        self._queue = ClosingQueue(
            parts.closing_steps, parts.clock, parts.tell, stop, parts.rechecks, parts.leakages
        )
        self._ahead = Ahead(parts.engine, parts.clock)
        self._targets: Targets | None = None
        self._membership: Membership | None = None
        self._topic_ids: Mapping[str, str] = {}
        self._beginnings = Beginnings(parts.choices.start)
        self._owned: frozenset[int] = frozenset()
        self._stands_by = False
        self._superseded_by: int | None = None
        self._left = 0  # number of partitions that are left to workers of a newer policy
        self._taken = -1  # the source's marks that the last takeover answered
        self._turned_away: Membership | None = None
        self._attempts = 0
        self._takeover_since: float | None = None
        self._failed_polls = 0

    def obey(self, orders: Orders) -> None:
        """Follow these orders from now on."""
        self._orders = orders

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
            self._pause = self._orders.look()
            if await self.connect():
                while not self._stop.is_set():
                    await self.turn()
        except Exception as error:
            reason = type(error).__name__
            raise
        finally:
            begun = self._clock.monotonic()
            self._tell(WorkerStopping(reason, self._orders.forgets))
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
        self._beginnings.published_revision = revision

    def expect(self, attributes: Collection[str]) -> None:
        """Publish nothing before each of these attributes has had a value; see `first_window.FirstWindow`."""
        self._parts.closing_steps.first_window.expect(attributes)

    async def connect(self) -> bool:
        """Connect to everything and join the group; return False if `stop` came first."""
        parts = self._parts
        follow = partial(parts.keeper.open, Away.STARTING)  # the ledger may be deleted just after it was created
        steps = (parts.sink.open, parts.keeper.make, follow, self._find_targets)
        for step in steps:
            if not await self._patience.persist(Away.STARTING, step):
                return False
        if not await self._patience.persist(Away.ASKING_REGISTRY, parts.codec.open):
            return False
        return await self._patience.persist(Away.STARTING, self._source.start)

    async def _find_targets(self) -> None:
        self._targets = await self._parts.sink.targets()

    # -- the loop --------------------------------------------------------------------------------------------

    async def turn(self) -> None:
        """Do once what is due; takes about 0.2 s if nothing is."""
        self._reader.watch_broker()
        self._tell_view()
        self._pause = self._orders.look()
        self._collect()
        if self._takeover_due():
            await self._take_over()
            return
        self._heed_pause()
        if not self._queue.full:
            due = self._engine.tick(self._clock.monotonic())
            if due is not None:
                self._put(self._reader.filled(due))
        self._queue.start_next()
        paused = self._queue.full or not self._engine.room
        self._tell_progress(paused)
        if paused:
            await self._queue.wait(self._how_long())
        else:
            await self._poll()
        self._ahead.look()

    def _heed_pause(self) -> None:
        """Fetch nothing while a pause is ordered; polls go on, since they keep the membership."""
        if self._pause is not None:
            self._source.pause(self._source.assigned)  # a takeover would resume them
        elif self._withheld:
            self._source.resume(self._reader.reading)
        self._withheld = self._pause is not None

    def _how_long(self) -> float:
        """Return how long the loop may wait: at most until the open window's deadline."""
        due = self._engine.deadline
        if due is None or self._queue.full:
            return POLL_SECONDS
        return min(max(due - self._clock.monotonic(), 0.0), POLL_SECONDS)

    def _collect(self) -> None:
        unpublished = self._queue.collect()
        if unpublished is not None:
            self._let_go(unpublished)

    def _let_go(self, unpublished: Unpublished) -> None:
        """Close all sources, since their rows follow a window that was not published."""
        self._queue.abandon(unpublished.outcome.value)
        self._turned_away = unpublished.membership if unpublished.outcome is Outcome.FENCED else None
        if unpublished.outcome is Outcome.REFUSED:
            self._targets = None  # how much the topics take must be asked again
        self._source.pause(self._source.assigned)
        self._engine.revoke(self._engine.sources)
        self._reader.let_go()
        self._taken = -1

    def _put(self, full: Full) -> None:
        # There is no row before connect() and a takeover.
        assert self._membership is not None and self._targets is not None  # noqa: S101, PT018
        places = tuple(self._source.place(n) for n in range(max(p.source for p in full.window.ranges) + 1))
        outgoing = OutgoingWindow(
            full.window,
            full.times,
            self._membership,
            places,
            self._targets,
            self._topic_ids,
            full.readings,
        )
        self._queue.put(outgoing)

    async def _poll(self) -> None:
        try:
            with self._orders.reading():
                polled = await self._reader.poll(self._how_long())
        except DeadClient as error:
            await self._rejoin(error)
        except BrokerError as error:
            self._failed_polls += 1
            if self._failed_polls > POLLS_THAT_MAY_FAIL:
                await self._rejoin(error)
                return
            self._reachability.failed(Away.CONSUMING, error)
            await self._patience.pause()
        else:
            if self._takeover_due():
                return  # the takeover seeks, so the polled records come again
            try:
                with self._orders.reading():  # nobody looks between the two
                    full = await self._reader.take(polled)
            except RegistryError as error:
                self._reachability.failed(Away.ASKING_REGISTRY, error)
                return
            if polled.chunks and not self._reader.waits:
                self._failed_polls = 0
                self._patience.relax()
            if full is None:
                self._taken = -1
                return
            for window in full:
                self._put(window)

    async def _rejoin(self, error: Exception) -> None:
        """Throw the consumer away and join the group anew."""
        self._failed_polls = 0
        self._reachability.failed(Away.CONSUMING, error)
        await self._source.stop(DISCONNECT_WITHIN)
        # Only polls show whether it gets records, so joining alone does not end the absence.
        await self._patience.persist(Away.CONSUMING, self._source.start, settles=False)

    def _tell_view(self) -> None:
        view = self._source.view()
        if view != self._view:
            self._view = view
            self._tell(GroupSeen(view.partitions, view.shared, view.unwatched))

    def _tell_progress(self, paused: bool) -> None:
        window = self._engine.open_window
        now = self._clock.monotonic()
        lag, stopped = self._reader.lag(), self._reader.stopped
        held, closing = self._reader.held(), self._queue.busy
        self._tell(
            WindowProgress(
                window.records,
                window.opened_at,
                now,
                closing,
                paused,
                lag,
                stopped,
                self._left,
                held.records,
                held.seconds,
            )
        )

    # -- taking over -----------------------------------------------------------------------------------------

    def _takeover_due(self) -> bool:
        changed = self._reader.is_another_topic or self._parts.ledger.is_gone
        return changed or self._source.marks != self._taken

    async def _take_over(self) -> None:
        """Take over once no window is being published: its outcome decides where partitions go on."""
        now = self._clock.monotonic()
        self._taken = -1  # a takeover stays due until it is done
        if self._takeover_since is None:
            self._takeover_since, self._attempts = now, 0
        if self._queue.busy:
            await self._queue.wait(POLL_SECONDS)
            return
        self._queue.abandon("fenced")
        marks = self._source.marks
        if not self._source.settled or self._still_turned_away(now):
            await self._await_group(marks, POLL_SECONDS)
            return
        if not self._attempts:
            self._tell(TakeoverStarted(tuple(self._source.place(n) for n in sorted(self._source.assigned))))
        self._attempts += 1
        try:
            done, taken = await self._patience.unless_stopped(self._takeover())
        except Moved:
            await self._await_group(marks, 0.02)
        except BrokerError as error:
            self._reachability.failed(Away.TAKING_OVER, error)
            await self._patience.pause()
        else:
            if done and taken is not None:
                self._taken_over(taken)

    async def _await_group(self, marks: int, within: float) -> None:
        try:
            await self._source.moved(marks, within)
        except DeadClient as error:
            await self._rejoin(error)
        except BrokerError as error:
            self._reachability.failed(Away.TAKING_OVER, error)
            await self._patience.pause()

    async def _takeover(self) -> TakenOver:
        parts = self._parts
        await parts.sink.open()
        await parts.keeper.open(Away.TAKING_OVER)
        self._beginnings.ledger_is_new = parts.keeper.made
        if self._targets is None:
            await self._find_targets()
        return await take_over(
            parts.source,
            parts.sink,
            parts.ledger,
            parts.engine,
            self._beginnings,
            parts.at,
            parts.policy.revision,
        )

    def _still_turned_away(self, now: float) -> bool:
        """Return whether the client still holds the membership that was turned away.

        The next heartbeat renews it; until then a takeover would only be turned away again.
        """
        if self._turned_away is None or self._takeover_since is None:
            return False
        return self._source.membership() == self._turned_away and now - self._takeover_since < 10.0

    def _taken_over(self, taken: TakenOver) -> None:
        place, now = self._source.place, self._clock.monotonic()
        lost = self._owned - self._source.assigned
        waiting = {number: stop.begins for number, stop in taken.stopped.items()}
        self._reader.go_on(taken.opened, taken.kept, waiting, taken.topic_ids)
        self._stand_aside(taken)
        self._membership, self._taken, self._turned_away = taken.membership, taken.marks, None
        self._topic_ids = taken.topic_ids
        self._owned = self._source.assigned
        if lost:
            gone = tuple(place(n) for n in sorted(lost))
            self._tell(PartitionsRevoked(gone, taken.gone_rows, len(self._owned)))
        if not self._owned and not self._stands_by:
            self._tell(StandingBy())
        self._stands_by = not self._owned
        since = now if self._takeover_since is None else self._takeover_since
        self._tell(taken.done(place, len(self._owned), self._attempts, now - since))
        for number, stop in sorted(taken.stopped.items()):
            self._tell(PartitionStopped(place(number), stop.reason, stop.text))
        self._takeover_since, self._parts.keeper.made = None, False
        self._patience.relax()
        self._reachability.back(Away.TAKING_OVER)
        # No record waits for its schema any more, and those that come may name none that is unknown.
        self._reachability.back(Away.ASKING_REGISTRY)
        self._reachability.joined()

    def _stand_aside(self, taken: TakenOver) -> None:
        """Leave partitions to workers of a newer policy; tell it once, and look again at each takeover."""
        self._reader.leave(taken.left)
        self._left = len(taken.left)
        if taken.superseded_by not in (None, self._superseded_by):
            self._tell(Superseded(taken.superseded_by, self._parts.policy.revision, self._left))
        self._superseded_by = taken.superseded_by

    # -- leaving ---------------------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Publish the open window if it is old enough, and abandon it otherwise; the next owner reads it again.

        A window past half of its longest age is published; a younger one only if a drain was ordered. A drain has
        more time.
        """
        try:
            async with asyncio.timeout(DRAIN_WITHIN if self._orders.draining else FINISH_WITHIN):
                await self._close_rest()
        except TimeoutError:
            await self._queue.cancel("stopping")
        waiting = self._engine.open_window
        if waiting.opened_at is not None:
            self._tell(WindowAbandoned(waiting.records, "stopping"))

    async def _close_rest(self) -> None:
        now = self._clock.monotonic()
        opened = self._engine.open_window.opened_at
        mature = opened is not None and (self._orders.draining or is_mature(opened, now, self._parts.policy.window))
        if mature and not self._engine.held and not self._takeover_due():
            window = self._engine.seal(now)
            if window is not None:
                self._put(self._reader.filled(window))
        while self._queue.busy or self._queue.full:
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
