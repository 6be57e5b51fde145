"""Room for the JSON texts of many records, and what becomes of each record; fractions are written in bulk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

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

UNREAD = 126
"""No outcome either: the body is still to be read."""

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


class TextLimits(NamedTuple):
    """How much text bodies may stand for.

    Parameters
    ----------
    most
        Bodies and texts of more bytes are rejected.
    free
        And so are texts of more than `free` bytes and `TEXT_A_BYTE` for each of their body; see `free_text`.
    """

    most: int
    free: int


class BodyBytes(NamedTuple):
    """The bodies of n records as kernels read them.

    Parameters
    ----------
    text, words
        uint8[] and its words (`keys.padded_words`).
    stops, gap
        See `Texts`.
    missing
        bool[n]: which are not read, and have no text.
    """

    text: NDArray[np.uint8]
    words: _Longs
    stops: _Longs
    gap: int
    missing: NDArray[np.bool_]


class TextBuffer(NamedTuple):
    """The texts of n records while a kernel writes them.

    Parameters
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

    text: NDArray[np.uint8]
    words: _Longs
    stops: _Longs
    outcomes: NDArray[np.int8]
    bits: _Longs
    places: _Longs
    state: _Longs

    @classmethod
    def of(cls, size: int, stops: _Longs, outcomes: NDArray[np.int8], state: _Longs) -> Self:
        """Return a buffer with `size` bytes of room."""
        text = np.empty(size + len(PADDING), np.uint8)
        most_fractions = size // FRACTION_BYTES + 1
        bits, places = np.empty(most_fractions, np.int64), np.empty(most_fractions, np.int64)
        return cls(text, padded_words(text), stops, outcomes, bits, places, state)

    def grown(self, most: int) -> Self:
        """Return one with twice the room, `most` bytes at the most. Raises TooMuchAtOnce."""
        size = len(self.text) - len(PADDING)
        if size >= most:
            raise TooMuchAtOnce
        grown = self.of(min(2 * size, most), self.stops, self.outcomes, self.state)
        filled, fractions = int(self.state[FILLED]), int(self.state[FRACTIONS])
        grown.text[:filled] = self.text[:filled]
        grown.bits[:fractions] = self.bits[:fractions]
        grown.places[:fractions] = self.places[:fractions]
        return grown

    def finished(self, missing: NDArray[np.bool_]) -> Unwrapped:
        """Write the fractions, and return the texts of all records that fit and are not missing, bool[n]."""
        count = int(self.state[FRACTIONS])
        if count:
            places = self.places[:count]
            values = doubles_of(self.bits[:count], places & 1 == 1)
            put_fractions(np.frombuffer(_encode(values.tolist()), np.uint8), places >> 1, self.text)
        size = int(self.state[FILLED])
        self.text[size : size + len(PADDING)] = 0
        self.text.setflags(write=False)
        missing = missing | (self.outcomes != FITS)
        return Unwrapped(Texts(self.text, self.stops, 1, missing if missing.any() else None), self.outcomes)


def written_texts(
    values: Texts,
    missing: NDArray[np.bool_],
    constants: NDArray[np.int64],
    write: Callable[[BodyBytes, TextBuffer], None],
) -> Unwrapped:
    """Return the texts that a kernel writes for n bodies. Several have at most `MOST_TEXT` bytes together.

    Parameters
    ----------
    values, missing
        The bodies, and bool[n]: which of them have no text.
    constants
        The words of all texts that the kernel may write beside what the bodies hold.
    write
        The kernel. It writes from `TextBuffer.state` on. Where a record finds too little room it leaves that as it
        was before the record and returns, and is called again with more room.

    Raises
    ------
    TooMuchAtOnce
        If several records stand for more text.
    """
    rows = len(values)
    # Bodies without a byte are one word, which is of another type to the compiler.
    text = sealed(values.room if values.size else np.zeros(2 * len(PADDING), np.uint8))
    bodies = BodyBytes(text, padded_words(text), values.stops, values.gap, missing)
    most = MOST_TEXT if rows > 1 else sys.maxsize
    size = 2 * values.size + rows * (min(len(constants), _USUAL) + 1) + 64
    out = TextBuffer.of(
        min(size, most), np.empty(rows, np.int64), np.full(rows, FITS, np.int8), np.zeros(3, np.int64)
    )
    write(bodies, out)
    while out.state[ROW] < rows:
        out = out.grown(most)
        write(bodies, out)
    return out.finished(missing)


@checked_inlined
def has_next(bodies: BodyBytes, out: TextBuffer) -> bool:
    """Tell whether a body is left, and room for what any record takes."""
    return bool(out.state[ROW] < len(bodies.stops) and out.state[FILLED] + VALUE_ROOM <= len(out.words))


@checked_inlined
def next_body(bodies: BodyBytes, out: TextBuffer, limits: TextLimits) -> tuple[int, int, int, int]:
    """Return where the next body begins and ends, the most bytes of its text, and `UNREAD` or its outcome."""
    row = out.state[ROW]
    at = bodies.stops[row - 1] + bodies.gap if row > 0 else 0
    stop = bodies.stops[row]
    most = min(limits.most, limits.free + TEXT_A_BYTE * (stop - at))
    if stop - at > limits.most:
        return at, stop, most, TOO_LARGE
    return at, stop, most, FITS if bodies.missing[row] else UNREAD


@checked_inlined
def end_row(outcome: int, out: TextBuffer) -> None:
    """Note what became of a record, and end its text with a newline."""
    row, filled = out.state[ROW], out.state[FILLED]
    out.outcomes[row] = outcome
    out.stops[row] = filled
    out.text[filled] = _NEWLINE
    out.state[FILLED] = filled + 1
    out.state[ROW] = row + 1


@checked_inlined
def put_text(bodies: BodyBytes, at: int, stop: int, out: TextBuffer, place: int, end: int) -> int:
    """Write a string that may not reach beyond `end`; return the place behind it, or `~` of an outcome."""
    if place + stop - at + 2 > end:
        return ~TOO_LARGE
    if place + GROWTH * (stop - at) > len(out.words) - VALUE_ROOM:
        return ~NO_ROOM
    place = put_string(bodies.text, bodies.words, at, stop, out.text, out.words, place)
    return place if place >= 0 else ~NOT_UTF8
