"""Times of windows, as certificates write them."""

from __future__ import annotations

import datetime as dt
from math import inf


def seconds_of(text: str) -> float:
    """Return the seconds since the epoch of a certificate's time; infinite for a day that does not exist."""
    try:
        return dt.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return inf
