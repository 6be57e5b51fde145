"""Windows on their way out: one is being published, and the next one is closed meanwhile and waits for it.

Small windows fill faster than a transaction ends. So several of them may wait, and those that are closed when their
turn comes are a bundle: they are published in one transaction, in the order of sealing, each with its certificate.
Without transactions a bundle that broke would be visible in part, so there each window goes out alone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any

from stream_anon.ports import Membership
from stream_anon.service.closing.bounding import Bounding
from stream_anon.service.closing.closing_steps import ClosingSteps
from stream_anon.service.closing.leaking import LeakageSamples
from stream_anon.service.closing.outgoing import (
    ClosedWindow,
    OutgoingWindow,
    PublicationResult,
    QueuedWindow,
    published_event,
)
from stream_anon.service.closing.rechecking import Rechecks
from stream_anon.service.closing.size_learning import SizeLearning
from stream_anon.service.events import Outcome, WindowAbandoned

CANCEL_WITHIN = 0.5
# What may wait together, and go out together. One window may have more of each: then it waits alone.
RECORDS_TOGETHER = 10_000
BYTES_TOGETHER = 4 * 1024 * 1024
WINDOWS_TOGETHER = 32  # however few records each has: a certificate and its columns take room too
MOST_UNCLOSED = 2  # windows of which nobody knows yet how many bytes they have
GATHER_WITHIN = 0.1  # seconds; a worker that is behind lets windows gather before it begins a transaction
ALONE_AFTER_BREAK = 100  # windows: what broke a bundle may break the next one, and each time that takes seconds


@dataclass(slots=True)
class _Chain:
    """The digest of the last certificate, which the next one names; abandoned windows keep a chain of their own."""

    last: str | None

    def add(self, closing: asyncio.Task[ClosedWindow]) -> None:
        if not closing.cancelled() and closing.exception() is None:
            self.last = closing.result().publication.digest

    def rewritten(self, old: str, new: str) -> None:
        """Note that a certificate was written anew, if no later one has named it."""
        if self.last == old:
            self.last = new


@dataclass(frozen=True, slots=True)
class Unpublished:
    """A window that was not published, and the membership it was sent under."""

    outcome: Outcome
    membership: Membership


class ClosingQueue:
    """Close and publish windows one after another, in the order in which they were sealed.

    Parameters
    ----------
    stop
        Ends pauses between two attempts early.
    rechecks
        Audits what was published.
    leakages
        Measures what it leaks.
    bounding
        Learns how large windows may become.
    sizes
        Learns how large they should be; None where they close as late as they may.
    """

    def __init__(
        self,
        steps: ClosingSteps,
        stop: asyncio.Event,
        rechecks: Rechecks,
        leakages: LeakageSamples,
        bounding: Bounding,
        sizes: SizeLearning | None,
    ) -> None:
        self._steps, self._clock, self._tell = steps, steps.clock, steps.tell
        self._stop = stop
        self._rechecks = rechecks
        self._leakages = leakages
        self._bounding = bounding
        self._sizes = sizes
        self._waiting: deque[QueuedWindow] = deque()
        self._running: list[QueuedWindow] = []
        self._alone = 0  # how many more windows go out one by one
        self._publishing: asyncio.Task[PublicationResult] | None = None
        self._closing: asyncio.Task[ClosedWindow] | None = None  # of the window that was sealed last
        self._out: str | None = None  # digest of the last certificate that is out
        self._chain = _Chain(None)

    @property
    def busy(self) -> bool:
        """Return whether a window is being published."""
        return self._publishing is not None

    @property
    def empty(self) -> bool:
        """Return whether nothing is being published or waits."""
        return self._publishing is None and not self._waiting

    @property
    def full(self) -> bool:
        """Return whether no further record may be taken."""
        return self._is_laden or self._unclosed >= MOST_UNCLOSED

    @property
    def _one_by_one(self) -> bool:
        """Return whether no windows go out together now."""
        return self._alone > 0 or self._steps.sink.delivery != "exactly-once"

    @property
    def _is_laden(self) -> bool:
        """Return whether another window like the last would be too much."""
        waiting = self._waiting
        if not waiting:
            return False
        sizes = [queued.size or 0 for queued in waiting]
        held = [queued.outgoing.window.held for queued in waiting]
        return (
            self._one_by_one
            or len(waiting) >= WINDOWS_TOGETHER
            or sum(queued.records for queued in waiting) + waiting[-1].records > RECORDS_TOGETHER
            or sum(sizes) + max(sizes) > BYTES_TOGETHER
            or sum(held) + held[-1] > self._bounding.memory
        )

    @property
    def _unclosed(self) -> int:
        return sum(not queued.closing.done() for queued in self._waiting)

    @property
    def room(self) -> int:
        """Return how many records may still wait beside those that wait; a large window needs no room."""
        waiting = sum(queued.records for queued in self._waiting)
        return 0 if self._one_by_one else max(0, RECORDS_TOGETHER - waiting)

    def put(self, outgoing: OutgoingWindow) -> None:
        """Put a sealed window last.

        It is closed as soon as the window before it is closed, during the transaction of that one, which mostly
        waits.
        """
        chain = self._chain
        self._closing = asyncio.create_task(self._steps.close(outgoing, self._closing, lambda: chain.last))
        self._closing.add_done_callback(self._closed)
        self._closing.add_done_callback(chain.add)
        self._waiting.append(QueuedWindow(outgoing, self._closing, self._clock.monotonic()))

    def _closed(self, closing: asyncio.Task[ClosedWindow]) -> None:
        """Drop the rows of a window that has left; else they would be kept until the next one is full."""
        if self._closing is closing:
            self._closing = None

    def start_next(self, *, behind: bool = False) -> None:
        """Begin to publish the next windows, if none is being published.

        `behind` says that more records are at hand. Then small windows gather for a moment: each transaction costs
        as much as hundreds of records, and what waits in the broker waits the shorter.
        """
        if self._publishing is None and self._waiting and not (behind and self.gathers):
            self._running = self._next_bundle()
            publishing = self._steps.publish(self._running, self._stop, self._out, self._chain.rewritten)
            self._publishing = asyncio.create_task(publishing)

    @property
    def gathers(self) -> bool:
        """Return whether windows wait that may wait for more of them: nothing is being published."""
        if self._publishing is not None or not self._waiting:
            return False
        if self._is_laden and (len(self._waiting) == 1 or not self._unclosed):
            return False
        return self._clock.monotonic() - self._waiting[0].since < GATHER_WITHIN

    def _next_bundle(self) -> list[QueuedWindow]:
        """Take the window that waits longest, closed or not, and those behind it that are closed and fit."""
        bundle = [self._waiting.popleft()]
        records, size = bundle[0].records, bundle[0].size
        self._alone = max(0, self._alone - 1)
        while not self._one_by_one and size is not None and self._waiting and len(bundle) < WINDOWS_TOGETHER:
            following = self._waiting[0]
            records += following.records
            if (
                following.size is None
                or records > RECORDS_TOGETHER
                or (size := size + following.size) > BYTES_TOGETHER
            ):
                break
            if following.outgoing.membership != bundle[0].outgoing.membership:
                break
            bundle.append(self._waiting.popleft())
        return bundle

    async def wait(self, within: float) -> None:
        """Return when a publication or the closing of a window that waits has ended, or after `within` seconds."""
        tasks: list[asyncio.Task[Any]] = [queued.closing for queued in self._waiting if not queued.closing.done()]
        if self._publishing is not None:
            tasks.append(self._publishing)
        if tasks:
            await asyncio.wait(tasks, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(within)

    def collect(self) -> Unpublished | None:
        """Tell how the publication of windows has ended; return how if they were not published."""
        if self._publishing is None or not self._publishing.done():
            return None
        task, bundle = self._publishing, self._running
        self._publishing, self._running = None, []
        result = task.result()
        divided = bundle[len(result.windows) :]
        if divided:
            self._waiting.extendleft(reversed(divided))
            self._alone = ALONE_AFTER_BREAK
        if result.outcome is Outcome.LOST:
            self._out = None  # nobody knows whether these are out, so a new chain begins
        for sent, queued in zip(result.windows, bundle, strict=False):
            if result.published:
                self._out = sent.publication.digest
                self._steps.settled(sent.window, sent.release)
                self._tell(published_event(result.outcome, sent, queued.outgoing, self._clock))
                if len(bundle) == 1 and result.outcome is Outcome.COMMITTED:
                    self._bounding.published(queued.outgoing.window, sent.durations)
                self._rechecks.take(sent.publication)
                self._leakages.take(queued.outgoing.window, sent.release)
                if self._sizes is not None:
                    self._sizes.take(sent.window, sent.release)
            else:
                self._tell(WindowAbandoned(sent.release.records_in, result.outcome.value))
        return None if result.published else Unpublished(result.outcome, bundle[0].outgoing.membership)

    def abandon(self, reason: str) -> None:
        """Drop the windows that wait; the next certificate names the last that is known to be out."""
        while self._waiting:
            queued = self._waiting.popleft()
            queued.closing.add_done_callback(_forget)
            self._tell(WindowAbandoned(queued.records, reason))
        self._chain = _Chain(self._out)

    async def cancel(self, reason: str) -> None:
        """Drop all windows, the one that is being published too; its outcome is for the next owner to read."""
        self.abandon(reason)
        for beside in (self._rechecks, self._leakages, self._sizes):
            if beside is not None:
                beside.sampler.stop()
        task, self._publishing = self._publishing, None
        bundle, self._running = self._running, []
        if task is None:
            return
        task.cancel()
        for queued in bundle:
            queued.closing.add_done_callback(_forget)
        await asyncio.wait([task], timeout=CANCEL_WITHIN)  # a task that hangs ends with the process
        if task.done() and not task.cancelled():
            task.exception()
        for queued in bundle:
            self._tell(WindowAbandoned(queued.records, reason))


def _forget(closing: asyncio.Task[ClosedWindow]) -> None:
    """Retrieve an error that nobody waits for any more, so that asyncio does not log it."""
    if not closing.cancelled():
        closing.exception()
