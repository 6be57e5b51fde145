"""Read released records from the cells of a CSV file, by what the policy says of each column."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from stream_anon.microdata.attributes import Attribute, PassThrough, QuasiIdentifier, ScalarType
from stream_anon.microdata.domains.reading import ByLabel, ByNumber
from stream_anon.microdata.policy import Policy


class CellReader:
    """Turns rows of cells into released records.

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
        declared = {attribute.column: attribute for attribute in policy.published}
        self._columns = [(name, declared.get(name)) for name in header]
        self._twice = len(set(header)) < len(header)

    def read(self, cells: Sequence[str]) -> dict[str, Any] | None:
        """Return the record of a row, nested; None for a row that does not fit the header."""
        if self._twice or len(cells) != len(self._columns):
            return None
        record: dict[str, Any] = {}
        for (name, attribute), cell in zip(self._columns, cells, strict=True):
            if attribute is None:
                record[name] = cell
                continue
            inner = record
            for key in attribute.path[:-1]:
                inner = inner.setdefault(key, {})
                if not isinstance(inner, dict):  # an undeclared column has taken the parent's name
                    return None
            inner[attribute.path[-1]] = _value(attribute, cell)
        return record


def header_cells(line: str, policy: Policy, split: Callable[[str, str], list[str]]) -> tuple[str, list[str]]:
    """Return the delimiter, `,` or `;`, by which a header holds more of the published names, and its cells."""
    names = {attribute.column for attribute in policy.published}
    choices = [(delimiter, split(line, delimiter)) for delimiter in (",", ";")]
    return max(choices, key=lambda choice: len(names.intersection(choice[1])))


def _value(attribute: Attribute, cell: str) -> Any:
    if cell == "":
        return None
    if isinstance(attribute, PassThrough):
        return cell if attribute.type is ScalarType.STRING else _json(cell)
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
