"""Skip undeclared members: their JSON must be sound too, or the whole record is malformed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.json.scanner.letters import (
    BACKSLASH,
    CASE,
    CLOSE_BRACE,
    CLOSE_BRACKET,
    COLON,
    COMMA,
    DIGIT_0,
    DIGIT_9,
    FIRST_NON_ASCII,
    LOWER_A,
    LOWER_B,
    LOWER_F,
    LOWER_N,
    LOWER_R,
    LOWER_T,
    LOWER_U,
    MINUS,
    NEWLINE,
    OPEN_BRACE,
    OPEN_BRACKET,
    QUOTE,
    SLASH,
)
from stream_anon.formats.json.scanner.lexing import is_blank, is_word, past_blanks, past_number, past_plain

MOST_NESTED = 40  # levels; together with those of declared parents no more than a record may have

# What may stand at a place within arrays and objects.
_VALUE, _KEY, _MORE, _FIRST_VALUE, _FIRST_KEY = range(5)

TRUE_WORD, FALSE_WORD, NULL_WORD = (int.from_bytes(word, "little") for word in (b"true", b"false", b"null"))

# Halves of a letter beyond 16 bits, as UTF-16 and JSON's escapes have them.
_FIRST_HALF, _SECOND_HALF, _AFTER_HALVES = 0xD800, 0xDC00, 0xE000
_BEYOND = 0x10000
_ESCAPE = 6  # bytes of an escape with a number
_LONGEST_LETTER = 4  # bytes in UTF-8
KEY_ROOM = 2 * _LONGEST_LETTER  # bytes that `unescaped_key` needs beyond the longest declared key


@checked_inlined
def _unit(text: NDArray[np.uint8], at: int, end: int) -> int:
    """Return the number of an escape that begins with a backslash and a `u` at `at`, -1 if it is none."""
    if at + _ESCAPE > end or text[at] != BACKSLASH or text[at + 1] != LOWER_U:
        return -1
    unit = np.int64(0)
    for place in range(at + 2, at + _ESCAPE):
        numeral = np.int64(text[place])
        if DIGIT_0 <= numeral <= DIGIT_9:
            unit = unit * 16 + numeral - DIGIT_0
        elif LOWER_A <= (numeral | CASE) <= LOWER_F:
            unit = unit * 16 + (numeral | CASE) - LOWER_A + 10
        else:
            return -1
    return int(unit)


@checked_kernel
def skipped_text(text: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int) -> int:
    """Return where a string's closing quote stands, -1 if it is none.

    Parameters
    ----------
    text, words, at, end
        See `lexing`; `at` is a place within the string.
    """
    while True:
        at = past_plain(words, at, end)
        if at < end and text[at] == QUOTE:
            return at
        if at + 1 >= end or text[at] != BACKSLASH:
            return -1
        letter = text[at + 1]
        if letter == LOWER_U:
            unit = _unit(text, at, end)
            if unit < 0 or _SECOND_HALF <= unit < _AFTER_HALVES:
                return -1
            at += _ESCAPE
            if _FIRST_HALF <= unit < _SECOND_HALF:
                unit = _unit(text, at, end)
                if not _SECOND_HALF <= unit < _AFTER_HALVES:
                    return -1
                at += _ESCAPE
        elif letter in (QUOTE, BACKSLASH, SLASH, LOWER_B, LOWER_F, LOWER_N, LOWER_R, LOWER_T):
            at += 2
        else:
            return -1


@checked_kernel
def unescaped_key(text: NDArray[np.uint8], start: int, stop: int, room: NDArray[np.uint8]) -> int:
    """Write a key without its escapes; return its length, -1 if it is longer than any declared key.

    Parameters
    ----------
    text, start, stop
        A string that `skipped_text` found sound, without its quotes.
    room
        uint8[], written, `KEY_ROOM` longer than the longest declared key.
    """
    at, filled = start, 0
    while at < stop:
        if filled + _LONGEST_LETTER > len(room):
            return -1
        point = np.int64(text[at])
        if point != BACKSLASH:
            room[filled] = point
            filled += 1
            at += 1
            continue
        if text[at + 1] != LOWER_U:
            # A declared key may hold no other of these letters.
            room[filled] = SLASH if text[at + 1] == SLASH else NEWLINE
            filled += 1
            at += 2
            continue
        point = np.int64(_unit(text, at, stop))
        at += _ESCAPE
        if _FIRST_HALF <= point < _SECOND_HALF:
            point = _BEYOND + ((point - _FIRST_HALF) << 10) + np.int64(_unit(text, at, stop)) - _SECOND_HALF
            at += _ESCAPE
        # UTF-8: the leading byte tells by its highest bits how many with six bits each follow.
        if point < FIRST_NON_ASCII:
            room[filled] = point
            more = 0
        elif point < 0x800:
            room[filled] = 0xC0 | (point >> 6)
            more = 1
        elif point < _BEYOND:
            room[filled] = 0xE0 | (point >> 12)
            more = 2
        else:
            room[filled] = 0xF0 | (point >> 18)
            more = 3
        filled += 1
        while more > 0:
            more -= 1
            room[filled] = 0x80 | ((point >> (6 * more)) & 0x3F)
            filled += 1
    return filled


@checked_inlined
def _skipped_scalar(text: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int) -> int:
    """Return where a string, a number, true, false or null ends, -1 if it is none of them."""
    first = text[at]
    if first == QUOTE:
        at = skipped_text(text, words, at + 1, end)
        return at + 1 if at >= 0 else -1
    if first == MINUS or DIGIT_0 <= first <= DIGIT_9:
        return past_number(text, at, end)[2]
    if is_word(words, at, end, TRUE_WORD, 4) or is_word(words, at, end, NULL_WORD, 4):
        return at + 4
    return at + 5 if is_word(words, at, end, FALSE_WORD, 5) else -1


@checked_kernel
def skipped_nest(text: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int) -> int:
    """Return where an array or object ends, -1 if it is none or a closer look must tell.

    Parameters
    ----------
    text, words, at, end
        See `lexing`; an opening bracket stands at `at`.
    """
    objects, levels, expected = 0, 0, _VALUE
    while at < end:
        byte = text[at]
        if is_blank(byte):
            at += 1
        elif expected == _KEY or (expected == _FIRST_KEY and byte != CLOSE_BRACE):
            if byte != QUOTE:
                return -1
            at = skipped_text(text, words, at + 1, end) + 1
            if at == 0:
                return -1
            at = past_blanks(text, at, end)
            if at >= end or text[at] != COLON:
                return -1
            at += 1
            expected = _VALUE
        elif (byte == CLOSE_BRACKET or byte == CLOSE_BRACE) and expected in (_MORE, _FIRST_VALUE, _FIRST_KEY):
            if (byte == CLOSE_BRACE) != (objects & 1 == 1):
                return -1
            objects >>= 1
            levels -= 1
            at += 1
            if levels == 0:
                return at
            expected = _MORE
        elif expected == _MORE:
            if byte != COMMA:
                return -1
            at += 1
            expected = _KEY if objects & 1 else _VALUE
        elif byte == OPEN_BRACKET or byte == OPEN_BRACE:
            if levels == MOST_NESTED:
                return -1
            objects = objects << 1 | (byte == OPEN_BRACE)
            levels += 1
            at += 1
            expected = _FIRST_KEY if byte == OPEN_BRACE else _FIRST_VALUE
        else:
            at = _skipped_scalar(text, words, at, end)
            if at < 0:
                return -1
            expected = _MORE
    return -1
