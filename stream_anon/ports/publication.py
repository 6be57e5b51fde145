"""A closed window on its way to a sink, and what the sink says about where it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stream_anon.ports.polled_records import Parcel, Place

BATCH_BYTES = 16
ANY_BATCH = "0" * (2 * BATCH_BYTES)
"""Stands for a batch id where only its length matters."""
SIGNATURE = "signature"
"""The header of a part of a certificate, or of a policy document, that holds its signature."""


def header_of(batch: str) -> tuple[tuple[str, bytes], ...]:
    """Return the headers of the records of a window."""
    return (("batch", batch.encode()),)


@dataclass(frozen=True, slots=True)
class Targets:
    """The topics a window goes to.

    Parameters
    ----------
    partitions
        How many each topic has.
    most_value
        Bytes that a record of the output may have, if known.
    most_part
        Bytes that a part of a certificate may have, if known.
    """

    output: str
    certificates: str
    dead_letters: str
    partitions: Mapping[str, int]
    most_value: int | None = None
    most_part: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """A closed window, or a bundle of them, ready to be sent; every attempt to publish it sends these bytes.

    Parameters
    ----------
    parcels
        Its records, certificate and dead letters.
    starts, ends
        The stretch of each partition. Its committed offset is the start before publication and the end after it.
    digest
        Of its certificate; the next certificate names it.
    time
        Of all its records, in milliseconds since the epoch.
    topic_ids
        Kafka's ids of the input topics that it was read from, as far as known.
    """

    batch: str
    parcels: tuple[Parcel, ...]
    starts: Mapping[Place, int]
    ends: Mapping[Place, int]
    digest: str
    time: int
    topic_ids: Mapping[str, str] = field(default_factory=dict)


def bundled(windows: Sequence[Publication]) -> Publication:
    """Return closed windows, in the order of sealing, as one publication that is visible as a whole or not at all.

    Batch, digest and time are those of the last window. So an entry of the ledger that names it proves that all of
    them are out, and the next certificate names its own.

    Raises
    ------
    ValueError
        If a window does not begin where the one before it ends: what lies between would be passed over.
    """
    if len(windows) == 1:
        return windows[0]
    starts: dict[Place, int] = {}
    ends: dict[Place, int] = {}
    topic_ids: dict[str, str] = {}
    for window in windows:
        for place, start in window.starts.items():
            if ends.get(place, start) != start:
                raise ValueError("windows of a bundle do not join")
            starts.setdefault(place, start)
        ends.update(window.ends)
        topic_ids.update(window.topic_ids)
    parcels = tuple(parcel for window in windows for parcel in window.parcels)
    return replace(windows[-1], parcels=parcels, starts=starts, ends=ends, topic_ids=topic_ids)
