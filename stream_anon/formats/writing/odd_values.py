"""Passing values that a kernel leaves to a closer look, and numbers that 64 bits cannot hold."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.writing.passed_texts import PassedTexts
from stream_anon.microdata.attributes import ScalarType
from stream_anon.microdata.batch import CodedBatch, Reason, Rejects
from stream_anon.microdata.keys import sealed
from stream_anon.microdata.policy import Policy

STRING, INTEGER, NUMBER, BOOLEAN = range(4)
KINDS = {
    ScalarType.STRING: STRING,
    ScalarType.INTEGER: INTEGER,
    ScalarType.NUMBER: NUMBER,
    ScalarType.BOOLEAN: BOOLEAN,
}
LIST = 8  # beside the kind of its items

_MOST_DIGITS = 18  # of an integer that surely fits 64 bits
_MOST_EXACT = 15  # digits of a decimal that is a whole double over a power of ten
_MOST_POWER = 22  # the greatest power of ten that is a double
_LARGE = 300  # letters; a number of fewer digits is a finite double
_BACKSLASH, _MINUS, _POINT, _ZERO, _NINE, _NULL = ord("\\"), ord("-"), ord("."), ord("0"), ord("9"), ord("n")
_LEAST, _MOST = -(2**63), 2**63 - 1
_decode = msgspec.json.Decoder().decode


@checked_inlined
def is_null(text: NDArray[np.uint8], start: int) -> bool:
    """Tell whether a JSON value is null; no other one begins as it does."""
    return bool(text[start] == _NULL)


@checked_inlined
def plain_integer(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the integer that `odd_cells` leaves to kernels."""
    negative = text[start] == _MINUS
    number = np.int64(0)
    for place in range(start + negative, stop):
        number = number * 10 + np.int64(text[place]) - _ZERO
    return int(-number if negative else number)


@checked_inlined
def plain_double(text: NDArray[np.uint8], start: int, stop: int) -> float:
    """Return the double that `odd_cells` leaves to kernels: the nearest one (Clinger, 1990)."""
    negative = text[start] == _MINUS
    number, power, behind = np.int64(0), 1.0, False
    for place in range(start + negative, stop):
        if text[place] == _POINT:
            behind = True
        else:
            number = number * 10 + np.int64(text[place]) - _ZERO
            power = power * 10.0 if behind else power
    double = float(number) / power
    return -double if negative else double


@checked_inlined
def _is_plain_number(text: NDArray[np.uint8], start: int, stop: int, most: int, point: bool) -> bool:
    digits, behind, seen = 0, 0, False
    for place in range(start + (text[start] == _MINUS), stop):
        letter = text[place]
        if letter == _POINT and point and not seen:
            seen = True
        elif _ZERO <= letter <= _NINE:
            digits += digits > 0 or letter > _ZERO
            behind += seen
        else:
            return False
    return digits <= most and behind <= _MOST_POWER


@checked_kernel
def odd_cells(
    text: NDArray[np.uint8], ends: NDArray[np.int64], kinds: NDArray[np.int64], odd: NDArray[np.int64]
) -> int:
    """Write which values a kernel leaves to a closer look; return how many they are.

    These are strings with an escape, numbers with an exponent, integers with a point, numbers of many digits, and
    lists.

    Parameters
    ----------
    text
        The JSON of n rows.
    ends
        int64[n * p], where each value ends.
    kinds
        int64[p], `kinds_of`; -1 for values that do not matter.
    odd
        int64[n * p], its first ones are written.
    """
    count, start = 0, 0
    for cell in range(len(ends)):
        stop, kind = ends[cell], kinds[cell % len(kinds)]
        plain = True
        if not is_null(text, start):
            if kind >= LIST:
                plain = False
            elif kind == STRING:
                for place in range(start, stop):
                    if text[place] == _BACKSLASH:
                        plain = False
                        break
            elif kind == INTEGER:
                plain = _is_plain_number(text, start, stop, _MOST_DIGITS, False)
            elif kind == NUMBER:
                plain = _is_plain_number(text, start, stop, _MOST_EXACT, True)
        if not plain:
            odd[count] = cell
            count += 1
        start = stop
    return count


def kinds_of(policy: Policy) -> NDArray[np.int64]:
    """Return the kind of each value that passes: one of `KINDS`, and `LIST` more for a list."""
    return np.array([KINDS[one.type] + (LIST if one.many else 0) for one in policy.passed], np.int64)


def odd_values(texts: PassedTexts, kinds: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the odd cells of these kinds in order, and their values: texts, whole numbers, doubles and lists."""
    ends = texts.ends.ravel()
    odd = np.empty(len(ends), np.int64)
    odd = odd[: odd_cells(sealed(texts.text), ends, kinds, odd)] if len(ends) else odd
    if not len(odd):
        return odd, []
    joint = texts.text.tobytes()
    begins = np.where(odd > 0, ends[odd - 1], 0)
    found = [joint[begin:end] for begin, end in zip(begins.tolist(), ends[odd].tolist(), strict=True)]
    values = _decode(b"[" + b",".join(found) + b"]")
    of = kinds[odd % len(kinds)].tolist()
    return odd, [_as_declared(value, kind) for value, kind in zip(values, of, strict=True)]


def _as_declared(value: Any, kind: int) -> Any:
    if kind >= LIST:
        return [_as_declared(item, kind - LIST) for item in value]
    if kind == NUMBER:
        try:
            return float(value)
        except OverflowError:
            return math.inf
    return int(value) if kind == INTEGER else value


def without_large_numbers(policy: Policy, batch: CodedBatch) -> CodedBatch:
    """Return a batch whose passing numbers fit 64 bits: an integer, or a finite double; O(n).

    A record with another one is rejected as out of range, by the first of its attributes.
    """
    texts, kinds = batch.payload, kinds_of(policy)
    if not isinstance(texts, PassedTexts) or not texts.ends.size:
        return batch
    looked_at = np.where((kinds == INTEGER) | (kinds == LIST + INTEGER) | (kinds == LIST + NUMBER), kinds, -1)
    cells, values = odd_values(texts, looked_at) if (looked_at >= 0).any() else (np.empty(0, np.int64), [])
    bad = [cell for cell, value in zip(cells.tolist(), values, strict=True) if not _fits(value)]
    widths = np.diff(texts.ends.ravel(), prepend=0)
    for cell in np.flatnonzero(widths > _LARGE).tolist():
        row, field = divmod(cell, len(kinds))
        if kinds[field] == NUMBER and not _fits(_as_declared(texts[row][field], NUMBER)):
            bad.append(cell)
    if not bad:
        return batch
    rows: dict[int, int] = {}
    for cell in bad:
        row, field = divmod(cell, len(kinds))
        attribute = policy.index[policy.passed[field].name]
        rows[row] = min(attribute, rows.get(row, attribute))
    return _rejecting(batch, rows)


def _fits(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_fits, value))
    return math.isfinite(value) if isinstance(value, float) else _LEAST <= value <= _MOST


def _rejecting(batch: CodedBatch, rows: dict[int, int]) -> CodedBatch:
    """Return a batch whose rows are rejected that are named with the attribute at fault."""
    places = [(row, attribute, int(batch.sources[row]), int(batch.offsets[row])) for row, attribute in rows.items()]
    more = Rejects.of([(int(Reason.OUT_OF_RANGE), *place[1:]) for place in places])
    rejects = Rejects.concatenate([batch.rejects, more])
    kept = np.ones(len(batch), np.bool_)
    kept[list(rows)] = False
    order = np.argsort(rejects.offsets, kind="stable")
    return replace(batch.take(np.flatnonzero(kept)), rejects=rejects.take(order))
