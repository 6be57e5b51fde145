"""How kernels read bytes: blanks, digits, strings and labels, most of it eight bytes at once.

Everywhere `text` is uint8, `words` the eight bytes from each place on (`keys.padded_words`), `at` a place and `end`
the record's end; nothing beyond it decides anything.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined
from stream_anon.formats.json.scanner.forms import DECIMAL, INTEGER, MOST_DIGITS, MOST_EXACT, ODD, OTHER
from stream_anon.formats.json.scanner.letters import (
    BACKSLASH,
    BLANK,
    CASE,
    DIGIT_0,
    DIGIT_9,
    LOWER_E,
    MINUS,
    NEWLINE,
    PLUS,
    POINT,
    QUOTE,
    RETURN,
    TAB,
)
from stream_anon.microdata.keys import tail_bits

FACTOR = 0x2545F4914F6CDD1D  # by which a label is spread over its table
ONES = 0x0101010101010101
HIGHS = -0x7F7F7F7F7F7F7F80  # the highest bit of each byte
_QUOTES = QUOTE * ONES
_BACKSLASHES = BACKSLASH * ONES
_BLANKS = BLANK * ONES
_LOWER_HALF = 0xFFFFFFFF


@checked_inlined
def is_blank(byte: int) -> bool:
    """Tell whether a byte is what JSON calls white space."""
    return byte == BLANK or byte == NEWLINE or byte == RETURN or byte == TAB


@checked_inlined
def past_blanks(text: NDArray[np.uint8], at: int, end: int) -> int:
    """Return the first place from `at` on that holds no blank."""
    while at < end and text[at] <= BLANK and is_blank(text[at]):
        at += 1
    return at


@checked_inlined
def past_digits(text: NDArray[np.uint8], at: int, end: int) -> int:
    """Return the first place from `at` on that holds no digit."""
    while at < end and DIGIT_0 <= text[at] <= DIGIT_9:
        at += 1
    return at


@checked_inlined
def past_number(text: NDArray[np.uint8], at: int, end: int) -> tuple[int, int, int]:
    """Return a number's form, where its span ends (see `forms`), and the place behind it, -1 if it is none."""
    negative = text[at] == MINUS
    head = at + negative
    at = past_digits(text, head, end)
    digits = at - head
    if digits == 0 or (digits > 1 and text[head] == DIGIT_0):
        return OTHER, at, -1
    negative_zero = negative and text[head] == DIGIT_0  # not if it is zero, which is written without a sign
    form = INTEGER if digits <= MOST_DIGITS and not negative_zero else ODD
    stop = at
    if at < end and text[at] == POINT:
        head = at + 1
        at = past_digits(text, head, end)
        if at == head:
            return OTHER, at, -1
        form = DECIMAL if digits + at - head <= MOST_EXACT else ODD
        stop = at
        while stop > head and text[stop - 1] == DIGIT_0:
            stop -= 1
        if form == DECIMAL and stop == head:
            stop -= 1
            form = ODD if negative_zero else INTEGER
    if at < end and (text[at] | CASE) == LOWER_E:
        form = ODD
        at += 1
        if at < end and (text[at] == PLUS or text[at] == MINUS):
            at += 1
        head = at
        at = past_digits(text, head, end)
        if at == head:
            return OTHER, at, -1
    return form, at if form == ODD else stop, at


@checked_inlined
def past_plain(words: NDArray[np.int64], at: int, end: int) -> int:
    """Return the first place from `at` on that holds a quote, a backslash or a control character.

    It may lie beyond the end.
    """
    while at < end:
        word = words[at]
        quote, backslash = word ^ _QUOTES, word ^ _BACKSLASHES
        # Each term marks the bytes that it looks for, and perhaps others above the first of them.
        marks = ((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash) | ((word - _BLANKS) & ~word)
        marks &= HIGHS
        if marks:
            below = (marks & -marks) - 1
            return int(at + ((((below & ONES) * ONES) >> 56) & 15) - 1)
        at += 8
    return at


class LabelTables(NamedTuple):
    """What texts mean: those of keys and of values.

    Parameters
    ----------
    words
        int64: all texts in words, each filled up with zeros.
    slots
        int64[slots, 3]: open-addressed tables, at most a quarter full. Of the label in each slot its length, its
        first word in `words` and its meaning, the field of a key or the code of a value; -1 where free.
    tables
        int64[tables, 2]: where each table begins in `slots`, and its capacity - 1. The keys of the outermost object
        are the last one.
    """

    words: NDArray[np.int64]
    slots: NDArray[np.int64]
    tables: NDArray[np.int64]


@checked_inlined
def look_up(words: NDArray[np.int64], start: int, length: int, table: int, labels: LabelTables) -> int:
    """Return the slot of `length` bytes from `start` on in a table, -1 if it has none."""
    slots, base, mask = labels.slots, labels.tables[table, 0], labels.tables[table, 1]
    spread, left, last = length, length, start
    while left > 8:
        spread = (spread ^ words[last]) * FACTOR
        spread ^= (spread >> 32) & _LOWER_HALF
        last += 8
        left -= 8
    rest = words[last] & tail_bits(left)
    if left > 0:
        spread = (spread ^ rest) * FACTOR
        spread ^= (spread >> 32) & _LOWER_HALF
    slot = base + (spread & mask)
    while slots[slot, 0] >= 0:
        if slots[slot, 0] == length:
            label, at = slots[slot, 1], start
            while at < last and labels.words[label] == words[at]:
                at += 8
                label += 1
            if at == last and labels.words[label] == rest:
                return int(slot)
        slot = base + ((slot - base + 1) & mask)
    return -1


@checked_inlined
def is_at(
    text: NDArray[np.uint8],
    words: NDArray[np.int64],
    start: int,
    end: int,
    slot: int,
    labels: LabelTables,
) -> bool:
    """Tell whether the label in a slot stands at `start`, with a quote behind it."""
    left, label, at = labels.slots[slot, 0], labels.slots[slot, 1], start
    if start + left >= end or text[start + left] != QUOTE:
        return False
    while left > 8 and words[at] == labels.words[label]:
        at += 8
        label += 1
        left -= 8
    return left <= 8 and bool(words[at] & tail_bits(left) == labels.words[label])


@checked_inlined
def is_word(words: NDArray[np.int64], at: int, end: int, word: int, length: int) -> bool:
    """Tell whether a word of at most eight letters stands at `at`; `word` is its letters, little end first."""
    return at + length <= end and bool(words[at] & tail_bits(length) == word)
