"""Read a sample of records whose fields nobody has declared yet."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import InputError
from stream_anon.formats.tables.format_names import DELIMITERS, STANDARD, Format, format_of
from stream_anon.formats.tables.opening import lines_of, not_utf8, open_records

MOST_SAMPLED = 50_000
MOST_FIELDS = 2_000  # with more keys than these, keys are values, such as names of people
MOST_DEPTH = 16
NESTED = (None,)  # stands for a list of other things than texts, or for anything else that is no value
_OBJECT = object()
_DATA_LIKE = re.compile(r"[-+]?[\d.,:/ -]+|.*@.*")

Value = str | int | float | bool | tuple[str, ...] | tuple[None]


@dataclass
class SampledField:
    """The values of one field with their rows; null and absent values are left out, of lists of texts too.

    Parameters
    ----------
    rows, values
        Of the same length, in ascending order of rows.
    keys
        Lead from the record's top to the value; cells of a row have none.
    objects
        In how many records an object stands in the field's place; it is no value.
    """

    rows: list[int] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    keys: tuple[str, ...] = ()
    objects: int = 0

    def add(self, row: int, value: Value) -> None:
        """Append the value of a row, before anybody asks for what is computed of all values."""
        self.rows.append(row)
        self.values.append(value)

    @cached_property
    def distinct(self) -> list[Value]:
        """Return every value once, in order of appearance; true and 1 are two, 1.0 and 1 are one."""
        return list(self._numbered[0])

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Return for each value its place in `distinct`."""
        return self._numbered[1]

    @cached_property
    def counts(self) -> list[int]:
        """Return how often each value of `distinct` occurs."""
        counted: list[int] = np.bincount(self.places, minlength=len(self.distinct)).tolist()
        return counted

    @cached_property
    def _numbered(self) -> tuple[list[Value], NDArray[np.int64]]:
        known: dict[object, int] = {}
        # A bool is equal to 0 or 1, and only a type makes it another key.
        keys: list[object] = [(bool, value) if isinstance(value, bool) else value for value in self.values]
        places = [known.setdefault(key, len(known)) for key in keys]
        values = [cast("Value", key[1] if isinstance(key, tuple) and key[:1] == (bool,) else key) for key in known]
        return values, np.array(places, np.int64)


@dataclass(frozen=True, slots=True)
class FieldSample:
    """Undeclared records as columns.

    Parameters
    ----------
    records
        How many were read.
    columns
        By dotted name, in order of appearance; if two fields have one name, the first counts.
    malformed
        Number of lines that are no record.
    texts
        Whether every value is text because the format knows no types (CSV).
    more
        Whether the file holds more records than were read.
    index
        Whether a first column without a name, which counts rows as pandas writes it, was left out.
    own_names
        Columns of which a value is the column's name: the first line may be a record.
    """

    records: int
    columns: Mapping[str, SampledField]
    malformed: int
    texts: bool
    more: bool
    index: bool = False
    own_names: tuple[str, ...] = ()


def read_sample(path: Path, most: int = MOST_SAMPLED) -> FieldSample:
    """Return up to `most` records of a CSV, TSV or JSON Lines file, told apart by its suffix.

    Raises
    ------
    InputError
        If the file cannot be read, is of another kind, or holds no record. It names the file, no content.
    """
    form = format_of(str(path))
    if form is Format.PARQUET or str(path) == STANDARD:
        raise InputError(f"{path}: a policy is proposed from a file of CSV, TSV or JSON Lines")
    try:
        with io.TextIOWrapper(open_records(str(path), form), encoding="utf-8-sig", newline="") as file:
            lines = lines_of(file, str(path))
            sample = _read_json(lines, most) if form is Format.JSONL else _read_csv(lines, path, most, form)
    except UnicodeDecodeError:
        raise InputError(not_utf8(str(path), form)) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if sample.records == 0:
        raise InputError(f"{path}: holds no record that can be read")
    return sample


def first_texts(name: str, most: int) -> list[bytes | None]:
    """Return up to `most` records of a file as JSON texts; none of a file that `read_sample` does not read."""
    try:
        sample = read_sample(Path(name), most)
    except InputError:
        return []
    records: list[dict[str, object]] = [{} for _ in range(sample.records)]
    for column_name, column in sample.columns.items():
        *above, last = column.keys or column_name.split(".")
        for row, value in zip(column.rows, column.values, strict=True):
            record: object = records[row]
            for key in above:
                record = record.setdefault(key, {}) if isinstance(record, dict) else None
            if isinstance(record, dict):
                record[last] = value
    return list(map(msgspec.json.encode, records))


def _read_csv(texts: Iterator[str], path: Path, most: int, form: Format) -> FieldSample:
    first = next(texts, "")
    lines = _rows(csv.reader(chain([first], texts), delimiter=max(DELIMITERS[form], key=first.count)))
    names = next(lines, None) or []
    columns = [SampledField() for _ in names]
    records = malformed = 0
    more = False
    for cells in lines:
        if records == most:
            more = True
            break
        if cells is None or len(cells) != len(names) or cells == names:  # joined files repeat the names
            malformed += 1
            continue
        for column, cell in zip(columns, cells, strict=True):
            if cell != "":
                column.add(records, _cell(cell))
        records += 1
    index = _is_index(names, columns)
    if index:
        names, columns = names[1:], columns[1:]
    own = _checked_names(names, columns, path)
    found = dict(zip(names, columns, strict=True))
    return FieldSample(records, found, malformed, texts=True, more=more, index=index, own_names=own)


def _cell(cell: str) -> Value:
    """Return a cell's text, or the list that it holds as JSON."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return cell
    try:
        value = msgspec.json.decode(cell)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return cell
    return _listed(value)


def _listed(items: list[object]) -> Value:
    texts = tuple(item for item in items if item is not None)
    return cast("tuple[str, ...]", texts) if all(isinstance(item, str) for item in texts) else NESTED


def _is_index(names: list[str], columns: list[SampledField]) -> bool:
    """Return whether the first column has no name and counts rows; a record has no such column."""
    if len(names) < 2 or names[0] or not columns[0].values:
        return False
    numbers = [str(value) for value in columns[0].values]
    if not all(re.fullmatch("[0-9]{1,15}", number) for number in numbers):
        return False
    return all(int(after) == int(before) + 1 for before, after in pairwise(numbers))


def _rows(reader: Iterator[list[str]]) -> Iterator[list[str] | None]:
    """Return the rows that are not blank, without the blanks around cells; None for one that is too large."""
    while True:
        try:
            row = next(reader, None)
        except csv.Error:  # a quote that is never closed; the next row begins anew
            yield None
            continue
        if row is None:
            return
        if row:
            yield [cell.strip() for cell in row]


def _checked_names(names: list[str], columns: list[SampledField], path: Path) -> tuple[str, ...]:
    """Return the names that are values of their own columns, as `remote` may be one of `remote`.

    A first line that is plainly a record is refused: its values would be taken for names, and written. It holds a
    number or an address, or most columns have its values again.
    """
    if not all(names) or len(set(names)) < len(names):
        raise InputError(f"{path}: the first line must hold the names of the columns, all different")
    own = tuple(name for name, column in zip(names, columns, strict=True) if name in column.values)
    if any(_DATA_LIKE.fullmatch(name) for name in names) or (len(own) > 1 and 2 * len(own) > len(names)):
        raise InputError(f"{path}: the first line must hold the names of the columns; it looks like a record")
    return own


def _read_json(lines: Iterator[str], most: int) -> FieldSample:
    decoder = msgspec.json.Decoder()
    columns: dict[str, SampledField] = {}
    objects: Counter[tuple[str, ...]] = Counter()
    records = malformed = 0
    more = False
    for line in lines:
        if not line.strip():
            continue
        if records == most:
            more = True
            break
        try:
            record = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError):
            malformed += 1
            continue
        if not isinstance(record, dict):
            malformed += 1
            continue
        for keys, value in _flat(record, ()):
            if value is _OBJECT:
                if keys in objects or len(objects) < MOST_FIELDS:
                    objects[keys] += 1
                continue
            name = ".".join(keys)
            if name not in columns and len(columns) < MOST_FIELDS:
                columns[name] = SampledField(keys=keys)
            if name in columns and columns[name].keys == keys:
                columns[name].add(records, cast("Value", value))
        records += 1
    for column in columns.values():
        column.objects = objects[column.keys]
    return FieldSample(records, columns, malformed, texts=False, more=more)


def _flat(record: dict[str, object], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Return the scalars and lists of texts of a record by their keys.

    An object is `_OBJECT`, before what is in it; other values are `NESTED`.
    """
    for key, value in record.items():
        if not key:
            continue  # it cannot be declared
        keys = (*above, key)
        if isinstance(value, dict):
            yield keys, _OBJECT
            if len(above) < MOST_DEPTH:
                yield from _flat(value, keys)
        elif isinstance(value, list):
            yield keys, _listed(value)
        elif isinstance(value, float) and not math.isfinite(value):
            yield keys, NESTED
        elif isinstance(value, str | int | float):
            yield keys, value
