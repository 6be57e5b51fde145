"""Intervals of numbers, of days and of moments, as typed output writes them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from stream_anon.errors import Unfit
from stream_anon.microdata.domains.domain import Published
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL

if TYPE_CHECKING:
    from stream_anon.microdata.domains.dates import DateDomain

_MOST_KNOWN = 100_000


@dataclass(frozen=True, slots=True)
class NumberInterval:
    """Intervals of numbers between `least` and `greatest`; see `Interval`.

    Parameters
    ----------
    whole
        Whether all numbers are integers.
    """

    least: int | float
    greatest: int | float
    whole: bool

    @property
    def type(self) -> str:
        """Return the type of both ends."""
        return "integer" if self.whole else "number"

    def ends(self, published: Any) -> tuple[int | float, int | float]:
        """Return the least and the greatest number of what is published."""
        if type(published) is dict:
            return published["min"], published["max"]
        return (self.least, self.greatest) if published == ROOT_LABEL else (published, published)

    def published(self, least: Any, greatest: Any) -> Published:
        """Return what is published for these ends."""
        if (least, greatest) == (self.least, self.greatest):
            return ROOT_LABEL
        return least if least == greatest else {"min": least, "max": greatest}


@dataclass(frozen=True)
class DayInterval:
    """Intervals of days; what the range lacks of a month, quarter or year is no part of one."""

    domain: DateDomain

    type: ClassVar[str] = "date"

    @property
    def least(self) -> str:
        """Return the first day."""
        return self.domain.earliest.isoformat()

    @property
    def greatest(self) -> str:
        """Return the last day."""
        return self.domain.latest.isoformat()

    @cached_property
    def _known(self) -> dict[str, tuple[str, str]]:
        return {ROOT_LABEL: (self.least, self.greatest)}

    def ends(self, published: Any) -> tuple[str, str]:
        """Return the first and the last day of what is published; each is found once."""
        known = self._known.get(published)
        if known is None:
            bounds = self.domain.read(published)
            if bounds is None:
                raise ValueError("is no day, month, quarter or year of the range")
            first, last = (self.domain.earliest + dt.timedelta(days=code) for code in bounds)
            known = self._known[published] = first.isoformat(), last.isoformat()
        return known

    def published(self, least: Any, greatest: Any) -> Published:
        """Return the name of the least node around two days."""
        ends = (dt.date.fromisoformat(end) for end in (least, greatest))
        low, high = ((end - self.domain.earliest).days for end in ends)
        if not 0 <= low <= high < self.domain.size:
            raise ValueError("lies outside the range")
        return self.domain.publish(low, high)


@dataclass(frozen=True)
class MomentInterval:
    """Intervals of hours or minutes, from their first to their last second.

    Parameters
    ----------
    local
        Whether ends are what clocks show, without an offset from UTC.
    """

    domain: DateDomain
    local: bool

    @property
    def type(self) -> str:
        """Return the type of both ends."""
        return "local-timestamp" if self.local else "timestamp"

    @property
    def least(self) -> str:
        """Return the first second."""
        return self.ends(ROOT_LABEL)[0]

    @property
    def greatest(self) -> str:
        """Return the last second."""
        return self.ends(ROOT_LABEL)[1]

    @cached_property
    def _known(self) -> dict[str, tuple[str, str]]:
        return {}

    def ends(self, published: Any) -> tuple[str, str]:
        """Return the first and the last second of what is published; each is found once."""
        known = self._known.get(published)
        if known is None:
            whole = (0, self.domain.size - 1)
            bounds = whole if published == ROOT_LABEL else self.domain.read(published)
            if bounds is None:
                raise ValueError("is no minute, hour, day, month, quarter or year of the range")
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            first, last = (end.isoformat() for end in self.domain.ends(*bounds))
            known = self._known[published] = first, last
        return known

    def published(self, least: Any, greatest: Any) -> Published:
        """Return the name of the least node around two seconds."""
        try:
            low, high = (self.domain.code(dt.datetime.fromisoformat(end)) for end in (least, greatest))
        except Unfit:
            raise ValueError("lies outside the range") from None
        if low > high:
            raise ValueError("ends before it begins")
        return self.domain.publish(low, high)
