"""Guess how a column writes days and moments, and from which year to which."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial

from stream_anon.errors import SettingsError
from stream_anon.formats.tables.undeclared_samples import SampledField, Value
from stream_anon.microdata.domains.calendar.moments import ISO, MOST_LETTERS, PER_SECOND, iso_moment
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.operations.propose.guess import Guess, fits, misfits
from stream_anon.operations.propose.proposed_numbers import coercion, number
from stream_anon.operations.propose.roles import is_epoch, is_moment
from stream_anon.operations.propose.support import People, Reading, read

_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y.%m.%d")
_NAMED_DAYS = ("%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
_TIMES = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
PACKED = ("%Y%m%d", "%Y%m%d%H%M%S")
"""Digits alone: only where the name of a field says that it holds days."""

DAY_FORMATS = (
    *_DAYS,
    ISO,
    *(f"{day}{between}{time}" for day in (*_DAYS, *_NAMED_DAYS) for between in (" ", ", ") for time in _TIMES),
    *_NAMED_DAYS,
    "%d/%b/%Y:%H:%M:%S %z",  # of web servers' logs
    "%a, %d %b %Y %H:%M:%S %z",  # of mails
    "%a %b %d %H:%M:%S %Y",
    *PACKED,
    *PER_SECOND,
)
"""Formats of days and moments; of those that read as many values the first counts."""

_PARTS = {
    "Y": r"\d{4}", "m": r"\d{1,2}", "d": r"\d{1,2}", "H": r"\d{1,2}", "I": r"\d{1,2}", "M": r"\d{1,2}",
    "S": r"\d{1,2}", "f": r"\d{1,6}", "p": "[AaPp][Mm]", "b": "[A-Za-z]{3}", "B": "[A-Za-z]{3,9}",
    "a": "[A-Za-z]{3}", "z": r"(?:[+-]\d\d:?\d\d|Z)",
}  # fmt: skip
_PROBE = 200  # values; a format must read most of so many before it is tried on all
_PROBED = 0.9


@dataclass(frozen=True, slots=True)
class _Best:
    """The format that reads most values, what it reads, and how many others would mean other days."""

    form: str
    moments: Reading
    others: int = 0


def dates(name: str, column: SampledField, people: People, texts: bool) -> Guess | None:
    """Return the years of a column of days or moments; None if it is none."""
    best = _best_format(column, is_moment(name))
    if best is None:
        return None
    days = best.moments.then(lambda moment: moment.date())
    ends = people.inner_ends(days.then(lambda day: Decimal(day.toordinal())))
    if ends is None:
        return None
    rare = people.rare(days)
    first, last = (dt.date.fromordinal(int(end)).year for end in ends)
    while first > 1 and dt.date(first, 1, 1) in rare:
        first -= 1
    while last < 9999 and dt.date(last, 12, 31) in rare:
        last += 1
    try:
        DateDomain(best.form, dt.date(first, 1, 1), dt.date(last, 12, 31))
    except SettingsError:
        return None
    settings = {"format": best.form, "min": f"{first:04}-01-01", "max": f"{last:04}-12-31"}
    remarks = misfits(column, len(days))
    counted = best.form in PER_SECOND
    if counted or best.form == ISO:
        remarks += ("`zone` names the zone whose days are published, such as Europe/Berlin",)
    if len({moment.hour for moment in best.moments.meanings}) > 1:
        remarks += ("DECIDE: times of day are dropped; `finest: hour` publishes them where a class allows",)
    if best.others:
        remarks += ("DECIDE: day and month could be the other way round",)
    coerced = coercion(column, number, texts=texts) if counted else {}
    return Guess({"date": settings, "unknown": "root", **coerced}, remarks, is_time=True)


def _best_format(column: SampledField, named: bool) -> _Best | None:
    some = column.values[:: max(1, len(column.values) // _PROBE)]
    best: _Best | None = None
    for form in DAY_FORMATS:
        if form in PACKED and not named:
            continue
        convert = moment_reader(form, named)
        if not _reads_most(some, form, convert):
            continue
        found = read(column, convert)
        if not fits(len(found), column):
            continue
        if best is None or len(found) > len(best.moments):
            best = _Best(form, found)
        elif len(found) == len(best.moments) and _other_way(form) == best.form:
            best = _Best(best.form, best.moments, 1)
    return best


def _other_way(form: str) -> str:
    """Return a format with day and month in each other's place."""
    return form.translate(str.maketrans("dm", "md")) if form.startswith(("%d", "%m")) else ""


def _reads_most(values: Sequence[Value], form: str, convert: Callable[[Value], object]) -> bool:
    """Return whether a format reads most of a few values; a glance at their shape spares most attempts."""
    least = _PROBED * len(values)
    if "%" in form:
        shape = _shape(form)
        if sum(isinstance(value, str) and shape.fullmatch(value) is not None for value in values) < least:
            return False
    return sum(convert(value) is not None for value in values) >= least


@cache
def _shape(form: str) -> re.Pattern[str]:
    """Return what a text looks like that a format may read."""
    parts = re.split(r"%(.)", form)
    patterns = [_PARTS[part] if place % 2 else re.escape(part) for place, part in enumerate(parts)]
    return re.compile("".join(patterns), re.ASCII)


def moment_reader(form: str, named: bool) -> Callable[[Value], dt.datetime | None]:
    """Return what reads a moment of a format; `named`: the name of the field says that it holds moments."""
    if form in PER_SECOND:
        return partial(_counted, form, named)
    return _iso if form == ISO else partial(_told, form)


def _counted(form: str, named: bool, value: Value) -> dt.datetime | None:
    moment = number(value, 10**17)
    if moment is None or not is_epoch(float(moment), form, named=named):
        return None
    return dt.datetime.fromtimestamp(int(moment) // PER_SECOND[form], dt.UTC)


def _iso(value: Value) -> dt.datetime | None:
    return iso_moment(value) if isinstance(value, str) and len(value) <= MOST_LETTERS else None


def _told(form: str, value: Value) -> dt.datetime | None:
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        return dt.datetime.strptime(value, form)  # noqa: DTZ007 - many days have no zone
    except (ValueError, OverflowError):
        return None
