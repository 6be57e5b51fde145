"""Windows on their way out: one is being closed, and at most the next one waits for it."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.batch import Reason, Rejects
from stream_anon.ports import Clock, Membership
from stream_anon.service.closing.rechecking import Rechecks
from stream_anon.service.closing.steps import ClosingSteps
from stream_anon.service.closing.values import ClosedWindow, Closing, Prepared
from stream_anon.service.events import Listener, Outcome, WindowAbandoned, WindowPublished

CANCEL_WITHIN = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class _Leaving:
    closing: Closing
    times: NDArray[np.float64]
    preparing: asyncio.Task[Prepared]  # it is never cancelled: its thread could not be


@dataclass(slots=True)
class _Chain:
    """Digest of the certificate written last, which the next one names; abandoned windows keep one of their own."""

    last: str | None

    def add(self, preparing: asyncio.Task[Prepared]) -> None:
        if not preparing.cancelled() and preparing.exception() is None:
            self.last = preparing.result().publication.digest


@dataclass(frozen=True, slots=True)
class Unpublished:
    """A window that did not get out, and the membership it was sent under."""

    outcome: Outcome
    membership: Membership


class ClosingQueue:
    """Close windows one after another, in the order in which they were sealed.

    Parameters
    ----------
    stop
        Ends a closing's pauses early.
    rechecks
        Audits what was published.
    """

    def __init__(
        self, steps: ClosingSteps, clock: Clock, tell: Listener, stop: asyncio.Event, rechecks: Rechecks
    ) -> None:
        self._steps = steps
        self._clock = clock
        self._tell = tell
        self._stop = stop
        self._rechecks = rechecks
        self._waiting: deque[_Leaving] = deque()
        self._running: _Leaving | None = None
        self._task: asyncio.Task[ClosedWindow] | None = None
        self._preparing: asyncio.Task[Prepared] | None = None  # of the window that was sealed last
        self._out: str | None = None  # digest of the last certificate that is out
        self._chain = _Chain(None)

    @property
    def busy(self) -> bool:
        """Return whether a window is being closed."""
        return self._task is not None

    @property
    def full(self) -> bool:
        """Return whether a sealed window waits: no further record may be taken."""
        return bool(self._waiting)

    def put(self, closing: Closing, times: NDArray[np.float64]) -> None:
        """Let a sealed window follow; `times` are the broker's, of its records.

        Its steps 1 to 3 begin as soon as those of the window before have ended: while that one is in its
        transaction, which mostly waits.
        """
        chain = self._chain
        preparing = self._steps.prepare(closing, self._preparing, lambda: chain.last)
        self._preparing = asyncio.create_task(preparing)
        self._preparing.add_done_callback(self._prepared)
        self._preparing.add_done_callback(chain.add)
        self._waiting.append(_Leaving(closing, times, self._preparing))

    def _prepared(self, preparing: asyncio.Task[Prepared]) -> None:
        """Keep no rows of a window that has left until the next one is full."""
        if self._preparing is preparing:
            self._preparing = None

    def start_next(self) -> None:
        """Begin to close the next window, if none is being closed."""
        if self._task is None and self._waiting:
            self._running = self._waiting.popleft()
            closing = self._steps.close(self._running.closing, self._running.preparing, self._stop)
            self._task = asyncio.create_task(closing)

    async def wait(self, within: float) -> None:
        """Return when the closing has ended, or after so many seconds."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=within)
        else:
            await asyncio.sleep(within)

    def collect(self) -> Unpublished | None:
        """Tell of a closing that has ended; return it if its window did not get out."""
        if self._task is None or not self._task.done():
            return None
        task, leaving = self._task, self._running
        self._task = self._running = None
        closed = task.result()
        assert leaving is not None  # noqa: S101 - set together with the task
        if closed.published:
            self._out = closed.publication.digest
            self._tell(self._published(closed, leaving.times))
            self._rechecks.take(closed.publication)
            return None
        if closed.outcome is Outcome.LOST:
            self._out = None  # whether this one is out nobody knows: a new chain begins
        self._tell(WindowAbandoned(closed.release.records_in, closed.outcome.value))
        return Unpublished(closed.outcome, leaving.closing.membership)

    def abandon(self, reason: str) -> None:
        """Drop the windows that wait; the next certificate names the last that is known to be out."""
        while self._waiting:
            leaving = self._waiting.popleft()
            leaving.preparing.add_done_callback(_forget)
            window = leaving.closing.window
            self._tell(WindowAbandoned(window.records + len(window.rejects) + window.over_limit, reason))
        self._chain = _Chain(self._out)

    async def cancel(self, reason: str) -> None:
        """Drop all windows, the one that is being closed too; its outcome is for the next owner to read."""
        self.abandon(reason)
        self._rechecks.stop()
        task, self._task = self._task, None
        if task is None or self._running is None:
            return
        task.cancel()
        self._running.preparing.add_done_callback(_forget)
        await asyncio.wait([task], timeout=CANCEL_WITHIN)  # what hangs is left to the end of the process
        if task.done() and not task.cancelled():
            task.exception()
        self._tell(WindowAbandoned(self._running.closing.window.records, reason))
        self._running = None

    def _published(self, closed: ClosedWindow, times: NDArray[np.float64]) -> WindowPublished:
        release, publication = closed.release, closed.publication
        return WindowPublished(
            batch=publication.batch,
            ranges=tuple((*place, start, publication.ends[place]) for place, start in publication.starts.items()),
            records_in=release.records_in,
            released=release.released,
            suppressed={reason.value: count for reason, count in release.suppressed.items()},
            rejected=_by_reason(release.rejects),
            classes=release.classes,
            achieved_k=release.achieved_k,
            achieved_l=release.achieved_l,
            gcp=release.gcp,
            gate_violations=release.gate_violations,
            arrivals=release.arrivals,
            broker_times=times,
            opened_at=release.opened_at,
            closed_at=release.closed_at,
            at=self._clock.monotonic(),
            wall=self._clock.wall(),
            durations=closed.durations,
            outcome=closed.outcome,
            faults=_by_attribute(release.rejects),
            missing=release.missing,
        )


def _forget(preparing: asyncio.Task[Prepared]) -> None:
    """Take note of an error that nobody is left to hear of."""
    if not preparing.cancelled():
        preparing.exception()


def _by_reason(rejects: Rejects) -> dict[str, int]:
    counts = np.bincount(rejects.reasons, minlength=len(Reason)).tolist()
    return {reason.label: counts[reason] for reason in Reason if counts[reason]}


def _by_attribute(rejects: Rejects) -> dict[tuple[str, int], int]:
    pairs, counts = np.unique(np.stack([rejects.reasons, rejects.attributes]), axis=1, return_counts=True)
    return {
        (Reason(reason).label, attribute): count
        for (reason, attribute), count in zip(pairs.T.tolist(), counts.tolist(), strict=True)
    }
