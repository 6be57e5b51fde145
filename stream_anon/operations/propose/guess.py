"""What is guessed of a field: the settings of a domain, and what a person should know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from stream_anon.formats.tables.undeclared_samples import SampledField, Value

FITTING = 0.95  # share of the values that must fit a domain of numbers, days or prefixes

Setting = str | int | float | bool | Decimal | list[str] | list[bool] | list[int] | Mapping[str, object]


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


def fits(count: int, column: SampledField) -> bool:
    """Return whether so many of a column's values are enough for a domain."""
    return count > 0 and count >= FITTING * len(column.values)


def misfits(column: SampledField, fitting: int) -> tuple[str, ...]:
    """Return the remark on values that are of another type than most."""
    rest = len(column.values) - fitting
    return (f"{rest:,} values ({percent(rest, len(column.values))}) do not fit and would be rejected",) * (rest > 0)


def percent(part: int, whole: int) -> str:
    """Return a share in words."""
    share = 100 * part / whole
    return f"{share:.1f} %" if share >= 0.1 else "under 0.1 %"
