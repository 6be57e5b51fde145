"""The format of records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.release import Release
from stream_anon.microdata.texts import Texts

MOST_RECORD_BYTES = 1_048_576
"""Larger records are rejected unread, unless the settings say otherwise."""


class Codec(Protocol):
    """Decodes records of one policy and encodes its releases. Every codec passes one conformance suite."""

    async def open(self) -> None:
        """Fetch what writing needs from outside, such as the id of a schema.

        Raises BrokerError; Refused where what is there forbids to write.
        """
        ...

    async def learn(self, stretches: Sequence[Sequence[bytes | None]]) -> None:
        """Fetch what reading the values of some stretches needs from outside. Raises BrokerError.

        What `decode` then reads needs nothing more; where nothing is needed, this returns at once.
        """
        ...

    def decode(self, values: Sequence[bytes | None], source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        """Return the coded records of a stretch of one partition, each value by itself.

        Parameters
        ----------
        values
            One record each; None for a record without a value. `Texts` are read as they lie there.
        source
            The worker's number of the partition.
        offsets
            int64[n], ascending.

        Returns
        -------
        CodedBatch
            Rows in the order of `values`; what does not fit is among its rejects, whatever the bytes.
        """
        ...

    def inner(self, values: Sequence[bytes | None]) -> Iterable[bytes | None]:
        """Return the text of each record without what stands around it; None for what holds no record."""
        ...

    @property
    def read_singly(self) -> int:
        """Return how many records were left to a slow reader of single records; 0 if there is none."""
        ...

    @property
    def coerced(self) -> int:
        """Return how many texts counted as another type so far because their attributes say so."""
        ...

    @property
    def faults(self) -> int:
        """Return in how many stretches of records a kernel left its bounds so far, which is a bug."""
        ...

    @property
    def slow_attributes(self) -> tuple[str, ...]:
        """Return the names of the attributes that make the codec read every record by itself."""
        ...

    def encode(self, release: Release) -> list[bytes]:
        """Return one record for each released row, in the release's order."""
        ...

    def encode_in_bulk(self, release: Release) -> Texts:
        """Return the same without an object for each record."""
        ...

    def larger_than(self, release: Release, most: int) -> NDArray[np.int64]:
        """Return the released rows that would be written with more than `most` bytes."""
        ...

    def most_released(self, read: int) -> int:
        """Return an upper bound on the bytes written for a record, given the bytes that were read."""
        ...

    def warm_up(self) -> None:
        """Compile every kernel that records of the policy will call."""
        ...
