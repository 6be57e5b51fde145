"""Intervals of numbers, and of days and moments, as typed output writes them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from stream_anon.errors import Unfit
from stream_anon.microdata.domains.domain import Domain, Published
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL

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


class _Days(Domain, Protocol):
    """A domain whose values are days or moments."""

    def ends(self, low: int, high: int) -> tuple[dt.date, dt.date]: ...


@dataclass(frozen=True)
class TimeInterval:
    """Intervals of days, or of hours and minutes from their first second to their last.

    What the range lacks of a month, quarter or year is no part of one.

    Parameters
    ----------
    domain
        Its values.
    type
        `date`; of hours and minutes `timestamp`, or `local-timestamp` where ends are what clocks show, without an
        offset from UTC.
    """

    domain: _Days
    type: str

    @property
    def least(self) -> str:
        """Return the first day or second."""
        return self.ends(ROOT_LABEL)[0]

    @property
    def greatest(self) -> str:
        """Return the last day or second."""
        return self.ends(ROOT_LABEL)[1]

    @cached_property
    def _known(self) -> dict[str, tuple[str, str]]:
        return {}

    def ends(self, published: Any) -> tuple[str, str]:
        """Return the first and the last day or second of what is published; each is found once."""
        known = self._known.get(published)
        if known is None:
            bounds = (0, self.domain.size - 1) if published == ROOT_LABEL else self.domain.read(published)
            if bounds is None:
                raise ValueError("is no node of the range")
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            first, last = (end.isoformat() for end in self.domain.ends(*bounds))
            known = self._known[published] = first, last
        return known

    def published(self, least: Any, greatest: Any) -> Published:
        """Return the name of the least node around two days or seconds."""
        read = dt.date.fromisoformat if self.type == "date" else dt.datetime.fromisoformat
        try:
            low, high = (self.domain.code(read(end)) for end in (least, greatest))
        except Unfit:
            raise ValueError("lies outside the range") from None
        if low > high:
            raise ValueError("ends before it begins")
        return self.domain.publish(low, high)
