"""The one suite for all partitioners: what the protocol promises, on random windows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.clustering.legality import within_share
from stream_anon.clustering.partitioning import TOO_HIGH, UNPLACED
from stream_anon.microdata.choices.engine_choice import EngineChoice
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria
from stream_anon.settings.sections.engine_settings import EngineSettings
from tests.conformance.engines import LIMITS, ORACLES, PARTITIONERS, feed
from tests.support.effort import examples
from tests.support.tables import Table, classes_of, is_legal, renumbered, tables

engines = pytest.mark.parametrize("engine", PARTITIONERS)
# The others prepare something, or break ties between different rows by arrival, as their docstrings say.
_HEEDLESS = [name for name in PARTITIONERS if name.startswith("mondrian") or name == "forest"]
with_oracle = pytest.mark.parametrize("engine", ORACLES)


def _close(engine: str, table: Table, pieces: Sequence[int] = ()) -> NDArray[np.int32]:
    """Add the rows cut at `pieces`, close, and return the class of each row."""
    partitioner = PARTITIONERS[engine](table)
    ends = [0, *sorted(pieces), len(table.rows)]
    for start, stop in pairwise(ends):
        feed(engine, partitioner, table.rows.take(slice(start, stop)), len(table.rows))
    return partitioner.close(table.rows, table.criteria)


def _check_classes(rows: Columns, answer: NDArray[np.int32], criteria: Criteria) -> None:
    """Every class meets the criteria, its values compared with those of all rows that were placed."""
    placed = np.flatnonzero(answer >= 0).tolist()
    assert all(is_legal(rows, sorted(members), criteria, placed) for members in classes_of(answer.tolist()))


@engines
@examples(100)
@given(table=tables())
def test_every_row_is_in_one_legal_class_or_unplaced(engine: str, table: Table) -> None:
    answer = _close(engine, table)
    assert answer.dtype == np.int32
    assert answer.shape == (len(table.rows),)
    numbers = sorted(set(answer.tolist()) - {UNPLACED, TOO_HIGH})
    assert numbers == list(range(len(numbers)))
    _check_classes(table.rows, answer, table.criteria)


@engines
@given(table=tables())
def test_all_rows_are_placed_where_they_could_be_one_class(engine: str, table: Table) -> None:
    cells = _cells(table, LIMITS[engine](table)) if engine in LIMITS else [list(range(len(table.rows)))]
    if len(table.rows) and all(is_legal(table.rows, cell, table.criteria) for cell in cells):
        assert (_close(engine, table) >= 0).all()


def _cells(table: Table, levels: Sequence[int | None]) -> list[list[int]]:
    """Return the rows that are published alike on these levels, attribute by attribute."""
    limited = [
        (a, level, codes) for a, level, codes in zip(table.attributes, levels, table.rows.codes, strict=True)
    ]
    cells: dict[tuple[object, ...], list[int]] = {}
    for row in range(len(table.rows)):
        nodes = (a.node_at(int(codes[row]), level) for a, level, codes in limited if level is not None)
        cells.setdefault(tuple(nodes), []).append(row)
    return list(cells.values())


@pytest.mark.parametrize("engine", LIMITS)
@given(table=tables())
def test_no_class_of_an_engine_with_limits_has_rows_of_two_nodes(engine: str, table: Table) -> None:
    answer = _close(engine, table)
    cells = [set(cell) for cell in _cells(table, LIMITS[engine](table))]
    assert all(any(members <= cell for cell in cells) for members in classes_of(answer.tolist()))
    everything = list(range(len(table.rows)))
    if everything and is_legal(table.rows, everything, table.criteria):
        assert UNPLACED not in answer  # without limits all would have a class
    elif (answer < 0).all() and len(within_share(table.rows.individuals, table.criteria.max_share)) == 0:
        assert TOO_HIGH not in answer


@with_oracle
@examples(100)
@given(table=tables())
def test_the_kernel_forms_the_classes_of_the_plain_algorithm(engine: str, table: Table) -> None:
    assert classes_of(_close(engine, table).tolist()) == ORACLES[engine](table)


@engines
@given(table=tables())
def test_equal_rows_get_the_same_classes_again(engine: str, table: Table) -> None:
    before = table.rows.codes.copy(), table.rows.individuals.copy(), table.rows.sensitive.copy()
    first = _close(engine, table)
    assert first.tolist() == _close(engine, table).tolist()
    after = table.rows.codes, table.rows.individuals, table.rows.sensitive
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))  # nor are the rows changed


@engines
@given(table=tables(), data=st.data())
def test_arrival_in_pieces_gives_the_same_classes_as_arrival_at_once(
    engine: str, table: Table, data: st.DataObject
) -> None:
    pieces = data.draw(st.lists(st.integers(0, len(table.rows)), max_size=4))
    assert _close(engine, table).tolist() == _close(engine, table, pieces).tolist()


@pytest.mark.parametrize("engine", _HEEDLESS)
@given(table=tables(), data=st.data())
def test_the_order_of_arrival_only_decides_between_equal_rows(
    engine: str, table: Table, data: st.DataObject
) -> None:
    """Rows in another order, equal ones among each other as before: so dealing equal rows hides the order."""
    rows = table.rows
    drawn = data.draw(st.permutations(range(len(rows))))
    equal: dict[tuple[int, ...], list[int]] = {}
    for row, codes in enumerate(rows.codes.T.tolist()):
        equal.setdefault(tuple(codes), []).append(row)
    turns = {codes: iter(places) for codes, places in equal.items()}
    order = np.array([next(turns[tuple(rows.codes[:, row].tolist())]) for row in drawn], np.intp)
    kept = within_share(rows.individuals, table.criteria.max_share)
    assume(len(kept) == len(rows))  # somebody's first rows stay
    other = dataclasses.replace(table, rows=rows.take(order))
    assert _crowds(rows, _close(engine, table)) == _crowds(other.rows, _close(engine, other))


def _crowds(rows: Columns, answer: NDArray[np.int32]) -> list[list[list[int]]]:
    return sorted(sorted(rows.codes[:, sorted(members)].T.tolist()) for members in classes_of(answer.tolist()))


@engines
@given(table=tables(), data=st.data())
def test_the_classes_are_those_of_the_rows_that_stayed(engine: str, table: Table, data: st.DataObject) -> None:
    """Adds and keeps in random order, the invariants checked after each."""
    partitioner = PARTITIONERS[engine](table)
    held: list[int] = []
    todo = list(range(len(table.rows)))
    while todo:
        count = data.draw(st.integers(0, len(todo)) | st.just(len(todo)))
        new, todo = todo[:count], todo[count:]
        held += new
        numbered = renumbered(table.rows.take(np.array(held, np.intp)))
        feed(engine, partitioner, numbered.take(slice(len(held) - count, None)), len(table.rows))
        marks = data.draw(st.lists(st.booleans(), min_size=len(held), max_size=len(held)))
        if data.draw(st.booleans()):
            held = [row for row, stays in zip(held, marks, strict=True) if stays]
            partitioner.keep(np.array(marks, np.bool_), renumbered(table.rows.take(np.array(held, np.intp))))
            partitioner.check_invariants()
    rest = renumbered(table.rows.take(np.array(held, np.intp)))
    answer = partitioner.close(rest, table.criteria)
    assert len(answer) == len(held)
    _check_classes(rest, answer, table.criteria)
    if not partitioner.arrival_matters:
        fresh = Table(table.attributes, table.model, rest, table.criteria)
        assert answer.tolist() == _close(engine, fresh).tolist()


def test_every_engine_that_is_offered_is_tested() -> None:
    offered = set(EngineSettings.model_fields["name"].annotation.__args__)  # type: ignore[union-attr]
    assert offered <= set(PARTITIONERS)
    assert EngineChoice().name in PARTITIONERS
