"""Code rows of Arrow tables, and of columns of Python objects beside them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream_anon.errors import InputError
from stream_anon.formats.tables.arrow.arrow_columns import column_of, keys_of
from stream_anon.formats.tables.arrow.codes import codes_of
from stream_anon.formats.tables.python_values import plain
from stream_anon.formats.tables.table_columns import CodeColumn, Column, ColumnCoder, KeyColumn
from stream_anon.microdata.attributes import Attribute, Identifier
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.coding import find, meant
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

ROWS = 65_536
"""Rows a batch."""


class TableFields:
    """Where the declared attributes of a policy stand in a table.

    A field under other fields is a column of its own, named by its keys with dots (`home.city`), or a field of a
    struct.

    Parameters
    ----------
    names
        Of the columns, by name their types; None for a column of Python objects.
    name
        What errors call the table.

    Raises
    ------
    InputError
        If a declared field has no column, or two.
    """

    def __init__(self, policy: Policy, names: Mapping[str, Any], name: str) -> None:
        self.places: list[tuple[str, ...] | None] = []
        for attribute in policy.attributes:
            if isinstance(attribute, Identifier) and attribute.name != policy.individual:
                self.places.append(None)
                continue
            choices: list[tuple[str, ...]] = [(attribute.column,)] if attribute.column in names else []
            if len(attribute.path) > 1 and _leads(attribute.path, names):
                choices.append(attribute.path)
            if len(choices) != 1:
                what = "has no column" if not choices else "has twice the column"
                raise InputError(f"{name}: {what} {attribute.column!r}, which the policy declares")
            self.places.append(choices[0])

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns that are read."""
        return list(dict.fromkeys(place[0] for place in self.places if place is not None))


def _leads(path: tuple[str, ...], names: Mapping[str, Any]) -> bool:
    """Return whether a path leads to a field of a struct, or into Python objects, of which nobody knows."""
    if path[0] not in names:
        return False
    kind = names[path[0]]
    for key in path[1:]:
        if kind is None:
            return True
        if not pa.types.is_struct(kind) or kind.get_field_index(key) < 0:
            return False
        kind = kind.field(key).type
    return True


class TableCoder:
    """Code the rows of a table with the fields of a policy, as batches of source 0 in order.

    Parameters
    ----------
    first
        The number of the first row.
    coder
        Codes the columns, and goes on counting; a new one if None.
    """

    def __init__(
        self, policy: Policy, fields: TableFields, first: int = 0, coder: ColumnCoder | None = None
    ) -> None:
        self._policy = policy
        self._fields = fields
        self._coder = coder or ColumnCoder(policy, plain)
        self.rows = first

    @property
    def coerced(self) -> int:
        """Return how many texts counted as another type because their attributes say so."""
        return self._coder.coerced

    def batch(self, columns: Mapping[str, Any], rows: int) -> CodedBatch:
        """Return the coded batch of so many rows.

        Parameters
        ----------
        columns
            Those that the fields name: Arrow arrays, or lists of Python objects.
        """
        pairs = zip(self._policy.attributes, self._fields.places, strict=True)
        found = [None if place is None else self._column(attribute, columns, place) for attribute, place in pairs]
        offsets = np.arange(self.rows, self.rows + rows)
        self.rows += rows
        return self._coder.batch(found, offsets, 0)

    def _column(
        self, attribute: Attribute, columns: Mapping[str, Any], place: tuple[str, ...]
    ) -> Column | CodeColumn | KeyColumn:
        cells, rest = columns[place[0]], place[1:]
        if isinstance(cells, list):
            return self._of_objects(attribute, [find({"": cell}, ("", *rest)) for cell in cells])
        for key in rest:
            cells = pc.struct_field(cells, key)
        if attribute.name == self._policy.individual and not self._policy.normalize:
            keys = keys_of(cells, self._policy.null_values)
            if keys is not None:
                return keys
        coded = codes_of(cells, attribute) if isinstance(attribute, QuasiIdentifier) else None
        return coded or self._meant(column_of(cells, attribute))

    def _of_objects(self, attribute: Attribute, cells: Sequence[Any]) -> Column:
        """Return the column of objects; 1, 1.0 and true are told apart, and so are moments by their clocks."""
        found = [plain(attribute, cell) for cell in cells]
        column = Column.of([(_types(value), value) for value in found])
        return self._meant(Column([value for _, value in column.values], column.places))

    def _meant(self, column: Column) -> Column:
        """Return the column with the policy's texts for missing values as None."""
        nulls = self._policy.null_values
        if not nulls:
            return column
        return Column([meant(value, nulls) for value in column.values], column.places)


def _types(value: object) -> tuple[object, ...]:
    """Return the types of a value, and of the items of a list; of a moment also how far its clock is from UTC."""
    if isinstance(value, dt.datetime):
        return (type(value), value.utcoffset())
    return (type(value), *(map(type, value) if isinstance(value, tuple) else ()))
