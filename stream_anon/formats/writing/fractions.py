"""Fractions: kernels leave room for them and keep their bits, and their texts are made in bulk afterwards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel

FRACTION_BYTES = 24
"""What a kernel leaves free for a float or a double: the shortest text of none is longer."""

_SPACE, _COMMA, _CLOSE = ord(" "), ord(","), ord("]")
_EXPONENT, _SHORT_EXPONENT = 0x7FF << 52, 0xFF << 23
_MOST_DIGITS = 9  # that any float of four bytes needs
_SURELY_DIGITS = 6  # that tell no two neighbours apart
_MANTISSA = 0x7FFFFF
_EXACT_POWERS = 10.0 ** np.arange(23)  # no other power of ten is a double


def doubles_of(bits: NDArray[np.int64], short: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the doubles whose shortest texts stand for fractions of 64 and of 32 bits."""
    values: NDArray[np.float64] = bits.view(np.float64).copy()
    if short.any():
        values[short] = decimal_doubles(bits[short].astype(np.uint32).view(np.float32))
    return values


def decimal_doubles(floats: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return for finite floats of 32 bits the doubles nearest to their shortest decimals: 0.1 for 0.1f; O(n)."""
    exact = floats.astype(np.float64)
    found = exact.copy()
    power = np.floor(np.log10(np.abs(exact), out=np.zeros_like(exact), where=exact != 0)).astype(np.int64)
    # Below a power of two floats lie closer together than above it. So the nearest decimal of some digits need not
    # be one that stands for it, though another one is.
    few = np.where(floats.view(np.uint32) & _MANTISSA == 0, _SURELY_DIGITS, _MOST_DIGITS)
    near = (power < len(_EXACT_POWERS)) & (power >= _MOST_DIGITS - len(_EXACT_POWERS))
    left = np.flatnonzero(near & (exact != 0))
    for digits in range(1, _MOST_DIGITS + 1):
        behind = digits - 1 - power[left]  # digits behind the point
        scale = _EXACT_POWERS[np.abs(behind)]
        # One rounding each: both numbers are doubles, so that their quotient is the double nearest to it.
        whole = np.where(behind >= 0, np.rint(exact[left] * scale), np.rint(exact[left] / scale))
        decimal = np.where(behind >= 0, whole / scale, whole * scale)
        hit = (digits <= few[left]) & (decimal.astype(np.float32) == floats[left])
        found[left[hit]] = decimal[hit]
        left = left[~hit]
    rest = [*left.tolist(), *np.flatnonzero(~near).tolist()]
    found[rest] = [float(str(floats[place])) for place in rest]
    return found


@checked_inlined
def is_finite(bits: int, is_short: int) -> bool:
    """Tell whether the bits of a double, or of a float of 32 bits, are those of a number."""
    exponent = _SHORT_EXPONENT if is_short else _EXPONENT
    return bits & exponent != exponent


@checked_inlined
def put_fraction(
    bits: int,
    is_short: int,
    out_words: NDArray[np.int64],
    place: int,
    kept: NDArray[np.int64],
    places: NDArray[np.int64],
    count: int,
) -> int:
    """Leave room for a fraction and keep its bits; return the place behind it."""
    kept[count] = bits
    places[count] = 2 * place + is_short
    for turn in range(0, FRACTION_BYTES, 8):
        out_words[place + turn] = 0
    return place + FRACTION_BYTES


@checked_kernel
def put_fractions(source: NDArray[np.uint8], places: NDArray[np.int64], text: NDArray[np.uint8]) -> None:
    """Write numbers to the places that were left for them, with blanks behind.

    Parameters
    ----------
    source
        A JSON array of the numbers.
    places
        int64[n].
    text
        Written; `FRACTION_BYTES` at each place are free.
    """
    at = 1
    for i in range(len(places)):
        place = places[i]
        end = place + FRACTION_BYTES
        while source[at] != _COMMA and source[at] != _CLOSE:
            text[place] = source[at]
            place += 1
            at += 1
        at += 1
        while place < end:
            text[place] = _SPACE
            place += 1
