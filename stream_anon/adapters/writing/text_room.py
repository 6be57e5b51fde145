"""Room for the JSON texts of many records: it grows, and gets its fractions in bulk."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.unwrapping import FITS, Unwrapped
from stream_anon.compiled import bare_inlined, bare_kernel
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.keys import PADDING, padded_words
from stream_anon.microdata.texts import Texts

MALFORMED, TOO_LARGE = int(Reason.MALFORMED), int(Reason.TOO_LARGE)
TOO_DEEP, NOT_UTF8 = int(Reason.TOO_DEEP), int(Reason.NOT_UTF8)
"""Outcomes of a record beside `FITS`, as constants of kernels."""

NO_ROOM = 127
"""No outcome: the record is written again when there is more room."""

MOST_LEVELS = 64
"""How deep a record may be nested."""

VALUE_ROOM = 96
"""Bytes that any value but a text and a decimal takes at most, and some too many that are copied."""

FRACTION_BYTES = 24
"""What a kernel leaves free for a float or a double: the shortest text of none is longer."""

ROW, FILLED, FRACTIONS = range(3)
"""What `TextRoom.state` tells: the rows that are done, and the bytes and fractions that they take."""

_SPACE, _COMMA, _CLOSE, _NEWLINE = ord(" "), ord(","), ord("]"), ord("\n")
_MOST_DIGITS = 9  # that any float of four bytes needs
_SURELY_DIGITS = 6  # that tell no two neighbours apart
_MANTISSA = 0x7FFFFF
_EXACT_POWERS = 10.0 ** np.arange(23)  # no other power of ten is a double
_encode = msgspec.json.Encoder().encode
_Longs = NDArray[np.int64]


class TextRoom:
    """Holds the texts of n records while a kernel writes them.

    A kernel writes from `state` on. Where a record finds too little room it leaves `state` as it was before that
    record and returns, and is called again with more.

    Attributes
    ----------
    text, words
        uint8[] and its words (`keys.padded_words`): the texts, each with a newline behind it.
    stops
        int64[n]: where each text ends.
    outcomes
        int8[n], `FITS` or a `Reason`; what is rejected has no text.
    bits, places
        int64[]: the bits of the fractions, and twice the place that each is written at, plus one for 32 bits.
    state
        int64[3]: `ROW`, `FILLED`, `FRACTIONS`.
    """

    def __init__(self, rows: int, size: int) -> None:
        self.stops = np.empty(rows, np.int64)
        self.outcomes = np.full(rows, FITS, np.int8)
        self.state = np.zeros(3, np.int64)
        self.bits = np.empty(rows + 1, np.int64)
        self.places = np.empty(rows + 1, np.int64)
        self._take(np.empty(size + rows + 64 + len(PADDING), np.uint8))

    def _take(self, text: NDArray[np.uint8]) -> None:
        self.text = text
        self.words = padded_words(text)

    @property
    def arrays(self) -> tuple[NDArray[np.uint8], _Longs, _Longs, NDArray[np.int8], _Longs, _Longs, _Longs]:
        """Return `text, words, stops, outcomes, bits, places, state`: kernels take them in this order."""
        return self.text, self.words, self.stops, self.outcomes, self.bits, self.places, self.state

    def fill(self, write: Callable[[TextRoom], None]) -> None:
        """Call a kernel until all records are written."""
        write(self)
        while self.state[ROW] < len(self.stops):
            self._grow()
            write(self)

    def _grow(self) -> None:
        filled, fractions = int(self.state[FILLED]), int(self.state[FRACTIONS])
        text = np.empty(2 * len(self.text), np.uint8)
        text[:filled] = self.text[:filled]
        self._take(text)
        more = np.empty(len(self.bits), np.int64)
        self.bits = np.concatenate([self.bits[:fractions], more, more])
        self.places = np.concatenate([self.places[:fractions], more, more])

    def unwrapped(self, missing: NDArray[np.bool_]) -> Unwrapped:
        """Return what was written.

        Parameters
        ----------
        missing
            bool[n]: the records that have no text, rejected or not.
        """
        count = int(self.state[FRACTIONS])
        if count:
            places = self.places[:count]
            values = _fractions(self.bits[:count], places & 1 == 1)
            put_fractions(np.frombuffer(_encode(values.tolist()), np.uint8), places >> 1, self.text)
        size = int(self.state[FILLED])
        self.text[size : size + len(PADDING)] = 0
        self.text.setflags(write=False)
        return Unwrapped(Texts(self.text, self.stops, 1, missing if missing.any() else None), self.outcomes)


def _fractions(bits: NDArray[np.int64], short: NDArray[np.bool_]) -> NDArray[np.float64]:
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


@bare_inlined
def end_row(
    row: int,
    outcome: int,
    out: NDArray[np.uint8],
    stops: NDArray[np.int64],
    outcomes: NDArray[np.int8],
    state: NDArray[np.int64],
) -> None:
    """Note what became of a record, and end its text with a newline; see `TextRoom`."""
    filled = state[FILLED]
    outcomes[row] = outcome
    stops[row] = filled
    out[filled] = _NEWLINE
    state[FILLED] = filled + 1
    state[ROW] = row + 1


@bare_inlined
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


@bare_kernel
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
