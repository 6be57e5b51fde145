"""Room for the JSON texts of many records, and what becomes of each record; fractions are written in bulk."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.unwrapping import FITS, Unwrapped
from stream_anon.adapters.writing.fractions import doubles_of, put_fractions
from stream_anon.adapters.writing.strings import GROWTH, put_string
from stream_anon.compiled import checked_inlined
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.keys import PADDING, padded_words, sealed
from stream_anon.microdata.texts import Texts

MALFORMED, TOO_LARGE = int(Reason.MALFORMED), int(Reason.TOO_LARGE)
TOO_DEEP, NOT_UTF8 = int(Reason.TOO_DEEP), int(Reason.NOT_UTF8)
"""Outcomes of a record beside `FITS`, as constants of kernels."""

NO_ROOM = 127
"""No outcome: the record is written again when there is more room.

What returns a place returns `~NO_ROOM`, or `~` of an outcome, if there is none: all of these are below 0.
"""

MOST_LEVELS = 64
"""How deep a record may be nested."""

VALUE_ROOM = 96
"""Bytes that any value but a text and a decimal takes at most, and some too many that are copied."""

ROW, FILLED, FRACTIONS = range(3)
"""What `TextRoom.state` tells: the rows that are done, and the bytes and fractions that they take."""

_NEWLINE = ord("\n")
_USUAL = 512  # bytes of constant text in a record; more are found out when the room is full
_encode = msgspec.json.Encoder().encode
_Longs = NDArray[np.int64]


class TextRoom:
    """Holds the texts of n records while a kernel writes them.

    A kernel writes from `state` on. Where a record finds too little room it leaves `state` as it was before that
    record and returns, and is called again with more.

    Parameters
    ----------
    bodies
        What the kernel reads.
    constants
        The words of all texts that it may write beside what the bodies hold.

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

    def __init__(self, bodies: Texts, constants: NDArray[np.int64]) -> None:
        rows = len(bodies)
        size = 2 * bodies.size + rows * min(len(constants), _USUAL)
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
            values = doubles_of(self.bits[:count], places & 1 == 1)
            put_fractions(np.frombuffer(_encode(values.tolist()), np.uint8), places >> 1, self.text)
        size = int(self.state[FILLED])
        self.text[size : size + len(PADDING)] = 0
        self.text.setflags(write=False)
        return Unwrapped(Texts(self.text, self.stops, 1, missing if missing.any() else None), self.outcomes)


def readable_bytes(bodies: Texts) -> NDArray[np.uint8]:
    """Return the bytes of bodies as kernels read them."""
    # Bodies without a byte are one word, which is of another type to the compiler.
    return sealed(bodies.room if bodies.size else np.zeros(2 * len(PADDING), np.uint8))


@checked_inlined
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


@checked_inlined
def put_text(
    text: NDArray[np.uint8],
    words: NDArray[np.int64],
    at: int,
    stop: int,
    out: NDArray[np.uint8],
    out_words: NDArray[np.int64],
    place: int,
    end: int,
) -> int:
    """Write a string that may not reach beyond `end`; return the place behind it, or `~` of an outcome."""
    if place + stop - at + 2 > end:
        return ~TOO_LARGE
    if place + GROWTH * (stop - at) > len(out_words) - VALUE_ROOM:
        return ~NO_ROOM
    place = put_string(text, words, at, stop, out, out_words, place)
    return place if place >= 0 else ~NOT_UTF8
