"""How a fast reader finds the codes of texts of ISO 8601."""

from __future__ import annotations

from stream_anon.microdata.domains.calendar.stretches import MomentTable
from stream_anon.microdata.domains.reading import ByIsoText, ByMoment


def iso_reading(days: MomentTable, by_second: MomentTable | None, *, fine: bool, own_clock: bool) -> ByIsoText:
    """Return which table tells the code of a text with an offset from UTC, and which that of one without.

    Parameters
    ----------
    days
        Of numbers that count days since 1970-01-01.
    by_second
        Of seconds since 1970 in UTC, by the clocks of the zone; None if days are published and no zone is named.
    fine
        Whether hours or minutes are told apart.
    own_clock
        Whether what the text's own clock shows counts, and not which moment it is.
    """
    if by_second is not None and fine and own_clock:
        return ByIsoText(ByMoment(*by_second), None, with_time=True)
    instants = None if by_second is None else ByMoment(*by_second)
    # The clocks of a zone may show a time twice, or never: if hours count, the domain says which one a text without
    # an offset means.
    return ByIsoText(None if fine else ByMoment(*days.in_seconds()), instants, with_time=fine)
