"""The domain of dates: minute, hour, day, month, quarter, year."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.calendar.calendar_cells import FINEST, CalendarCells, Finest
from stream_anon.microdata.domains.calendar.clocks import Clocks
from stream_anon.microdata.domains.calendar.moments import (
    EPOCH_DAYS,
    ISO,
    MOST_LETTERS,
    PER_SECOND,
    iso_moment,
    seconds_since_epoch,
    tells_offsets,
    zone_of,
)
from stream_anon.microdata.domains.calendar.offset_periods import count_days, days_of_zone
from stream_anon.microdata.domains.code_reading import ByMoment, ByText, OneByOne, Reading
from stream_anon.microdata.domains.domain import Domain, Form, Published, Schema
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.domains.intervals import TimeInterval
from stream_anon.microdata.domains.walk import FIRSTS, FIRSTS_LEVEL, Digit, Walk, digits_of_two_bits

MOST_DAYS = 2**17
MOST_HOURS = 2**20  # kernels look up the day, month, quarter and year of each one
_ORDINARY = dt.date(2023, 11, 27)
_EVENING = dt.time(22, 47)  # a clock of twelve hours, or one that shows no minutes, reads it as another time
_ISO_DAY = "2024-05-13"


@dataclass(frozen=True)
class DateDomain(Domain):
    """Days between `earliest` and `latest`, published as `2024-05-13`, `2024-05`, `2024-Q2` or `2024`.

    With `finest` also hours of them, `2024-05-13T08`, and minutes, `2024-05-13T08:15`. An hour that a day has
    twice, when clocks go back, is two hours, told apart by their offset from UTC: `2024-10-27T02+01:00`.

    Parameters
    ----------
    format
        How the input writes a day, as `datetime.strptime` reads it; a time of day it holds is dropped, unless
        `finest` asks for it. Or `iso8601`, or `epoch-d`, `epoch-s`, `epoch-ms`, `epoch-us` for numbers that count
        since 1970 in UTC.
    earliest, latest
        The first and the last day.
    zone
        IANA name of the zone whose days are published. Without it a text tells its own, and numbers those of UTC.
    finest
        The lowest level.
    named_whole
        Whether a year that holds all days is published as that year, and not as "*"; and so of a quarter or month.

    Notes
    -----
    NCP is days (hours, minutes) under the node / days in all, 0 for one. A node at either end of the range counts
    the days of the range only.
    """

    format: str
    earliest: dt.date
    latest: dt.date
    key: str = "date"
    zone: str = ""
    finest: Finest = Finest.DAY
    named_whole: bool = True

    kind: ClassVar[str] = "date"
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.earliest < self.latest:
            raise SettingsError(f"{self.key}.min", "must be before max")
        if self._cells.days > MOST_DAYS:
            raise SettingsError(f"{self.key}.max", f"at most {MOST_DAYS} days are possible")
        if self.zone:
            zone_of(self.zone, f"{self.key}.zone")
            if not tells_offsets(self.format):
                raise SettingsError(
                    f"{self.key}.zone", "is for moments: epoch-s, -ms, -us, iso8601, or %z in format"
                )
        if self.is_fine:
            self._check_fine()
        if self.format not in (ISO, EPOCH_DAYS, *PER_SECOND):
            self._check_pattern()

    def _check_fine(self) -> None:
        if self.format == EPOCH_DAYS:
            raise SettingsError(f"{self.key}.finest", f"must be day with format: {EPOCH_DAYS}, which tells no hour")
        if not 1000 <= self.earliest.year <= self.latest.year <= 9998:
            raise SettingsError(f"{self.key}.finest", "hour and minute are for the years 1000 to 9998")
        if self._cells.days * 24 > MOST_HOURS:
            raise SettingsError(
                f"{self.key}.max", f"at most {MOST_HOURS // 24} days are possible with finest: {self.finest}"
            )

    def _check_pattern(self) -> None:
        # strftime does not pad years before 1000, strptime wants them padded: try the format 2000 years later.
        # The ends may be days that are told without their month, or by it alone: an ordinary one is tried too.
        for end in (self.earliest, self.latest, _ORDINARY):
            day = end if end.year >= 1000 else end.replace(year=end.year + 2000)
            told = dt.datetime.combine(day, _EVENING, dt.UTC)
            moment = self._moment(told.strftime(self.format))
            if moment is None or moment.date() != day:
                raise SettingsError(
                    f"{self.key}.format",
                    "must hold day, month and year in full, such as %Y-%m-%d, or be one of the words",
                )
            hour, minute = self.is_fine, self.finest is Finest.MINUTE
            if (hour and moment.hour != told.hour) or (minute and moment.minute != told.minute):
                raise SettingsError(
                    f"{self.key}.format", f"must hold the time of day for finest: {self.finest}, such as %H:%M"
                )

    @property
    def is_fine(self) -> bool:
        """Return whether hours or minutes are told apart."""
        return self.finest is not Finest.DAY

    @cached_property
    def _cells(self) -> CalendarCells:
        zone = zone_of(self.zone or "UTC", f"{self.key}.zone")
        return CalendarCells(self.earliest, self.latest, self.finest, zone, self.named_whole)

    @cached_property
    def size(self) -> int:
        return self._cells.size

    @cached_property
    def height(self) -> int:
        return len(self._cells.levels)

    def _moment(self, text: str) -> dt.datetime | None:
        if self.format == ISO:
            return None if self.is_fine and len(text) <= len(_ISO_DAY) else iso_moment(text)
        try:
            return dt.datetime.strptime(text, self.format)  # noqa: DTZ007 - many days have no zone
        except (ValueError, OverflowError):
            return None

    def code(self, value: object) -> int:
        """See `Domain`; a day or a moment may come as such, whatever the format is."""
        if isinstance(value, dt.datetime):
            return self._at_moment(value)
        if isinstance(value, dt.date) and not self.is_fine:
            return self._of_day(value)
        table = self._counted
        if table is not None:
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise Unfit(Reason.WRONG_TYPE)
            return self._at(table, math.floor(value))
        moment = self._moment(value) if isinstance(value, str) and len(value) <= MOST_LETTERS else None
        if moment is None:
            raise Unfit(Reason.WRONG_TYPE)
        return self._at_moment(moment)

    def _at_moment(self, moment: dt.datetime) -> int:
        table = self._by_second
        alone = moment.utcoffset() is None
        if table is None or (alone and not self.is_fine):
            return self._of_day(moment.date())
        if alone or not self._tells_instants:
            # Clocks that go back show a time twice: it counts as the first one. A time that they skip counts as so
            # much after the last one that they showed.
            moment = moment.replace(tzinfo=self._cells.zone, fold=0)
        return self._at(table, seconds_since_epoch(moment))

    def _of_day(self, day: dt.date) -> int:
        if not self.earliest <= day <= self.latest:
            raise Unfit(Reason.OUT_OF_RANGE)
        return (day - self.earliest).days

    @staticmethod
    def _at(table: ByMoment, moment: int) -> int:
        code = table.code(moment)
        if code < 0:
            raise Unfit(Reason.OUT_OF_RANGE)
        return code

    @property
    def _tells_instants(self) -> bool:
        """Return whether a moment's place in time counts, and not what its own clocks showed."""
        return bool(self.zone) or self._counted is not None

    @cached_property
    def _counted(self) -> ByMoment | None:
        """Return the codes of numbers; None if the input writes texts."""
        if self.format == EPOCH_DAYS:
            return count_days(self.earliest, self.latest)
        return self._table(PER_SECOND[self.format]) if self.format in PER_SECOND else None

    @cached_property
    def _by_second(self) -> ByMoment | None:
        """Return the codes of seconds since 1970 in UTC; None if a moment's own clock tells its day."""
        return self._table(1) if self._tells_instants or self.is_fine else None

    @cached_property
    def clocks(self) -> Clocks:
        own = not self._tells_instants
        if self.is_fine:
            return Clocks(None, self._by_second, own, self._cells.hours.found)
        return Clocks(count_days(self.earliest, self.latest), self._by_second, own)

    def _table(self, per_second: int) -> ByMoment:
        if self.is_fine:
            return self._cells.table(per_second)
        return days_of_zone(self._cells.zone, self.earliest, self.latest, per_second)

    @cached_property
    def _texts(self) -> dict[str, int] | None:
        if self.format != "%Y-%m-%d":
            return None
        return {(self.earliest + dt.timedelta(days=i)).isoformat(): i for i in range(self.size)}

    def interval(self) -> TimeInterval:
        moments = "timestamp" if self._tells_instants else "local-timestamp"
        return TimeInterval(self, moments if self.is_fine else "date")

    def reading(self) -> Reading:
        if self._counted is not None:
            return self._counted
        if self.format == ISO:
            return self.clocks.iso_reading()
        return OneByOne() if self._texts is None else ByText(self._texts)

    def node(self, low: int, high: int) -> tuple[int, int]:
        return self._cells.node(low, self.level(low, high))

    def node_at(self, code: int, level: int) -> tuple[int, int]:
        return self._cells.node(code, level)

    def unnamed_whole(self) -> DateDomain:
        return replace(self, named_whole=False)

    def level(self, low: int, high: int) -> int:
        return self._cells.level(low, high)

    def publish(self, low: int, high: int) -> Published:
        level = self.level(low, high)
        return ROOT_LABEL if level == self.height else self._cells.name(low, level)

    def ends(self, low: int, high: int) -> tuple[dt.date, dt.date]:
        if not self.is_fine:
            return self.earliest + dt.timedelta(days=low), self.earliest + dt.timedelta(days=high)
        first, last = (self._cells.moment(second) for second in self._cells.seconds(low, high))
        if not self._tells_instants:
            return first.replace(tzinfo=None), last.replace(tzinfo=None)
        return first, last

    def read(self, published: object) -> tuple[int, int] | None:
        if published == ROOT_LABEL:
            return (0, self.size - 1) if self.level(0, self.size - 1) == self.height else None
        bounds = self._cells.read(published) if isinstance(published, str) else None
        return bounds if bounds is not None and self.publish(*bounds) == published else None

    def outline(self) -> dict[str, Any]:
        return {
            "kind": "date",
            "grid": {"zone": self.zone} if self.zone else {},
            "range": [self.earliest.isoformat(), self.latest.isoformat()],
            "levels": [
                {"name": name, "groups": self._cells.groups(level)} for level, name in enumerate(self._cells.levels)
            ],
        }

    def longest(self) -> Sequence[Published]:
        return [self.publish(0, 0), *self._cells.longest()]

    def walk(self) -> Walk:
        return Walk(FIRSTS, 1 / self.size, 1 / self.size, self._cells.firsts[1:].ravel(), self._cells.width)

    def level_walk(self) -> Walk:
        return Walk(FIRSTS_LEVEL, 1 / self.height, 0.0, self._cells.firsts[1:].ravel(), self._cells.width)

    def digits(self) -> Sequence[Digit]:
        return digits_of_two_bits(self.size)

    def schemas(self, form: Form) -> list[Schema]:  # noqa: ARG002 - days are texts
        words = f"{FINEST[self.finest]}day, month, quarter or year"
        return [{"type": "string", "pattern": self._cells.pattern(), "description": words}]

    def words(self) -> str:
        return f"{self.finest}s from {self.earliest} to {self.latest}" + (f" in {self.zone}" if self.zone else "")
