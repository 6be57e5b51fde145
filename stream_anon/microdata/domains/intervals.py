"""Intervals of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stream_anon.microdata.domains.domain import Published
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL


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
