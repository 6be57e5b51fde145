"""Read released records from the rows of CSV and Parquet files, by what the policy says of each column."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import msgspec

from stream_anon.microdata.attributes import Attribute, PassThrough, QuasiIdentifier, ScalarType
from stream_anon.microdata.domains.reading import ByLabel, ByNumber
from stream_anon.microdata.output.typed import IntervalForm, read_typed, typed_form
from stream_anon.microdata.policy import Policy

_MOST_REMEMBERED = 100_000
_UNSPOKEN = {"unreadable": None}


class _Columns:
    """Knows where in a record the value of each column belongs.

    Parameters
    ----------
    policy
        Names the columns.
    names
        Those of the table. With one that stands twice a row is no record.
    """

    def __init__(self, policy: Policy, names: Sequence[str]) -> None:
        declared = {attribute.column: attribute for attribute in policy.attributes}
        self._columns = [(name, declared.get(name)) for name in names]
        self._twice = len(set(names)) < len(names)

    def record(self, cells: Sequence[Any], value: Callable[[Attribute | None, Any], Any]) -> dict[str, Any] | None:
        """Return the record of a row, nested; None for a row that does not fit the columns."""
        if self._twice or len(cells) != len(self._columns):
            return None
        record: dict[str, Any] = {}
        for (name, attribute), cell in zip(self._columns, cells, strict=True):
            inner, path = record, (name,) if attribute is None else attribute.path
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
                if not isinstance(inner, dict):  # an undeclared column has taken the parent's name
                    return None
            inner[path[-1]] = value(attribute, cell)
        return record


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
        self._columns = _Columns(policy, header)

    def read(self, cells: Sequence[str]) -> dict[str, Any] | None:
        """Return the record of a row, nested; None for a row that does not fit the header."""
        return self._columns.record(cells, _value)


class TypedReader:
    """Turns rows of a Parquet file into released records of the natural shape.

    Ends of numbers and days, texts and lists become what JSON publishes for them; see `microdata.output.typed`. A
    value that the policy cannot have published becomes an object that nothing publishes, for the audit to refuse.

    Parameters
    ----------
    policy
        Names the columns and their types.
    names
        The columns of the file.
    """

    def __init__(self, policy: Policy, names: Sequence[str]) -> None:
        self._columns = _Columns(policy, names)
        self._forms = {attribute.name: typed_form(attribute) for attribute in policy.quasi_identifiers}
        self._known: dict[bytes, Any] = {}

    def read(self, cells: Sequence[Any]) -> dict[str, Any] | None:
        """Return the record of a row of Python values, nested; None for a row that does not fit the columns."""
        return self._columns.record(cells, self._natural)

    def _natural(self, attribute: Attribute | None, cell: Any) -> Any:
        if not isinstance(attribute, QuasiIdentifier):
            return _spoken(cell)
        form = self._forms[attribute.name]
        days = isinstance(form, IntervalForm) and form.interval.type == "date"
        typed = _days(cell) if days else _spoken(cell)
        key = msgspec.json.encode((attribute.name, typed))
        if key not in self._known:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[key] = read_typed(form, typed)
        return self._known[key]


def _spoken(cell: Any) -> Any:
    """Return a value of Python as JSON has it; what JSON does not have becomes an object that nobody publishes."""
    if cell is None or isinstance(cell, bool | int | str) or (isinstance(cell, float) and isfinite(cell)):
        return cell
    if isinstance(cell, list):
        return list(map(_spoken, cell))
    return {str(key): _spoken(value) for key, value in cell.items()} if isinstance(cell, dict) else dict(_UNSPOKEN)


def _days(cell: Any) -> Any:
    """Return the ends of an interval of days as texts; a text in their place is none."""
    if not isinstance(cell, dict):
        return dict(_UNSPOKEN)
    return {
        key: None if end is None else end.isoformat() if type(end) is dt.date else dict(_UNSPOKEN)
        for key, end in cell.items()
    }


def header_cells(line: str, policy: Policy, split: Callable[[str, str], list[str]]) -> tuple[str, list[str]]:
    """Return the delimiter, `,` or `;`, by which a header holds more of the published names, and its cells."""
    names = {attribute.column for attribute in policy.published}
    choices = [(delimiter, split(line, delimiter)) for delimiter in (",", ";")]
    return max(choices, key=lambda choice: len(names.intersection(choice[1])))


def _value(attribute: Attribute | None, cell: str) -> Any:
    if attribute is None or not attribute.published:
        return cell
    if cell == "":
        return None
    if isinstance(attribute, PassThrough):
        return cell if attribute.type is ScalarType.STRING and not attribute.many else _json(cell)
    assert isinstance(attribute, QuasiIdentifier)  # noqa: S101 - identifiers are not published
    match attribute.domain.reading():
        case ByNumber():
            return _json(cell)
        case ByLabel():
            # Labels come first: a label may look like JSON.
            if attribute.type is ScalarType.STRING:
                return _json(cell) if cell[0] == "[" and attribute.domain.read(cell) is None else cell
            value = _json(cell)
            return value if attribute.read(value) is not None else cell
    return cell


def _json(cell: str) -> Any:
    """Return a cell's JSON; the cell itself if it is none or a text."""
    try:
        value = json.loads(cell, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        return cell
    return cell if isinstance(value, str) or value is None else value


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError("is no number of JSON")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key stands twice")
    return members
