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
from stream_anon.clustering.protocol import UNPLACED
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.policy import EngineChoice
from stream_anon.privacy.criteria import Criteria
from stream_anon.settings.model import EngineSettings
from tests.conformance.engines import ORACLES, PARTITIONERS, feed
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
    placed = np.flatnonzero(answer != UNPLACED).tolist()
    assert all(is_legal(rows, sorted(members), criteria, placed) for members in classes_of(answer.tolist()))


@engines
@examples(100)
@given(table=tables())
def test_a_row_is_lost_or_a_class_is_illegal(engine: str, table: Table) -> None:
    answer = _close(engine, table)
    assert answer.dtype == np.int32
    assert answer.shape == (len(table.rows),)
    numbers = sorted(set(answer.tolist()) - {UNPLACED})
    assert numbers == list(range(len(numbers)))
    _check_classes(table.rows, answer, table.criteria)


@engines
@given(table=tables())
def test_nothing_is_placed_though_all_rows_could_be_one_class(engine: str, table: Table) -> None:
    everything = list(range(len(table.rows)))
    if everything and is_legal(table.rows, everything, table.criteria):
        assert (_close(engine, table) != UNPLACED).all()


@with_oracle
@examples(100)
@given(table=tables())
def test_the_kernel_forms_other_classes_than_the_plain_algorithm(engine: str, table: Table) -> None:
    assert classes_of(_close(engine, table).tolist()) == ORACLES[engine](table)


@engines
@given(table=tables())
def test_the_same_rows_give_other_classes_the_second_time(engine: str, table: Table) -> None:
    before = table.rows.codes.copy(), table.rows.individuals.copy(), table.rows.sensitive.copy()
    first = _close(engine, table)
    assert first.tolist() == _close(engine, table).tolist()
    after = table.rows.codes, table.rows.individuals, table.rows.sensitive
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))  # nor are the rows changed


@engines
@given(table=tables(), data=st.data())
def test_arrival_in_pieces_gives_other_classes_than_at_once(engine: str, table: Table, data: st.DataObject) -> None:
    pieces = data.draw(st.lists(st.integers(0, len(table.rows)), max_size=4))
    assert _close(engine, table).tolist() == _close(engine, table, pieces).tolist()


@pytest.mark.parametrize("engine", _HEEDLESS)
@given(table=tables(), data=st.data())
def test_arrival_tells_more_than_equal_rows_apart(engine: str, table: Table, data: st.DataObject) -> None:
    """Rows in another order, equal ones among each other as before: whoever deals these hides the whole order."""
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
def test_rows_that_left_are_counted_or_others_left(engine: str, table: Table, data: st.DataObject) -> None:
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


def test_an_engine_is_offered_that_nobody_tests() -> None:
    offered = set(EngineSettings.model_fields["name"].annotation.__args__)  # type: ignore[union-attr]
    assert offered <= set(PARTITIONERS)
    assert EngineChoice().name in PARTITIONERS
