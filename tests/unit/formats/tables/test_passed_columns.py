from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.formats.tables.passed_columns import PassedColumns, columns_of
from stream_anon.microdata.payload import joined, missing_values, taken
from tests.support.effort import examples

Rows = list[tuple[object, ...]]
VALUE = st.one_of(st.none(), st.text(max_size=2), st.integers(0, 3))


@st.composite
def tables(draw: st.DrawFn) -> tuple[PassedColumns, Rows]:
    """Return columns, whose values may stand twice or be of no row, and the rows they stand for."""
    fields, rows = draw(st.integers(0, 3)), draw(st.integers(0, 8))
    columns = []
    for _ in range(fields):
        values = draw(st.lists(VALUE, min_size=1, max_size=4))
        places = draw(st.lists(st.integers(0, len(values) - 1), min_size=rows, max_size=rows))
        columns.append((values, np.array(places, np.int64)))
    expected = [tuple(values[places[row]] for values, places in columns) for row in range(rows)]
    return PassedColumns.of(columns, rows), expected


@examples(100)
@given(tables(), st.data())
def test_columns_are_their_rows(table: tuple[PassedColumns, Rows], data: st.DataObject) -> None:
    columns, rows = table
    assert list(columns) == rows
    assert len(columns) == len(rows)
    assert [columns[row] for row in range(len(rows))] == rows
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9) if rows else st.just([]))
    picked = taken(columns, np.array(chosen, np.intp))
    assert list(picked) == [rows[row] for row in chosen]
    assert list(columns[1:5]) == rows[1:5]
    fields = len(columns.values)
    expected = [sum(row[field] is None for row in rows[1:]) for field in range(fields)]
    assert missing_values(columns, slice(1, None), fields).tolist() == expected
    assert list(joined([columns, picked, columns])) == [*rows, *(rows[row] for row in chosen), *rows]
    order = np.array(chosen, np.int64)
    for payload in (columns, rows):  # another codec's rows are read alike
        found = columns_of(payload, order, fields)
        assert [[values[place] for place in places.tolist()] for values, places in found] == [
            [rows[row][field] for row in chosen] for field in range(fields)
        ]


@examples(30)
@given(tables())
def test_no_value_is_kept_that_no_chosen_row_has(table: tuple[PassedColumns, Rows]) -> None:
    columns, rows = table
    picked = columns.take(slice(0, 2))
    for field, values in enumerate(picked.values):
        assert all(value in [row[field] for row in rows[:2]] for value in values)
