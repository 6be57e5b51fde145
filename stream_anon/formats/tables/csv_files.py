"""CSV files: a header of dotted names, cells of text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import InputError
from stream_anon.formats.tables.csv_cells import parse
from stream_anon.formats.tables.csv_rows import CsvRows
from stream_anon.formats.tables.format_names import DELIMITERS, TAB, Format
from stream_anon.formats.tables.opening import ESCAPED, TextLines, not_utf8
from stream_anon.formats.tables.passed_columns import columns_of
from stream_anon.formats.tables.table_columns import FITS, Column, ColumnCoder, KeyColumn
from stream_anon.microdata.attributes import Attribute, Identifier
from stream_anon.microdata.batch import NO_ATTRIBUTE, CodedBatch, Reason
from stream_anon.microdata.coding import meant
from stream_anon.microdata.domains.domain import Published
from stream_anon.microdata.keys import text_keys
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release


class CsvReader:
    """Reads batches from a CSV file; an offset is the number of the record, counted from 0 after the header.

    Parameters
    ----------
    file
        Opened for bytes. UTF-8, with or without a byte order mark.
    policy
        Its attributes are found in the header by their keys, joined by dots; other columns are ignored.
    source
        The number that stands for the file.
    name
        What errors call the file.
    form
        CSV or TSV.

    Raises
    ------
    InputError
        For an empty file, a declared column that is absent or stands twice, or a line that is too long.

    Notes
    -----
    The delimiter of CSV is `,` or `;`, whichever finds more declared names in the header; that of TSV is a tab.
    Rows with too few or too many cells are rejected; blank lines are no records. A quote that is never closed
    swallows everything up to the csv module's limit of a cell (128 KiB), which is one reject.
    """

    def __init__(
        self,
        file: BinaryIO,
        policy: Policy,
        source: int = 0,
        name: str = "input",
        form: Format = Format.CSV,
    ) -> None:
        self._file = file
        self._policy = policy
        self._source = source
        self._text = TextLines(file, name)
        self._texts = iter(self._text)
        header = next(self._texts, "")
        if not header.strip():
            raise InputError(f"{name}: is empty or does not begin with a header")
        declared = {attribute.column for attribute in policy.attributes}
        headers = {mark: _cells(header, mark) for mark in DELIMITERS[form]}
        self.delimiter = max(headers, key=lambda mark: len(declared.intersection(headers[mark])))
        self._names = headers[self.delimiter]
        self._form, self._header = form, header
        self._places = self._found(name)
        nulls = policy.null_values
        self._coder = ColumnCoder(policy, lambda attribute, cell: meant(parse(attribute, cell, nulls), nulls))
        self._first = 0  # number of the last batch's first record
        self._lines: Sequence[int] = []  # of the last batch

    def _found(self, name: str) -> list[int | None]:
        """Return the column of each attribute, None for one that is not read."""
        places: list[int | None] = []
        for attribute in self._policy.attributes:
            count = self._names.count(attribute.column)
            needed = not isinstance(attribute, Identifier) or attribute.name == self._policy.individual
            if needed and count != 1:
                if not count and ESCAPED.search(self._header):
                    raise InputError(not_utf8(name, self._form))
                what = "has no column" if not count else "has twice the column"
                if not count and self._form is Format.CSV and TAB in self._header:
                    raise InputError(f"{name}: {what} {attribute.column!r}; if tabs part the cells, name it .tsv")
                raise InputError(f"{name}: {what} {attribute.column!r}, which the policy declares")
            places.append(self._names.index(attribute.column) if needed else None)
        return places

    @property
    def bytes_read(self) -> int:
        """Return how many bytes of the file were read; 0 for a pipe."""
        return self._file.tell() if self._file.seekable() else 0

    @property
    def coerced(self) -> int:
        """Return how many cells have a decimal comma: other texts of numbers are numbers in any case."""
        return self._coder.coerced

    def __iter__(self) -> Iterator[CodedBatch]:
        """Yield batches of a few thousand records in order."""
        first = 0
        for rows in CsvRows(self._text, self._texts, self.delimiter, len(self._names)):
            self._first, self._lines = first, rows.lines
            columns = [
                None if place is None else self._column(attribute, rows.cells[place])
                for attribute, place in zip(self._policy.attributes, self._places, strict=True)
            ]
            bad = [(reason, NO_ATTRIBUTE, self._source, first + place) for place, reason in rows.bad]
            yield self._coder.batch(columns, first + np.array(rows.fit, np.int64), self._source, bad)
            first += len(rows.lines)

    def _column(self, attribute: Attribute, cells: Sequence[str]) -> Column | KeyColumn:
        if attribute.name != self._policy.individual or self._policy.normalize:
            return Column.of(cells)
        # Most ids differ: each is keyed as it is, instead of once for each different one.
        texts, nulls = list(map(str.strip, cells)), self._policy.null_values
        missing = np.array([not text or text in nulls for text in texts], np.bool_)
        return KeyColumn(text_keys(texts), np.where(missing, Reason.NO_INDIVIDUAL, FITS).astype(np.int8))

    def lines(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lines, counted from 1, in which records of the last batch begin; the header is the first."""
        return np.array([self._lines[offset - self._first] for offset in offsets.tolist()], np.int64)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _cells(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]


class CsvWriter:
    """Writes releases as CSV: a header of published names in policy order, then one row a record.

    An interval or a set is written as JSON in its cell, a missing value as an empty cell.

    Parameters
    ----------
    file
        Opened for bytes.
    policy
        Says what is published.
    delimiter
        Between cells.
    owned
        Whether to close the file in the end.
    """

    def __init__(self, file: BinaryIO, policy: Policy, delimiter: str = ",", *, owned: bool = True) -> None:
        self._policy = policy
        self._owned = owned
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        self._writer = csv.writer(self._text, delimiter=delimiter, lineterminator="\n")
        # A lone carriage return is not quoted by itself, but read as an end of line.
        self._quoting = csv.writer(self._text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self._writer.writerow([attribute.column for attribute in policy.published])

    def write(self, release: Release) -> None:
        """Write all released records of a window and flush them."""
        classes = release.class_of_row[release.order].tolist()
        columns: list[Iterator[str]] = []
        writer = self._writer
        quasi = iter(release.classes.values)
        through = iter(columns_of(release.payload, release.order, len(self._policy.passed)))
        for attribute in self._policy.published:
            if isinstance(attribute, QuasiIdentifier):
                texts = _cells_of(next(quasi))
                columns.append(map(texts.__getitem__, classes))
            else:
                values, places = next(through)
                texts = _cells_of(values)
                columns.append(map(texts.__getitem__, places.tolist()))
            if "\r" in "".join(texts):
                writer = self._quoting
        writer.writerows(zip(*columns, strict=True))
        self._text.flush()

    def close(self) -> None:
        """Close the file, or let go of one that is not owned."""
        if self._owned:
            self._text.close()
        else:
            self._text.detach()


def _cells_of(values: Iterable[Published]) -> list[str]:
    return [value if type(value) is str else _cell(value) for value in values]


def _cell(value: Published) -> str:
    """Return a cell: text as it is, nothing for missing, else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()
