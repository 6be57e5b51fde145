"""The hours of a zone's days: 24 of them, or 23 or 25 where its clocks are changed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.domains.calendar.offset_periods import HOUR_SECONDS, OffsetPeriod, stretches_of_zone


@dataclass(frozen=True, eq=False)
class Hours:
    """The hours of days, ordered by day and then by time; an hour has one offset from UTC.

    Parameters
    ----------
    begin, end
        int64[h], seconds since 1970 in UTC.
    day, hour, offset
        int32[h]: the day it belongs to, its number on that day's clocks, and how far these are ahead of UTC.
    twice
        bool[h], whether the day has another hour of that number.
    first
        int32[days + 1]: the first hour of each day, and the number of all hours.
    found, first_of_stretch
        The stretches of the zone, and the first hour of each one.
    """

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    day: NDArray[np.int32]
    hour: NDArray[np.int32]
    offset: NDArray[np.int32]
    twice: NDArray[np.bool_]
    first: NDArray[np.int32]
    found: Sequence[OffsetPeriod]
    first_of_stretch: Sequence[int]

    @classmethod
    def of(cls, zone: dt.tzinfo, earliest: dt.date, latest: dt.date) -> Hours:
        """Return the hours of days; O(hours), and about 5 us a day."""
        days = latest.toordinal() - earliest.toordinal() + 1
        found = stretches_of_zone(zone, earliest, latest)
        # A day that is set back over midnight has stretches on both sides of the next day's first one.
        order = sorted((at for at, one in enumerate(found) if 0 <= one.day < days), key=lambda at: found[at].day)
        inner = np.array([found[at] for at in order], np.int64).T
        begin, end, offset, day = inner
        lowest = (begin + offset) // HOUR_SECONDS
        counts = (end - 1 + offset) // HOUR_SECONDS - lowest + 1
        starts = np.cumsum(counts) - counts
        local = np.repeat(lowest - starts, counts) + np.arange(counts.sum())
        begin, end, offset, day = (np.repeat(row, counts) for row in inner)
        first_of_stretch = [-1] * len(found)
        for at, start in zip(order, starts.tolist(), strict=True):
            first_of_stretch[at] = start
        hour = local % 24
        _, place, met = np.unique(day * 24 + hour, return_inverse=True, return_counts=True)
        return cls(
            np.maximum(begin, local * HOUR_SECONDS - offset),
            np.minimum(end, (local + 1) * HOUR_SECONDS - offset),
            day.astype(np.int32),
            hour.astype(np.int32),
            offset.astype(np.int32),
            met[place] > 1,
            np.searchsorted(day, np.arange(days + 1)).astype(np.int32),
            found,
            first_of_stretch,
        )
