"""A window on its way out: sealed by the engine, closed by steps 1 to 3, published by steps 4 to 10."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from stream_anon.engine.window import SealedWindow
from stream_anon.microdata.batch import Reason, Rejects
from stream_anon.microdata.release import Release
from stream_anon.ports import Clock, Membership, Place, Publication, Targets
from stream_anon.service.events import Durations, Outcome, Readings, WindowPublished

TOO_LARGE = (
    "; if the broker is well and all topics are there, the window is too large for the time it is given: raise "
    "kafka.transaction_timeout or lower window.max_records"
)


@dataclass(frozen=True, slots=True, eq=False)
class OutgoingWindow:
    """A sealed window, and what is needed to publish it.

    Parameters
    ----------
    readings
        How its records were read.
    membership
        The membership at the takeover that opened the window's partitions. It is the fence: the group turns away an
        older one, so that no record is published twice.
    places
        Topic and partition by source number.
    targets
        Where it goes.
    topic_ids
        Kafka's ids of the input topics at that takeover.
    """

    window: SealedWindow
    readings: Readings
    membership: Membership
    places: tuple[Place, ...]
    targets: Targets
    topic_ids: Mapping[str, str] = field(default_factory=dict)


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
        return window.records + len(window.rejects) + window.over_limit + window.returning

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


def published_event(outcome: Outcome, sent: SentWindow, outgoing: OutgoingWindow, clock: Clock) -> WindowPublished:
    """Return what is told of a window that has been published."""
    release, publication = sent.release, sent.publication
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
        opened_at=release.opened_at,
        closed_at=release.closed_at,
        at=clock.monotonic(),
        wall=clock.wall(),
        durations=sent.durations,
        outcome=outcome,
        faults=_by_attribute(release.rejects.dead),
        missing=release.missing,
        above_max_suppressed=release.above_max_suppressed,
        achieved_shields=release.achieved_shields,
        readings=outgoing.readings,
        lost=tuple((*outgoing.places[part.source], *lost) for part in release.ranges for lost in part.lost),
    )


def _by_attribute(rejects: Rejects) -> dict[tuple[str, int], int]:
    pairs, counts = np.unique(np.stack([rejects.reasons, rejects.attributes]), axis=1, return_counts=True)
    return {
        (Reason(reason).label, attribute): count
        for (reason, attribute), count in zip(pairs.T.tolist(), counts.tolist(), strict=True)
    }
