"""Records that a poll brings, records that are sent, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.texts import Texts

Place = tuple[str, int]
"""A topic and a partition."""


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Records of one partition that one poll returned, in order.

    Parameters
    ----------
    source
        The number that the source gave to the partition.
    first
        Where the source stood before. No record between `first` and `offsets[0]` can be read.
    offsets, times
        int64[n]; times are the broker's, in milliseconds since the epoch.
    """

    source: int
    first: int
    values: Sequence[bytes | None]
    offsets: NDArray[np.int64]
    times: NDArray[np.int64]

    @property
    def end(self) -> int:
        """Return the offset after the last record."""
        return int(self.offsets[-1]) + 1


@dataclass(frozen=True, slots=True)
class Lost:
    """The source stood at an offset whose records are gone, or cannot be read.

    Parameters
    ----------
    after
        Where it can go on behind unreadable records, if known.
    fault
        Whether they made a kernel leave its bounds, which is a bug.
    """

    source: int
    position: int
    unreadable: bool = False
    after: int | None = None
    fault: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """Records of the input that open transactions hide from readers of committed records.

    Parameters
    ----------
    records
        Records from the beginning of each partition's oldest open transaction to the partition's end.
    seconds
        The longest time for which a partition has stood at the same open transaction.
    """

    records: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Polled:
    """The result of a poll."""

    chunks: tuple[Chunk, ...] = ()
    lost: tuple[Lost, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """Records for one partition of one topic, alike in headers and time.

    Parameters
    ----------
    values
        None is a tombstone, which deletes the key from a compacted topic. `Texts` are sent in bulk.
    keys
        One for each value, or None if records have no key.
    time
        Milliseconds since the epoch.
    """

    topic: str
    partition: int
    values: Sequence[bytes | None]
    time: int
    headers: tuple[tuple[str, bytes], ...] = ()
    keys: Sequence[bytes] | None = None

    @property
    def size(self) -> int:
        """Return the bytes of its values."""
        values = self.values
        return values.size if isinstance(values, Texts) else sum(len(value or b"") for value in values)
