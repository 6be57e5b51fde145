"""Who was released before, as the service keeps it beside its output, and how an entry of it is written."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from stream_anon.microdata.release import ReleasedPeople
from stream_anon.ports.polled_records import Place

MOST_TOGETHER = 32_768
"""People in one entry: 256 KiB."""
_HEAD = struct.Struct(">B8sq")  # version, name of the key, when the window was sealed
_VERSION = 1
ReturnsEntry: TypeAlias = tuple[bytes, ReleasedPeople]
"""The name of the key that pseudonyms follow from, and who is named."""


class ReleaseHistory(Protocol):
    """Who of each input partition was released in the windows that are out."""

    async def read(
        self, places: Collection[Place], take: Callable[[Place, Sequence[ReleasedPeople]], None]
    ) -> None:
        """Give what is known of some partitions, bit by bit, all transactions that are open now included.

        Parameters
        ----------
        take
            Called in a thread, one call after the other.

        Raises
        ------
        BrokerError
            If it cannot be read to its end; TopicError if somebody else has written there.
        """
        ...


def entries_of(released: ReleasedPeople, key: bytes) -> Iterator[bytes]:
    """Yield what is written of the people of one window and one partition.

    Parameters
    ----------
    key
        The name of the key that their pseudonyms follow from; 8 bytes.
    """
    for start in range(0, len(released.people), MOST_TOGETHER):
        part = released.people[start : start + MOST_TOGETHER]
        yield _HEAD.pack(_VERSION, key, released.sealed) + part.astype("<i8").tobytes()


def read_entry(entry: bytes) -> ReturnsEntry:
    """Return the name of the key of an entry, and who is named in it.

    Raises
    ------
    ValueError
        If it is no entry.
    """
    people = len(entry) - _HEAD.size
    if people <= 0 or people % 8 or entry[0] != _VERSION:
        raise ValueError("is not an entry of this version")
    _, own, sealed = _HEAD.unpack_from(entry)
    if sealed < 0:
        raise ValueError("is of no time")
    return own, ReleasedPeople(sealed, np.frombuffer(entry, "<i8", offset=_HEAD.size).astype(np.int64))
