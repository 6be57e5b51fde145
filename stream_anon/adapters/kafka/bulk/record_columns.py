"""Records as columns, and the call of the kernel that reads them from the bytes of batches."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.kafka.bulk import record_kernels as kernels
from stream_anon.adapters.kafka.bulk.header_kernels import HeaderTable
from stream_anon.microdata.keys import PADDING, padded_words
from stream_anon.microdata.texts import Texts
from stream_anon.ports.headers import NO_HEADERS, HeaderRule

_OFFSET, _TIME = attrgetter("offset"), attrgetter("timestamp")


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Records of one partition as columns, in order.

    Parameters
    ----------
    offsets, times
        int64[n]; times are the broker's, in milliseconds since the epoch.
    """

    values: Texts
    offsets: NDArray[np.int64]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, records: list[Any], headers: HeaderRule = NO_HEADERS) -> Records:
        """Return what the client's own reader made of each record.

        Parameters
        ----------
        headers
            What headers put before a record's value.
        """
        n = len(records)
        offsets = np.fromiter(map(_OFFSET, records), np.int64, n)
        times = [-1 if time is None else time for time in map(_TIME, records)]  # the first format has none
        values = [headers.value(each.value, each.headers) for each in records]
        return cls(Texts.of(values), offsets, np.array(times, np.int64))

    def __len__(self) -> int:
        return len(self.offsets)

    def part(self, first: int, stop: int) -> Records:
        """Return a stretch that shares the arrays."""
        return Records(self.values[first:stop], self.offsets[first:stop], self.times[first:stop])

    def chosen(self, rows: NDArray[np.bool_]) -> Records:
        """Return a copy of the chosen records."""
        return Records(self.values.chosen(rows), self.offsets[rows], self.times[rows])

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


class KernelFaultError(Exception):
    """A kernel left its bounds."""


class RecordColumns:
    """Room for the records of a stretch of bytes, and the records that were found.

    Attributes
    ----------
    fault
        Whether the kernel left its bounds, which is a bug.
    """

    def __init__(self, count: int, size: int, wanted: int, headers: HeaderRule = NO_HEADERS) -> None:
        room = np.empty(size + len(PADDING), np.uint8)
        stops, offsets, times = (np.empty(count, np.int64) for _ in range(3))
        self.room = kernels.RecordRoom(room, padded_words(room), stops, offsets, times, np.empty(count, np.bool_))
        self._rule = HeaderTable.of(headers)
        self.fault = False
        self.found = np.zeros(4, np.int64)
        self.found[kernels.NEXT] = wanted

    def read(self, data: bytes, at: int, end: int, *, checked: bool) -> bool:
        """Read batches of `data`, which ends in `PADDING`; return whether they are sound."""
        text, words = np.frombuffer(data, np.uint8), padded_words(data)
        try:
            kernels.read_run(text, words, at, end, checked, self.room, self._rule, self.found)
        except IndexError:
            self.fault = True
        return not (self.fault or self.found[kernels.BROKEN])

    @property
    def next(self) -> int:
        """Return the offset behind what was read."""
        return int(self.found[kernels.NEXT])

    @property
    def records(self) -> int:
        """Return how many records were read."""
        return int(self.found[kernels.RECORDS])

    def taken(self) -> Records:
        """Return the records that were read, in as much room as they take."""
        n = self.records
        room, _, stops, offsets, times, missing = self.room
        none = missing[:n] if missing[:n].any() else None
        filled = int(self.found[kernels.FILLED]) + len(PADDING)
        if 2 * filled < len(room):  # keys and headers, of which nothing is kept, can be most of a batch
            room = room[:filled].copy()
        room.setflags(write=False)
        return Records(Texts(room, stops[:n], 1, none), offsets[:n], times[:n])
