"""The domain of dates: day, month, quarter, year."""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.domain import Domain, Form, Published, Scalar, Schema
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.domains.intervals import DayInterval
from stream_anon.microdata.domains.moments import (
    EPOCH_DAYS,
    ISO,
    MOST_LETTERS,
    PER_SECOND,
    DayTable,
    count_days,
    days_of_zone,
    iso_moment,
    seconds_since_epoch,
    tells_offsets,
    zone_of,
)
from stream_anon.microdata.domains.reading import ByMoment, ByText, OneByOne, Reading
from stream_anon.microdata.domains.walk import (
    FIRSTS,
    FIRSTS_LEVEL,
    Digit,
    Walk,
    digits_of_widths,
    powers_below,
)

MOST_DAYS = 2**17
_SLICE = 4  # two bits of a code are a digit
_ORDINARY = dt.date(2023, 11, 27)


def _names(day: dt.date) -> tuple[str, str, str, str]:
    quarter = (day.month - 1) // 3 + 1
    return day.isoformat(), f"{day.year:04}-{day.month:02}", f"{day.year:04}-Q{quarter}", f"{day.year:04}"


@dataclass(frozen=True)
class DateDomain(Domain):
    """Days between `earliest` and `latest`, published as `2024-05-13`, `2024-05`, `2024-Q2` or `2024`.

    Parameters
    ----------
    format
        How the input writes a day, as `datetime.strptime` reads it; a time of day it holds is dropped. Or
        `iso8601`, or `epoch-d`, `epoch-s`, `epoch-ms`, `epoch-us` for numbers that count since 1970 in UTC.
    earliest, latest
        The first and the last day.
    zone
        The IANA name of the zone whose days are published. Without it a text tells its own day, and numbers
        are those of UTC.

    Notes
    -----
    NCP is days under the node / days in all, 0 for one day. A node at either end of the range counts the days
    of the range only.
    """

    format: str
    earliest: dt.date
    latest: dt.date
    key: str = "date"
    zone: str = ""

    kind: ClassVar[str] = "date"
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.earliest < self.latest:
            raise SettingsError(f"{self.key}.min", "must be before max")
        if self.size > MOST_DAYS:
            raise SettingsError(f"{self.key}.max", f"at most {MOST_DAYS} days are possible")
        if self.zone:
            zone_of(self.zone, f"{self.key}.zone")
            if not tells_offsets(self.format):
                raise SettingsError(
                    f"{self.key}.zone", "is for moments: epoch-s, -ms, -us, iso8601, or %z in format"
                )
        if not self._is_pattern:
            return
        # strftime does not pad years before 1000, strptime wants them padded: try the format 2000 years later.
        # The ends may be days that are told without their month, or by it alone: an ordinary one is tried too.
        for end in (self.earliest, self.latest, _ORDINARY):
            day = end if end.year >= 1000 else end.replace(year=end.year + 2000)
            moment = self._moment(dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC).strftime(self.format))
            if moment is not None and moment.date() == day:
                continue
            raise SettingsError(
                f"{self.key}.format",
                "must hold day, month and year in full, such as %Y-%m-%d, or be one of the words",
            )

    @property
    def _is_pattern(self) -> bool:
        return self.format not in (ISO, EPOCH_DAYS, *PER_SECOND)

    @property
    def size(self) -> int:
        return (self.latest - self.earliest).days + 1

    @property
    def height(self) -> int:
        return 4

    @cached_property
    def firsts(self) -> NDArray[np.int32]:
        """Return, the first code of the node above each code; int32[4, n], rows day to year."""
        names = [_names(self.earliest + dt.timedelta(days=i)) for i in range(self.size)]
        firsts = np.empty((4, self.size), np.int32)
        for level in range(4):
            seen: dict[str, int] = {}
            firsts[level] = [seen.setdefault(name[level], code) for code, name in enumerate(names)]
        return firsts

    def _moment(self, text: str) -> dt.datetime | None:
        if self.format == ISO:
            return iso_moment(text)
        try:
            return dt.datetime.strptime(text, self.format)  # noqa: DTZ007 - many days have no zone
        except (ValueError, OverflowError):
            return None

    @property
    def takes_days(self) -> bool:
        """Return whether a moment is published as the day it has by its own clock: not if a zone is named."""
        return self._days is None and self._counted is None

    def code(self, value: object) -> int:
        table = self._counted
        if table is not None:
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise Unfit(Reason.WRONG_TYPE)
            return self._day_at(table, math.floor(value))
        if type(value) is dt.date:
            day = value
        else:
            moment = self._moment(value) if isinstance(value, str) and len(value) <= MOST_LETTERS else None
            if moment is None:
                raise Unfit(Reason.WRONG_TYPE)
            if self._days is not None and moment.tzinfo is not None:
                return self._day_at(self._days, seconds_since_epoch(moment))
            day = moment.date()
        if not self.earliest <= day <= self.latest:
            raise Unfit(Reason.OUT_OF_RANGE)
        return (day - self.earliest).days

    @staticmethod
    def _day_at(table: DayTable, moment: int) -> int:
        # A number of the input may exceed what an array holds.
        if int(table.begins[0]) <= moment < int(table.begins[-1]):
            code = int(table.codes[bisect_right(table.begins, moment) - 1])
            if code >= 0:
                return code
        raise Unfit(Reason.OUT_OF_RANGE)

    @cached_property
    def _counted(self) -> DayTable | None:
        """Return the days of numbers; None if the input writes texts."""
        if self.format == EPOCH_DAYS:
            return count_days(self.earliest, self.latest)
        if self.format not in PER_SECOND:
            return None
        zone = zone_of(self.zone or "UTC", f"{self.key}.zone")
        return days_of_zone(zone, self.earliest, self.latest, PER_SECOND[self.format])

    @cached_property
    def _days(self) -> DayTable | None:
        """Return the zone's days by seconds; None if a text tells its own day."""
        return days_of_zone(zone_of(self.zone, self.key), self.earliest, self.latest, 1) if self.zone else None

    def values(self) -> Mapping[Scalar, int] | None:
        """Return None unless the format writes each day in one way only."""
        return None if self._texts is None else {text: code for text, code in self._texts.items()}  # noqa: C416 - widens

    @cached_property
    def _texts(self) -> dict[str, int] | None:
        if self.format != "%Y-%m-%d":
            return None
        return {(self.earliest + dt.timedelta(days=i)).isoformat(): i for i in range(self.size)}

    def interval(self) -> DayInterval:
        return DayInterval(self)

    def reading(self) -> Reading:
        if self._counted is not None:
            return ByMoment(*self._counted)
        return OneByOne() if self._texts is None else ByText(self._texts)

    def node(self, low: int, high: int) -> tuple[int, int]:
        level = self.level(low, high)
        if level == self.height:
            return 0, self.size - 1
        firsts = self.firsts[level]
        first = int(firsts[low])
        return first, int(np.searchsorted(firsts, first, side="right")) - 1

    def level(self, low: int, high: int) -> int:
        for level in range(4):
            if self.firsts[level, low] == self.firsts[level, high]:
                return level
        return 4

    def ncp(self, low: int, high: int) -> float:
        return 0.0 if low == high else (high - low + 1) / self.size

    def publish(self, low: int, high: int) -> Published:
        level = self.level(low, high)
        if level == self.height:
            return ROOT_LABEL
        return _names(self.earliest + dt.timedelta(days=low))[level]

    def ends(self, low: int, high: int) -> tuple[dt.date, dt.date]:
        return self.earliest + dt.timedelta(days=low), self.earliest + dt.timedelta(days=high)

    @cached_property
    def _codes(self) -> dict[str, int]:
        codes: dict[str, int] = {}
        for code in range(self.size):
            for name in _names(self.earliest + dt.timedelta(days=code)):
                codes.setdefault(name, code)
        return codes

    def read(self, published: object) -> tuple[int, int] | None:
        if published == ROOT_LABEL:
            return (0, self.size - 1) if self.level(0, self.size - 1) == self.height else None
        if not isinstance(published, str) or published not in self._codes:
            return None
        low = self._codes[published]
        level = {4: 3, 7: 1 if "Q" not in published else 2, 10: 0}[len(published)]
        high = int(np.searchsorted(self.firsts[level], self.firsts[level, low], side="right")) - 1
        # A month, quarter or year of which the range holds less is written as what the range holds of it.
        return (low, high) if self.publish(low, high) == published else None

    def outline(self) -> dict[str, Any]:
        names = ("day", "month", "quarter", "year")
        return {
            "kind": "date",
            "grid": {},
            "range": [self.earliest.isoformat(), self.latest.isoformat()],
            "levels": [
                {"name": name, "groups": len(set(firsts.tolist()))}
                for name, firsts in zip(names, self.firsts, strict=True)
            ],
        }

    def longest(self) -> Sequence[Published]:
        return [self.publish(0, 0)]  # a day; all of them are equally long

    def walk(self) -> Walk:
        return Walk(FIRSTS, 1 / self.size, 1 / self.size, self.firsts[1:].ravel())

    def level_walk(self) -> Walk:
        return Walk(FIRSTS_LEVEL, 1 / self.height, 0.0, self.firsts[1:].ravel())

    def digits(self) -> Sequence[Digit]:
        return digits_of_widths(self.size, powers_below(self.size, _SLICE))

    def schemas(self, form: Form) -> list[Schema]:  # noqa: ARG002 - days are texts
        pattern = r"^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?|-Q[1-4])?$"
        return [{"type": "string", "pattern": pattern, "description": "a day, month, quarter or year"}]

    def words(self) -> str:
        return f"days from {self.earliest} to {self.latest}" + (f" in {self.zone}" if self.zone else "")
