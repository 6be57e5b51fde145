"""Prove of a program that the kernel stays inside its arrays, whatever bytes it walks over.

Schemas come from a registry in which anybody may write, and the kernel trusts its program at every step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import InputError
from stream_anon.formats.avro import opcodes as op
from stream_anon.formats.writing.numbers import MOST_SCALE
from stream_anon.formats.writing.program_checks import are_texts, are_within

_ROOT, _RECORD, _UNSEEN = -1, -2, -3
_UUID_BYTES = 16
_FRACTIONS = {1_000: 3, 1_000_000: 6, 1_000_000_000: 9}
_WITH_FRACTION = (op.MOMENT, op.LOCAL_MOMENT, op.TIME)


def verify(program: op.Program) -> None:
    """Raise InputError for a program that breaks one of these rules. O(steps).

    1. Each step, table entry and text that a step names is there.
    2. What a kernel writes without a look at its length is short: scales, digits and units are known ones.
    3. The kernel's stack never runs empty, and its top is always of the kind that a step takes it for. So each step
       is reached with one kind of top only: none (the root), the frame of a record, or that of one array or map.
       END stands at the root, RETURN in a record, and ITEM is entered by ARRAY and by its own items.

    How deep the stack grows, and how many steps a body takes, the kernel bounds itself.
    """
    if not (_names_what_is_there(program) and _writes_short_values(program.steps) and _keeps_its_stack(program)):
        raise InputError("this Avro schema makes no sound program")


def _names_what_is_there(program: op.Program) -> bool:
    steps, tables = program.steps, program.tables
    operation, first, second = steps[:, op.OPERATION], steps[:, op.FIRST], steps[:, op.SECOND]
    starts, stops = steps[:, op.TEXT_START], steps[:, op.TEXT_STOP]
    leads = (operation == op.CALL) | (operation == op.ITEM)
    union, enum = operation == op.UNION, operation == op.ENUM
    if not (
        len(steps)
        and are_within(operation, op.UUID + 1)
        and are_texts(starts, stops, program.texts)
        and are_within(steps[:, op.NEXT], len(steps))
        and are_within(first[leads], len(steps))
        and _are_stretches(first[union], second[union], tables)
        and _are_stretches(first[enum], 2 * second[enum], tables)
    ):
        return False
    branches = _entries(tables, first[union], second[union])
    symbols = _entries(tables, first[enum], 2 * second[enum]).reshape(-1, 2)
    return are_within(branches, len(steps)) and are_texts(symbols[:, 0], symbols[:, 1], program.texts)


def _entries(tables: NDArray[np.int64], firsts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the table entries of stretches; of those that begin at one place the longest one's."""
    ends = np.zeros(len(tables) + 1, np.int64)
    np.maximum.at(ends, firsts, firsts + counts)
    begins = np.flatnonzero(ends)
    stretches = [tables[first : ends[first]] for first in begins.tolist()]
    found: NDArray[np.int64] = np.concatenate([tables[:0], *stretches])
    return found


def _are_stretches(firsts: NDArray[np.int64], counts: NDArray[np.int64], tables: NDArray[np.int64]) -> bool:
    """Return whether stretches lie within the tables; written so that no sum can wrap."""
    size = len(tables)
    return bool(((counts >= 0) & (counts <= size) & (firsts >= 0) & (firsts <= size - counts)).all())


def _writes_short_values(steps: NDArray[np.int64]) -> bool:
    def of(operation: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = steps[steps[:, op.OPERATION] == operation]
        return found

    fixed, decimal, uuid = of(op.FIXED)[:, op.FIRST], of(op.DECIMAL), of(op.UUID)[:, op.FIRST]
    timed = np.concatenate([of(operation)[:, [op.FIRST, op.SECOND]] for operation in _WITH_FRACTION])
    digits = [_FRACTIONS.get(units) for units in timed[:, 0].tolist()]
    return bool(
        (fixed >= 0).all()
        and are_within(decimal[:, op.FIRST], MOST_SCALE + 1)
        and (decimal[:, op.SECOND] >= op.NO_SIZE).all()
        and (uuid == _UUID_BYTES).all()
        and digits == timed[:, 1].tolist()
    )


def _keeps_its_stack(program: op.Program) -> bool:
    """Walk over all steps once: `tops` holds what lies on the stack at each; an array is called by its ITEM."""
    steps, tables = program.steps.tolist(), program.tables.tolist()
    tops, behind = [_UNSEEN] * len(steps), dict[int, int]()
    tops[0], waiting = _ROOT, [0]
    while waiting:
        at = waiting.pop()
        operation, top = steps[at][op.OPERATION], tops[at]
        if operation == op.ARRAY:
            item = steps[at][op.NEXT]
            fits = steps[item][op.OPERATION] == op.ITEM and behind.setdefault(item, top) == top
        elif operation == op.ITEM:
            fits = top == at
        else:
            fits = top == {op.END: _ROOT, op.RETURN: _RECORD}.get(operation, top)
        if not fits:
            return False
        for place, its_top in _following(steps[at], at, top, behind, tables):
            if tops[place] == _UNSEEN:
                tops[place] = its_top
                waiting.append(place)
            elif tops[place] != its_top:
                return False
    return True


def _following(
    step: list[int], at: int, top: int, behind: dict[int, int], tables: list[int]
) -> Iterator[tuple[int, int]]:
    """Yield the steps that may follow one, and what lies on the stack there."""
    operation, first, then = step[op.OPERATION], step[op.FIRST], step[op.NEXT]
    if operation == op.UNION:
        yield from ((place, top) for place in set(tables[first : first + step[op.SECOND]]))
    elif operation == op.ARRAY:
        yield then, then
    elif operation == op.ITEM:
        yield first, at
        yield then, behind[at]
    elif operation not in (op.END, op.RETURN):
        yield then, top
        if operation == op.CALL:
            yield first, _RECORD
