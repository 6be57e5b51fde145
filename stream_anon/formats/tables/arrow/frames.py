"""Frames of any library that narwhals knows: coded column by column, and given back in kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from secrets import token_hex
from typing import Any

import narwhals as nw
import pyarrow as pa

from stream_anon.errors import InputError
from stream_anon.formats.tables.arrow.table_coding import ROWS, TableCoder, TableFields
from stream_anon.formats.tables.table_columns import ColumnCoder
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy

_NAME = "frame"


def batches_of(
    frame: Any, policy: Policy, first: int = 0, coder: ColumnCoder | None = None
) -> Iterator[CodedBatch]:
    """Return an iterator of the rows of a frame as coded batches of source 0, up to 65,536 rows each.

    Its columns are looked for at once.

    Parameters
    ----------
    frame
        Any that narwhals knows, a `pyarrow.RecordBatch`, or a `pyarrow.RecordBatchReader`, which is read piece by
        piece.
    first
        The number of the first row.
    coder
        See `TableCoder`.

    Raises
    ------
    InputError
        If a column that the policy declares is absent or stands twice, or the frame cannot be read.
    TypeError
        If it is no frame.
    """
    if isinstance(frame, pa.RecordBatchReader):
        table = TableCoder(policy, TableFields(policy, _named(frame.schema), _NAME), first, coder)
        return _of_pieces(frame, table)
    columns, rows = _columns(frame, policy)
    types = {name: None if isinstance(cells, list) else cells.type for name, cells in columns.items()}
    return _of_columns(columns, rows, TableCoder(policy, TableFields(policy, types, _NAME), first, coder))


def _of_pieces(reader: Any, table: TableCoder) -> Iterator[CodedBatch]:
    for piece in _pieces(reader):
        for start in range(0, len(piece), ROWS):
            part = piece.slice(start, ROWS)
            yield table.batch(dict(zip(part.schema.names, part.columns, strict=True)), len(part))


def _of_columns(columns: Mapping[str, Any], rows: int, table: TableCoder) -> Iterator[CodedBatch]:
    for start in range(0, rows, ROWS):
        count = min(ROWS, rows - start)
        yield table.batch({name: _slice(cells, start, count) for name, cells in columns.items()}, count)


@contextlib.contextmanager
def _without_values() -> Iterator[None]:
    """Keep what a library says of a value that it cannot read, such as a text that is no number, to itself."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever computes the frame raises it
        raise InputError(f"{_NAME}: cannot be read ({type(error).__name__})") from None


def _pieces(reader: Any) -> Iterator[Any]:
    """Yield the batches of a reader."""
    batches = iter(reader)
    while True:
        with _without_values():
            piece = next(batches, None)
        if piece is None:
            return
        yield piece


def _columns(frame: Any, policy: Policy) -> tuple[Mapping[str, Any], int]:
    """Return the columns that the policy may read, chunked arrays or lists of Python objects, and their length."""
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return dict(zip(_named(frame.schema), frame.columns, strict=True)), len(frame)
    known = _known(frame)
    if isinstance(known, nw.LazyFrame):
        with _without_values():
            names = known.collect_schema().names()
            known = known.select(columns_read(policy, names))
            lazy = known.implementation is nw.Implementation.POLARS
            known = known.collect() if lazy else known.collect("pyarrow")
    return {name: _cells(known[name]) for name in columns_read(policy, known.columns)}, len(known)


def _known(frame: Any) -> Any:
    try:
        return nw.from_native(frame)
    except TypeError:
        raise TypeError(f"narwhals knows no frame of type {type(frame).__name__}") from None
    except (ValueError, nw.exceptions.NarwhalsError):
        raise InputError(f"{_NAME}: two columns have one name, or their names are no texts") from None


def _named(schema: Any) -> dict[str, Any]:
    if len(set(schema.names)) < len(schema):
        raise InputError(f"{_NAME}: two columns have one name")
    return {field.name: field.type for field in schema}


def columns_read(policy: Policy, names: Sequence[str]) -> list[str]:
    """Return those of a frame's columns that the policy may read."""
    wanted = {name for attribute in policy.attributes for name in (attribute.column, attribute.path[0])}
    return [name for name in names if name in wanted]


def _cells(series: Any) -> Any:
    """Return a column as Arrow has it; Python objects of several types stay what they are."""
    if series.dtype == nw.Object:
        return list(series.to_list())
    try:
        cells = series.to_arrow()
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError, ValueError):  # half of a surrogate pair
        return list(series.to_list())
    return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells], cells.type)


def _slice(cells: Any, start: int, count: int) -> Any:
    if isinstance(cells, list):
        return cells[start : start + count]
    part = cells.slice(start, count).combine_chunks()
    return pa.concat_arrays(part.chunks) if isinstance(part, pa.ChunkedArray) else part


def in_kind(table: Any, frame: Any) -> Any:
    """Return an Arrow table as a frame of the same library as `frame`, lazy where that is.

    pandas gets nullable integers and truth values; structs and lists stay Arrow's (`pandas.ArrowDtype`). A DuckDB
    relation belongs to the connection of the one that was given.
    """
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return table
    known = _known(frame)
    kind = known.implementation
    if kind is nw.Implementation.PANDAS:
        found = _as_pandas(table)
    elif kind is nw.Implementation.DUCKDB:
        found = _as_relation(table, known.to_native())
    elif isinstance(known, nw.LazyFrame) and kind is not nw.Implementation.POLARS:
        found = nw.from_native(table).lazy(kind).to_native()
    else:
        eager = nw.from_arrow(table, backend=kind)
        found = (eager.lazy() if isinstance(known, nw.LazyFrame) else eager).to_native()
    return nw.from_native(found) if isinstance(frame, nw.DataFrame | nw.LazyFrame) else found


def _as_pandas(table: Any) -> Any:
    import pandas as pd

    own = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    return table.to_pandas(types_mapper=lambda t: pd.ArrowDtype(t) if pa.types.is_nested(t) else own.get(t))


def _as_relation(table: Any, relation: Any) -> Any:
    """Return an Arrow table as a relation of the connection of another, which DuckDB does not give away.

    A query finds the table as a variable of the frame that asks. A table or view of the connection with the same
    name would come first, so the name is random, and the query sees no other variable.
    """
    import duckdb

    view, name = (f"stream_anon_{token_hex(16)}" for _ in range(2))
    own = {"relation": relation, name: table}
    try:
        found = eval(f"relation.query('{view}', 'FROM {name}')", {}, own)  # noqa: S307 - no text of others
    except duckdb.CatalogException:
        raise InputError(
            f"{_NAME}: the connection of the DuckDB relation reads no Arrow tables: it needs "
            "enable_external_access and python_enable_replacements"
        ) from None
    if found.columns != table.column_names:
        raise InputError(f"{_NAME}: DuckDB renames columns of the release; it tells no names apart by case")
    return found
