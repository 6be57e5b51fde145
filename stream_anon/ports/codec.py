"""The format of records."""

from __future__ import annotations

from collections.abc import Sequence
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

    @property
    def read_singly(self) -> int:
        """Return how many records were left to a reader that takes them one by one, until now; 0 without one."""
        ...

    @property
    def slow_attributes(self) -> tuple[str, ...]:
        """Return the names of attributes for whose sake every record is read one by one."""
        ...

    def encode(self, release: Release) -> list[bytes]:
        """Return one record for each released row, in the release's order."""
        ...

    def encode_in_bulk(self, release: Release) -> Texts:
        """Return the same without an object for each record."""
        ...

    def larger_than(self, release: Release, most: int) -> NDArray[np.int64]:
        """Return the released rows of which more bytes than `most` would be written."""
        ...

    def most_released(self, read: int) -> int:
        """Return the most bytes that are written of a record of which so many were read."""
        ...

    def warm_up(self) -> None:
        """Compile every kernel that records of the policy will call."""
        ...
