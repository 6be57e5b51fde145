"""A window on its way out: sealed by the engine, closed by steps 1 to 3, published by steps 4 to 10."""

from __future__ import annotations

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
    previous
        Digest of the certificate that its own one names.
    draws
        Chose the output partitions, and choose the same again.
    """

    release: Release
    publication: Publication
    previous: str | None
    draws: np.random.Generator
    released: float
    encoded: float


@dataclass(frozen=True, slots=True, eq=False)
class PublicationResult:
    """How steps 4 to 10 ended; `publication` is visible if the outcome says so."""

    outcome: Outcome
    release: Release
    publication: Publication
    durations: Durations

    @property
    def published(self) -> bool:
        """Return whether the window was published."""
        return self.outcome in (Outcome.COMMITTED, Outcome.REPEATED, Outcome.FOUND_COMMITTED)
