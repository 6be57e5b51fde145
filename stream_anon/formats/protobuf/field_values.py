"""How kernels write the values of Protobuf as JSON."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.protobuf import opcodes as op
from stream_anon.formats.protobuf.scanning import place_in, signed_32
from stream_anon.formats.writing.copying import copied
from stream_anon.formats.writing.fractions import is_finite, put_fraction
from stream_anon.formats.writing.literals import put_boolean, put_null, put_unreadable
from stream_anon.formats.writing.numbers import little_end, put_integer, put_unsigned
from stream_anon.formats.writing.text_buffer import (
    FRACTIONS,
    MALFORMED,
    NO_ROOM,
    TOO_LARGE,
    VALUE_ROOM,
    BodyBytes,
    TextBuffer,
    put_text,
)
from stream_anon.formats.writing.varints import read_varint

_INT_32, _INT_64, _UINT_32, _UINT_64 = op.INT_32, op.INT_64, op.UINT_32, op.UINT_64
_SINT_32, _SINT_64, _BOOLEAN, _NULL = op.SINT_32, op.SINT_64, op.BOOLEAN, op.NULL
_ENUM, _CLOSED_ENUM, _STRING, _BYTES = op.ENUM, op.CLOSED_ENUM, op.STRING, op.BYTES
_SIGNED_32, _FLOAT, _DOUBLE = op.FIXED_32_SIGNED, op.FLOAT, op.DOUBLE
_UNSIGNED_32, _UNSIGNED_64 = op.FIXED_32_UNSIGNED, op.FIXED_64_UNSIGNED

_OPERATION, _DEFAULT, _FIRST, _SECOND = op.OPERATION, op.DEFAULT, op.FIRST, op.SECOND
_ONE, _MAP, _LENGTH = op.ONE, op.MAP, op.LENGTH

_LOWER_HALF, _MOST_LONG = 2**32 - 1, 2**63 - 1
_QUOTE, _COMMA, _OPEN_BRACE, _CLOSE_BRACE, _OPEN_BRACKET, _CLOSE_BRACKET = (ord(letter) for letter in '",{}[]')


@checked_inlined
def number_in(text: NDArray[np.uint8], at: int, stop: int, operation: int) -> tuple[int, int]:
    """Return the number at a place, or the bits of a fraction, and the place behind it, -1 if it is none."""
    if operation < _UNSIGNED_32:
        number, at = read_varint(text, at, stop)
        if operation == _INT_32 or operation == _ENUM or operation == _CLOSED_ENUM:
            number = signed_32(number)
        elif operation == _UINT_32:
            number &= _LOWER_HALF
        elif operation == _SINT_32:
            number &= _LOWER_HALF
            number = (number >> 1) ^ -(number & 1)
        elif operation == _SINT_64:
            number = ((number >> 1) & _MOST_LONG) ^ -(number & 1)
        return number, at
    size = 4 if operation <= _FLOAT else 8
    if size > stop - at:
        return 0, -1
    number = little_end(text, at, size)
    return signed_32(number) if operation == _SIGNED_32 else number, at + size


@checked_inlined
def put_number(
    number: int, own: NDArray[np.int64], program: op.Program, out: TextBuffer, place: int, end: int
) -> int:
    """Write a number, a boolean or an enum; return the place behind it, or `~` of an outcome.

    Parameters
    ----------
    number
        What `number_in` returned.
    own
        The field.
    place
        Where it is written, with `VALUE_ROOM` bytes free.
    end
        Where the text of the record must end at the latest.
    """
    operation = own[_OPERATION]
    if operation == _ENUM or operation == _CLOSED_ENUM:
        tables = program.tables
        symbol = place_in(tables, own[_FIRST], own[_SECOND], number)
        if symbol >= 0:
            start, stop = tables[symbol + 1], tables[symbol + 2]
            if place + stop - start > end:
                return ~TOO_LARGE
            if place + stop - start > len(out.words) - VALUE_ROOM:
                return ~NO_ROOM
            return copied(program.texts, start, stop, out.words, place)
        return put_integer(number, out.text, place)
    if operation == _BOOLEAN:
        return put_boolean(number, out.words, place)
    if operation == _NULL:
        return put_null(out.words, place)
    if operation == _FLOAT or operation == _DOUBLE:
        is_short = 1 if operation == _FLOAT else 0
        if not is_finite(number, is_short):
            return put_unreadable(out.text, place)
        fractions = out.state[FRACTIONS]
        if fractions >= len(out.bits):
            return ~NO_ROOM
        place = put_fraction(number, is_short, out.words, place, out.bits, out.places, fractions)
        out.state[FRACTIONS] = fractions + 1
        return place
    if operation == _UINT_64 or operation == _UNSIGNED_64:
        return put_unsigned(number, out.text, place)
    return put_integer(number, out.text, place)


@checked_inlined
def put_nothing(often: int, out: TextBuffer, place: int) -> int:
    """Write an empty list or object, or null, for a value that is nothing; return the place behind it."""
    if often == _ONE:
        return put_null(out.words, place)
    out.text[place] = _OPEN_BRACE if often == _MAP else _OPEN_BRACKET
    out.text[place + 1] = _CLOSE_BRACE if often == _MAP else _CLOSE_BRACKET
    return place + 2


@checked_inlined
def put_single(
    bodies: BodyBytes,
    start: int,
    stop: int,
    own: NDArray[np.int64],
    program: op.Program,
    out: TextBuffer,
    place: int,
    end: int,
) -> int:
    """Write a value that is no message, its default if `start` is -1; see `put_number`."""
    operation = own[_OPERATION]
    if operation == _STRING:
        return put_text(bodies, max(start, 0), stop if start >= 0 else 0, out, place, end)
    if operation == _BYTES:
        return put_unreadable(out.text, place)
    number = own[_DEFAULT]
    if start >= 0:
        number, _ = number_in(bodies.text, start, stop, operation)
    return put_number(number, own, program, out, place, end)


@checked_kernel
def put_key(
    bodies: BodyBytes,
    start: int,
    stop: int,
    own: NDArray[np.int64],
    program: op.Program,
    out: TextBuffer,
    place: int,
    end: int,
) -> int:
    """Write the key of a map's entry as a string; see `put_single`."""
    if own[_OPERATION] == _STRING:
        return put_single(bodies, start, stop, own, program, out, place, end)
    out.text[place] = _QUOTE
    # No key is a fraction or an enum (`verifying.verify`): there is room for it.
    place = put_single(bodies, start, stop, own, program, out, place + 1, end)
    out.text[place] = _QUOTE
    return place + 1


@checked_kernel
def put_list(
    bodies: BodyBytes,
    part: int,
    parts: NDArray[np.int64],
    own: NDArray[np.int64],
    program: op.Program,
    out: TextBuffer,
    place: int,
    end: int,
) -> int:
    """Write a list of values that are no messages; return the place behind it, or `~` of an outcome.

    Parameters
    ----------
    part, parts
        The list's first part, and all parts; see `scanning.Workspace`.
    own, place, end
        See `put_number`.
    """
    text, operation = bodies.text, own[_OPERATION]
    out.text[place] = _OPEN_BRACKET
    head = place + 1
    place = head
    while part >= 0:
        at, stop = parts[part, 0], parts[part, 1]
        packed = parts[part, 3] == _LENGTH and operation != _STRING and operation != _BYTES
        begins = True
        while begins or (packed and at < stop):
            begins = False
            number = 0
            if operation == _STRING or operation == _BYTES:
                at, start = stop, at
            elif packed and at == stop:
                break
            else:
                start = at
                number, at = number_in(text, at, stop, operation)
                if at < 0:
                    return ~MALFORMED
                is_closed = operation == _CLOSED_ENUM
                if is_closed and place_in(program.tables, own[_FIRST], own[_SECOND], number) < 0:
                    continue
            if place > end:
                return ~TOO_LARGE
            if place + VALUE_ROOM > len(out.words):
                return ~NO_ROOM
            if place > head:
                out.text[place] = _COMMA
                place += 1
            if operation == _STRING:
                place = put_text(bodies, start, stop, out, place, end)
            elif operation == _BYTES:
                place = put_unreadable(out.text, place)
            else:
                place = put_number(number, own, program, out, place, end)
            if place < 0:
                return place
        part = parts[part, 2]
    out.text[place] = _CLOSE_BRACKET
    return place + 1
