"""How kernels write a string of JSON: escaped, and only if it is UTF-8."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_inlined, bare_kernel, checked_inlined

GROWTH = 6
"""The most bytes that a byte of a string takes, beside the two quotes."""

_QUOTE, _BACKSLASH, _SPACE, _FIRST_NON_ASCII = ord('"'), ord("\\"), ord(" "), 0x80
_ZERO, _LOWER_A, _LOWER_U = ord("0"), ord("a"), ord("u")
# Two letters stand for these.
_TAB, _NEWLINE, _RETURN = ord("\t"), ord("\n"), ord("\r")
_LOWER_T, _LOWER_N, _LOWER_R = ord("t"), ord("n"), ord("r")

_ONES = 0x0101010101010101
_HIGHS = -0x7F7F7F7F7F7F7F80  # the highest bit of each byte
_QUOTES, _BACKSLASHES, _SPACES = _QUOTE * _ONES, _BACKSLASH * _ONES, _SPACE * _ONES


@checked_inlined
def _plain_bytes(word: int) -> int:
    """Return how many of a word's bytes come before the first that is no ASCII, a quote or must be escaped."""
    quote, backslash = word ^ _QUOTES, word ^ _BACKSLASHES
    # Each term marks the bytes that it looks for, and perhaps others above the first of them.
    marks = ((quote - _ONES) & ~quote) | ((backslash - _ONES) & ~backslash) | (word - _SPACES) | word
    marks &= _HIGHS
    if marks == 0:
        return 8
    below = (marks & -marks) - 1
    return int((((below & _ONES) * _ONES) >> 56) & 15) - 1


@bare_kernel
def letter_bytes(text: NDArray[np.uint8], at: int, stop: int) -> int:
    """Return how many bytes the letter at `at` takes in UTF-8 (RFC 3629), 0 if it is none."""
    first = np.int64(text[at])
    if first < _FIRST_NON_ASCII:
        return 1
    low, high = 0x80, 0xBF  # of the second byte
    if 0xC2 <= first <= 0xDF:
        size = 2
    elif 0xE0 <= first <= 0xEF:
        size = 3
        low = 0xA0 if first == 0xE0 else low  # nothing that fits two bytes
        high = 0x9F if first == 0xED else high  # no half of a surrogate pair
    elif 0xF0 <= first <= 0xF4:
        size = 4
        low = 0x90 if first == 0xF0 else low
        high = 0x8F if first == 0xF4 else high
    else:
        return 0
    if at + size > stop or text[at + 1] < low or text[at + 1] > high:
        return 0
    for place in range(at + 2, at + size):
        if text[place] & 0xC0 != 0x80:
            return 0
    return size


@bare_inlined
def is_utf8(text: NDArray[np.uint8], words: NDArray[np.int64], at: int, stop: int) -> bool:
    """Tell whether the bytes from `at` to `stop` are UTF-8; IndexError if they are not within the text.

    The loop is not checked, as that of `put_string`.
    """
    if at < 0 or stop > len(words):
        raise IndexError("a string reaches beyond its text")
    while at < stop:
        if stop - at >= 8 and words[at] & _HIGHS == 0:
            at += 8
            continue
        size = letter_bytes(text, at, stop)
        if size == 0:
            return False
        at += size
    return True


@bare_kernel
def put_escape(byte: int, out: NDArray[np.uint8], place: int) -> int:
    """Write an ASCII letter that must be escaped; return the place behind it."""
    out[place] = _BACKSLASH
    if byte == _QUOTE or byte == _BACKSLASH:
        out[place + 1] = byte
    elif byte == _NEWLINE:
        out[place + 1] = _LOWER_N
    elif byte == _TAB:
        out[place + 1] = _LOWER_T
    elif byte == _RETURN:
        out[place + 1] = _LOWER_R
    else:
        low = byte & 15
        out[place + 1] = _LOWER_U
        out[place + 2] = _ZERO
        out[place + 3] = _ZERO
        out[place + 4] = _ZERO + (byte >> 4)
        out[place + 5] = _ZERO + low if low < 10 else _LOWER_A + low - 10
        return place + 6
    return place + 2


@bare_inlined
def put_string(
    text: NDArray[np.uint8],
    words: NDArray[np.int64],
    at: int,
    stop: int,
    out: NDArray[np.uint8],
    out_words: NDArray[np.int64],
    place: int,
) -> int:
    """Write a string in quotes; return the place behind it, -1 if it is not UTF-8.

    Both spans are compared with their arrays once. So what is within the loop is not checked: it reads from `at` to
    `stop` alone, and takes at most `GROWTH` bytes for each byte.

    Parameters
    ----------
    text, words, at, stop
        The string; `words` are those of `text` (`keys.padded_words`).
    out, out_words, place
        Where it is written, with room for `GROWTH` bytes for each of its own, and ten more.

    Raises
    ------
    IndexError
        If the string is not within its text, or there is no room.
    """
    if at < 0 or stop > len(words) or place < 0 or place + GROWTH * max(stop - at, 0) + 10 > len(out_words):
        raise IndexError("a string reaches beyond its text or its room")
    out[place] = _QUOTE
    place += 1
    while at < stop:
        word = words[at]
        out_words[place] = word
        plain = min(_plain_bytes(word), stop - at)
        at += plain
        place += plain
        if plain < 8 and at < stop:
            byte = np.int64(text[at])
            if byte < _FIRST_NON_ASCII:
                place = put_escape(int(byte), out, place)
                at += 1
            else:
                size = letter_bytes(text, at, stop)
                if size == 0:
                    return -1
                for _ in range(size):
                    out[place] = text[at]
                    place += 1
                    at += 1
    out[place] = _QUOTE
    return place + 1
