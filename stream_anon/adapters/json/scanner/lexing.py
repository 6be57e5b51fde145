"""How kernels read bytes: blanks, digits, strings and labels, most of it eight bytes at once.

Everywhere `text` is uint8, `words` the eight bytes from each place on (`keys.padded_words`), `at` a place and `end`
the record's end, beyond which nothing is looked at that decides anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json.scanner.tables import FACTOR
from stream_anon.compiled import bare_inlined
from stream_anon.microdata.keys import tail_bits

ONES = 0x0101010101010101
HIGHS = -0x7F7F7F7F7F7F7F80  # the highest bit of each byte
_QUOTES = 0x22 * ONES
_BACKSLASHES = 0x5C * ONES
_SPACES = 0x20 * ONES
_LOWER_HALF = 0xFFFFFFFF


@bare_inlined
def past_blanks(text: NDArray[np.uint8], at: int, end: int) -> int:
    """Return the first place from `at` on that holds no blank."""
    while at < end and text[at] <= 32 and (text[at] == 32 or text[at] == 10 or text[at] == 13 or text[at] == 9):
        at += 1
    return at


@bare_inlined
def past_digits(text: NDArray[np.uint8], at: int, end: int) -> int:
    """Return the first place from `at` on that holds no digit."""
    while at < end and 48 <= text[at] <= 57:
        at += 1
    return at


@bare_inlined
def past_plain(words: NDArray[np.int64], at: int, end: int, high: int) -> int:
    """Return the first place from `at` on that holds a quote, a backslash or a control character.

    It may lie beyond the end.

    Parameters
    ----------
    high
        `HIGHS` to stop at bytes that are no ASCII too, else 0.
    """
    while at < end:
        word = words[at]
        quote, backslash = word ^ _QUOTES, word ^ _BACKSLASHES
        # Each term marks the bytes it looks for, and perhaps others above the first of them.
        marks = ((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash) | ((word - _SPACES) & ~word)
        marks = (marks & HIGHS) | (word & high)
        if marks:
            below = (marks & -marks) - 1
            return int(at + ((((below & ONES) * ONES) >> 56) & 15) - 1)
        at += 8
    return at


@bare_inlined
def look_up(
    words: NDArray[np.int64],
    start: int,
    length: int,
    base: int,
    mask: int,
    slots: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> int:
    """Return the slot of `length` bytes from `start` on in a table, -1 if it has none; see `ScanTables`."""
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
            while at < last and labels[label] == words[at]:
                at += 8
                label += 1
            if at == last and labels[label] == rest:
                return slot
        slot = base + ((slot - base + 1) & mask)
    return -1


@bare_inlined
def is_at(
    text: NDArray[np.uint8],
    words: NDArray[np.int64],
    start: int,
    end: int,
    slot: int,
    slots: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> bool:
    """Tell whether the label in a slot stands at `start`, with a quote behind it."""
    left, label, at = slots[slot, 0], slots[slot, 1], start
    if start + left >= end or text[start + left] != 34:
        return False
    while left > 8 and words[at] == labels[label]:
        at += 8
        label += 1
        left -= 8
    return left <= 8 and bool(words[at] & tail_bits(left) == labels[label])


@bare_inlined
def is_word(text: NDArray[np.uint8], at: int, end: int, first: int, second: int, third: int) -> bool:
    """Tell whether three letters follow the one at `at`."""
    return at + 4 <= end and text[at + 1] == first and text[at + 2] == second and text[at + 3] == third
