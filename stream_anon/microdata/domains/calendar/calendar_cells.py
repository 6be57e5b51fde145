"""The cells of a calendar: days, hours or minutes, with names, and the months, quarters and years above them.

::

    minutes  T01:58 T01:59 T02:00+02:00 ... T02:59+02:00 T02:00+01:00 ... T02:59+01:00 T03:00    Berlin, 2024-10-27
    hours    ---- T01 ----|------- T02+02:00 -----------|-------- T02+01:00 ----------|-- T03    the clocks go back
    days     --------------------------- 2024-10-27, of 25 hours ---------------------------
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.domains.calendar.hours import Hours
from stream_anon.microdata.domains.calendar.moments import EPOCH
from stream_anon.microdata.domains.calendar.offset_periods import HOUR_SECONDS, cells_of_stretches
from stream_anon.microdata.domains.code_reading import ByMoment

MINUTES = 60  # codes of an hour where minutes are cells, also of an hour that a change of the clocks cuts short


class Finest(StrEnum):
    """The lowest level of a calendar."""

    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"


FINEST = {Finest.DAY: "a ", Finest.HOUR: "an hour, ", Finest.MINUTE: "a minute, hour, "}
"""What a value may be beside a day, in words."""

_LEVELS = ("minute", "hour", "day", "month", "quarter", "year")
_NAME = re.compile(
    r"[0-9]{4}(?:-(?:(?P<quarter>Q[1-4])|(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?:T(?P<hour>[0-9]{2})(?P<minute>:[0-9]{2})?(?:[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?)?)?))?"
)


def _names(day: dt.date) -> tuple[str, str, str, str]:
    quarter = (day.month - 1) // 3 + 1
    return day.isoformat(), f"{day.year:04}-{day.month:02}", f"{day.year:04}-Q{quarter}", f"{day.year:04}"


@dataclass(frozen=True, eq=False)
class CalendarCells:
    """The cells between two days, and the nodes above them.

    Parameters
    ----------
    earliest, latest
        The first and the last day.
    finest
        What a cell is.
    zone
        By whose clocks hours and minutes are told; UTC where values tell the time of clocks of their own.
    named_whole
        Whether a level of a single node has a name; else that node is the root, and there is no such level.
    """

    earliest: dt.date
    latest: dt.date
    finest: Finest
    zone: dt.tzinfo
    named_whole: bool = True

    @property
    def days(self) -> int:
        """Return the number of days."""
        return (self.latest - self.earliest).days + 1

    @property
    def width(self) -> int:
        """Return how many codes a column of `firsts` stands for."""
        return MINUTES if self.finest is Finest.MINUTE else 1

    @cached_property
    def hours(self) -> Hours:
        """Return the hours; not asked for where days are the cells."""
        return Hours.of(self.zone, self.earliest, self.latest)

    @property
    def size(self) -> int:
        """Return the number of codes."""
        return self.days if self.finest is Finest.DAY else len(self.hours.day) * self.width

    @cached_property
    def firsts(self) -> NDArray[np.int32]:
        """Return the first column of the node above each column, by level; int32[l, n].

        A column is a day, or an hour where hours or minutes are the cells.
        """
        names = [_names(self.earliest + dt.timedelta(days=i)) for i in range(self.days)]
        firsts = np.empty((4, self.days), np.int32)
        for level in range(4):
            seen: dict[str, int] = {}
            firsts[level] = [seen.setdefault(name[level], code) for code, name in enumerate(names)]
        if self.finest is not Finest.DAY:
            rows = self.hours.first[firsts[:, self.hours.day]]
            firsts = np.vstack([np.arange(rows.shape[1], dtype=np.int32), rows])
        return firsts if self.named_whole else firsts[: max(1, int((firsts[:, -1] > 0).sum()))]

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """Return the names of the levels below the root, the finest first."""
        fine = len(self.firsts) + (self.width > 1)
        start = _LEVELS.index(self.finest)
        return _LEVELS[start : start + fine]

    def level(self, low: int, high: int) -> int:
        """Return the level of the lowest node that holds `low` to `high`; the number of levels for the root."""
        if low == high:
            return 0
        finer = int(self.width > 1)
        first, last = low // self.width, high // self.width
        for row in range(len(self.firsts)):
            if self.firsts[row, first] == self.firsts[row, last]:
                return row + finer
        return len(self.levels)

    def node(self, code: int, level: int) -> tuple[int, int]:
        """Return the bounds of a code's node on a level."""
        row = level - (self.width > 1)
        if row < 0:
            return code, code
        if level >= len(self.levels):
            return 0, self.size - 1
        firsts = self.firsts[row]
        first = int(firsts[code // self.width])
        last = int(np.searchsorted(firsts, first, side="right")) - 1
        return first * self.width, last * self.width + self.width - 1

    def groups(self, level: int) -> int:
        """Return the number of nodes on a level."""
        row = level - (self.width > 1)
        return self.size if row < 0 else len(np.unique(self.firsts[row]))

    def name(self, code: int, level: int) -> str:
        """Return the name of a code's node on a level below the root."""
        kind = self.levels[level]
        if self.finest is Finest.DAY:
            return _names(self.earliest + dt.timedelta(days=code))[level]
        hour, minute = divmod(code, self.width)
        names = _names(self.earliest + dt.timedelta(days=int(self.hours.day[hour])))
        if kind not in ("hour", "minute"):
            return names[_LEVELS.index(kind) - _LEVELS.index("day")]
        text = f"{names[0]}T{self.hours.hour[hour]:02}" + (f":{minute:02}" if kind == "minute" else "")
        return text + (_offset(int(self.hours.offset[hour])) if self.hours.twice[hour] else "")

    def read(self, name: str) -> tuple[int, int] | None:
        """Return the bounds of the node of a name; None if there is none."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        told = found.groupdict()
        kind = next((kind for kind in _LEVELS if told.get(kind)), "year")
        if kind not in self.levels:
            return None
        level = self.levels.index(kind)
        quarter, month = told["quarter"], told["month"]
        try:
            begins = int(month) if month else int(quarter[1]) * 3 - 2 if quarter else 1
            day = dt.date(int(name[:4]), begins, int(told["day"] or 1))
        except ValueError:
            return None
        # A month, quarter or year of which the range holds less is written as what the range holds of it.
        for code in self._codes(max(day, self.earliest), told["hour"], int((told["minute"] or ":0")[1:])):
            if self.name(code, level) == name:
                return self.node(code, level)
        return None

    def _codes(self, day: dt.date, hour: str | None, minute: int) -> Sequence[int]:
        """Return codes that a moment may have: several where a day has an hour twice."""
        place = (day - self.earliest).days
        if not 0 <= place < self.days or minute >= MINUTES:
            return ()
        if self.finest is Finest.DAY:
            return (place,)
        if hour is None:
            first = int(self.hours.first[place])  # of a later day, if a zone lacks this one
            return (first * self.width,) if first < len(self.hours.day) else ()
        of_day = range(int(self.hours.first[place]), int(self.hours.first[place + 1]))
        return [at * self.width + minute for at in of_day if int(self.hours.hour[at]) == int(hour)]

    def pattern(self) -> str:
        """Return a regular expression of the names."""
        day = r"(0[1-9]|[12][0-9]|3[01])"
        if self.finest is not Finest.DAY:
            minute = r"(:[0-5][0-9])?" * (self.finest is Finest.MINUTE)
            day += rf"(T([01][0-9]|2[0-3]){minute}([+-][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}})?)?)?"
        return rf"^[0-9]{{4}}(-(0[1-9]|1[0-2])(-{day})?|-Q[1-4])?$"

    def longest(self) -> Sequence[str]:
        """Return a name that is as long as that of any hour or minute which a day has twice."""
        if self.finest is Finest.DAY:
            return ()
        places = np.flatnonzero(self.hours.twice)
        return tuple({self.name(int(place) * self.width, 0) for place in places})

    def seconds(self, low: int, high: int) -> tuple[int, int]:
        """Return the first and the last second of hours or minutes, since 1970 in UTC."""
        (first, minute), (last, later) = divmod(low, self.width), divmod(high, self.width)
        hours = self.hours
        begin, end = int(hours.begin[first]), int(hours.end[last])
        if self.width > 1:
            part = HOUR_SECONDS // self.width
            begin = max(begin, self._anchor(first) + minute * part)
            end = min(end, self._anchor(last) + (later + 1) * part)
        return begin, end - 1

    def _anchor(self, hour: int) -> int:
        """Return when an hour would have begun had its clocks not been changed within it."""
        begin = int(self.hours.begin[hour])
        return begin - (begin + int(self.hours.offset[hour])) % HOUR_SECONDS

    def table(self, per_second: int) -> ByMoment:
        """Return the codes of moments that are counted since 1970 in UTC; of hours and minutes."""
        seconds = HOUR_SECONDS // self.width
        return cells_of_stretches(self.hours.found, self.hours.first_of_stretch, seconds, per_second)

    def moment(self, second: int) -> dt.datetime:
        """Return a second since 1970 in UTC as the zone's clocks show it."""
        return (EPOCH + dt.timedelta(seconds=second)).astimezone(self.zone)


def _offset(seconds: int) -> str:
    """Return an offset from UTC as ISO 8601 writes it, such as `+02:00`."""
    return dt.datetime(2000, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=seconds))).isoformat()[19:]
