"""Programs that would lead the kernel out of its arrays are refused; those of the compiler are not."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import InputError
from stream_anon.formats.avro import opcodes as op
from stream_anon.formats.avro.avro_schemas import parsed
from stream_anon.formats.avro.program import program_of
from stream_anon.formats.avro.verifying import verify

NODE: dict[str, Any] = {
    "type": "record",
    "name": "Node",
    "fields": [
        {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["red", "blue"]}},
        {"name": "again", "type": ["null", "Node"]},
        {"name": "rows", "type": {"type": "array", "items": {"type": "map", "values": ["null", "Node", "Color"]}}},
        {"name": "unread", "type": {"type": "array", "items": "Node"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "sum", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "id", "type": {"type": "fixed", "name": "Id", "size": 16, "logicalType": "uuid"}},
        {"name": "raw", "type": {"type": "fixed", "name": "Raw", "size": 3}},
    ],
}
READ = ("color", "again", "rows", "at", "sum", "id", "raw")


def _program() -> op.Program:
    return program_of(parsed(json.dumps(NODE), {}), [(name,) for name in READ])


def _step(program: op.Program, operation: int) -> int:
    return int(np.flatnonzero(program.steps[:, op.OPERATION] == operation)[0])


def test_what_a_compiler_makes_is_sound() -> None:
    verify(_program())


@pytest.mark.parametrize(
    ("operation", "column", "number"),
    [
        (op.NOTHING, op.NEXT, 10**6),
        (op.NOTHING, op.NEXT, -1),
        (op.CALL, op.FIRST, -1),
        (op.CALL, op.FIRST, 0),  # a record that never returns, but ends the body
        (op.RETURN, op.OPERATION, op.END),
        (op.END, op.OPERATION, op.RETURN),
        (op.ITEM, op.OPERATION, op.NOTHING),
        (op.ITEM, op.FIRST, 1),
        (op.ARRAY, op.OPERATION, op.NOTHING),
        (op.UNION, op.SECOND, 10**6),
        (op.UNION, op.FIRST, 2**62),
        (op.UNION, op.SECOND, 2**62),
        (op.ENUM, op.SECOND, 2**62),
        (op.ENUM, op.FIRST, -1),
        (op.FIXED, op.FIRST, -1),
        (op.UUID, op.FIRST, 3),
        (op.DECIMAL, op.FIRST, 10**6),
        (op.DECIMAL, op.SECOND, -2),
        (op.MOMENT, op.FIRST, 0),
        (op.MOMENT, op.SECOND, 18),
        (op.CALL, op.TEXT_STOP, 10**6),
        (op.CALL, op.OPERATION, 22),
    ],
)
def test_a_step_that_leads_elsewhere_is_refused(operation: int, column: int, number: int) -> None:
    program = _program()
    program.steps[_step(program, operation), column] = number
    with pytest.raises(InputError, match="no sound program"):
        verify(program)


def test_a_union_that_leads_elsewhere_is_refused() -> None:
    program = _program()
    union = program.steps[_step(program, op.UNION)]
    for step in (-1, len(program.steps), 1):
        program.tables[union[op.FIRST]] = step
        with pytest.raises(InputError, match="no sound program"):
            verify(program)


def _walks_soundly(program: op.Program, choices: list[int]) -> None:
    """Walk as the kernel does, by choices for what bytes say, and assert what it takes for granted."""
    steps, tables = program.steps.tolist(), program.tables.tolist()
    at, stack = 0, list[tuple[str, int]]()
    for choice in choices:
        assert 0 <= at < len(steps)
        step = steps[at]
        operation, then = step[op.OPERATION], step[op.NEXT]
        assert 0 <= step[op.TEXT_START] <= step[op.TEXT_STOP] <= len(program.texts)
        if operation == op.END:
            assert not stack
            return
        if operation == op.UNION and step[op.SECOND] > 0:
            at = tables[step[op.FIRST] + choice % step[op.SECOND]]
        elif operation == op.CALL:
            stack.append(("record", then))
            at = step[op.FIRST]
        elif operation == op.RETURN:
            kind, at = stack.pop()
            assert kind == "record"
        elif operation == op.ARRAY:
            stack.append(("array", then))
            at = then
        elif operation == op.ITEM:
            assert stack[-1] == ("array", at)
            if choice % 2:
                at = step[op.FIRST]
            else:
                stack.pop()
                at = then
        else:
            at = then


@given(st.data(), st.lists(st.integers(0, 5), min_size=50, max_size=200))
def test_a_changed_program_is_refused_or_keeps_its_stack(data: st.DataObject, choices: list[int]) -> None:
    program = _program()
    part = data.draw(st.sampled_from([program.steps.reshape(-1), program.tables]))
    places = st.integers(0, len(part) - 1)
    numbers = st.integers(-2, len(program.steps)) | st.sampled_from([2**62, -(2**63)])
    for _ in range(data.draw(st.integers(0, 2))):
        part[data.draw(places)] = data.draw(numbers)
    try:
        verify(program)
    except InputError:
        return
    _walks_soundly(program, choices)
