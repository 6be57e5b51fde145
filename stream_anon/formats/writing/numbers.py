"""How kernels write numbers, days and moments as JSON has them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.writing.literals import put_unreadable

MOST_SCALE = 300
MOST_DECIMAL_BYTES = 128
MOST_DECIMAL = 2 * MOST_SCALE + 16  # letters
SCRATCH = 512  # numbers that `put_decimal` works with

_MINUS, _POINT, _COLON, _ZERO, _QUOTE, _DASH = ord("-"), ord("."), ord(":"), ord("0"), ord('"'), ord("-")
_LOWER_A, _UPPER_T, _UPPER_Z = ord("a"), ord("T"), ord("Z")
_LEAST_WORD, _MOST_WORD = -(2**63), 2**63 - 1
_DAY = 86_400
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, counted from 1970
NO_DAY = _LAST_DAY + 1
"""What `day_of` returns for what is no day; `put_day` refuses it."""
_LIMB, _LIMB_BITS = 2**32, 32
_GROUP, _GROUP_DIGITS = 1_000_000_000, 9
_LIMBS = MOST_DECIMAL_BYTES // 4  # of a magnitude; the digits come behind them


@checked_inlined
def little_end(text: NDArray[np.uint8], at: int, size: int) -> int:
    """Return the number that `size` bytes are, the lowest byte first; eight of them have a sign."""
    number = np.int64(0)
    for turn in range(size):
        number |= np.int64(text[at + turn]) << (8 * turn)
    return int(number)


@checked_inlined
def put_padded(number: int, width: int, out: NDArray[np.uint8], place: int) -> int:
    """Write a number of at most `width` digits with zeros before it; return the place behind it."""
    for turn in range(width):
        out[place + width - 1 - turn] = _ZERO + number % 10
        number //= 10
    return place + width


@checked_inlined
def put_integer(number: int, out: NDArray[np.uint8], place: int) -> int:
    """Write an integer of 64 bits; return the place behind it."""
    if number < 0:
        out[place] = _MINUS
        place += 1
        if number == _LEAST_WORD:  # its opposite takes 65 bits
            out[place] = _ZERO + 9
            return put_padded(223_372_036_854_775_808, 18, out, place + 1)
        number = -number
    width, bound = 1, 10
    while width < 19 and number >= bound:
        width += 1
        bound *= 10 if width < 19 else 1
    return put_padded(number, width, out, place)


@checked_inlined
def put_unsigned(number: int, out: NDArray[np.uint8], place: int) -> int:
    """Write an integer of 64 bits without a sign; return the place behind it."""
    if number >= 0:
        return put_integer(number, out, place)
    tenth = ((number >> 1) & _MOST_WORD) // 5
    place = put_integer(tenth, out, place)
    out[place] = _ZERO + (number - 10 * tenth)
    return place + 1


@checked_inlined
def _put_day(day: int, out: NDArray[np.uint8], place: int) -> int:
    """Write a day that is counted from 1970, years 1 to 9999 of the Gregorian calendar."""
    # Years begin in March, so that leap days are their last ones; eras have 400 years (Hinnant, "chrono", 2013).
    day += 719_468
    era = day // 146_097
    of_era = day - era * 146_097
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    number = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    place = put_padded(year + era * 400 + (month <= 2), 4, out, place)
    out[place] = _DASH
    place = put_padded(month, 2, out, place + 1)
    out[place] = _DASH
    return put_padded(number, 2, out, place + 1)


@checked_inlined
def day_of(year: int, month: int, day: int) -> int:
    """Return the days from 1970 to a day of the Gregorian calendar; `NO_DAY` if it is none."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    longest = 30 + (month + month // 8) % 2 if month != 2 else 28 + leap
    if not (1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= longest):
        return NO_DAY
    # See `_put_day`.
    year -= month <= 2
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    of_era = year % 400 * 365 + year % 400 // 4 - year % 400 // 100 + of_year
    return year // 400 * 146_097 + of_era - 719_468


@checked_kernel
def put_day(day: int, out: NDArray[np.uint8], place: int) -> int:
    """Write a day as `"2024-05-13"`, given the days since 1970; return the place behind it.

    A day outside the years 1 to 9999 is written as what cannot be read.
    """
    if day < _FIRST_DAY or day > _LAST_DAY:
        return put_unreadable(out, place)
    out[place] = _QUOTE
    place = _put_day(day, out, place + 1)
    out[place] = _QUOTE
    return place + 1


@checked_inlined
def _put_time(second: int, fraction: int, digits: int, out: NDArray[np.uint8], place: int) -> int:
    place = put_padded(second // 3600, 2, out, place)
    out[place] = _COLON
    place = put_padded(second // 60 % 60, 2, out, place + 1)
    out[place] = _COLON
    place = put_padded(second % 60, 2, out, place + 1)
    if digits > 0:
        out[place] = _POINT
        place = put_padded(fraction, digits, out, place + 1)
    return place


@checked_kernel
def put_second(second: int, fraction: int, digits: int, zulu: int, out: NDArray[np.uint8], place: int) -> int:
    """Write a moment as `"2024-05-13T10:11:12.123Z"`; return the place behind it.

    Parameters
    ----------
    second
        Since 1970.
    fraction, digits
        Of a second, in so many digits.
    zulu
        Whether it is a moment of UTC, with a `Z`; otherwise it tells no zone.
    """
    day = second // _DAY
    if day < _FIRST_DAY or day > _LAST_DAY:
        return put_unreadable(out, place)
    out[place] = _QUOTE
    place = _put_day(day, out, place + 1)
    out[place] = _UPPER_T
    place = _put_time(second - day * _DAY, fraction, digits, out, place + 1)
    if zulu:
        out[place] = _UPPER_Z
        place += 1
    out[place] = _QUOTE
    return place + 1


@checked_kernel
def put_moment(number: int, per_second: int, digits: int, zulu: int, out: NDArray[np.uint8], place: int) -> int:
    """Write a moment as `put_second` does, given what is counted since 1970 and how many of it are a second."""
    second = number // per_second
    return put_second(second, number - second * per_second, digits, zulu, out, place)


@checked_kernel
def put_time(number: int, per_second: int, digits: int, out: NDArray[np.uint8], place: int) -> int:
    """Write a time of day as `"10:11:12.123"`, counted from midnight; return the place behind it."""
    if number < 0 or number // per_second >= _DAY:
        return put_unreadable(out, place)
    out[place] = _QUOTE
    second = number // per_second
    place = _put_time(second, number - second * per_second, digits, out, place + 1)
    out[place] = _QUOTE
    return place + 1


@checked_inlined
def put_uuid(text: NDArray[np.uint8], at: int, out: NDArray[np.uint8], place: int) -> int:
    """Write 16 bytes as a UUID; return the place behind it."""
    out[place] = _QUOTE
    place += 1
    for turn in range(16):
        if turn == 4 or turn == 6 or turn == 8 or turn == 10:
            out[place] = _DASH
            place += 1
        byte = np.int64(text[at + turn])
        for half in (byte >> 4, byte & 15):
            out[place] = _ZERO + half if half < 10 else _LOWER_A + half - 10
            place += 1
    out[place] = _QUOTE
    return place + 1


@checked_kernel
def put_decimal(
    text: NDArray[np.uint8],
    at: int,
    stop: int,
    scale: int,
    scratch: NDArray[np.int64],
    out: NDArray[np.uint8],
    place: int,
) -> int:
    """Write an integer in two's complement, highest byte first, with `scale` of its digits behind a point.

    Returns the place behind it. A number of more than `MOST_DECIMAL_BYTES` is written as what cannot be read.

    Parameters
    ----------
    text, at, stop
        The bytes; none of them are zero.
    scale
        0 to `MOST_SCALE`.
    scratch
        int64[`SCRATCH`], written.
    out, place
        Where it is written, with room for `MOST_DECIMAL` bytes.
    """
    negative = at < stop and text[at] >= 0x80
    fill = 0xFF if negative else 0
    while stop - at > 1 and text[at] == fill and (text[at + 1] >= 0x80) == negative:
        at += 1
    if stop - at > MOST_DECIMAL_BYTES:
        return put_unreadable(out, place)
    # 1. The magnitude in limbs of 32 bits, lowest first.
    limbs, carry = 0, np.int64(1 if negative else 0)
    while stop > at:
        limb = np.int64(0)
        for turn in range(4):
            byte = np.int64(fill)
            if stop > at:
                stop -= 1
                byte = np.int64(text[stop])
            limb |= byte << (8 * turn)
        if negative:
            limb = (limb ^ (_LIMB - 1)) + carry
            carry = limb >> _LIMB_BITS
            limb &= _LIMB - 1
        scratch[limbs] = limb
        limbs += 1
    # 2. Its digits, lowest first, nine at a time.
    digits = _LIMBS
    while limbs > 0:
        rest = np.int64(0)
        for turn in range(limbs - 1, -1, -1):
            rest = (rest << _LIMB_BITS) | scratch[turn]
            scratch[turn] = rest // _GROUP
            rest %= _GROUP
        for _ in range(_GROUP_DIGITS):
            scratch[digits] = rest % 10
            digits += 1
            rest //= 10
        while limbs > 0 and scratch[limbs - 1] == 0:
            limbs -= 1
    while digits > _LIMBS and scratch[digits - 1] == 0:
        digits -= 1
    while digits - _LIMBS <= scale:  # a digit before the point, and the zeros behind it
        scratch[digits] = 0
        digits += 1
    # 3. Sign, digits and point.
    if negative:
        out[place] = _MINUS
        place += 1
    for turn in range(digits - 1, _LIMBS - 1, -1):
        out[place] = _ZERO + scratch[turn]
        place += 1
        if turn - _LIMBS == scale and scale > 0:
            out[place] = _POINT
            place += 1
    return place
