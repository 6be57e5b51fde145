"""How kernels write messages that stand for a moment, a day, a duration or a decimal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.protobuf import opcodes as op
from stream_anon.formats.protobuf.field_values import number_in
from stream_anon.formats.protobuf.scanning import Workspace
from stream_anon.formats.writing.copying import copied
from stream_anon.formats.writing.literals import put_unreadable
from stream_anon.formats.writing.numbers import (
    MOST_DECIMAL,
    MOST_SCALE,
    day_of,
    put_day,
    put_decimal,
    put_integer,
    put_padded,
    put_second,
)
from stream_anon.formats.writing.text_buffer import BodyBytes, TextBuffer

MOST_SPECIAL = MOST_DECIMAL
"""The bytes that one takes."""

_INT_32, _INT_64 = op.INT_32, op.INT_64
_TIMESTAMP, _DURATION, _DATE, _DECIMAL = op.TIMESTAMP, op.DURATION, op.DATE, op.DECIMAL
_BILLION = 1_000_000_000
_MOST_DURATION = 315_576_000_000  # seconds, 10,000 years
_MOST_LETTERS = 128  # of a decimal that comes as a text
_QUOTE, _MINUS, _PLUS, _POINT, _LOWER_S, _ZERO, _NINE = (ord(letter) for letter in '"-+.s09')
_CASE, _LOWER_E = 0x20, ord("e")


@checked_inlined
def _digits_of(nanos: int) -> tuple[int, int]:
    """Return a fraction of a second and its digits: none, three, six or nine of them."""
    if nanos == 0:
        return 0, 0
    if nanos % 1_000_000 == 0:
        return nanos // 1_000_000, 3
    if nanos % 1000 == 0:
        return nanos // 1000, 6
    return nanos, 9


@checked_inlined
def _number_of(text: NDArray[np.uint8], slots: NDArray[np.int64], slot: int, operation: int) -> int:
    """Return the number in a slot, 0 where there is none."""
    number = 0
    if slots[slot] >= 0:
        number, _ = number_in(text, slots[slot], slots[slot + 1], operation)
    return number


@checked_inlined
def _past_digits(text: NDArray[np.uint8], at: int, stop: int) -> int:
    while at < stop and _ZERO <= text[at] <= _NINE:
        at += 1
    return at


@checked_inlined
def _is_number(text: NDArray[np.uint8], at: int, stop: int) -> bool:
    """Tell whether bytes are a number as JSON has them."""
    if at < stop and text[at] == _MINUS:
        at += 1
    head = at
    at = _past_digits(text, at, stop)
    if at == head or (at - head > 1 and text[head] == _ZERO):
        return False
    if at < stop and text[at] == _POINT:
        head = at + 1
        at = _past_digits(text, head, stop)
        if at == head:
            return False
    if at < stop and (text[at] | _CASE) == _LOWER_E:
        at += 1
        if at < stop and (text[at] == _PLUS or text[at] == _MINUS):
            at += 1
        head = at
        at = _past_digits(text, head, stop)
        if at == head:
            return False
    return at == stop


@checked_kernel
def put_special(kind: int, bodies: BodyBytes, work: Workspace, base: int, out: TextBuffer, place: int) -> int:
    """Write such a message; return the place behind it. What it cannot stand for is written as unreadable.

    Parameters
    ----------
    kind
        See `opcodes`.
    base
        Where its slots begin.
    place
        Where it is written, with `MOST_SPECIAL` bytes free.
    """
    text, slots = bodies.text, work.slots
    if kind == _TIMESTAMP or kind == _DURATION:
        second = _number_of(text, slots, base, _INT_64)
        nanos = _number_of(text, slots, base + 2, _INT_32)
        if kind == _TIMESTAMP:
            if nanos < 0 or nanos >= _BILLION:
                return put_unreadable(out.text, place)
            fraction, digits = _digits_of(nanos)
            return put_second(second, fraction, digits, True, out.text, place)
        is_negative = second < 0 or nanos < 0
        if not -_MOST_DURATION <= second <= _MOST_DURATION or not -_BILLION < nanos < _BILLION:
            return put_unreadable(out.text, place)
        if is_negative and (second > 0 or nanos > 0):
            return put_unreadable(out.text, place)
        out.text[place] = _QUOTE
        place += 1
        if is_negative:
            out.text[place] = _MINUS
            place += 1
        place = put_integer(abs(second), out.text, place)
        fraction, digits = _digits_of(abs(nanos))
        if digits > 0:
            out.text[place] = _POINT
            place = put_padded(fraction, digits, out.text, place + 1)
        out.text[place] = _LOWER_S
        out.text[place + 1] = _QUOTE
        return place + 2
    if kind == _DATE:
        year = _number_of(text, slots, base, _INT_32)
        month = _number_of(text, slots, base + 2, _INT_32)
        day = day_of(year, month, _number_of(text, slots, base + 4, _INT_32))
        return put_day(day, out.text, place)
    start, stop = max(slots[base], 0), slots[base + 1] if slots[base] >= 0 else 0
    if kind == _DECIMAL:
        scale = _number_of(text, slots, base + 4, _INT_32)
        if scale < 0 or scale > MOST_SCALE:
            return put_unreadable(out.text, place)
        return put_decimal(text, start, stop, scale, work.scratch, out.text, place)
    if start == stop:  # which stands for zero
        out.text[place] = _ZERO
        return place + 1
    if text[start] == _PLUS:
        start += 1
    if stop - start > _MOST_LETTERS or not _is_number(text, start, stop):
        return put_unreadable(out.text, place)
    return copied(bodies.words, start, stop, out.words, place)
