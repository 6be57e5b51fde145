"""Guess the domain of a quasi-identifier: a range, dates, prefixes, or categories.

Every number and every label in an answer is shared by `FEWEST` individuals, or is no value of the sample at all.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial

from stream_anon.adapters.tables.samples import Column, Value
from stream_anon.errors import HierarchyError, SettingsError
from stream_anon.microdata.domains import automatic
from stream_anon.microdata.domains.calendar.moments import ISO, MOST_LETTERS, PER_SECOND, iso_moment
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.operations.propose.recognised import fitting, recognised
from stream_anon.operations.propose.roles import is_age, is_moment, is_postal
from stream_anon.operations.propose.support import FEWEST, People

FITTING = 0.95  # share of the values that must fit a domain of numbers, days or prefixes
FLAT = 12  # categories up to which no hierarchy is proposed
ARITY = 4
COVERED = 0.5  # share of the records that the common categories must cover
MOST_CELLS = 1000
AGE_LEVELS = [5, 10, 20]  # years
DAY_FORMATS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    ISO,
    *PER_SECOND,
)
_EITHER_WAY = ("%m/%d/%Y", "%d/%m/%Y")
_EPOCHS_OF = (946_684_800, 2_208_988_800)  # 2000 to 2040, in seconds
MONTH = re.compile(r"\d{4}([/-])\d{2}")

Setting = str | int | float | bool | Decimal | list[str] | list[bool] | Mapping[str, object]


@dataclass(frozen=True)
class Guess:
    """Settings of a domain, and what a person should know of it."""

    settings: Mapping[str, Setting]
    remarks: tuple[str, ...] = ()
    is_time: bool = False


def label(value: Value | None) -> str:
    """Return a category's text, as the policy's own rules write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def number(value: Value, texts: bool, most: int = 10**15) -> Decimal | None:
    """Return a value as an exact number below `most`; None if it is none, or text where the format has numbers."""
    if isinstance(value, bool | tuple) or (isinstance(value, str) and not texts):
        return None
    if isinstance(value, str) and not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", value):
        return None
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found) < most else None


def guess(name: str, column: Column, people: People, texts: bool) -> Guess | None:
    """Return the domain that fits a field, None if the values are too many or too rare for any."""
    for attempt in (_recognised, _prefix, _months, _dates, _numbers):
        found = attempt(name, column, people, texts)
        if found is not None:
            return found
    return _categories(column, people)


def _recognised(name: str, column: Column, people: People, texts: bool) -> Guess | None:  # noqa: ARG001
    settings = recognised(column.values)
    if settings is None:
        return None
    return Guess({**settings, "unknown": "root"}, _misfits(column, fitting(settings, column.values)))


def _fitting(column: Column, convert: Callable[[Value], object]) -> tuple[list[int], list[object]] | None:
    """Return the rows and converted values that are not None, or None if these are too few."""
    rows, converted = [], []
    for row, value in zip(column.rows, column.values, strict=True):
        new = convert(value)
        if new is not None:
            rows.append(row)
            converted.append(new)
    return (rows, converted) if converted and len(converted) >= FITTING * len(column.values) else None


def _misfits(column: Column, fitting: int) -> tuple[str, ...]:
    misfits = len(column.values) - fitting
    return (f"{_percent(misfits, len(column.values))} of the values do not fit and would be rejected",) * (
        misfits > 0
    )


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.1f} %" if share >= 0.1 else "under 0.1 %"


def _prefix(name: str, column: Column, people: People, texts: bool) -> Guess | None:
    digits = [str(v) for v in column.values if isinstance(v, str | int) and not isinstance(v, bool)]
    digits = [text for text in digits if re.fullmatch(r"\d{3,10}", text)]
    if not digits or len(digits) < FITTING * len(column.values):
        return None
    as_text = not texts and all(isinstance(value, str) for value in column.values)
    if not (is_postal(name) or as_text or any(text.startswith("0") for text in digits)):
        return None
    lengths = people.common(column, lambda value: len(str(value)))
    if not lengths:
        return None
    length, _ = lengths.most_common(1)[0]
    same = sum(len(text) == length for text in digits)
    if not isinstance(length, int) or not 3 <= length <= 10 or same < 0.9 * len(digits):
        return None
    padded = not texts and any(isinstance(value, int) and len(str(value)) < length for value in column.values)
    settings: dict[str, Setting] = {"prefix": {"length": length} | ({"pad": "zeros"} if padded else {})}
    remarks = ("numbers lose zeros in front: a shorter one gets them back",) * padded
    return Guess({**settings, "unknown": "root"}, (*_misfits(column, len(digits)), *remarks))


def _months(name: str, column: Column, people: People, texts: bool) -> Guess | None:  # noqa: ARG001 - one signature
    """Return prefixes for months: they have no day, which a date must have."""
    marks = [match[1] for value in column.values if isinstance(value, str) and (match := MONTH.fullmatch(value))]
    if not marks or marks.count(marks[0]) < FITTING * len(column.values):
        return None
    prefix = {"length": 7, "alphabet": f"0123456789{marks[0]}"}
    remarks = ("months are published as beginnings: of the month, the year, the decade",)
    return Guess(
        {"prefix": prefix, "unknown": "root"}, (*_misfits(column, marks.count(marks[0])), *remarks), is_time=True
    )


def _dates(name: str, column: Column, people: People, texts: bool) -> Guess | None:
    best, others = _best_format(column, _day_formats(name), texts)
    if best is None:
        return None
    form, rows, days = best
    ends = people.inner_ends(rows, [Decimal(day.toordinal()) for day in days])
    if ends is None:
        return None
    rare = _rare(people, rows, days)
    first, last = (dt.date.fromordinal(int(end)).year for end in ends)
    while first > 1 and dt.date(first, 1, 1) in rare:
        first -= 1
    while last < 9999 and dt.date(last, 12, 31) in rare:
        last += 1
    try:
        DateDomain(form, dt.date(first, 1, 1), dt.date(last, 12, 31))
    except SettingsError:
        return None
    settings = {"format": form, "min": f"{first:04}-01-01", "max": f"{last:04}-12-31"}
    remarks = _misfits(column, len(days))
    if form in (ISO, *PER_SECOND):
        remarks += ("`zone` names the zone whose days are published, such as Europe/Berlin",)
        remarks += (
            "DECIDE: times of day are dropped; `finest: hour` publishes them where a class allows",
        ) * _hours(form, column, texts)
    if others:
        remarks += ("DECIDE: day and month could be the other way round",)
    return Guess({"date": settings, "unknown": "root"}, remarks, is_time=True)


def _hours(form: str, column: Column, texts: bool) -> bool:
    """Return whether values tell different hours of the day."""
    found = {
        int(told) // (3600 * PER_SECOND[form]) % 24 if isinstance(told, Decimal) else told.hour
        for value in column.values
        if (told := _number_or_moment(form, texts, value)) is not None
    }
    return len(found) > 1


def _number_or_moment(form: str, texts: bool, value: Value) -> Decimal | dt.datetime | None:
    if form in PER_SECOND:
        return number(value, texts, 10**17)
    return iso_moment(value) if isinstance(value, str) and len(value) <= MOST_LETTERS else None


def _day_formats(name: str) -> tuple[str, ...]:
    """Return the formats to try; seconds have as many digits as telephone numbers, so only a name tells them."""
    return DAY_FORMATS if is_moment(name) else tuple(form for form in DAY_FORMATS if form != "epoch-s")


def _best_format(
    column: Column, formats: Sequence[str], texts: bool
) -> tuple[tuple[str, list[int], list[dt.date]] | None, int]:
    """Return the first format that reads most values, with rows and days; and how many others mean other days."""
    some = column.values[:200]
    best: tuple[str, list[int], list[dt.date]] | None = None
    others = 0
    for form in formats:
        if sum(_day(form, texts, value) is not None for value in some) < 0.9 * len(some):
            continue
        found = _fitting(column, partial(_day, form, texts))
        days = [day for day in found[1] if isinstance(day, dt.date)] if found else []
        if found and (best is None or len(days) > len(best[2])):
            best, others = (form, found[0], days), 0
        elif best is not None and len(days) == len(best[2]):
            others += form in _EITHER_WAY
    return best, others


def _day(form: str, texts: bool, value: Value) -> dt.date | None:
    if form in PER_SECOND:
        moment = number(value, texts, 10**17)
        if moment is None or not _EPOCHS_OF[0] <= moment / PER_SECOND[form] < _EPOCHS_OF[1]:
            return None
        return dt.datetime.fromtimestamp(int(moment) // PER_SECOND[form], dt.UTC).date()
    if not isinstance(value, str) or len(value) > 40:
        return None
    if form == ISO:
        found = iso_moment(value)
        return None if found is None else found.date()
    try:
        return dt.datetime.strptime(value, form).date()  # noqa: DTZ007 - a day has no zone
    except (ValueError, OverflowError):
        return None


def _rare(people: People, rows: Sequence[int], values: Sequence[object]) -> set[object]:
    shared = people.sharing(rows, values)
    return {value for value in values if shared[value] < FEWEST}


def _numbers(name: str, column: Column, people: People, texts: bool) -> Guess | None:
    found = _fitting(column, lambda value: number(value, texts))
    if found is None:
        return None
    rows, numbers = found[0], [n for n in found[1] if isinstance(n, Decimal)]
    ends = people.inner_ends(rows, numbers)
    if ends is None:
        return None
    decimals = max(_decimals(n) for n in numbers)
    unit = Decimal(1).scaleb(-decimals) if decimals <= 4 else Decimal(0)
    spread = ends[1] - ends[0]
    step = max(unit, _round_number(spread / (MOST_CELLS // 2)), key=abs) if spread else unit or Decimal(1)
    margin = max(step, _round_number(spread / 20))
    rare = _rare(people, rows, numbers)
    low, high = _outwards(ends, margin, rare)
    levels = [] if decimals or step != 1 or spread < AGE_LEVELS[-1] or not is_age(name) else AGE_LEVELS
    if levels:
        aligned = _outwards(ends, Decimal(levels[-1]), rare)
        low, high, levels = (*aligned, levels) if aligned[0] >= 0 else (low, high, [])
    settings: dict[str, object] = {"min": _plain(low), "max": _plain(high), "step": _plain(step)}
    if decimals > 4:
        settings["min"], settings["max"], settings["step"] = float(low), float(high), float(step)
    elif decimals:
        settings["decimals"] = decimals
    if levels:
        settings["levels"] = levels
    remarks = _misfits(column, len(numbers))
    if step > unit:
        remarks += ("DECIDE: values are cut into steps; is a step fine enough?",)
    return Guess({"numeric": settings, "unknown": "root"}, remarks)


def _decimals(value: Decimal) -> int:
    exponent = value.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _round_number(about: Decimal) -> Decimal:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above `about`; 0 for 0."""
    if about <= 0:
        return Decimal(0)
    power = Decimal(1).scaleb(about.adjusted())
    return next(factor * power for factor in (Decimal(5), Decimal(2), Decimal(1)) if factor * power <= about)


def _outwards(ends: tuple[Decimal, Decimal], margin: Decimal, rare: set[object]) -> tuple[Decimal, Decimal]:
    """Round both ends outwards to a multiple of `margin` that is no rare value."""
    low = (ends[0] / margin).to_integral_value("ROUND_FLOOR") * margin
    high = (ends[1] / margin).to_integral_value("ROUND_CEILING") * margin
    while low in rare:
        low -= margin
    while high in rare or high <= low:
        high += margin
    return low, high


def _plain(value: Decimal) -> int | Decimal:
    return int(value) if value == value.to_integral_value() else value.normalize()


def _categories(column: Column, people: People) -> Guess | None:
    common = people.common(column, label)
    values = sorted(str(value) for value in common if value not in ("", ROOT_LABEL))
    covered = set(values)
    kept = sum(label(value) in covered for value in column.values)
    if not values or kept < COVERED * len(column.values):
        return None
    rest = len(column.values) - kept
    remarks: tuple[str, ...] = ()
    if rest:
        remarks = (f"values that fewer than {FEWEST} share ({_percent(rest, len(column.values))}) become '*'",)
    booleans = all(isinstance(value, bool) for value in column.values)
    settings: dict[str, Setting] = {"unknown": "root"}
    if booleans:
        settings = {"values": [value == "true" for value in values], "type": "boolean", **settings}
    elif len(values) > FLAT and _grows_a_tree(values):
        settings = {"hierarchy": {"ordered": values, "arity": ARITY}, **settings}
        remarks += (
            f"DECIDE: the groups are alphabetical, {ARITY} neighbours each, and mean nothing: put values that",
            "belong together side by side, write a hierarchy file, or declare them as `values` without groups",
        )
    else:
        settings = {"values": values, **settings}
    return Guess(settings, remarks)


def _grows_a_tree(values: Sequence[str]) -> bool:
    """Return whether the labels of the groups differ from all values."""
    try:
        automatic.balanced(values, ARITY)
    except HierarchyError:
        return False
    return True
