"""Prove of a program that the kernel stays inside its arrays, whatever bytes it walks over.

Schemas come from a registry in which anybody may write, also as descriptors that no compiler has looked at, and the
kernel trusts its program at every step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import InputError
from stream_anon.formats.protobuf import opcodes as op
from stream_anon.formats.writing.program_checks import are_texts, are_within

_ALL_FORMS = {op.VARINT, op.FIXED_64, op.LENGTH, op.GROUP, op.FIXED_32}
_OTHER_FORMS = {
    op.FIXED_32_UNSIGNED: {op.FIXED_32},
    op.FIXED_32_SIGNED: {op.FIXED_32},
    op.FLOAT: {op.FIXED_32},
    op.FIXED_64_UNSIGNED: {op.FIXED_64},
    op.FIXED_64_SIGNED: {op.FIXED_64},
    op.DOUBLE: {op.FIXED_64},
    op.STRING: {op.LENGTH},
    op.BYTES: {op.LENGTH},
    op.MESSAGE: {op.LENGTH, op.GROUP},
    op.IGNORED: _ALL_FORMS,
}
_FORMS = {operation: _OTHER_FORMS.get(operation, {op.VARINT}) for operation in range(op.IGNORED + 1)}
_NO_KEYS = {op.FLOAT, op.DOUBLE, op.BYTES, op.ENUM, op.CLOSED_ENUM, op.NULL, op.MESSAGE, op.IGNORED}
_ENUMS = (op.ENUM, op.CLOSED_ENUM, op.IGNORED)  # what is ignored may be of an enum; if not, it has no numbers


def verify(program: op.Program) -> None:
    """Raise InputError for a program that breaks one of these rules. O(fields).

    1. Each message, field, table entry and text that is named is there, and a message's fields ascend by number.
    2. A field has the form that its operation reads, and its twins are fields of its own message, in a ring.
    3. An entry of a map has a key of a kind that is written between quotes, as field 1, and one value, as field 2.
       Fields that are maps lead to entries and no others do, so the root is none: the kernel looks at what an entry
       stands in.
    4. A message that is written as a scalar is has the fields that the kernel looks for, and a value has one field,
       or fields of which one is there at a time.

    How deep messages lie in each other, and how many steps a body takes, the kernel bounds itself.
    """
    if not (_names_what_is_there(program) and _fields_fit(program) and _messages_fit(program)):
        raise InputError("this Protobuf schema makes no sound program")


def _names_what_is_there(program: op.Program) -> bool:
    messages, fields, tables = program.messages, program.fields, program.tables
    firsts, counts, operation = messages[:, op.FIRST_FIELD], messages[:, op.FIELDS], fields[:, op.OPERATION]
    inner, enums = fields[operation == op.MESSAGE], fields[np.isin(operation, _ENUMS)]
    if not (
        len(messages)
        and are_within(messages[:, op.KIND], op.DECIMAL_TEXT + 1)
        and (counts >= 0).all()
        and counts.max() == program.most_fields
        and (np.cumsum(counts) - counts == firsts).all()
        and counts.sum() == len(fields)
        and are_within(inner[:, op.FIRST], len(messages))
        and are_texts(fields[:, op.TEXT_START], fields[:, op.TEXT_STOP], program.texts)
    ):
        return False
    return all(_is_enum(first, count, tables, program.texts) for first, count in _pairs(enums))


def _pairs(enums: NDArray[np.int64]) -> set[tuple[int, int]]:
    return {(first, count) for first, count in enums[:, [op.FIRST, op.SECOND]].tolist()}


def _is_enum(first: int, count: int, tables: NDArray[np.int64], texts: NDArray[np.int64]) -> bool:
    """Return whether a stretch of the tables holds numbers that ascend, each with a text."""
    if not (0 <= count <= len(tables) // 3 and 0 <= first <= len(tables) - 3 * count):
        return False
    entries = tables[first : first + 3 * count].reshape(-1, 3)
    return bool((np.diff(entries[:, 0]) > 0).all()) and are_texts(entries[:, 1], entries[:, 2], texts)


def _fields_fit(program: op.Program) -> bool:
    kinds = program.messages[:, op.KIND].tolist()
    for field in program.fields.tolist():
        operation, often = field[op.OPERATION], field[op.OFTEN]
        if field[op.FORM] not in _FORMS.get(operation, ()) or often not in (op.ONE, op.MANY, op.MAP):
            return False
        is_map = operation == op.MESSAGE and kinds[field[op.FIRST]] == op.ENTRY
        if operation != op.IGNORED and is_map != (often == op.MAP):
            return False
    return True


def _messages_fit(program: op.Program) -> bool:
    if program.messages[0, op.KIND] == op.ENTRY:
        return False
    for kind, first, count in program.messages.tolist():
        fields = program.fields[first : first + count]
        if not ((np.diff(fields[:, op.NUMBER]) > 0).all() and _twins_fit(fields[:, op.TWIN].tolist(), first)):
            return False
        if kind == op.ENTRY and not _is_entry(fields):
            return False
        if kind == op.VALUE and not (count == 1 or (count > 1 and (fields[:, op.TWIN] >= 0).all())):
            return False
        if kind in op.SPECIAL_FIELDS and not _is_special(fields, op.SPECIAL_FIELDS[kind]):
            return False
    return True


def _twins_fit(twins: list[int], first: int) -> bool:
    """Return whether each field has no twin, or is one of a ring of its own message: each has one before it."""
    named = [twin - first for twin in twins if twin != -1]
    return sorted(named) == [place for place, twin in enumerate(twins) if twin != -1]


def _is_entry(fields: NDArray[np.int64]) -> bool:
    return (
        fields[:, op.NUMBER].tolist() == [1, 2]
        and (fields[:, op.OFTEN] == op.ONE).all()
        and fields[0, op.OPERATION] not in _NO_KEYS
        and fields[1, op.OPERATION] != op.IGNORED
    )


def _is_special(fields: NDArray[np.int64], wanted: dict[int, int]) -> bool:
    found = dict(fields[:, [op.NUMBER, op.OPERATION]].tolist())
    return found == wanted and bool((fields[:, op.OFTEN] == op.ONE).all())
