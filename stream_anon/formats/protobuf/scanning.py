"""Find the fields of a message in its bytes: which stands where, without a look at what they hold.

A field that the program does not know is skipped by its form, as Protobuf skips any field that its schema lacks. So
is one whose value has another form than the program says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.protobuf import opcodes as op
from stream_anon.formats.unwrapping import FITS
from stream_anon.formats.writing.text_buffer import MALFORMED, MOST_LEVELS, TOO_DEEP, BodyBytes
from stream_anon.formats.writing.varints import read_varint

PART_COLUMNS = 4

# The program's columns and operations, as constants of the kernel.
_NUMBER, _OPERATION, _FORM, _OFTEN, _TWIN = op.NUMBER, op.OPERATION, op.FORM, op.OFTEN, op.TWIN
_FIRST, _SECOND = op.FIRST, op.SECOND
_KIND, _FIRST_FIELD, _FIELDS, _ENTRY = op.KIND, op.FIRST_FIELD, op.FIELDS, op.ENTRY
_VARINT, _FIXED_64, _LENGTH = op.VARINT, op.FIXED_64, op.LENGTH
_GROUP, _END_GROUP, _FIXED_32 = op.GROUP, op.END_GROUP, op.FIXED_32
_ONE, _MANY, _MESSAGE, _CLOSED_ENUM, _IGNORED = op.ONE, op.MANY, op.MESSAGE, op.CLOSED_ENUM, op.IGNORED

_MOST_TAG, _MOST_LENGTH = 2**32 - 1, 2**31 - 1
_MOST_SHORT = 5  # bytes of a number of 32 bits
_LOWER_HALF, _SIGN_32 = 2**32 - 1, 2**31


class Workspace(NamedTuple):
    """What is known of a body while it is walked.

    Parameters
    ----------
    frames
        int64[`MOST_LEVELS`, `walking.FRAME_COLUMNS`]: where the walk is in the messages that are open.
    slots
        int64[]: two of each field of a message, from its base on. They are the start and the stop of the last
        value, or the first and the last part of a message, a list or a map. The first is -1 where there is none.
    parts
        int64[p, `PART_COLUMNS`]: start, stop, the next part of the same field, -1 for none, and the form. There is
        one for every two bytes of the longest body, and two.
    scratch
        int64[`numbers.SCRATCH`], at least `MOST_LEVELS`: the groups that are open, and the digits of a decimal.
    """

    frames: NDArray[np.int64]
    slots: NDArray[np.int64]
    parts: NDArray[np.int64]
    scratch: NDArray[np.int64]


@checked_inlined
def _read_short(text: NDArray[np.uint8], at: int, stop: int, most: int) -> tuple[int, int]:
    """Return a tag or a length of at most `most`, and the place behind it, -1 if it is none."""
    number, at = read_varint(text, at, min(stop, at + _MOST_SHORT))
    return number, at if number <= most else -1


@checked_inlined
def signed_32(number: int) -> int:
    """Return the number that the lower 32 bits are."""
    return ((number & _LOWER_HALF) ^ _SIGN_32) - _SIGN_32


@checked_inlined
def place_in(tables: NDArray[np.int64], first: int, count: int, number: int) -> int:
    """Return the place of an enum's number in the tables, -1 if it has no such number."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if tables[first + 3 * middle] < number:
            low = middle + 1
        else:
            high = middle
    return int(first + 3 * low) if low < count and tables[first + 3 * low] == number else -1


@checked_inlined
def has_symbol(
    text: NDArray[np.uint8], at: int, stop: int, field: NDArray[np.int64], tables: NDArray[np.int64]
) -> bool:
    """Tell whether the enum of a field has the number that stands at a place."""
    number, _ = read_varint(text, at, stop)
    return place_in(tables, field[_FIRST], field[_SECOND], signed_32(number)) >= 0


@checked_inlined
def _past_value(text: NDArray[np.uint8], at: int, stop: int, form: int) -> tuple[int, int]:
    """Return where a value that is no group begins, without its length, and where it ends, -1 if it is none."""
    start = at
    if form == _VARINT:
        _, at = read_varint(text, at, stop)
    elif form == _LENGTH:
        length, start = _read_short(text, at, stop, _MOST_LENGTH)
        at = start + length if start >= 0 and length <= stop - start else -1
    elif form == _FIXED_64 or form == _FIXED_32:
        size = 8 if form == _FIXED_64 else 4
        at = at + size if size <= stop - at else -1
    else:
        at = -1
    return start, at


@checked_kernel
def _past_group(
    text: NDArray[np.uint8], at: int, stop: int, number: int, open_groups: NDArray[np.int64]
) -> tuple[int, int]:
    """Return where what a group holds ends, and the place behind the group; -1 or, if it is too deep, -2."""
    depth = 0
    open_groups[0] = number
    while True:
        end = at
        tag, at = _read_short(text, at, stop, _MOST_TAG)
        if at < 0 or tag < 8:
            return 0, -1
        form = tag & 7
        if form == _GROUP:
            depth += 1
            if depth == MOST_LEVELS:
                return 0, -2
            open_groups[depth] = tag >> 3
        elif form == _END_GROUP:
            if open_groups[depth] != tag >> 3:
                return 0, -1
            depth -= 1
            if depth < 0:
                return end, at
        else:
            _, at = _past_value(text, at, stop, form)
            if at < 0:
                return 0, -1


@checked_inlined
def _field_of(fields: NDArray[np.int64], first: int, end: int, number: int, guess: int) -> int:
    """Return the place of a field, -1 if the program does not know it; `guess` is looked at first."""
    if guess < end and fields[guess, _NUMBER] == number:
        return guess
    if guess + 1 < end and fields[guess + 1, _NUMBER] == number:
        return guess + 1
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        if fields[middle, _NUMBER] < number:
            low = middle + 1
        else:
            high = middle
    return low if low < end and fields[low, _NUMBER] == number else -1


@checked_kernel
def scan(
    bodies: BodyBytes,
    at: int,
    stop: int,
    program: op.Program,
    message: int,
    work: Workspace,
    base: int,
    used: int,
) -> tuple[int, int]:
    """Add what stands in a stretch of a message to what is known of it; return the outcome, and the parts used.

    Parameters
    ----------
    at, stop
        The stretch. A message that is written in several of them is what they are one behind the other.
    message
        Its place in the program. An entry of a map keeps a number that its enum does not have.
    base
        Where its slots begin.
    used
        How many parts there are.
    """
    text, fields, slots, parts = bodies.text, program.fields, work.slots, work.parts
    told = program.messages[message]
    first, count, is_entry = told[_FIRST_FIELD], told[_FIELDS], told[_KIND] == _ENTRY
    guess, end = first, first + count
    while at < stop:
        tag, at = _read_short(text, at, stop, _MOST_TAG)
        if at < 0 or tag < 8:
            return MALFORMED, used
        number, form = tag >> 3, tag & 7
        # 1. Which field it is.
        field = _field_of(fields, first, end, number, guess)
        if field >= 0:
            guess = field
            told = fields[field]
            own = told[_FORM]
            if form != own and not (form == _LENGTH and told[_OFTEN] == _MANY and own != _LENGTH and own != _GROUP):
                field = -1
        # 2. Where its value stands.
        if form == _GROUP:
            start = at
            place, at = _past_group(text, at, stop, number, work.scratch)
            if at < 0:
                return TOO_DEEP if at == -2 else MALFORMED, used
        else:
            start, place = _past_value(text, at, stop, form)
            if place < 0:
                return MALFORMED, used
            at = place
        if field < 0:
            continue
        # 3. What becomes of it.
        told = fields[field]
        operation, often = told[_OPERATION], told[_OFTEN]
        is_closed = operation == _CLOSED_ENUM or (operation == _IGNORED and told[_SECOND] > 0)
        is_single_enum = is_closed and often == _ONE and not is_entry
        if is_single_enum and not has_symbol(text, start, place, told, program.tables):
            continue
        twin = told[_TWIN]
        while twin >= 0 and twin != field:
            slots[base + 2 * (twin - first)] = -1
            twin = fields[twin, _TWIN]
        slot = base + 2 * (field - first)
        if operation == _IGNORED:
            continue
        if often == _ONE and operation != _MESSAGE:
            slots[slot], slots[slot + 1] = start, place
            continue
        piece = parts[used]
        piece[3], piece[2], piece[1], piece[0] = form, -1, place, start
        if slots[slot] < 0:
            slots[slot] = used
        else:
            parts[slots[slot + 1], 2] = used
        slots[slot + 1] = used
        used += 1
    return FITS, used
