"""Walk Avro bodies by a program and write what they mean as JSON, without the interpreter's lock.

Every length is compared with the bytes that are left before it is used. A record may be nested `MOST_LEVELS` deep.
It takes at most `STEPS_A_BYTE` steps for each of its bytes, and `_FREE_STEPS`: values that take no bytes, such as
2**60 nulls in an array, end there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_kernel
from stream_anon.formats.avro import opcodes as op
from stream_anon.formats.avro.lexing import read_long
from stream_anon.formats.unwrapping import FITS
from stream_anon.formats.writing.copying import copied
from stream_anon.formats.writing.fractions import is_finite, put_fraction
from stream_anon.formats.writing.literals import put_boolean, put_unreadable
from stream_anon.formats.writing.numbers import (
    MOST_DECIMAL,
    little_end,
    put_day,
    put_decimal,
    put_integer,
    put_moment,
    put_time,
    put_uuid,
)
from stream_anon.formats.writing.strings import is_utf8
from stream_anon.formats.writing.text_buffer import (
    FILLED,
    FRACTIONS,
    MALFORMED,
    MOST_LEVELS,
    NO_ROOM,
    NOT_UTF8,
    TOO_DEEP,
    TOO_LARGE,
    UNREAD,
    VALUE_ROOM,
    BodyBytes,
    TextBuffer,
    TextLimits,
    end_row,
    has_next,
    next_body,
    put_text,
)

STEPS_A_BYTE = 16
_FREE_STEPS = 1_024  # any record's, as for declared fields that are null by their type
STACK = 2 * (MOST_LEVELS + 1)

# The program's columns and operations, as constants of the kernel.
_OPERATION, _WRITTEN, _FIRST, _SECOND = op.OPERATION, op.WRITTEN, op.FIRST, op.SECOND
_TEXT_START, _TEXT_STOP, _NEXT = op.TEXT_START, op.TEXT_STOP, op.NEXT
_END, _CALL, _RETURN, _UNION, _ARRAY, _ITEM = op.END, op.CALL, op.RETURN, op.UNION, op.ARRAY, op.ITEM
_BOOLEAN, _INT, _LONG, _FLOAT, _DOUBLE = op.BOOLEAN, op.INT, op.LONG, op.FLOAT, op.DOUBLE
_BYTES, _STRING, _FIXED, _ENUM, _DAY = op.BYTES, op.STRING, op.FIXED, op.ENUM, op.DAY
_TIME, _MOMENT, _LOCAL_MOMENT, _DECIMAL, _UUID = op.TIME, op.MOMENT, op.LOCAL_MOMENT, op.DECIMAL, op.UUID

_LEAST_INT, _MOST_INT = -(2**31), 2**31 - 1
_MILLIS = 3  # digits: a time of day that is an int, others are longs
_COMMA, _COLON = ord(","), ord(":")


@checked_kernel
def _walk(
    bodies: BodyBytes,
    at: int,
    stop: int,
    most: int,
    program: op.Program,
    stack: NDArray[np.int64],
    out: TextBuffer,
) -> int:
    """Write the text of the body from `at` to `stop` and advance the state if it is good; return its outcome."""
    text, words = bodies.text, bodies.words
    steps, tables, texts = program
    place, fractions = out.state[FILLED], out.state[FRACTIONS]
    end, capacity = place + most, len(out.words) - VALUE_ROOM
    budget = _FREE_STEPS + STEPS_A_BYTE * (stop - at + 1)
    pc, depth = np.int64(0), 0
    while True:
        start, behind = steps[pc, _TEXT_START], steps[pc, _TEXT_STOP]
        if place + behind - start > end:
            return TOO_LARGE
        if place + behind - start > capacity or fractions >= len(out.bits):
            return NO_ROOM
        budget -= 1
        if budget < 0:
            return TOO_LARGE
        if behind > start:
            place = copied(texts, start, behind, out.words, place)
        operation, written = steps[pc, _OPERATION], steps[pc, _WRITTEN]
        first, second = steps[pc, _FIRST], steps[pc, _SECOND]
        pc = steps[pc, _NEXT]
        if operation == _STRING or operation == _BYTES or (operation == _DECIMAL and second < 0):
            size, at = read_long(text, at, stop)
            if at < 0 or size < 0 or size > stop - at:
                return MALFORMED
            if operation == _STRING:
                if written == 0:
                    if not is_utf8(text, words, at, at + size):
                        return NOT_UTF8
                else:
                    place = put_text(bodies, at, at + size, out, place, end)
                    if place < 0:
                        return ~place
            elif operation == _DECIMAL and written:
                if place + MOST_DECIMAL > capacity:
                    return NO_ROOM
                place = put_decimal(text, at, at + size, first, stack[STACK:], out.text, place)
            at += size
        elif _INT <= operation <= _LONG or _DAY <= operation <= _LOCAL_MOMENT:
            number, at = read_long(text, at, stop)
            if at < 0:
                return MALFORMED
            is_int = operation == _INT or operation == _DAY or (operation == _TIME and second == _MILLIS)
            if is_int and not _LEAST_INT <= number <= _MOST_INT:
                return MALFORMED
            if written:
                if operation <= _LONG:
                    place = put_integer(number, out.text, place)
                elif operation == _DAY:
                    place = put_day(number, out.text, place)
                elif operation == _TIME:
                    place = put_time(number, first, second, out.text, place)
                else:
                    place = put_moment(number, first, second, operation == _MOMENT, out.text, place)
        elif operation == _UNION or operation == _ENUM:
            number, at = read_long(text, at, stop)
            if at < 0 or number < 0 or number >= second:
                return MALFORMED
            if operation == _UNION:
                pc = tables[first + number]
            elif written:
                start, behind = tables[first + 2 * number], tables[first + 2 * number + 1]
                if place + behind - start > end:
                    return TOO_LARGE
                if place + behind - start > capacity:
                    return NO_ROOM
                place = copied(texts, start, behind, out.words, place)
        elif operation == _BOOLEAN:
            if at >= stop or text[at] > 1:
                return MALFORMED
            if written:
                place = put_boolean(text[at], out.words, place)
            at += 1
        elif operation == _DOUBLE or operation == _FLOAT:
            is_short = 1 if operation == _FLOAT else 0
            size = 4 if is_short else 8
            if size > stop - at:
                return MALFORMED
            if written:
                number = little_end(text, at, size) if is_short else words[at]
                if is_finite(number, is_short):
                    place = put_fraction(number, is_short, out.words, place, out.bits, out.places, fractions)
                    fractions += 1
                else:
                    place = put_unreadable(out.text, place)
            at += size
        elif operation == _FIXED or operation == _UUID or operation == _DECIMAL:
            size = second if operation == _DECIMAL else first
            if size > stop - at:
                return MALFORMED
            if written and operation == _UUID:
                place = put_uuid(text, at, out.text, place)
            elif written and operation == _DECIMAL:
                if place + MOST_DECIMAL > capacity:
                    return NO_ROOM
                place = put_decimal(text, at, at + size, first, stack[STACK:], out.text, place)
            at += size
        elif operation == _CALL or operation == _ARRAY:
            if depth == MOST_LEVELS:
                return TOO_DEEP
            # Of a record where to go on; of an array the items that are left of a block, and whether one was read.
            stack[2 * depth] = pc if operation == _CALL else 0
            stack[2 * depth + 1] = 0
            depth += 1
            if operation == _CALL:
                pc = first
        elif operation == _RETURN:
            depth -= 1
            pc = stack[2 * depth]
        elif operation == _ITEM:
            left = stack[2 * depth - 2]
            if left == 0:
                left, at = read_long(text, at, stop)
                if at < 0:
                    return MALFORMED
                if left < 0:  # then the size of the block in bytes follows, for readers that skip it
                    _, at = read_long(text, at, stop)
                    left = -left
                    if at < 0 or left < 0:
                        return MALFORMED
            if left == 0:
                depth -= 1
                continue
            stack[2 * depth - 2] = left - 1
            if written and stack[2 * depth - 1]:
                out.text[place] = _COMMA
                place += 1
            stack[2 * depth - 1] = 1
            pc = first
            if second:
                size, at = read_long(text, at, stop)
                if at < 0 or size < 0 or size > stop - at:
                    return MALFORMED
                if written:
                    place = put_text(bodies, at, at + size, out, place, end)
                    if place < 0:
                        return ~place
                    out.text[place] = _COLON
                    place += 1
                elif not is_utf8(text, words, at, at + size):
                    return NOT_UTF8
                at += size
        elif operation == _END:
            break
    if at != stop:
        return MALFORMED
    if place > end:
        return TOO_LARGE
    out.state[FILLED], out.state[FRACTIONS] = place, fractions
    return FITS


@checked_kernel
def write_texts(
    bodies: BodyBytes, program: op.Program, stack: NDArray[np.int64], out: TextBuffer, limits: TextLimits
) -> None:
    """Write the JSON of n bodies from the state on, until all are written or the room is full.

    Parameters
    ----------
    stack
        int64[`STACK` + `numbers.SCRATCH`], written.
    """
    while has_next(bodies, out):
        at, stop, most, outcome = next_body(bodies, out, limits)
        if outcome == UNREAD:
            outcome = _walk(bodies, at, stop, most, program, stack, out)
        if outcome == NO_ROOM:
            return
        end_row(outcome, out)
