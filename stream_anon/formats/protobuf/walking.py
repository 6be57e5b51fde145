"""Walk Protobuf bodies by a program and write what they mean as JSON, without the interpreter's lock.

A message is scanned first and then written: its fields may stand in any order, a later value takes the place of an
earlier one, and a message may come in several stretches. Every length is compared with the bytes that are left
before it is used. A record may be nested `MOST_LEVELS` deep, and takes a bounded number of steps a byte.
"""

from __future__ import annotations

from stream_anon.compiled import checked_kernel
from stream_anon.formats.protobuf import opcodes as op
from stream_anon.formats.protobuf.field_values import put_key, put_list, put_nothing, put_single
from stream_anon.formats.protobuf.scanning import Workspace, has_symbol, scan
from stream_anon.formats.protobuf.well_known_types import MOST_SPECIAL, put_special
from stream_anon.formats.unwrapping import FITS
from stream_anon.formats.writing.copying import copied
from stream_anon.formats.writing.text_buffer import (
    FILLED,
    FRACTIONS,
    MOST_LEVELS,
    NO_ROOM,
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
)

STEPS_A_BYTE = 64
FRAME_COLUMNS = 7

_MESSAGE_PLACE, _FIELD, _PART, _BASE, _USED, _WRITTEN, _ITEMS = range(FRAME_COLUMNS)

# The program's columns and operations, as constants of the kernel.
_KIND, _FIRST_FIELD, _FIELDS = op.KIND, op.FIRST_FIELD, op.FIELDS
_OPERATION, _OFTEN, _DEFAULT, _FIRST = op.OPERATION, op.OFTEN, op.DEFAULT, op.FIRST
_TEXT_START, _TEXT_STOP, _NO_DEFAULT = op.TEXT_START, op.TEXT_STOP, op.NO_DEFAULT
_OBJECT, _VALUE, _ENTRY = op.OBJECT, op.VALUE, op.ENTRY
_ONE, _MANY, _MAP = op.ONE, op.MANY, op.MAP
_CLOSED_ENUM, _MESSAGE, _IGNORED = op.CLOSED_ENUM, op.MESSAGE, op.IGNORED

_COMMA, _COLON = ord(","), ord(":")
_OPEN_BRACE, _CLOSE_BRACE, _OPEN_BRACKET, _CLOSE_BRACKET = (ord(letter) for letter in "{}[]")


@checked_kernel
def _walk(
    bodies: BodyBytes, at: int, stop: int, most: int, program: op.Program, work: Workspace, out: TextBuffer
) -> int:
    """Write the text of the body from `at` to `stop` and advance the state if it is good; return its outcome."""
    messages, fields = program.messages, program.fields
    frames, slots, parts = work.frames, work.slots, work.parts
    place, fractions = out.state[FILLED], out.state[FRACTIONS]
    end = place + most
    capacity = len(out.words) - VALUE_ROOM - MOST_SPECIAL
    budget = len(messages) + len(fields) + STEPS_A_BYTE * (stop - at + 1)
    parts[0, 0], parts[0, 1], parts[0, 2] = at, stop, -1
    depth, base, used = -1, 0, 1
    message, part, is_single, enters = 0, 0, False, True
    outcome = FITS
    while True:
        if place > end:
            outcome = TOO_LARGE
            break
        if place > capacity:
            outcome = NO_ROOM
            break
        if enters:
            # 1. A message begins: what is known of it, and where the next one's slots are.
            enters = False
            depth += 1
            if depth == MOST_LEVELS:
                outcome = TOO_DEEP
                break
            told = messages[message]
            kind, first, count = told[_KIND], told[_FIRST_FIELD], told[_FIELDS]
            budget -= count + 1
            if budget < 0:
                outcome = TOO_LARGE
                break
            for field in range(count):
                slots[base + 2 * field] = -1
            frame = frames[depth]
            frame[_ITEMS], frame[_WRITTEN] = 0, 0
            frame[_MESSAGE_PLACE], frame[_FIELD], frame[_PART] = message, first, -1
            frame[_BASE], frame[_USED] = base, used
            while part >= 0:
                piece = parts[part]
                outcome, used = scan(bodies, piece[0], piece[1], program, message, work, base, used)
                if outcome != FITS:
                    break
                part = -1 if is_single else piece[2]
            if outcome != FITS:
                break
            if kind == _OBJECT:
                out.text[place] = _OPEN_BRACE
                place += 1
            elif kind == _ENTRY:
                # An entry whose number its enum does not have is none.
                is_given_enum = fields[first + 1, _OPERATION] == _CLOSED_ENUM and slots[base + 2] >= 0
                if is_given_enum and not has_symbol(
                    bodies.text, slots[base + 2], slots[base + 3], fields[first + 1], program.tables
                ):
                    used = frames[depth, _USED]
                    depth -= 1
                    base = frames[depth, _BASE]
                    continue
                # No entry is the root (`verifying.verify`), so there is a frame below.
                if frames[depth - 1, _ITEMS] > 0:
                    out.text[place] = _COMMA
                    place += 1
                frames[depth - 1, _ITEMS] = 1
                place = put_key(bodies, slots[base], slots[base + 1], fields[first], program, out, place, end)
                if place < 0:
                    outcome = ~place
                    break
                out.text[place] = _COLON
                place += 1
                frames[depth, _FIELD] = first + 1
            elif kind != _VALUE:
                place = put_special(kind, bodies, work, base, out, place)
                frames[depth, _FIELD] = first + count
                frames[depth, _WRITTEN] = 1
        # 2. The message goes on: the next item of a list or a map of messages, or the next field.
        frame = frames[depth]
        told = messages[frame[_MESSAGE_PLACE]]
        kind, first = told[_KIND], told[_FIRST_FIELD]
        last = first + told[_FIELDS]
        base, field, part = frame[_BASE], frame[_FIELD], frame[_PART]
        if part >= 0:
            often = fields[field, _OFTEN]
            part = parts[part, 2]
            frames[depth, _PART] = part
            if part >= 0:
                if often == _MANY:
                    out.text[place] = _COMMA
                    place += 1
                message, is_single, enters = fields[field, _FIRST], True, True
                base += 2 * (last - first)
                continue
            out.text[place] = _CLOSE_BRACE if often == _MAP else _CLOSE_BRACKET
            place += 1
            field += 1
        while field < last:
            slot = base + 2 * (field - first)
            own = fields[field]
            operation, often = own[_OPERATION], own[_OFTEN]
            is_message = operation == _MESSAGE
            if operation == _IGNORED or (
                slots[slot] < 0 and own[_DEFAULT] == _NO_DEFAULT and not (kind == _ENTRY and is_message)
            ):
                field += 1
                continue
            start, width = own[_TEXT_START], own[_TEXT_STOP] - own[_TEXT_START]
            if place + width > min(capacity, end):
                outcome = TOO_LARGE if place + width > end else NO_ROOM
                break
            before, written = place, frame[_WRITTEN]
            if kind == _OBJECT:
                if written > 0:
                    out.text[place] = _COMMA
                    place += 1
                place = copied(program.texts, start, start + width, out.words, place)
            frame[_WRITTEN] = 1
            if is_message:
                frame[_FIELD] = field + 1
                message, part, is_single, enters = own[_FIRST], slots[slot], often != _ONE, True
                if often != _ONE:
                    out.text[place] = _OPEN_BRACE if often == _MAP else _OPEN_BRACKET
                    place += 1
                    frame[_FIELD], frame[_PART], frame[_ITEMS] = field, part, 0
                base += 2 * (last - first)
                break
            if often == _MANY:
                head = place
                place = put_list(bodies, slots[slot], parts, own, program, out, place, end)
                if place == head + 2:  # an empty list is no field
                    place, frame[_WRITTEN] = before, written
            else:
                place = put_single(bodies, slots[slot], slots[slot + 1], own, program, out, place, end)
            if place < 0:
                outcome = ~place
                break
            field += 1
        if outcome != FITS:
            break
        if enters:
            continue
        # 3. The message ends.
        if kind == _OBJECT:
            out.text[place] = _CLOSE_BRACE
            place += 1
        elif kind == _VALUE and frame[_WRITTEN] == 0:
            place = put_nothing(fields[first, _OFTEN] if last > first else _ONE, out, place)
        used = frame[_USED]
        depth -= 1
        if depth < 0:
            break
    outcome = TOO_LARGE if outcome == FITS and place > end else outcome
    if outcome == FITS:
        out.state[FILLED] = place
    else:
        out.state[FRACTIONS] = fractions
    return outcome


@checked_kernel
def write_texts(
    bodies: BodyBytes, program: op.Program, work: Workspace, out: TextBuffer, limits: TextLimits
) -> None:
    """Write the JSON of n bodies from the state on, until all are written or the room is full.

    A body without a byte is a message without a field.
    """
    while has_next(bodies, out):
        at, stop, most, outcome = next_body(bodies, out, limits)
        if outcome == UNREAD:
            outcome = _walk(bodies, at, stop, most, program, work, out)
        if outcome == NO_ROOM:
            return
        end_row(outcome, out)
