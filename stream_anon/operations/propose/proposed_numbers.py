"""Guess the range of numbers, of amounts that are sensitive too, so that no outlier shows in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from stream_anon.formats.tables.undeclared_samples import SampledField, Value
from stream_anon.operations.propose.guess import FITTING, Guess, Setting, fits, misfits
from stream_anon.operations.propose.roles import is_age
from stream_anon.operations.propose.support import FEWEST, People, Reading, read

MOST_CELLS = 1000
AGE_LEVELS = [5, 10, 20]  # years
MOST = 0.99  # share of the values that a range must hold, if the others are far away
SENSITIVE_RANGES = 20  # about so many ranges of sensitive numbers
_MOST_TEXTS = 12  # distinct texts of numbers in JSON up to which they are categories: "1" to "5" are codes
_NUMBER = re.compile(r"[-+]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]{1,3})?")
_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3},[0-9]{3}")


def number(value: Value, most: int = 10**15) -> Decimal | None:
    """Return a value, or the text of one, as an exact number below `most`; None if it is none.

    A comma is a decimal point, as it is with `coerce`.
    """
    if isinstance(value, bool | tuple):
        return None
    text = value.strip() if isinstance(value, str) else str(value)
    if isinstance(value, str) and not _NUMBER.fullmatch(text):
        return None
    try:
        found = Decimal(text.replace(",", "."))
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found) < most else None


def coercion(column: SampledField, convert: Callable[[Value], object], *, texts: bool) -> dict[str, Setting]:
    """Return the setting with which the texts of a column that mean something to `convert` count as numbers.

    A cell of CSV is one without it, unless it has a decimal comma.
    """
    needed = (v for v in column.distinct if isinstance(v, str) and (not texts or "," in v))
    return {"coerce": True} if any(convert(value) is not None for value in needed) else {}


def numbers_of(column: SampledField, *, texts: bool) -> Reading | None:
    """Return the numbers of a column; None if too few values are numbers, or their texts are codes."""
    found = read(column, number)
    if not fits(len(found), column):
        return None
    written = [value for value in column.distinct if isinstance(value, str)]
    commas = [value for value in written if "," in value]
    if commas and all(_THOUSANDS.fullmatch(value) for value in commas):
        return None  # 1,234 is more than a thousand here, and with a decimal comma little more than one
    return None if not texts and 2 * len(written) > len(column.distinct) and len(written) <= _MOST_TEXTS else found


def numeric(name: str, column: SampledField, people: People, texts: bool) -> Guess | None:
    """Return the range of a column of numbers; None if it has none that enough individuals share."""
    found = numbers_of(column, texts=texts)
    ends = None if found is None else _bulk(found, people)
    if found is None or ends is None:
        return None
    unit = _unit(found)
    spread = ends[1] - ends[0]
    step = max(unit, _round_number(spread / (MOST_CELLS // 2)), key=abs) if spread else unit or Decimal(1)
    margin = max(step, _round_number(spread / 20))
    rare = people.rare(found)
    low, high = _outwards(ends, margin, rare)
    levels = [] if unit != 1 or step != 1 or spread < AGE_LEVELS[-1] or not is_age(name) else AGE_LEVELS
    if levels:
        aligned = _outwards(ends, Decimal(levels[-1]), rare)
        low, high, levels = (*aligned, levels) if aligned[0] >= 0 else (low, high, [])
    settings: dict[str, object] = {"min": _plain(low), "max": _plain(high), "step": _plain(step)}
    if not unit:
        settings["min"], settings["max"], settings["step"] = float(low), float(high), float(step)
    elif unit < 1:
        settings["decimals"] = -unit.adjusted()
    if levels:
        settings["levels"] = levels
    remarks = (*misfits(column, len(found)), *_outliers(found, people, low, high))
    if step > unit:
        remarks += ("DECIDE: values are cut into steps; is a step fine enough?",)
    return Guess({"numeric": settings, "unknown": "root", **coercion(column, number, texts=texts)}, remarks)


def ranges(column: SampledField, people: People, texts: bool) -> Guess | None:
    """Return wide ranges of sensitive numbers; None if there are none that enough individuals share.

    A cell is a range: no number is published as itself, not even the greatest one.
    """
    found = numbers_of(column, texts=texts)
    ends = None if found is None else _bulk(found, people)
    if found is None or ends is None:
        return None
    unit = _unit(found)
    step = max(_round_number((ends[1] - ends[0]) / SENSITIVE_RANGES), 2 * unit) or Decimal(1)
    rare = people.rare(found)
    widest = 4 * step
    low, high = _outwards(ends, widest, rare)
    while high <= ends[1] or high - unit in rare:
        high += widest
    decimals: dict[str, object] = {"decimals": -unit.adjusted()} if 0 < unit < 1 else {}
    settings = {
        "min": _plain(low),
        "max": _plain(high - unit),
        "step": _plain(step),
        "levels": [_plain(2 * step), _plain(widest)],
        **decimals,
    }
    if not unit:
        settings |= {"min": float(low), "max": float(high), "step": float(step)}
    remarks = (*misfits(column, len(found)), *_outliers(found, people, low, high))
    return Guess({"numeric": settings, "unknown": "root", **coercion(column, number, texts=texts)}, remarks)


def _bulk(numbers: Reading, people: People, share: float = MOST) -> tuple[Decimal, Decimal] | None:
    """Return the least and the greatest number without those of few people, and without those far from all others.

    At either end a gap that is wider than all numbers within it are apart cuts off what lies beyond, where what is
    within is at least `share`: 333 or 9999 is often what somebody wrote for an age that was not known.
    """
    ends = people.inner_ends(numbers)
    if ends is None:
        return None
    pairs = zip(numbers.meanings, numbers.counts.tolist(), strict=True)
    inner = sorted(pair for pair in pairs if ends[0] <= pair[0] <= ends[1])
    upper = _cut(inner, share)
    lower = _cut([(-value, count) for value, count in reversed(upper)], share)
    return -lower[-1][0], upper[-1][0]


def _cut(ascending: list[tuple[Decimal, int]], share: float) -> list[tuple[Decimal, int]]:
    """Return numbers with their counts up to the first gap beyond which only few lie, far away."""
    total = sum(count for _, count in ascending)
    within = 0
    for place, ((value, count), (after, _)) in enumerate(pairwise(ascending), start=1):
        within += count
        width = value - ascending[0][0]
        if within >= share * total and place >= FEWEST and after - value > width > 0:
            return ascending[:place]
    return ascending


def _outliers(numbers: Reading, people: People, low: Decimal, high: Decimal) -> tuple[str, ...]:
    """Return what is to be said of numbers far from others or beyond a range, without saying which they are."""
    bulk = _bulk(numbers, people, FITTING)
    if bulk is None:
        return ()
    pairs = list(zip(numbers.meanings, numbers.counts.tolist(), strict=True))
    beyond = sum(count for value, count in pairs if not low <= value <= high)
    width = bulk[1] - bulk[0]
    least, most = bulk[0] - width, bulk[1] + width
    far = sum(count for value, count in pairs if not least <= value <= most)
    within = sum(count for value, count in pairs if not least <= value <= most and low <= value <= high)
    if far:
        done = "the range is so wide because of them" if within else "they are published as '*'"
        return (f"DECIDE: {far:,} of {len(numbers):,} numbers: far from all others; {done}. Are they errors?",)
    if beyond:
        return (f"{beyond:,} of {len(numbers):,} numbers, at the ends and of too few people: published as '*'",)
    return ()


def _unit(numbers: Reading) -> Decimal:
    """Return the last decimal that numbers have; 0 for continuous ones."""
    decimals = max(map(_decimals, numbers.meanings))
    return Decimal(1).scaleb(-decimals) if decimals <= 4 else Decimal(0)


def _decimals(value: Decimal) -> int:
    exponent = value.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _round_number(about: Decimal) -> Decimal:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above `about`; 0 for 0."""
    if about <= 0:
        return Decimal(0)
    power = Decimal(1).scaleb(about.adjusted())
    return next(factor * power for factor in (Decimal(5), Decimal(2), Decimal(1)) if factor * power <= about)


def _outwards(ends: tuple[Decimal, Decimal], margin: Decimal, rare: set[Decimal]) -> tuple[Decimal, Decimal]:
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
