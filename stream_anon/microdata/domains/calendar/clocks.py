"""Which codes days and moments have, in bulk: what `DateDomain.code` says of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.domains.calendar.offset_periods import OffsetPeriod, in_seconds
from stream_anon.microdata.domains.code_reading import ByIsoText, ByMoment

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Clocks:
    """The codes of days and moments, -1 of those outside.

    Parameters
    ----------
    days
        Of days since 1970-01-01; None if hours or minutes are told apart, for a day tells none.
    by_second
        Of seconds since 1970 in UTC; None if days are told apart, and a moment has that of its own clock.
    own_clock
        Whether what a moment's own clock shows counts, and not which moment it is.
    found
        The stretches of the zone by whose clocks hours are told; of no use where days are.
    """

    days: ByMoment | None
    by_second: ByMoment | None
    own_clock: bool
    found: Sequence[OffsetPeriod] = ()

    @property
    def _shown(self) -> ByMoment | None:
        """Return the codes of seconds from 1970 to what a clock shows; None if only `found` tells."""
        return in_seconds(self.days) if self.days is not None else self.by_second if self.own_clock else None

    @property
    def _instants(self) -> ByMoment | None:
        return None if self.own_clock else self.by_second

    def of_days(self, days: NDArray[np.int64]) -> Codes | None:
        """Return the codes of days since 1970-01-01, int32[n]; None if a day has none."""
        return None if self.days is None else self.days.codes_at(days)

    def of_instants(self, seconds: NDArray[np.int64]) -> Codes | None:
        """Return the codes of seconds since 1970 in UTC, int32[n]; None if their own clocks tell."""
        return None if self._instants is None else self._instants.codes_at(seconds)

    def of_shown(self, seconds: NDArray[np.int64]) -> Codes:
        """Return the codes of seconds from 1970 to what clocks show, int32[n]."""
        shown = self._shown
        if shown is not None:
            return shown.codes_at(seconds)
        assert self.by_second is not None  # noqa: S101 - hours and minutes are codes
        # Clocks that go back show a time twice: it counts as the first one. A time that they skip counts as so much
        # after the last one that they showed. So an offset begins where the change is over by both offsets.
        offsets = np.array([stretch.offset for stretch in self.found], np.int64)
        before = np.concatenate([offsets[:1], offsets[:-1]])
        begins = np.array([stretch.begin for stretch in self.found], np.int64) + np.maximum(before, offsets)
        place = np.searchsorted(begins, seconds, side="right") - 1
        return self.by_second.codes_at(seconds - offsets[np.maximum(place, 0)])

    def iso_reading(self) -> ByIsoText:
        """Return how a fast reader finds the codes of texts of ISO 8601.

        Of a text without an offset that the clocks of a zone may show twice, or never, it asks the domain.
        """
        return ByIsoText(self._shown, self._instants, with_time=self.days is None)
