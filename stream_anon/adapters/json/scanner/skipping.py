"""Skip what nobody declared: JSON must be sound there too, or the whole record is malformed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json.scanner.lexing import past_plain
from stream_anon.compiled import bare_kernel

MOST_NESTED = 40  # levels; with those of declared parents far from where a record is too deep

# What may stand at a place within arrays and objects.
_VALUE, _KEY, _MORE, _FIRST_VALUE, _FIRST_KEY = range(5)


@bare_kernel
def skipped_text(text: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int, high: int) -> int:
    """Return where a string's closing quote stands, -1 if it is none or a closer look must tell.

    Parameters
    ----------
    text, words, at, end, high
        See `words`; `at` is a place within the string.
    """
    while True:
        at = past_plain(words, at, end, high)
        if at < end and text[at] == 34:
            return at
        if at + 1 >= end or text[at] != 92:
            return -1
        if text[at + 1] == 117:
            if at + 6 > end:
                return -1
            point = np.int64(0)
            for place in range(at + 2, at + 6):
                digit = np.int64(text[place])
                if 48 <= digit <= 57:
                    point = point * 16 + digit - 48
                elif 97 <= (digit | 32) <= 102:
                    point = point * 16 + (digit | 32) - 87
                else:
                    return -1
            if 0xD800 <= point < 0xE000:  # one of a pair
                return -1
            at += 6
        elif text[at + 1] in (34, 92, 47, 98, 102, 110, 114, 116):
            at += 2
        else:
            return -1


@bare_kernel
def skipped_word(text: NDArray[np.uint8], at: int, end: int) -> int:
    """Return where a number, true, false or null ends, -1 if it is none of them."""
    first = at
    while at < end and (48 <= text[at] <= 57 or 97 <= (text[at] | 32) <= 122 or text[at] in (43, 45, 46)):
        at += 1
    length = at - first
    letter = text[first] if length else 0
    if letter == 116:
        sound = length == 4 and text[first + 1] == 114 and text[first + 2] == 117 and text[first + 3] == 101
        return at if sound else -1
    if letter == 110:
        sound = length == 4 and text[first + 1] == 117 and text[first + 2] == 108 and text[first + 3] == 108
        return at if sound else -1
    if letter == 102:
        sound = length == 5 and text[first + 1] == 97 and text[first + 2] == 108
        return at if sound and text[first + 3] == 115 and text[first + 4] == 101 else -1
    # Whole numbers and decimals; a closer look tells the rest.
    place = first + (letter == 45)
    begin = place
    while place < at and 48 <= text[place] <= 57:
        place += 1
    if place == begin or (place > begin + 1 and text[begin] == 48):
        return -1
    if place < at and text[place] == 46:
        begin = place + 1
        place = begin
        while place < at and 48 <= text[place] <= 57:
            place += 1
        if place == begin:
            return -1
    return at if place == at else -1


@bare_kernel
def skipped_nest(text: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int, high: int) -> int:
    """Return where an array or object ends, -1 if it is none or a closer look must tell.

    Parameters
    ----------
    text, words, at, end, high
        See `words`; an opening bracket stands at `at`.
    """
    objects, levels, expected = 0, 0, _VALUE
    while at < end:
        byte = text[at]
        if byte == 32 or byte == 10 or byte == 13 or byte == 9:
            at += 1
        elif expected == _KEY or (expected == _FIRST_KEY and byte != 125):
            if byte != 34:
                return -1
            at = skipped_text(text, words, at + 1, end, high) + 1
            if at == 0:
                return -1
            while at < end and (text[at] == 32 or text[at] == 10 or text[at] == 13 or text[at] == 9):
                at += 1
            if at >= end or text[at] != 58:
                return -1
            at += 1
            expected = _VALUE
        elif (byte == 93 or byte == 125) and expected in (_MORE, _FIRST_VALUE, _FIRST_KEY):
            if (byte == 125) != (objects & 1 == 1):
                return -1
            objects >>= 1
            levels -= 1
            at += 1
            if levels == 0:
                return at
            expected = _MORE
        elif expected == _MORE:
            if byte != 44:
                return -1
            at += 1
            expected = _KEY if objects & 1 else _VALUE
        elif byte == 91 or byte == 123:
            if levels == MOST_NESTED:
                return -1
            objects = objects << 1 | (byte == 123)
            levels += 1
            at += 1
            expected = _FIRST_KEY if byte == 123 else _FIRST_VALUE
        else:
            at = skipped_text(text, words, at + 1, end, high) + 1 if byte == 34 else skipped_word(text, at, end)
            if at <= 0:
                return -1
            expected = _MORE
    return -1
