"""Rows of a CSV file as columns of cells, a few thousand at a time."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat

from stream_anon.formats.tables.opening import ESCAPED, TextLines
from stream_anon.microdata.batch import Reason

ROWS = 4000
"""Rows that are read together."""

Row = list[str]


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Rows that follow each other in a file; they are numbered from 0.

    Parameters
    ----------
    cells
        Of each column, those of the rows that have all their cells.
    fit
        The numbers of these rows.
    lines
        Where each row begins, counted from 1.
    bad
        Number of each other row, and what is wrong with it.
    """

    cells: Sequence[Sequence[str]]
    fit: Sequence[int]
    lines: Sequence[int]
    bad: Sequence[tuple[int, Reason]] = field(default=())


class CsvRows:
    """Reads the rows behind a header; blank lines are none.

    Parameters
    ----------
    text, lines
        The file, and its lines behind the header, which is line 1.
    delimiter
        Between cells.
    width
        How many cells a row must have.

    Notes
    -----
    Rows are what the csv module makes of the lines. Where neither a quote nor a lone carriage return is about, that
    is what lies between delimiters, which is found for all rows at once.
    """

    def __init__(self, text: TextLines, lines: Iterator[str], delimiter: str, width: int) -> None:
        self._text, self._lines = text, lines
        self._delimiter, self._width = delimiter, width
        self._next = 2  # the line that comes next

    def __iter__(self) -> Iterator[Stretch]:
        """Yield all rows, up to `ROWS` at a time."""
        while texts := list(islice(self._lines, ROWS)):
            found = self._split(texts) or self._parsed(texts)
            if found.lines:
                yield found

    def _split(self, texts: list[str]) -> Stretch | None:
        """Return the rows of lines that are nothing but cells and delimiters; None if they may be more or less."""
        joint = "".join(texts)
        returns = joint.count("\r")
        if returns:
            if not returns == joint.count("\r\n") == joint.count("\n"):
                return None
            joint = joint.replace("\r\n", "\n")
        odd = '"' in joint or self._text.damaged or max(map(len, texts)) > csv.field_size_limit()
        if odd or self._width == 1 or set(map(str.count, texts, repeat(self._delimiter))) != {self._width - 1}:
            return None
        cells = joint.removesuffix("\n").replace("\n", self._delimiter).split(self._delimiter)
        columns = [cells[place :: self._width] for place in range(self._width)]
        return Stretch(columns, range(len(texts)), self._numbered(len(texts)))

    def _numbered(self, count: int) -> range:
        """Return the numbers of the next lines."""
        first, self._next = self._next, self._next + count
        return range(first, self._next)

    def _parsed(self, texts: list[str]) -> Stretch:
        """Return what the csv module makes of lines, and of as many more as the last row takes."""
        rows, lines = self._of_one_line(texts) or self._one_by_one(texts)
        fit: list[int] = []
        bad: list[tuple[int, Reason]] = []
        good: list[Row] = []
        for number, row in enumerate(rows):
            if row is None:
                bad.append((number, Reason.TOO_LARGE))
            elif len(row) != self._width:
                bad.append((number, Reason.MALFORMED))
            elif self._text.damaged and ESCAPED.search("".join(row)):
                bad.append((number, Reason.NOT_UTF8))
            else:
                fit.append(number)
                good.append(row)
        return Stretch(list(zip(*good, strict=True)) or [()] * self._width, fit, lines, bad)

    def _of_one_line(self, texts: list[str]) -> tuple[Sequence[Row], Sequence[int]] | None:
        """Return the rows of lines if each of them is a row; None if one is not, or may not be."""
        try:
            rows = list(csv.reader(texts, delimiter=self._delimiter))
            ended = len(list(csv.reader([texts[-1], "x"], delimiter=self._delimiter))) > 1
        except csv.Error:
            return None
        if len(rows) != len(texts) or not ended:
            return None
        lines = self._numbered(len(texts))
        kept = [(row, line) for row, line in zip(rows, lines, strict=True) if row]
        return [row for row, _ in kept], [line for _, line in kept]

    def _one_by_one(self, texts: list[str]) -> tuple[Sequence[Row | None], Sequence[int]]:
        """Return the next rows; None for one with a cell beyond the csv module's limit.

        Each row takes a line or more, so that `ROWS` rows leave none of the lines over.
        """
        rows: list[Row | None] = []
        lines: list[int] = []
        reader = csv.reader(chain(texts, self._lines), delimiter=self._delimiter)
        while len(rows) < ROWS:
            line = self._next + reader.line_num
            try:
                row = next(reader)
            except StopIteration:
                break
            except csv.Error:  # the rows before it stay, and the next row begins anew
                row = None
            if row is None or row:
                rows.append(row)
                lines.append(line)
        self._next += reader.line_num
        return rows, lines
