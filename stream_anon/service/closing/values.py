"""What goes through a closing: a window, what was made of it, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np

from stream_anon.engine.closing import TooLarge
from stream_anon.engine.window import SealedWindow
from stream_anon.microdata.release import Release
from stream_anon.ports import Membership, Place
from stream_anon.service.closing.publication import Publication, Targets
from stream_anon.service.events import Durations, Outcome

TOO_LARGE = (
    "; if the broker is well and all topics are there, the window is too large for the time it is given: raise "
    "kafka.transaction_timeout or lower window.max_records"
)


class WindowCloser(Protocol):
    """Turns a sealed window into a release: partition, generalization and gate; see `engine.closing.Closer`."""

    def release(self, window: SealedWindow, shuffle: np.random.Generator, too_large: TooLarge) -> Release:
        """Return what becomes of a window."""
        ...


class Ending(Enum):
    """What the ledger and the stable offsets say of a broken transaction."""

    AT_START = "nothing became visible"
    AT_END = "all became visible"
    ELSEWHERE = "somebody else went on"


@dataclass(frozen=True, slots=True)
class Closing:
    """A window on its way out.

    Parameters
    ----------
    membership
        Of the takeover that opened the window's partitions: the fence. Whoever holds an older one than the group
        knows is turned away, so that no record goes out twice.
    places
        Topic and partition by source number.
    targets
        Where it goes.
    topic_ids
        Kafka's ids of the input topics, as that takeover found them.
    """

    window: SealedWindow
    membership: Membership
    places: tuple[Place, ...]
    targets: Targets
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What steps 1 to 3 made of a window, and how long 1 and 2, and 3, took in seconds."""

    release: Release
    publication: Publication
    released: float
    encoded: float


@dataclass(frozen=True, slots=True, eq=False)
class ClosedWindow:
    """How a closing ended; `publication` is visible if the outcome says so."""

    outcome: Outcome
    release: Release
    publication: Publication
    durations: Durations

    @property
    def published(self) -> bool:
        """Return whether the window is out."""
        return self.outcome in (Outcome.COMMITTED, Outcome.REPEATED, Outcome.FOUND_COMMITTED)
