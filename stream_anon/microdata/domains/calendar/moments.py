"""Moments: how the input writes them, as texts or as numbers that count since 1970."""

from __future__ import annotations

import datetime as dt
import re
from zoneinfo import ZoneInfo

from stream_anon.errors import SettingsError

ISO = "iso8601"
PER_SECOND = {"epoch-s": 1, "epoch-ms": 1_000, "epoch-us": 1_000_000}
EPOCH_DAYS = "epoch-d"
DAY_SECONDS = 86_400
MOST_LETTERS = 128  # of a moment as the input writes it

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_ISO_TEXT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]|60)(?:[.,][0-9]{1,12})?)?"
    r"(?:([Zz])|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)?)?"
)
_DIRECTIVE = re.compile(r"%.", re.DOTALL)


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
    return (moment - EPOCH) // dt.timedelta(seconds=1)
