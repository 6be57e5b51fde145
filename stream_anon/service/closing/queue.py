"""Windows on their way out: one is being published, and the next one is closed meanwhile and waits for it."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

import numpy as np

from stream_anon.microdata.batch import Reason, Rejects
from stream_anon.ports import Clock, Membership
from stream_anon.service.closing.leaking import LeakageSamples
from stream_anon.service.closing.outgoing import ClosedWindow, OutgoingWindow, PublicationResult
from stream_anon.service.closing.rechecking import Rechecks
from stream_anon.service.closing.size_learning import SizeLearning
from stream_anon.service.closing.steps import ClosingSteps
from stream_anon.service.events import Listener, Outcome, WindowAbandoned, WindowPublished

CANCEL_WITHIN = 0.5


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


@dataclass(frozen=True, slots=True, eq=False)
class _Queued:
    outgoing: OutgoingWindow
    closing: asyncio.Task[ClosedWindow]  # never cancelled, since its thread cannot be
    chain: _Chain


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
    sizes
        Learns from it how large windows should be; None where they close as late as they may.
    """

    def __init__(
        self,
        steps: ClosingSteps,
        clock: Clock,
        tell: Listener,
        stop: asyncio.Event,
        rechecks: Rechecks,
        leakages: LeakageSamples,
        sizes: SizeLearning | None,
    ) -> None:
        self._steps = steps
        self._clock = clock
        self._tell = tell
        self._stop = stop
        self._rechecks = rechecks
        self._leakages = leakages
        self._sizes = sizes
        self._waiting: deque[_Queued] = deque()
        self._running: _Queued | None = None
        self._publishing: asyncio.Task[PublicationResult] | None = None
        self._closing: asyncio.Task[ClosedWindow] | None = None  # of the window that was sealed last
        self._out: str | None = None  # digest of the last certificate that is out
        self._chain = _Chain(None)

    @property
    def busy(self) -> bool:
        """Return whether a window is being published."""
        return self._publishing is not None

    @property
    def full(self) -> bool:
        """Return whether a sealed window waits: no further record may be taken."""
        return bool(self._waiting)

    def put(self, outgoing: OutgoingWindow) -> None:
        """Put a sealed window last.

        It is closed as soon as the window before it is closed, during the transaction of that one, which mostly
        waits.
        """
        chain = self._chain
        self._closing = asyncio.create_task(self._steps.close(outgoing, self._closing, lambda: chain.last))
        self._closing.add_done_callback(self._closed)
        self._closing.add_done_callback(chain.add)
        self._waiting.append(_Queued(outgoing, self._closing, chain))

    def _closed(self, closing: asyncio.Task[ClosedWindow]) -> None:
        """Drop the rows of a window that has left; else they would be kept until the next one is full."""
        if self._closing is closing:
            self._closing = None

    def start_next(self) -> None:
        """Begin to publish the next window, if none is being published."""
        if self._publishing is None and self._waiting:
            self._running = queued = self._waiting.popleft()
            publishing = self._steps.publish(
                queued.outgoing, queued.closing, self._stop, self._out, queued.chain.rewritten
            )
            self._publishing = asyncio.create_task(publishing)

    async def wait(self, within: float) -> None:
        """Return when the window that is being published has ended, or after `within` seconds."""
        if self._publishing is not None:
            await asyncio.wait([self._publishing], timeout=within)
        else:
            await asyncio.sleep(within)

    def collect(self) -> Unpublished | None:
        """Tell how the publication of a window has ended; return the window if it was not published."""
        if self._publishing is None or not self._publishing.done():
            return None
        task, queued = self._publishing, self._running
        self._publishing = self._running = None
        result = task.result()
        assert queued is not None  # noqa: S101 - set together with the task
        if result.published:
            self._out = result.publication.digest
            self._tell(self._published(result, queued.outgoing))
            if self._sizes is not None:
                self._sizes.take(queued.outgoing.window, result.release)
            self._rechecks.take(result.publication)
            self._leakages.take(queued.outgoing.window, result.release)
            return None
        if result.outcome is Outcome.LOST:
            self._out = None  # nobody knows whether this one is out, so a new chain begins
        self._tell(WindowAbandoned(result.release.records_in, result.outcome.value))
        return Unpublished(result.outcome, queued.outgoing.membership)

    def abandon(self, reason: str) -> None:
        """Drop the windows that wait; the next certificate names the last that is known to be out."""
        while self._waiting:
            queued = self._waiting.popleft()
            queued.closing.add_done_callback(_forget)
            window = queued.outgoing.window
            self._tell(WindowAbandoned(window.records + len(window.rejects) + window.over_limit, reason))
        self._chain = _Chain(self._out)

    async def cancel(self, reason: str) -> None:
        """Drop all windows, the one that is being published too; its outcome is for the next owner to read."""
        self.abandon(reason)
        self._rechecks.stop()
        self._leakages.stop()
        task, self._publishing = self._publishing, None
        if task is None or self._running is None:
            return
        task.cancel()
        self._running.closing.add_done_callback(_forget)
        await asyncio.wait([task], timeout=CANCEL_WITHIN)  # a task that hangs ends with the process
        if task.done() and not task.cancelled():
            task.exception()
        self._tell(WindowAbandoned(self._running.outgoing.window.records, reason))
        self._running = None

    def _published(self, result: PublicationResult, outgoing: OutgoingWindow) -> WindowPublished:
        release, publication = result.release, result.publication
        counts = release.rejects.counts()
        return WindowPublished(
            batch=publication.batch,
            ranges=tuple((*place, start, publication.ends[place]) for place, start in publication.starts.items()),
            records_in=release.records_in,
            released=release.released,
            suppressed={reason.value: count for reason, count in release.suppressed.items()},
            rejected={reason.label: count for reason, count in counts.items() if not reason.is_ignored},
            ignored={reason.label: count for reason, count in counts.items() if reason.is_ignored},
            classes=release.classes,
            achieved_k=release.achieved_k,
            achieved_l=release.achieved_l,
            gcp=release.gcp,
            gate_violations=release.gate_violations,
            arrivals=release.arrivals,
            broker_times=outgoing.times,
            opened_at=release.opened_at,
            closed_at=release.closed_at,
            at=self._clock.monotonic(),
            wall=self._clock.wall(),
            durations=result.durations,
            outcome=result.outcome,
            faults=_by_attribute(release.rejects.dead),
            missing=release.missing,
            above_max_suppressed=release.above_max_suppressed,
            achieved_shields=release.achieved_shields,
            readings=outgoing.readings,
            lost=tuple((*outgoing.places[part.source], *lost) for part in release.ranges for lost in part.lost),
        )


def _forget(closing: asyncio.Task[ClosedWindow]) -> None:
    """Retrieve an error that nobody waits for any more, so that asyncio does not log it."""
    if not closing.cancelled():
        closing.exception()


def _by_attribute(rejects: Rejects) -> dict[tuple[str, int], int]:
    pairs, counts = np.unique(np.stack([rejects.reasons, rejects.attributes]), axis=1, return_counts=True)
    return {
        (Reason(reason).label, attribute): count
        for (reason, attribute), count in zip(pairs.T.tolist(), counts.tolist(), strict=True)
    }
