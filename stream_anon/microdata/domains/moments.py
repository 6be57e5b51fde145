"""Moments: how the input writes them, and which day of a zone each one falls on."""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError

ISO = "iso8601"
PER_SECOND = {"epoch-s": 1, "epoch-ms": 1_000, "epoch-us": 1_000_000}
EPOCH_DAYS = "epoch-d"
DAY_SECONDS = 86_400
MOST_LETTERS = 128  # of a moment as the input writes it

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_FIRST_DAY = _EPOCH.toordinal()
# A zone cannot be asked about the first and the last day that Python knows: its answer could lie beyond them.
_LEAST, _MOST = (2 - _FIRST_DAY) * DAY_SECONDS, (dt.date.max.toordinal() - 2 - _FIRST_DAY) * DAY_SECONDS
_ISO_TEXT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]|60)(?:[.,][0-9]{1,12})?)?"
    r"(?:([Zz])|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)?)?"
)
_DIRECTIVE = re.compile(r"%.", re.DOTALL)


class DayTable(NamedTuple):
    """Which day each moment falls on.

    Parameters
    ----------
    begins
        int64[m], ascending, in units of the input: where each stretch of one day begins. A day may have several
        stretches, where clocks are set back over midnight.
    codes
        int32[m]: the day of each stretch, counted from the first one; -1 of the last stretch, which has no end.
    """

    begins: NDArray[np.int64]
    codes: NDArray[np.int32]


def zone_of(name: str, key: str) -> ZoneInfo:
    """Return the zone of an IANA name, such as Europe/Berlin; `SettingsError` if there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, out of the database, or a folder of it
        raise SettingsError(key, "must be a zone of the IANA time zone database, such as Europe/Berlin") from None


def tells_offsets(form: str) -> bool:
    """Return whether values of a format may say how far their clock is from UTC, or are counted from an epoch."""
    return form == ISO or form in PER_SECOND or "%z" in _DIRECTIVE.findall(form)


def iso_moment(text: str) -> dt.datetime | None:
    """Return the moment of an ISO 8601 text in its extended form, with an offset if it has one; None if it is none.

    A time of day and an offset may be left out. Fractions of a second are dropped, and a leap second is the one
    before it.
    """
    found = _ISO_TEXT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    zulu, sign, hours, minutes = found.groups()[6:]
    offset = dt.timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    try:
        zone = dt.timezone(offset) if zulu or sign else None
        return dt.datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone)
    except ValueError:  # no such day
        return None


def seconds_since_epoch(moment: dt.datetime) -> int:
    """Return the whole seconds from 1970 in UTC to a moment that has an offset, rounded down."""
    return (moment - _EPOCH) // dt.timedelta(seconds=1)


def count_days(earliest: dt.date, latest: dt.date) -> DayTable:
    """Return the days of numbers that count days since 1970-01-01."""
    first, last = earliest.toordinal() - _FIRST_DAY, latest.toordinal() - _FIRST_DAY
    size = last - first + 1
    return DayTable(np.arange(first, last + 2, dtype=np.int64), _with_end(np.arange(size)))


def days_of_zone(zone: ZoneInfo, earliest: dt.date, latest: dt.date, per_second: int) -> DayTable:
    """Return the days of numbers that count moments since 1970 in UTC, `per_second` of them a second.

    A day begins where the zone's own clocks say so: it may have 23 or 25 hours, and a zone that changed sides of
    the date line lacks one. Takes about 5 us a day.
    """
    first, last = earliest.toordinal() - _FIRST_DAY, latest.toordinal() - _FIRST_DAY
    begins, codes = [], []
    for (begin, offset), (end, _) in pairwise(_stretches(zone, first - 2, last + 3)):
        for day in range((begin + offset) // DAY_SECONDS, (end - 1 + offset) // DAY_SECONDS + 1):
            begins.append(max(begin, day * DAY_SECONDS - offset))
            codes.append(day - first if first <= day <= last else -1)
    changes = [0, *(at for at in range(1, len(codes)) if codes[at] != codes[at - 1])]
    starts = np.array([begins[at] for at in changes], np.int64) * per_second
    return DayTable(starts, np.array([codes[at] for at in changes], np.int32))


def _with_end(codes: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.append(codes, -1).astype(np.int32)


def _stretches(zone: ZoneInfo, first: int, last: int) -> list[tuple[int, int]]:
    """Return where stretches of one offset from UTC begin, in seconds, with their offsets; and the end of the last.

    A zone is asked at every midnight of UTC, and where two answers differ the change between them is looked for.
    """

    @cache
    def offset(moment: int) -> int:
        local = (_EPOCH + dt.timedelta(seconds=min(max(moment, _LEAST), _MOST))).astimezone(zone).utcoffset()
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
