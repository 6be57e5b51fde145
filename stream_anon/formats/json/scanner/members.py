"""Find the members of plain records: one pass over the bytes of a batch, without the interpreter lock.

It takes objects that hold each declared key at most once, and leaves everything else to the reader of single
records. So it never says why a record does not fit.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.json.scanner.forms import (
    ABSENT,
    FALSE,
    LIST,
    NEST,
    NULL,
    OBJECT,
    ODD,
    OTHER,
    STRING,
    TRUE,
    FieldSpans,
)
from stream_anon.formats.json.scanner.letters import (
    BACKSLASH,
    CLOSE_BRACE,
    COLON,
    COMMA,
    DIGIT_0,
    DIGIT_9,
    MINUS,
    OPEN_BRACE,
    OPEN_BRACKET,
    QUOTE,
)
from stream_anon.formats.json.scanner.lexing import (
    LabelTables,
    is_at,
    is_word,
    look_up,
    past_blanks,
    past_number,
    past_plain,
)
from stream_anon.formats.json.scanner.skipping import (
    FALSE_WORD,
    KEY_ROOM,
    NULL_WORD,
    TRUE_WORD,
    skipped_nest,
    skipped_text,
    unescaped_key,
)
from stream_anon.formats.json.scanner.tables import MOST_PARENTS, WHOLE_VALUE
from stream_anon.microdata.keys import PADDING, padded_words, tail_bits


@checked_inlined
def _past_string(text: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int) -> tuple[int, bool]:
    """Return where the closing quote of a string stands, -1 if it is none, and whether it holds escapes."""
    at = past_plain(words, at, end)
    if at < end and text[at] == QUOTE:
        return at, False
    if at < end and text[at] == BACKSLASH:
        return skipped_text(text, words, at, end), True
    return -1, False


@checked_inlined
def _past_value(
    text: NDArray[np.uint8], words: NDArray[np.int64], at: int, end: int, field: int
) -> tuple[int, int, int, int]:
    """Return a value's form, its span (see `forms`), and the place behind it; -1 if there is none or it is left.

    For an object that may hold declared fields, the place is where its members begin.
    """
    start, first = at, text[at]
    if first == QUOTE:
        at, escaped = _past_string(text, words, at + 1, end)
        if at < 0:
            return OTHER, start, start, -1
        if escaped:
            return ODD, start, at + 1, at + 1
        return STRING, start + 1, at, at + 1
    if first == MINUS or DIGIT_0 <= first <= DIGIT_9:
        form, stop, at = past_number(text, at, end)
        return form, start, stop, at
    if is_word(words, at, end, TRUE_WORD, 4):
        return TRUE, start, at + 4, at + 4
    if is_word(words, at, end, NULL_WORD, 4):
        return NULL, start, at + 4, at + 4
    if is_word(words, at, end, FALSE_WORD, 5):
        return FALSE, start, at + 5, at + 5
    if first == OPEN_BRACE and field >= 0:
        return OBJECT, start, at + 1, at + 1
    if (first == OPEN_BRACE or first == OPEN_BRACKET) and field < 0:
        at = skipped_nest(text, words, at, end)
        return OTHER, start, at, at
    return OTHER, start, start, -1


@checked_inlined
def _stands_again(words: NDArray[np.int64], at: int, end: int, start: int, stop: int) -> bool:
    """Tell whether the bytes from `start` to `stop`, at least one, stand at `at` again."""
    if start >= stop or at + stop - start > end:
        return False
    while start + 8 <= stop:
        if words[at] != words[start]:
            return False
        at += 8
        start += 8
    return bool(((words[at] ^ words[start]) & tail_bits(stop - start)) == 0)


class KeyReading(NamedTuple):
    """How the keys of records lead to their fields, and what is remembered meanwhile.

    Parameters
    ----------
    inner
        int64[fields]: the table of the keys within a field, -1 if it is no parent of others, `LIST` of a list,
        `WHOLE_VALUE` if its arrays and objects are taken as they stand.
    last_whole
        int64[fields, 2], 0 at first: where the array or object stood that was taken last for each field. If the
        same bytes stand there again, as a schema does beside each record, they are not read again.
    above
        int64[parents of a field at most]: room.
    following
        int64[fields + 1], -1 at first: the slot of the key that came after each field's the last time, to be tried
        first; at the end that of the first key, or the one after an undeclared one.
    key, key_words
        uint8[], int64[]: room for a key without its escapes, see `unescaped_key`.
    """

    inner: NDArray[np.int64]
    last_whole: NDArray[np.int64]
    above: NDArray[np.int64]
    following: NDArray[np.int64]
    key: NDArray[np.uint8]
    key_words: NDArray[np.int64]

    @classmethod
    def of(cls, inner: NDArray[np.int64], longest: int) -> Self:
        """Return what is known before the first record, for keys of at most so many bytes."""
        key = np.zeros(longest + KEY_ROOM + len(PADDING), np.uint8)
        return cls(
            inner,
            np.zeros((len(inner), 2), np.int64),
            np.empty(MOST_PARENTS, np.int64),
            np.full(len(inner) + 1, -1),
            key[: -len(PADDING)],
            padded_words(key),
        )


@checked_kernel
def find_members(
    text: NDArray[np.uint8],
    words: NDArray[np.int64],
    ends: NDArray[np.int64],
    most: int,
    labels: LabelTables,
    keys: KeyReading,
    spans: FieldSpans,
    plain: NDArray[np.bool_],
) -> None:
    """Find the declared fields of n records that follow each other with one byte between them.

    Parameters
    ----------
    text, words
        uint8, int64: the records, see `lexing`.
    ends
        int64[n].
    most
        The most bytes of a record; larger ones are left.
    labels, keys
        The declared keys.
    spans
        Of all fields, written; forms must be `ABSENT` before.
    plain
        bool[n], written: whether the record was read to its end.
    """
    forms, starts, stops = spans
    inner, last_whole, above, following, key, key_words = keys
    outermost = len(labels.tables) - 1
    start_of_next = 0
    for i in range(len(ends)):
        at, end = start_of_next, ends[i]
        start_of_next = end + 1
        last = -1
        plain[i] = False
        if end - at > most:
            continue
        at = past_blanks(text, at, end)
        if at >= end or text[at] != OPEN_BRACE:
            continue
        depth, table = 0, outermost
        at = past_blanks(text, at + 1, end)
        closing = at < end and text[at] == CLOSE_BRACE  # an object without members
        while True:
            if not closing:
                # 1. The key.
                if at >= end or text[at] != QUOTE:
                    break
                start = at + 1
                base, mask = labels.tables[table, 0], labels.tables[table, 1]
                slot = following[last]
                if base <= slot <= base + mask and is_at(text, words, start, end, slot, labels):
                    at = start + labels.slots[slot, 0]
                else:
                    at, escaped = _past_string(text, words, start, end)
                    if at < 0:
                        break
                    if escaped:
                        length = unescaped_key(text, start, at, key)
                        slot = look_up(key_words, 0, length, table, labels) if length >= 0 else -1
                    else:
                        slot = look_up(words, start, at - start, table, labels)
                    following[last] = slot
                field = labels.slots[slot, 2] if slot >= 0 else -1
                last = field
                at = past_blanks(text, at + 1, end)
                if at >= end or text[at] != COLON:
                    break
                at = past_blanks(text, at + 1, end)
                if at >= end:
                    break
                # 2. The value.
                many = field >= 0 and inner[field] == LIST
                whole = field >= 0 and inner[field] == WHOLE_VALUE
                if whole and _stands_again(words, at, end, last_whole[field, 0], last_whole[field, 1]):
                    form, start = NEST, at
                    at += last_whole[field, 1] - last_whole[field, 0]
                    stop = at
                else:
                    form, start, stop, at = _past_value(text, words, at, end, -1 if whole or many else field)
                    if at < 0:
                        break
                    if whole and form == OTHER:
                        form = NEST
                        last_whole[field, 0], last_whole[field, 1] = start, stop
                    elif many and form == OTHER and text[start] == OPEN_BRACKET:
                        form = ODD
                if field >= 0:
                    if forms[field, i] != ABSENT or form == OTHER:
                        break
                    forms[field, i], starts[field, i], stops[field, i] = form, start, stop
                    if (form == OBJECT) != (inner[field] >= 0) and not (form == NULL and inner[field] >= 0):
                        break
                    if form == OBJECT:
                        above[depth] = table
                        depth += 1
                        table = inner[field]
                        at = past_blanks(text, at, end)
                        closing = at < end and text[at] == CLOSE_BRACE
                        continue
            # 3. What follows.
            closing = False
            at = past_blanks(text, at, end)
            while depth > 0 and at < end and text[at] == CLOSE_BRACE:
                at = past_blanks(text, at + 1, end)
                depth -= 1
                table = above[depth]
            if at >= end:
                break
            if text[at] == CLOSE_BRACE:
                plain[i] = past_blanks(text, at + 1, end) == end
                break
            if text[at] != COMMA:
                break
            at = past_blanks(text, at + 1, end)
