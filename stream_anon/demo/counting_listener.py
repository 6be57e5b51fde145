"""Add up what the worker's events say of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from stream_anon.service.events import Event, RecordsConsumed, TakeoverDone, WindowProgress, WindowPublished


@dataclass(frozen=True, slots=True)
class PublishedRanges:
    """What is kept of a published window: its id and the stretch of each partition (partition, start, end)."""

    batch: str
    ranges: tuple[tuple[int, int, int], ...]


@dataclass(slots=True)
class CountingListener:
    """A listener to a worker that counts.

    Parameters
    ----------
    ready
        Partitions are open.
    waiting
        Records in the open window.
    loss
        Sum of the loss of all records that were released or suppressed.
    delays
        (seconds from arrival to publication, records).
    """

    ready: bool = False
    consumed: int = 0
    waiting: int = 0
    records_in: int = 0
    released: int = 0
    suppressed: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    classes: int = 0
    achieved_k: int | None = None
    loss: float = 0.0
    delays: list[tuple[float, int]] = field(default_factory=list)
    windows: list[PublishedRanges] = field(default_factory=list)

    def listen(self, event: Event) -> None:
        """Take an event of the worker."""
        if isinstance(event, TakeoverDone):
            self.ready = True
        elif isinstance(event, RecordsConsumed):
            self.consumed += event.records
        elif isinstance(event, WindowProgress):
            self.waiting = event.records
        elif isinstance(event, WindowPublished):
            self._add(event)

    def _add(self, window: WindowPublished) -> None:
        self.records_in += window.records_in
        self.released += window.released
        self.suppressed.update(window.suppressed)
        self.rejected.update(window.rejected)
        self.classes += len(window.class_sizes)
        if window.achieved_k is not None:
            known = window.achieved_k if self.achieved_k is None else self.achieved_k
            self.achieved_k = min(known, window.achieved_k)
        admitted = window.released + sum(window.suppressed.values())
        self.loss += (window.gcp or 0.0) * admitted
        self.delays += [(window.at - arrived, records) for arrived, records in window.arrivals]
        ranges = tuple((partition, start, end) for _, partition, start, end in window.ranges)
        self.windows.append(PublishedRanges(window.batch, ranges))

    @property
    def gcp(self) -> float | None:
        """Return the mean loss of a released or suppressed record; None for no record."""
        admitted = self.released + self.suppressed.total()
        return self.loss / admitted if admitted else None

    def delay(self, share: float) -> float | None:
        """Return the delay in seconds that `share` of the records stayed within; None for no record."""
        if not self.delays:
            return None
        delays, records = (np.array(column) for column in zip(*sorted(self.delays), strict=True))
        reached = np.cumsum(records)
        return float(delays[np.searchsorted(reached, share * reached[-1])])
