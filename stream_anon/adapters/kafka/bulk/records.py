"""Records as columns, and the call of the kernel that reads them from the bytes of batches."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.kafka.bulk import record_kernels as kernels
from stream_anon.microdata.keys import PADDING, padded_words
from stream_anon.microdata.texts import Texts

_OFFSET, _TIME = attrgetter("offset"), attrgetter("timestamp")


def value_behind(value: bytes | None, headers: Sequence[tuple[str, bytes | None]], name: bytes) -> bytes | None:
    """Return a record's value behind that of the last header with a name, where there is one."""
    if value is None or not name:
        return value
    found = [held or b"" for key, held in headers if key.encode() == name]
    return found[-1] + value if found and len(found[-1]) <= kernels.MOST_HEADER else value


class Records:
    """Records of one partition as columns, in order.

    Parameters
    ----------
    offsets, times
        int64[n]; times are the broker's, in milliseconds since the epoch.
    """

    __slots__ = ("offsets", "times", "values")

    def __init__(self, values: Texts, offsets: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        self.values = values
        self.offsets = offsets
        self.times = times

    @classmethod
    def of(cls, records: list[Any], header: bytes = b"") -> Records:
        """Return what the client's own reader made of each record.

        Parameters
        ----------
        header
            The name of a header whose value is put before the record's own; empty for none.
        """
        n = len(records)
        offsets = np.fromiter(map(_OFFSET, records), np.int64, n)
        times = [-1 if time is None else time for time in map(_TIME, records)]  # the first format has none
        values = [value_behind(each.value, each.headers, header) if header else each.value for each in records]
        return cls(Texts.of(values), offsets, np.array(times, np.int64))

    def __len__(self) -> int:
        return len(self.offsets)

    def part(self, first: int, stop: int) -> Records:
        """Return a stretch that shares the arrays."""
        return Records(self.values[first:stop], self.offsets[first:stop], self.times[first:stop])

    @staticmethod
    def joined(parts: list[Records]) -> Records:
        """Return the records of all parts in order."""
        if len(parts) == 1:
            return parts[0]
        return Records(
            Texts.concatenate([part.values for part in parts]),
            np.concatenate([part.offsets for part in parts]),
            np.concatenate([part.times for part in parts]),
        )


class RecordColumns:
    """Room for the records of a stretch of bytes, and the records that were found."""

    def __init__(self, count: int, size: int, wanted: int, header: bytes = b"") -> None:
        room = np.empty(size + len(PADDING), np.uint8)
        self.arrays = (
            room,
            padded_words(room),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.bool_),
        )
        self._header = np.frombuffer(header, np.uint8)
        self.found = np.zeros(4, np.int64)
        self.found[kernels.NEXT] = wanted

    def read(self, data: bytes, at: int, end: int, *, checked: bool) -> bool:
        """Read batches of `data`, which ends in `PADDING`; return whether they are sound."""
        text = np.frombuffer(data, np.uint8)
        kernels.read_run(
            text, padded_words(data), at, end, checked, kernels.CRC_TABLES, *self.arrays, self._header, self.found
        )
        return not self.found[kernels.BROKEN]

    @property
    def next(self) -> int:
        """Return the offset behind what was read."""
        return int(self.found[kernels.NEXT])

    @property
    def records(self) -> int:
        """Return how many records were read."""
        return int(self.found[kernels.RECORDS])

    def taken(self) -> Records:
        """Return the records that were read."""
        n = self.records
        room, _, stops, offsets, times, missing = self.arrays
        none = missing[:n] if missing[:n].any() else None
        room.setflags(write=False)
        return Records(Texts(room, stops[:n], 1, none), offsets[:n], times[:n])
