"""Room for the JSON texts of many records, and what becomes of each record; fractions are written in bulk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined
from stream_anon.formats.unwrapping import FITS, MOST_TEXT, TooMuchAtOnce, Unwrapped
from stream_anon.formats.writing.fractions import FRACTION_BYTES, doubles_of, put_fractions
from stream_anon.formats.writing.strings import GROWTH, put_string
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

TEXT_A_BYTE = 128
"""Bytes of text that each byte of a record may stand for, beside `free_text`.

The names of fields and of enums come from the schema, and whoever may register one chooses how long they are.
"""

ROW, FILLED, FRACTIONS = range(3)
"""What `TextBuffer.state` tells: the rows that are done, and the bytes and fractions that they take."""

_NEWLINE = ord("\n")
_USUAL = 512  # bytes of constant text in a record; more are found out when the room is full
_FREE = 16 * 1024  # bytes of nulls, of defaults that a record leaves out, and of a few long names of an enum
_encode = msgspec.json.Encoder().encode
_Longs = NDArray[np.int64]


def free_text(paths: Sequence[tuple[str, ...]]) -> int:
    """Return the bytes of text that a record may stand for beside those that its own bytes account for.

    Parameters
    ----------
    paths
        The keys that lead to each field that is read. The policy chose them, however long they are.
    """
    return _FREE + sum(len(_encode(key)) + len(b":,") for path in paths for key in path)


class TextBuffer:
    """Holds the texts of n records while a kernel writes them.

    A kernel writes from `state` on. Where a record finds too little room it leaves `state` as it was before that
    record and returns, and is called again with more. Several records have at most `MOST_TEXT` bytes together.

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
        size = 2 * bodies.size + rows * (min(len(constants), _USUAL) + 1) + 64
        self.stops = np.empty(rows, np.int64)
        self.outcomes = np.full(rows, FITS, np.int8)
        self.state = np.zeros(3, np.int64)
        self._most = MOST_TEXT if rows > 1 else sys.maxsize
        self._make(min(size, self._most))

    def _make(self, size: int) -> None:
        self.text = np.empty(size + len(PADDING), np.uint8)
        self.words = padded_words(self.text)
        most_fractions = size // FRACTION_BYTES + 1
        self.bits = np.empty(most_fractions, np.int64)
        self.places = np.empty(most_fractions, np.int64)

    @property
    def arrays(self) -> tuple[NDArray[np.uint8], _Longs, _Longs, NDArray[np.int8], _Longs, _Longs, _Longs]:
        """Return `text, words, stops, outcomes, bits, places, state`: kernels take them in this order."""
        return self.text, self.words, self.stops, self.outcomes, self.bits, self.places, self.state

    def fill(self, write: Callable[[TextBuffer], None]) -> None:
        """Call a kernel until all records are written. Raises TooMuchAtOnce."""
        write(self)
        while self.state[ROW] < len(self.stops):
            self._grow()
            write(self)

    def _grow(self) -> None:
        size = len(self.text) - len(PADDING)
        if size >= self._most:
            raise TooMuchAtOnce
        text, bits, places = self.text, self.bits, self.places
        filled, fractions = int(self.state[FILLED]), int(self.state[FRACTIONS])
        self._make(min(2 * size, self._most))
        self.text[:filled] = text[:filled]
        self.bits[:fractions] = bits[:fractions]
        self.places[:fractions] = places[:fractions]

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
    """Note what became of a record, and end its text with a newline; see `TextBuffer`."""
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
