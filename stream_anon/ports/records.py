"""What a poll brings, and what is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Records of one partition that one poll returned, in order.

    Parameters
    ----------
    source
        The number that the source gave to the partition.
    first
        Where the source stood before: no record between `first` and `offsets[0]` can be read.
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
        Where it can go on behind what cannot be read, if that is known.
    """

    source: int
    position: int
    unreadable: bool = False
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What open transactions on the input keep from every reader of committed records.

    Parameters
    ----------
    records
        From where the oldest open transaction of each partition began to the partition's end.
    seconds
        How long one partition has stood at the same open transaction, of all of them the longest.
    """

    records: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Polled:
    """What a poll brought."""

    chunks: tuple[Chunk, ...] = ()
    lost: tuple[Lost, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """Records for one partition of one topic, alike in headers and time.

    Parameters
    ----------
    values
        None is a tombstone: of compacted topics it takes the key away. `Texts` are sent in bulk.
    keys
        One for each value, or None where records have no key.
    time
        Milliseconds since the epoch.
    """

    topic: str
    partition: int
    values: Sequence[bytes | None]
    time: int
    headers: tuple[tuple[str, bytes], ...] = ()
    keys: Sequence[bytes] | None = None
