"""Find the members of plain records: one pass over the bytes of a batch, without the interpreter lock.

It takes objects as producers usually write them: declared keys once each, their strings without escapes, their
numbers of moderate length and without exponent. All else it leaves to the readers that know JSON in full, and so it
never says why a record does not fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json.scanner.lexing import is_at, is_word, look_up, past_blanks, past_digits, past_plain
from stream_anon.adapters.json.scanner.skipping import skipped_nest, skipped_text
from stream_anon.compiled import bare_inlined, bare_kernel

# Forms of a value. A string's span is within its quotes.
ABSENT, NULL, STRING, INTEGER, DECIMAL, TRUE, FALSE, OTHER, OBJECT = range(9)
MOST_DIGITS = 18  # of an integer in 64 bits
MOST_EXACT = 15  # of a decimal that no other one shares its float with


@bare_inlined
def _past_string(
    text: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int, high: int, escapes: bool
) -> int:
    """Return where the closing quote of a string stands, -1 if it is none or a closer look must tell."""
    at = past_plain(words, at, end, high)
    if escapes and at < end and text[at] == 92:
        at = skipped_text(text, words, at, end, high)
    return at if 0 <= at < end and text[at] == 34 else -1


@bare_inlined
def _past_number(text: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Return a number's form and its end, -1 if it is none."""
    negative = text[at] == 45
    head = at + negative
    at = past_digits(text, head, end)
    digits = at - head
    if digits == 0 or (digits > 1 and text[head] == 48):
        return OTHER, -1
    # The negative zero is written as another one.
    form = INTEGER if digits <= MOST_DIGITS and not (negative and text[head] == 48) else OTHER
    if at < end and text[at] == 46:
        head = at + 1
        at = past_digits(text, head, end)
        if at == head:
            return OTHER, -1
        form = DECIMAL if digits + at - head <= MOST_EXACT else OTHER
    if at < end and (text[at] | 32) == 101:
        form = OTHER
        at += 1
        if at < end and (text[at] == 43 or text[at] == 45):
            at += 1
        head = at
        at = past_digits(text, head, end)
        if at == head:
            return OTHER, -1
    return form, at


@bare_inlined
def _past_value(
    text: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int, high: int, field: int
) -> tuple[int, int]:
    """Return a value's form and where it ends, -1 if it is none or a closer look must tell.

    Of an object that may hold declared fields it is where its members begin.
    """
    first = text[at]
    if first == 34:
        return STRING, _past_string(text, words, at + 1, end, high, field < 0)
    if first == 45 or 48 <= first <= 57:
        return _past_number(text, at, end)
    if first == 116 and is_word(text, at, end, 114, 117, 101):
        return TRUE, at + 4
    if first == 110 and is_word(text, at, end, 117, 108, 108):
        return NULL, at + 4
    if first == 102 and at + 1 < end and text[at + 1] == 97 and is_word(text, at + 1, end, 108, 115, 101):
        return FALSE, at + 5
    if first == 123 and field >= 0:
        return OBJECT, at + 1
    if (first == 123 or first == 91) and field < 0:
        return OTHER, skipped_nest(text, words, at, end, high)
    return OTHER, -1


@bare_kernel
def find_members(
    text: NDArray[np.uint8],
    words: NDArray[np.int64],
    ends: NDArray[np.int64],
    most: int,
    high: int,
    labels: NDArray[np.int64],
    slots: NDArray[np.int64],
    tables: NDArray[np.int64],
    inner: NDArray[np.int64],
    above: NDArray[np.int64],
    following: NDArray[np.int64],
    forms: NDArray[np.int8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    plain: NDArray[np.bool_],
) -> None:
    """Find the declared fields of n records that lie one behind the other with a byte between.

    Parameters
    ----------
    text, words
        uint8, int64: the records, see `words`.
    ends
        int64[n].
    most
        Bytes of a record beyond which it is left.
    high
        See `words.past_plain`.
    labels, slots, tables
        See `ScanTables`.
    inner
        int64[fields]: the table of the keys within a field, -1 if it is no parent of others.
    above
        int64[parents of a field at most]: room.
    following
        int64[fields + 1], -1 at first: the slot of the key that came after each field's the last time, to be tried
        first; at the end that of the first key, or the one after an undeclared one.
    forms, starts, stops
        int8, int64, int64[fields, n], written; forms must be `ABSENT` before.
    plain
        bool[n], written: whether the record was read to its end.
    """
    outermost = len(tables) - 1
    start_of_next = 0
    for i in range(len(ends)):
        at, end = start_of_next, ends[i]
        start_of_next = end + 1
        last = -1
        plain[i] = False
        if end - at > most:
            continue
        at = past_blanks(text, at, end)
        if at >= end or text[at] != 123:
            continue
        depth, table = 0, outermost
        at = past_blanks(text, at + 1, end)
        closing = at < end and text[at] == 125  # an object without members
        while True:
            if not closing:
                # 1. The key.
                if at >= end or text[at] != 34:
                    break
                start = at + 1
                base, mask = tables[table, 0], tables[table, 1]
                slot = following[last]
                if base <= slot <= base + mask and is_at(text, words, start, end, slot, slots, labels):
                    at = start + slots[slot, 0]
                else:
                    at = _past_string(text, words, start, end, high, False)
                    if at < 0:
                        break
                    slot = look_up(words, start, at - start, base, mask, slots, labels)
                    following[last] = slot
                field = slots[slot, 2] if slot >= 0 else -1
                last = field
                at = past_blanks(text, at + 1, end)
                if at >= end or text[at] != 58:
                    break
                at = past_blanks(text, at + 1, end)
                if at >= end:
                    break
                # 2. The value.
                start = at
                form, at = _past_value(text, words, at, end, high, field)
                if at < 0:
                    break
                quotes = 1 if form == STRING else 0
                if field >= 0:
                    if forms[field, i] != ABSENT or form == OTHER:
                        break
                    forms[field, i], starts[field, i], stops[field, i] = form, start + quotes, at
                    if (form == OBJECT) != (inner[field] >= 0) and not (form == NULL and inner[field] >= 0):
                        break
                    if form == OBJECT:
                        above[depth] = table
                        depth += 1
                        table = inner[field]
                        at = past_blanks(text, at, end)
                        closing = at < end and text[at] == 125
                        continue
                at += quotes
            # 3. What follows.
            closing = False
            at = past_blanks(text, at, end)
            while depth > 0 and at < end and text[at] == 125:
                at = past_blanks(text, at + 1, end)
                depth -= 1
                table = above[depth]
            if at >= end:
                break
            if text[at] == 125:
                plain[i] = past_blanks(text, at + 1, end) == end
                break
            if text[at] != 44:
                break
            at = past_blanks(text, at + 1, end)
