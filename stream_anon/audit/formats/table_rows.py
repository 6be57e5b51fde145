"""Read released records from the rows of CSV and Parquet files, by what the policy says of each column."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from stream_anon.audit.formats.released_texts import value_of_cell
from stream_anon.audit.formats.series import Layout, Series
from stream_anon.microdata.attributes import Attribute
from stream_anon.microdata.output.output_members import flat_path
from stream_anon.microdata.output.typed import ENDS, IntervalForm, read_typed, typed_form
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

_MOST_REMEMBERED = 100_000
_UNSPOKEN = {"unreadable": None}
_MOMENTS: Mapping[str, type[dt.date]] = {"date": dt.date, "timestamp": dt.datetime, "local-timestamp": dt.datetime}

ColumnValues = Callable[[Attribute | None, Sequence[Any]], Sequence[Any]]
_Spelling = Mapping[str, tuple[Attribute, str | None]]
"""What columns stand for, by their names: an attribute, and of two columns of one which end they hold."""


class _Columns:
    """Knows where in a record the value of each column belongs.

    Parameters
    ----------
    policy
        Whose attributes they are.
    names
        Those of the table.
    spelling
        What they stand for. One end without the other one stands for nothing.
    """

    def __init__(self, policy: Policy, names: Sequence[str], spelling: _Spelling) -> None:
        self._declared = {attribute.path for attribute in policy.published}
        ends = Counter(spelling[name][0].name for name in names if name in spelling)
        self._columns: list[tuple[str, Attribute | None, str | None]] = []
        self._places: dict[Layout, list[int] | None] = {}
        for name in names:
            attribute, end = spelling.get(name, (None, None))
            halved = attribute is not None and end is not None and ends[attribute.name] != len(ENDS)
            self._columns.append((name, None, None) if halved else (name, attribute, end))

    def values(
        self, rows: Sequence[Sequence[Any]], values: ColumnValues, layout: Layout
    ) -> list[Sequence[Any]] | None:
        """Return the values of each field of a layout; None unless the columns are just its fields."""
        if layout not in self._places:
            paths = {
                attribute.path: place
                for place, (_, attribute, end) in enumerate(self._columns)
                if attribute is not None and end is None
            }
            whole = len(self._columns) == len(paths) == len(layout.paths) and paths.keys() == set(layout.paths)
            self._places[layout] = [paths[path] for path in layout.paths] if whole else None
        places = self._places[layout]
        if places is None or set(map(len, rows)) != {len(self._columns)}:
            return None
        columns = list(zip(*rows, strict=True))
        return [values(self._columns[place][1], columns[place]) for place in places]

    def record(self, cells: Sequence[Any], value: Callable[[Attribute | None, Any], Any]) -> dict[str, Any] | None:
        """Return the record of a row, nested; None for a row that does not fit the columns.

        No value hides another one: of two columns with one place objects are joined, and others are no record.
        """
        if len(cells) != len(self._columns):
            return None
        record: dict[str, Any] = {}
        ends: dict[tuple[str, ...], dict[str, Any]] = {}
        for (name, attribute, end), cell in zip(self._columns, cells, strict=True):
            path, whole = (name,) if attribute is None else attribute.path, cell
            if end is not None:
                whole = ends.setdefault(path, {})
                whole[end] = cell
                if len(whole) < len(ENDS):
                    continue
            strange = attribute is None and path in self._declared  # it has an attribute's name, and is not it
            if not _put(record, path, dict(_UNSPOKEN) if strange else value(attribute, whole)):
                return None
        return record


def _put(record: dict[str, Any], path: Sequence[str], value: Any) -> bool:
    """Put a value at its place; return False if something is there that it would hide or be hidden by."""
    *above, own = path
    inner = record
    for key in above:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):  # an undeclared column has taken the parent's name
            return False
    if own not in inner:
        inner[own] = value
        return True
    there = inner[own]
    joined = isinstance(there, dict) and isinstance(value, dict) and there.keys().isdisjoint(value)
    if joined:
        inner[own] = {**there, **value}
    return joined


class CellReader:
    """Turns rows of CSV into released records.

    An interval or a set is JSON in its cell, missing is an empty cell, other cells are read by the type of
    their column. What cannot be read stays text, for the audit to refuse.

    Parameters
    ----------
    policy
        Names the columns and their types.
    header
        The cells of the file's first row.
    """

    def __init__(self, policy: Policy, header: Sequence[str]) -> None:
        self._columns = _Columns(policy, header, _nested(policy.attributes))
        self._known: dict[str, dict[str, Any]] = {attribute.name: {} for attribute in policy.attributes}

    def read(self, cells: Sequence[str]) -> dict[str, Any] | None:
        """Return the record of a row, nested; None for a row that does not fit the header."""
        return self._columns.record(cells, value_of_cell)

    def series(self, rows: Sequence[Sequence[str]]) -> Series:
        """Return the records of rows, as columns where somebody asks for these."""
        return _RowSeries(self, rows)

    def columns(self, rows: Sequence[Sequence[str]], layout: Layout) -> list[Sequence[Any]] | None:
        """Return the values of each field of rows; None unless they have just these fields."""
        return self._columns.values(rows, self._values, layout)

    def _values(self, attribute: Attribute | None, cells: Sequence[str]) -> Sequence[Any]:
        assert attribute is not None  # noqa: S101 - other columns are in no layout
        known, texts = self._known[attribute.name], set(cells)
        new = texts.difference(known)
        if len(known) + len(new) > _MOST_REMEMBERED:
            known.clear()
            new = texts
        known.update((text, value_of_cell(attribute, text)) for text in new)
        return list(map(known.__getitem__, cells))


class TypedReader:
    """Turns rows of a Parquet file into released records of the natural shape.

    Ends of numbers and days, texts and lists become what JSON publishes for them; see `microdata.output.typed`. A
    value that the policy cannot have published becomes an object that nothing publishes, for the audit to refuse.

    Both ends stand in one column or in two, in the same way throughout a file: `home.age`, or `home.age_min` and
    `home.age_max`, or, as flat records name them, `home_age_min` and `home_age_max`.

    Parameters
    ----------
    policy
        Names the columns and their types.
    names
        The columns of the file.
    """

    def __init__(self, policy: Policy, names: Sequence[str]) -> None:
        self._columns = _Columns(policy, names, _spelling_of(policy, names))
        self._forms = {attribute.name: typed_form(attribute) for attribute in policy.quasi_identifiers}
        self._known: dict[bytes, Any] = {}

    def read(self, cells: Sequence[Any]) -> dict[str, Any] | None:
        """Return the record of a row of Python values, nested; None for a row that does not fit the columns."""
        return self._columns.record(cells, self._natural)

    def series(self, rows: Sequence[Sequence[Any]]) -> Series:
        """Return the records of rows, as columns where somebody asks for these."""
        return _RowSeries(self, rows)

    def columns(self, rows: Sequence[Sequence[Any]], layout: Layout) -> list[Sequence[Any]] | None:
        """Return the values of each field of rows; None unless they have just these fields."""
        return self._columns.values(rows, self._values, layout)

    def _values(self, attribute: Attribute | None, cells: Sequence[Any]) -> Sequence[Any]:
        return [self._natural(attribute, cell) for cell in cells]

    def _natural(self, attribute: Attribute | None, cell: Any) -> Any:
        if not isinstance(attribute, QuasiIdentifier):
            return _spoken(cell)
        form = self._forms[attribute.name]
        kind = _MOMENTS.get(form.interval.type) if isinstance(form, IntervalForm) else None
        typed = _spoken(cell) if kind is None else _moments(cell, kind)
        key = msgspec.json.encode((attribute.name, typed))
        if key not in self._known:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[key] = read_typed(form, typed)
        return self._known[key]


class _RowSeries:
    """Rows of a table, of which a reader makes records."""

    def __init__(self, reader: CellReader | TypedReader, rows: Sequence[Sequence[Any]]) -> None:
        self._reader = reader
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any] | None]:
        return map(self._reader.read, self._rows)

    def columns(self, layout: Layout) -> list[Sequence[Any]] | None:
        """Return the values of each field; see `Series`."""
        return self._reader.columns(self._rows, layout)


def _spoken(cell: Any) -> Any:
    """Return a value of Python as JSON has it; what JSON does not have becomes an object that nobody publishes."""
    if cell is None or isinstance(cell, bool | int | str) or (isinstance(cell, float) and isfinite(cell)):
        return cell
    if isinstance(cell, list):
        return list(map(_spoken, cell))
    return {str(key): _spoken(value) for key, value in cell.items()} if isinstance(cell, dict) else dict(_UNSPOKEN)


def _moments(cell: Any, kind: type[dt.date]) -> Any:
    """Return the ends of an interval of days or times as texts; a text in their place is none."""
    if not isinstance(cell, dict):
        return dict(_UNSPOKEN)
    return {
        key: end if end is None else kind.isoformat(end) if type(end) is kind else dict(_UNSPOKEN)
        for key, end in cell.items()
    }


def _spelling_of(policy: Policy, names: Sequence[str]) -> _Spelling:
    """Return of the ways in which columns may be named the one in which most of them are there."""
    ways = [
        _nested(policy.attributes),
        _in_two(policy, lambda attribute: attribute.column),
        _in_two(policy, lambda attribute: flat_path(attribute)[0]),
    ]
    return max(ways, key=lambda way: sum(name in way for name in names))


def _nested(attributes: Iterable[Attribute]) -> _Spelling:
    return {attribute.column: (attribute, None) for attribute in attributes}


def _in_two(policy: Policy, name_of: Callable[[Attribute], str]) -> _Spelling:
    """Return the names of columns that hold one end each; if two have one name, such a table lacks one of them."""
    spelling: dict[str, tuple[Attribute, str | None]] = {}
    for attribute in policy.attributes:
        name = name_of(attribute)
        if isinstance(attribute, QuasiIdentifier) and isinstance(typed_form(attribute), IntervalForm):
            spelling |= {f"{name}_{end}": (attribute, end) for end in ENDS}
        else:
            spelling[name] = attribute, None
    return spelling


def header_cells(
    line: str, policy: Policy, split: Callable[[str, str], list[str]], delimiters: str = ",;"
) -> tuple[str, list[str]]:
    """Return the delimiter by which a header holds more of the published names, and its cells."""
    names = {attribute.column for attribute in policy.published}
    choices = [(delimiter, split(line, delimiter)) for delimiter in delimiters]
    return max(choices, key=lambda choice: len(names.intersection(choice[1])))
