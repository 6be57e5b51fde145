"""Walk Protobuf bodies by a program and write what they mean as JSON, without the interpreter's lock.

A message is scanned first and then written: its fields may stand in any order, a later value takes the place of an
earlier one, and a message may come in several stretches. Every length is compared with the bytes that are left
before it is used. A record may be nested `MOST_LEVELS` deep, and takes a bounded number of steps a byte.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_kernel
from stream_anon.formats.protobuf import opcodes as op
from stream_anon.formats.protobuf.field_values import put_key, put_list, put_nothing, put_single
from stream_anon.formats.protobuf.scanning import has_symbol, scan
from stream_anon.formats.protobuf.well_known_types import MOST_SPECIAL, put_special
from stream_anon.formats.unwrapping import FITS
from stream_anon.formats.writing.copying import copied
from stream_anon.formats.writing.text_buffer import (
    FILLED,
    FRACTIONS,
    MOST_LEVELS,
    NO_ROOM,
    ROW,
    TEXT_A_BYTE,
    TOO_DEEP,
    TOO_LARGE,
    VALUE_ROOM,
    end_row,
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
    text: NDArray[np.uint8],
    words: NDArray[np.int64],
    at: int,
    stop: int,
    messages: NDArray[np.int64],
    fields: NDArray[np.int64],
    tables: NDArray[np.int64],
    texts: NDArray[np.int64],
    frames: NDArray[np.int64],
    slots: NDArray[np.int64],
    parts: NDArray[np.int64],
    scratch: NDArray[np.int64],
    out: NDArray[np.uint8],
    out_words: NDArray[np.int64],
    bits: NDArray[np.int64],
    places: NDArray[np.int64],
    state: NDArray[np.int64],
    most: int,
) -> int:
    """Write the text of the body from `at` to `stop` and advance `state` if it is good; return its outcome."""
    place = state[FILLED]
    end = place + most
    capacity = len(out_words) - VALUE_ROOM - MOST_SPECIAL
    fractions = state[FRACTIONS : FRACTIONS + 1]
    kept = fractions[0]
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
                outcome, used = scan(
                    text, piece[0], piece[1], fields, tables, first, count, kind == _ENTRY, slots, base,
                    parts, used, scratch,
                )  # fmt: skip
                if outcome != FITS:
                    break
                part = -1 if is_single else piece[2]
            if outcome != FITS:
                break
            if kind == _OBJECT:
                out[place] = _OPEN_BRACE
                place += 1
            elif kind == _ENTRY:
                # An entry whose number its enum does not have is none.
                is_given_enum = fields[first + 1, _OPERATION] == _CLOSED_ENUM and slots[base + 2] >= 0
                if is_given_enum and not has_symbol(
                    text, slots[base + 2], slots[base + 3], fields[first + 1], tables
                ):
                    used = frames[depth, _USED]
                    depth -= 1
                    base = frames[depth, _BASE]
                    continue
                # No entry is the root (`verifying.verify`), so there is a frame below.
                if frames[depth - 1, _ITEMS] > 0:
                    out[place] = _COMMA
                    place += 1
                frames[depth - 1, _ITEMS] = 1
                place = put_key(
                    text, words, slots[base], slots[base + 1], fields[first, _OPERATION], tables, texts, out,
                    out_words, place, end, fractions,
                )  # fmt: skip
                if place < 0:
                    outcome = ~place
                    break
                out[place] = _COLON
                place += 1
                frames[depth, _FIELD] = first + 1
            elif kind != _VALUE:
                place = put_special(kind, text, words, slots, base, scratch, out, out_words, place)
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
                    out[place] = _COMMA
                    place += 1
                message, is_single, enters = fields[field, _FIRST], True, True
                base += 2 * (last - first)
                continue
            out[place] = _CLOSE_BRACE if often == _MAP else _CLOSE_BRACKET
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
                    out[place] = _COMMA
                    place += 1
                place = copied(texts, start, start + width, out_words, place)
            frame[_WRITTEN] = 1
            if is_message:
                frame[_FIELD] = field + 1
                message, part, is_single, enters = own[_FIRST], slots[slot], often != _ONE, True
                if often != _ONE:
                    out[place] = _OPEN_BRACE if often == _MAP else _OPEN_BRACKET
                    place += 1
                    frame[_FIELD], frame[_PART], frame[_ITEMS] = field, part, 0
                base += 2 * (last - first)
                break
            if often == _MANY:
                head = place
                place = put_list(
                    text, words, slots[slot], own, parts, tables, texts, out, out_words, place, end, bits, places,
                    fractions,
                )  # fmt: skip
                if place == head + 2:  # an empty list is no field
                    place, frame[_WRITTEN] = before, written
            else:
                place = put_single(
                    text, words, slots[slot], slots[slot + 1], own, tables, texts, out, out_words, place, end, bits,
                    places, fractions,
                )  # fmt: skip
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
            out[place] = _CLOSE_BRACE
            place += 1
        elif kind == _VALUE and frame[_WRITTEN] == 0:
            place = put_nothing(fields[first, _OFTEN] if last > first else _ONE, out, out_words, place)
        used = frame[_USED]
        depth -= 1
        if depth < 0:
            break
    outcome = TOO_LARGE if outcome == FITS and place > end else outcome
    if outcome == FITS:
        state[FILLED] = place
    else:
        fractions[0] = kept
    return outcome


@checked_kernel
def write_texts(
    text: NDArray[np.uint8],
    words: NDArray[np.int64],
    stops: NDArray[np.int64],
    gap: int,
    missing: NDArray[np.bool_],
    messages: NDArray[np.int64],
    fields: NDArray[np.int64],
    tables: NDArray[np.int64],
    texts: NDArray[np.int64],
    frames: NDArray[np.int64],
    slots: NDArray[np.int64],
    parts: NDArray[np.int64],
    scratch: NDArray[np.int64],
    out: NDArray[np.uint8],
    out_words: NDArray[np.int64],
    out_stops: NDArray[np.int64],
    outcomes: NDArray[np.int8],
    bits: NDArray[np.int64],
    places: NDArray[np.int64],
    state: NDArray[np.int64],
    most: int,
    free: int,
) -> None:
    """Write the JSON of n bodies from the row in `state` on, until all are written or the room is full.

    Parameters
    ----------
    text, words, stops, gap, missing
        The bodies, see `Texts`. One that is missing has no text; one without a byte is a message without a field.
    messages, fields, tables, texts
        See `Program`.
    frames
        int64[`MOST_LEVELS`, `FRAME_COLUMNS`], written.
    slots, parts
        Written; see `scanning.scan`. There is a part for every two bytes of the longest body, and two.
    scratch
        int64[`numbers.SCRATCH`], written.
    out, out_words, out_stops, outcomes, bits, places, state
        See `TextRoom`.
    most, free
        Bodies and texts of more than `most` bytes are rejected, and texts that their body does not account for; see
        `free_text`.
    """
    for row in range(state[ROW], len(stops)):
        at = stops[row - 1] + gap if row > 0 else 0
        stop = stops[row]
        outcome = FITS
        if state[FILLED] + VALUE_ROOM > len(out_words):
            return
        if stop - at > most:
            outcome = TOO_LARGE
        elif not missing[row]:
            outcome = _walk(
                text, words, at, stop, messages, fields, tables, texts, frames, slots, parts, scratch, out,
                out_words, bits, places, state, min(most, free + TEXT_A_BYTE * (stop - at)),
            )  # fmt: skip
            if outcome == NO_ROOM:
                return
        end_row(row, outcome, out, out_stops, outcomes, state)
