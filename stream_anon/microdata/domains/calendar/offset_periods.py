"""On which day, hour or minute of a zone's own clocks each moment falls."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from stream_anon.microdata.domains.calendar.moments import DAY_SECONDS, EPOCH
from stream_anon.microdata.domains.code_reading import ByMoment

HOUR_SECONDS = 3_600
_FIRST_DAY = EPOCH.toordinal()
# A zone cannot be asked about the first and the last day that Python knows: its answer could lie beyond them.
_LEAST, _MOST = (2 - _FIRST_DAY) * DAY_SECONDS, (dt.date.max.toordinal() - 2 - _FIRST_DAY) * DAY_SECONDS
_FOR_EVER = 2**62


class OffsetPeriod(NamedTuple):
    """What one day of a zone has of one offset from UTC.

    Parameters
    ----------
    begin, end
        Seconds since 1970 in UTC; the end is no part of it.
    offset
        Seconds by which its clocks are ahead of UTC.
    day
        The day, counted from the first one that is asked for.
    """

    begin: int
    end: int
    offset: int
    day: int


def count_days(earliest: dt.date, latest: dt.date) -> ByMoment:
    """Return the days of numbers that count days since 1970-01-01."""
    first, last = earliest.toordinal() - _FIRST_DAY, latest.toordinal() - _FIRST_DAY
    begins = np.arange(first, last + 2, dtype=np.int64)
    codes = np.append(np.arange(last - first + 1), -1).astype(np.int32)
    return ByMoment(begins, codes, begins, _FOR_EVER)


def in_seconds(days: ByMoment) -> ByMoment:
    """Return the days of seconds, by those of days."""
    begins = days.begins * DAY_SECONDS
    return ByMoment(begins, days.codes, begins, _FOR_EVER)


def days_of_zone(zone: dt.tzinfo, earliest: dt.date, latest: dt.date, per_second: int) -> ByMoment:
    """Return the days of numbers that count moments since 1970 in UTC, `per_second` of them a second.

    A day begins where the zone's own clocks say so: it may have 23 or 25 hours, and a zone that changed sides of
    the date line lacks one. Takes about 5 us a day.
    """
    size = latest.toordinal() - earliest.toordinal() + 1
    found = stretches_of_zone(zone, earliest, latest)
    codes = [stretch.day if 0 <= stretch.day < size else -1 for stretch in found]
    changes = [0, *(at for at in range(1, len(codes)) if codes[at] != codes[at - 1])]
    begins = np.array([found[at].begin for at in changes], np.int64) * per_second
    return ByMoment(begins, np.array([codes[at] for at in changes], np.int32), begins, _FOR_EVER)


def cells_of_stretches(
    found: Sequence[OffsetPeriod], first_hours: Sequence[int], seconds: int, per_second: int
) -> ByMoment:
    """Return the hours, or parts of hours, of numbers that count moments since 1970 in UTC.

    Parameters
    ----------
    first_hours
        Which hour each stretch begins in, as codes count hours; -1 of those outside.
    seconds
        How long a cell lasts: an hour, or a divisor of it.
    """
    anchors = np.array([stretch.begin - (stretch.begin + stretch.offset) % HOUR_SECONDS for stretch in found])
    hours = np.array(first_hours, np.int64)
    codes = np.where(hours < 0, -1, hours * (HOUR_SECONDS // seconds)).astype(np.int32)
    begins = np.array([stretch.begin for stretch in found], np.int64)
    return ByMoment(begins * per_second, codes, anchors * per_second, seconds * per_second)


def stretches_of_zone(zone: dt.tzinfo, earliest: dt.date, latest: dt.date) -> list[OffsetPeriod]:
    """Return days of a zone in the order of time, in as many stretches as they have offsets.

    Some days before `earliest` come first, and some after `latest` last.
    """
    first, last = earliest.toordinal() - _FIRST_DAY, latest.toordinal() - _FIRST_DAY
    return list(_by_day(_offsets(zone, first - 2, last + 3), first))


def _by_day(offsets: Sequence[tuple[int, int]], first: int) -> Iterator[OffsetPeriod]:
    for (begin, offset), (end, _) in pairwise(offsets):
        for day in range((begin + offset) // DAY_SECONDS, (end - 1 + offset) // DAY_SECONDS + 1):
            midnight = day * DAY_SECONDS - offset
            yield OffsetPeriod(max(begin, midnight), min(end, midnight + DAY_SECONDS), offset, day - first)


def _offsets(zone: dt.tzinfo, first: int, last: int) -> list[tuple[int, int]]:
    """Return where stretches of one offset from UTC begin, in seconds, with their offsets; and the end of the last.

    A zone is asked at every midnight of UTC, and where two answers differ the change between them is looked for.
    """

    @cache
    def offset(moment: int) -> int:
        local = (EPOCH + dt.timedelta(seconds=min(max(moment, _LEAST), _MOST))).astimezone(zone).utcoffset()
        return 0 if local is None else local // dt.timedelta(seconds=1)

    found = [(first * DAY_SECONDS, offset(first * DAY_SECONDS))]
    for day in range(first, last):
        low, high = day * DAY_SECONDS, (day + 1) * DAY_SECONDS
        if offset(low) == offset(high):
            continue
        before = offset(low)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == before else (low, middle)
        found.append((high, offset((day + 1) * DAY_SECONDS)))
    return [*found, (last * DAY_SECONDS, 0)]
