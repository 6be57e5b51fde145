"""A closed window on its way to a sink, and what the sink says about where it goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stream_anon.ports.place import Place
from stream_anon.ports.polled_records import Parcel

BATCH_BYTES = 16
ANY_BATCH = "0" * (2 * BATCH_BYTES)
"""Stands for a batch id where only its length matters."""


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
    """A closed window, ready to be sent; every attempt to publish it sends these bytes.

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
