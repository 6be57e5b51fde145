"""What values of Python, numpy and pandas stand for, as JSON would hold them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from stream_anon.microdata.attributes import Attribute, PassThrough
from stream_anon.microdata.coding import UNREADABLE
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

_PLAIN = (str, int, bool, type(None))
_MOST_WHOLE = 4300  # digits: Python neither reads nor writes longer ones


def plain(attribute: Attribute, value: Any) -> object:
    """Return a value as JSON would hold it: None if it is missing, `UNREADABLE` if JSON has nothing like it.

    NaN, NaT and pandas' NA are missing. Days and moments stay what they are for an attribute whose domain takes
    them. Elsewhere they are text as of ISO 8601, to the microsecond. A `Decimal` is a number, and a `UUID` is its
    text. A float of 32 bits is the shortest number that stands for it. A list is a tuple of such values, where the
    attribute is one.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return None if value != value else value  # noqa: PLR0124 - NaN alone differs from itself
    if isinstance(attribute, PassThrough) and attribute.many and isinstance(value, list | tuple | np.ndarray):
        one = replace(attribute, many=False)
        return tuple(plain(one, item) for item in value)
    if isinstance(value, np.generic):
        return plain(attribute, _of_numpy(value))
    if kind.__name__ in ("NAType", "NaTType") and kind.__module__.startswith("pandas"):
        return None
    if isinstance(value, dt.date):
        return _of_day(attribute, value)
    if isinstance(value, Decimal):
        return _of_decimal(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, str | int | float):  # an enumeration, or another class of somebody's own
        return plain(attribute, next(own(value) for own in (str, int, float) if isinstance(value, own)))
    return UNREADABLE


def _of_numpy(value: Any) -> object:
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else value.astype("datetime64[us]").item()
    if isinstance(value, np.float16 | np.float32):
        return float(str(value))
    if isinstance(value, np.bool_ | np.integer | np.floating | np.str_):
        return float(value) if isinstance(value, np.longdouble) else value.item()
    return UNREADABLE


def _of_day(attribute: Attribute, value: dt.date) -> object:
    if isinstance(value, dt.datetime):
        value = dt.datetime.combine(value.date(), value.timetz())  # without pandas' nanoseconds
    takes_days = isinstance(attribute, QuasiIdentifier) and attribute.domain.clocks is not None
    return value if takes_days else value.isoformat()


def _of_decimal(value: Decimal) -> object:
    if not value.is_finite():
        return None if value.is_nan() else UNREADABLE
    if value.adjusted() > _MOST_WHOLE:
        return UNREADABLE
    return int(value) if value == value.to_integral_value() else float(value)
