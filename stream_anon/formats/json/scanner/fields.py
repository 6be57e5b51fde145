"""From the spans of a field's values to its column: one kernel for each kind of field.

Everywhere `words` is as in `lexing`, and `spans` are those of a field's values. `plain` is bool[n] and written: a
record with a value that does not fit is no longer plain. Odd values are left to `odd_values`; a kernel writes
something for them that nobody reads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.json.scanner import tables as t
from stream_anon.formats.json.scanner.forms import (
    ABSENT,
    DECIMAL,
    FALSE,
    INTEGER,
    NULL,
    ODD,
    STRING,
    TRUE,
    FieldSpans,
)
from stream_anon.formats.json.scanner.letters import DIGIT_0, MINUS, POINT
from stream_anon.formats.json.scanner.lexing import LabelTables, look_up
from stream_anon.formats.json.scanner.tables import MOST_UNITS
from stream_anon.microdata.keys import span_key

_TABLE, _MISSING, _UNKNOWN = t.TABLE, t.MISSING, t.UNKNOWN
_LOW, _HIGH, _STEP, _DECIMALS, _WHOLE, _CELLS = t.LOW, t.HIGH, t.STEP, t.DECIMALS, t.WHOLE, t.CELLS
_LENGTH, _KEEP, _BASE, _LEAST, _PAD = t.LENGTH, t.KEEP, t.BASE, t.LEAST, t.PAD
_PASS_STRING, _PASS_INTEGER = t.PASS_STRING, t.PASS_INTEGER
_PASS_NUMBER, _PASS_BOOLEAN = t.PASS_NUMBER, t.PASS_BOOLEAN
_NULL = b"null"
_NULL_WORD = int.from_bytes(_NULL, "little")
_NULL_LENGTH = len(_NULL)


@checked_kernel
def category_codes(
    words: NDArray[np.int64],
    spans: FieldSpans,
    field: NDArray[np.int64],
    texts_only: bool,
    labels: LabelTables,
    codes: NDArray[np.int32],
    plain: NDArray[np.bool_],
) -> None:
    """Write codes of categories; a whole number or a truth value counts as its JSON text.

    Parameters
    ----------
    field
        int64[12], see `scan_tables`.
    texts_only
        Whether to leave values that are no strings.
    codes
        int32[n], written.
    """
    for i in range(len(spans.forms)):
        form, code = spans.forms[i], -1
        if form == ABSENT or form == NULL:
            code = field[_MISSING]
        elif form == ODD:
            code = 0
        elif form == STRING or (form != DECIMAL and not texts_only):
            slot = look_up(words, spans.starts[i], spans.stops[i] - spans.starts[i], field[_TABLE], labels)
            code = labels.slots[slot, 2] if slot >= 0 else field[_UNKNOWN]
        codes[i] = code
        plain[i] &= code >= 0


@checked_inlined
def units_of(text: NDArray[np.uint8], start: int, stop: int, wanted: int) -> tuple[int, bool]:
    """Return the number at text[start:stop] in units of 10**-wanted, rounded down, and whether it is finer."""
    negative = text[start] == MINUS
    number, decimals, point = np.int64(0), 0, 0
    for at in range(start + negative, stop):
        if text[at] == POINT:
            point = 1
        else:
            number = number * 10 + np.int64(text[at]) - DIGIT_0
            decimals += point
    if negative:
        number = -number
    scale = 1
    for _ in range(abs(wanted - decimals)):
        scale *= 10
    if decimals > wanted:
        units = number // scale
        return int(units), bool(units * scale != number)
    if abs(number) > MOST_UNITS // scale:  # beyond any range
        return 2 * MOST_UNITS if number > 0 else -2 * MOST_UNITS, False
    return int(number * scale), False


@checked_kernel
def number_codes(
    text: NDArray[np.uint8],
    spans: FieldSpans,
    field: NDArray[np.int64],
    codes: NDArray[np.int32],
    plain: NDArray[np.bool_],
) -> None:
    """Write the cells of numbers.

    A decimal of at most 15 digits is the shortest one for its float, so it is exactly what was meant.
    """
    for i in range(len(spans.forms)):
        form, code = spans.forms[i], -1
        if form == ABSENT or form == NULL:
            code = field[_MISSING]
        elif form == ODD:
            code = 0
        elif form == INTEGER or form == DECIMAL:
            units, finer = units_of(text, spans.starts[i], spans.stops[i], field[_DECIMALS])
            if units < field[_LOW] or units > field[_HIGH] or (units == field[_HIGH] and finer):
                code = field[_UNKNOWN]
            elif not (finer and field[_WHOLE] > 0):
                code = min((units - field[_LOW]) // field[_STEP], field[_CELLS] - 1)
        codes[i] = code
        plain[i] &= code >= 0


@checked_kernel
def prefix_codes(
    text: NDArray[np.uint8],
    spans: FieldSpans,
    field: NDArray[np.int64],
    letters: NDArray[np.int16],
    codes: NDArray[np.int32],
    plain: NDArray[np.bool_],
) -> None:
    """Write codes of texts; if the policy says so, a whole number gets back its lost leading zeros.

    Parameters
    ----------
    letters
        int16[256], see `ScanTables`.
    """
    for i in range(len(spans.forms)):
        form, code = spans.forms[i], -1
        if form == ABSENT or form == NULL:
            code = field[_MISSING]
        elif form == ODD:
            code = 0
        elif form == STRING or (form == INTEGER and text[spans.starts[i]] != MINUS):
            width = spans.stops[i] - spans.starts[i]
            lead = max(0, field[_LENGTH] - width) if form == INTEGER and field[_PAD] > 0 else 0
            known = field[_LEAST] <= lead + width <= field[_LENGTH]
            code = 0
            for place in range(field[_LENGTH] if known else 0):
                letter = 0  # the end of a shorter text
                if place < lead:
                    letter = letters[DIGIT_0]
                elif place < lead + width:
                    letter = letters[text[spans.starts[i] + place - lead]]
                known &= letter >= 0
                if place < field[_KEEP]:
                    code = code * field[_BASE] + letter
            if not known:
                code = field[_UNKNOWN]
        codes[i] = code
        plain[i] &= code >= 0


@checked_kernel
def individual_keys(
    words: NDArray[np.int64],
    spans: FieldSpans,
    process_key: NDArray[np.int64],
    keys: NDArray[np.int64],
    plain: NDArray[np.bool_],
) -> None:
    """Write the keys of ids: `1` and `"1"` have the same bytes and are one person; int64[n]."""
    for i in range(len(spans.forms)):
        form = spans.forms[i]
        sound = form == INTEGER or (form == STRING and spans.stops[i] > spans.starts[i])
        plain[i] &= sound or form == ODD
        if sound:
            keys[i] = span_key(words, spans.starts[i], spans.stops[i], process_key[0], process_key[1])


@checked_kernel
def value_keys(
    words: NDArray[np.int64],
    spans: FieldSpans,
    process_key: NDArray[np.int64],
    others: NDArray[np.int64],
    keys: NDArray[np.int64],
) -> None:
    """Write the keys of sensitive values.

    Parameters
    ----------
    others
        int64[3], the keys of missing, of true and of false.
    keys
        int64[n], written.
    """
    for i in range(len(spans.forms)):
        if spans.forms[i] == ABSENT or spans.forms[i] == NULL:
            keys[i] = others[0]
        elif spans.forms[i] == TRUE:
            keys[i] = others[1]
        elif spans.forms[i] == FALSE:
            keys[i] = others[2]
        else:
            keys[i] = span_key(words, spans.starts[i], spans.stops[i], process_key[0], process_key[1])


@checked_kernel
def judge_passing(
    text: NDArray[np.uint8],
    spans: FieldSpans,
    kind: int,
    plain: NDArray[np.bool_],
) -> None:
    """Keep records plain whose value has the bytes that the encoder would write for it, or is odd.

    No byte passes unread: every value was read in full and has the declared type, and there is only one way to
    write it. A string without escapes holds nothing that must be escaped. An integer has no leading zero, and zero
    has no sign. A decimal of at most 15 digits without a trailing zero is the shortest one for its float. From
    0.001 up it is written without an exponent; a smaller one is odd.

    Parameters
    ----------
    spans
        The forms are written: values that are odd only here.
    """
    for i in range(len(spans.forms)):
        form = spans.forms[i]
        if form == ABSENT or form == NULL or form == ODD:
            sound = True
        elif kind == _PASS_STRING:
            sound = form == STRING
        elif kind == _PASS_INTEGER or form == INTEGER:
            sound = form == INTEGER and (kind == _PASS_INTEGER or kind == _PASS_NUMBER)
        elif kind == _PASS_NUMBER and form == DECIMAL:
            units, finer = units_of(text, spans.starts[i], spans.stops[i], 3)
            sound = True
            if units <= 0 and units + finer >= 0:
                spans.forms[i] = ODD
        else:
            sound = kind == _PASS_BOOLEAN and (form == TRUE or form == FALSE)
        plain[i] &= sound


@checked_kernel
def copy_passing(
    words: NDArray[np.int64],
    spans: FieldSpans,
    plain: NDArray[np.bool_],
    copied: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """Copy the passing values without gaps; return the number of bytes.

    Parameters
    ----------
    spans
        Of p fields, at least 1.
    copied
        The words of a text with room for all values, eight bytes more and `null` for each that is missing.
    ends
        int64[m, p], written: where each value of the m plain records ends.
    """
    row, filled = 0, 0
    for i in range(len(plain)):
        if not plain[i]:
            continue
        for field in range(len(spans.forms)):
            form = spans.forms[field, i]
            if form == ABSENT or form == NULL:
                copied[filled] = _NULL_WORD
                filled += _NULL_LENGTH
            else:
                # Eight bytes at once, perhaps some too many; the next value overwrites them.
                quotes = 1 if form == STRING else 0
                at, stop = spans.starts[field, i] - quotes, spans.stops[field, i] + quotes
                place = filled
                while at < stop:
                    copied[place] = words[at]
                    at += 8
                    place += 8
                filled += stop - spans.starts[field, i] + quotes
            ends[row, field] = filled
        row += 1
    return filled
