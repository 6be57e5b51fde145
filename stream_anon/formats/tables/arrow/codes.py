"""The codes of columns of numbers, days and moments in bulk, without an object for each value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stream_anon.formats.tables.table_columns import CodeColumn
from stream_anon.microdata.domains.calendar.clocks import Clocks
from stream_anon.microdata.domains.calendar.moments import DAY_SECONDS
from stream_anon.microdata.domains.code_reading import ByMoment, ByNumber
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MOST_UNITS = 10**15  # decimals of up to 15 digits are told apart by the floats nearest to them

Codes = NDArray[np.int32]
Coded = tuple[Codes, bool | NDArray[np.bool_]]  # codes, -1 outside; and which values are of a wrong type


def codes_of(array: Any, attribute: QuasiIdentifier) -> CodeColumn | None:
    """Return the codes of an array; None if its values must be looked at one by one. O(n log of the table)."""
    kind = array.type
    if pa.types.is_dictionary(kind) and (
        pa.types.is_timestamp(kind.value_type) or pa.types.is_date(kind.value_type)
    ):
        array = array.dictionary_decode()
        kind = array.type
    clocks = attribute.domain.clocks
    found = None
    if clocks is not None and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        found = _of_moments(array, clocks) if pa.types.is_timestamp(kind) else _of_days(array, clocks)
    elif pa.types.is_integer(kind):
        found = _of_integers(array, attribute.domain.reading())
    elif pa.types.is_float64(kind):
        found = _of_floats(array, attribute.domain.reading())
    if found is None:
        return None
    codes, wrong = found
    missing = pc.is_null(array, nan_is_null=True).to_numpy(zero_copy_only=False)
    return CodeColumn.of(attribute, codes, missing, np.broadcast_to(wrong, codes.shape))


def _whole(array: Any) -> NDArray[np.int64] | None:
    """Return whole numbers, 0 for null; None if one has more than 64 bits."""
    try:
        filled = pc.fill_null(pc.cast(array, pa.int64()), 0)
    except pa.ArrowInvalid:
        return None
    found: NDArray[np.int64] = filled.to_numpy(zero_copy_only=False)
    return found


def _of_days(array: Any, clocks: Clocks) -> Coded:
    small = pa.types.is_date32(array.type)
    days = _whole(pc.cast(array, pa.int32()) if small else array)
    assert days is not None  # noqa: S101 - dates have at most 64 bits
    codes = clocks.of_days(days if small else days // (DAY_SECONDS * 1000))
    if codes is None:
        return np.zeros(len(array), np.int32), True
    return codes, False


def _of_moments(array: Any, clocks: Clocks) -> Coded:
    if array.type.tz is not None:
        codes = clocks.of_instants(_seconds(array))
        if codes is not None:
            return codes, False
        array = pc.local_timestamp(array)
    return clocks.of_shown(_seconds(array)), False


def _seconds(array: Any) -> NDArray[np.int64]:
    moments = _whole(array)
    assert moments is not None  # noqa: S101 - moments have 64 bits
    return moments // _PER_SECOND[array.type.unit]


def _of_integers(array: Any, reading: object) -> Coded | None:
    values = _whole(array)
    if values is None:
        return None
    if isinstance(reading, ByMoment):
        return reading.codes_at(values), False
    if not isinstance(reading, ByNumber):
        return None
    low, high, step, unit = _grid(reading)
    if not unit:
        return None
    inside = (values >= -(-low // unit)) & (values <= high // unit)
    codes = np.minimum((np.where(inside, values, 0) * unit - low) // step, reading.size - 1)
    return np.where(inside, codes, -1).astype(np.int32), False


def _of_floats(array: Any, reading: object) -> Coded | None:
    values: NDArray[np.float64] = pc.fill_null(array, np.nan).to_numpy(zero_copy_only=False)
    endless = np.isinf(values)
    if isinstance(reading, ByMoment):
        inside = np.abs(values) < 2.0**63
        codes = reading.codes_at(np.floor(np.where(inside, values, 0.0)).astype(np.int64))
        return np.where(inside, codes, -1), endless
    if not isinstance(reading, ByNumber):
        return None
    low, high, step, unit = _grid(reading)
    if not unit:
        return None
    inside = (values >= low / unit) & (values <= high / unit)
    known = np.where(inside, values, low / unit)
    # A guess is off by one cell at most, and the floats at both ends of a cell say which way.
    codes = np.floor((known * unit - low) / step).astype(np.int64)
    codes += known >= ((codes + 1) * step + low) / unit
    codes -= known < (codes * step + low) / unit
    wrong = endless
    if reading.decimals is not None:
        wrong = wrong | (inside & (np.rint(known * unit) / unit != known))
    codes = np.minimum(codes, reading.size - 1)
    return np.where(inside, codes, -1).astype(np.int32), wrong


def _grid(reading: ByNumber) -> tuple[int, int, int, int]:
    """Return ends and step of a grid in units, and how many units are 1: 0 if floats would not be exact."""
    low, high, step, decimals = reading.units()
    unit = 10**decimals
    return low, high, step, unit if max(abs(low), abs(high), unit) < _MOST_UNITS else 0
