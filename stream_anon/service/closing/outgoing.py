"""A window on its way out: sealed by the engine, closed by steps 1 to 3, published by steps 4 to 10."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.window import SealedWindow
from stream_anon.microdata.release import Release
from stream_anon.ports import Membership, Place, Publication, Targets
from stream_anon.service.events import Durations, Outcome, Readings

TOO_LARGE = (
    "; if the broker is well and all topics are there, the window is too large for the time it is given: raise "
    "kafka.transaction_timeout or lower window.max_records"
)


@dataclass(frozen=True, slots=True, eq=False)
class OutgoingWindow:
    """A sealed window, and what is needed to publish it.

    Parameters
    ----------
    times
        When the input topic got each record; see `intake.arrival_times`.
    membership
        The membership at the takeover that opened the window's partitions. It is the fence: the group turns away an
        older one, so that no record is published twice.
    places
        Topic and partition by source number.
    targets
        Where it goes.
    topic_ids
        Kafka's ids of the input topics at that takeover.
    readings
        How its records were read.
    """

    window: SealedWindow
    times: NDArray[np.float64]
    membership: Membership
    places: tuple[Place, ...]
    targets: Targets
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    readings: Readings = field(default_factory=Readings)


@dataclass(frozen=True, slots=True, eq=False)
class ClosedWindow:
    """What steps 1 to 3 make of a window, and how many seconds 1 and 2 took together, and 3.

    Parameters
    ----------
    window
        With its rows in the order of the release.
    previous
        Digest of the certificate that its own one names.
    draws
        Chose the output partitions, and choose the same again.
    size
        Bytes of what is published.
    """

    window: SealedWindow
    release: Release
    publication: Publication
    previous: str | None
    draws: np.random.Generator
    released: float
    encoded: float
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class QueuedWindow:
    """A sealed window, the task that does its steps 1 to 3, and since when it waits, in seconds of the clock."""

    outgoing: OutgoingWindow
    closing: asyncio.Task[ClosedWindow]  # never cancelled, since its thread cannot be
    since: float

    @property
    def records(self) -> int:
        """Return how many records it holds something of, whatever becomes of them."""
        window = self.outgoing.window
        return window.records + len(window.rejects) + window.over_limit

    @property
    def size(self) -> int | None:
        """Return the bytes that it would send; None while it is not closed, and if it could not be."""
        closing = self.closing
        if not closing.done() or closing.cancelled() or closing.exception() is not None:
            return None
        return closing.result().size


@dataclass(frozen=True, slots=True, eq=False)
class SentWindow:
    """A window as it was sent last.

    Parameters
    ----------
    window
        With its rows in the order of the release.
    durations
        `publish` and `commit` are its share of the transaction's time.
    """

    window: SealedWindow
    release: Release
    publication: Publication
    durations: Durations


@dataclass(frozen=True, slots=True, eq=False)
class PublicationResult:
    """How steps 4 to 10 ended; all of `windows` are visible if the outcome says so, and otherwise none."""

    outcome: Outcome
    windows: tuple[SentWindow, ...]

    @property
    def published(self) -> bool:
        """Return whether the windows were published."""
        return self.outcome in (Outcome.COMMITTED, Outcome.REPEATED, Outcome.FOUND_COMMITTED)
