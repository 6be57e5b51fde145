"""Rows are what the csv module makes of the lines, however they are read."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import InputError
from stream_anon.formats.tables import csv_rows, opening
from stream_anon.formats.tables.csv_rows import CsvRows
from stream_anon.formats.tables.opening import TextLines
from stream_anon.microdata.batch import Reason
from tests.support.effort import examples

LETTERS = st.sampled_from(
    [",", ",", "\n", "\r\n", "\r", '"', "a", "b", " ", "\x0b", "\u2028", "\x00", "\udcff", "\ufeff"]
)
PLAIN = st.lists(st.lists(st.sampled_from(["", "a", "b c", "\x0b"]), min_size=1, max_size=4), max_size=12)


def expected(text: str, width: int) -> tuple[list[tuple[str, ...]], list[Reason], list[int]]:
    """Return the cells of good rows, what is wrong with others, and the line in which each of all rows begins."""
    lines = list(io.StringIO("header\n" + text, newline=""))[1:]
    good, bad, begins = [], [], []
    reader = csv.reader(lines)
    while True:
        line = reader.line_num + 2
        try:
            row = next(reader)
        except StopIteration:
            return good, bad, begins
        except csv.Error:
            bad.append(Reason.TOO_LARGE)
            begins.append(line)
            continue
        if not row:
            continue
        begins.append(line)
        if len(row) != width:
            bad.append(Reason.MALFORMED)
        elif any("\udcff" in cell for cell in row):
            bad.append(Reason.NOT_UTF8)
        else:
            good.append(tuple(row))
    return good, bad, begins


def found(text: str, width: int) -> tuple[list[tuple[str, ...]], list[Reason], list[int]]:
    lines = TextLines(io.BytesIO(b"header\n" + text.encode(errors="surrogateescape")), "a")
    own = iter(lines)
    next(own)
    good, bad, begins = [], [], []
    for some in CsvRows(lines, own, ",", width):
        assert [len(cells) for cells in some.cells] == [len(some.fit)] * width
        assert sorted([*some.fit, *(number for number, _ in some.bad)]) == list(range(len(some.lines)))
        good += zip(*some.cells, strict=True)
        bad += [reason for _, reason in some.bad]
        begins += some.lines
    return good, bad, begins


@examples(300)
@given(
    text=st.lists(LETTERS, max_size=40).map("".join),
    width=st.integers(1, 3),
    rows=st.integers(1, 5),
    block=st.integers(1, 9),
)
def test_any_text_is_read_as_the_csv_module_reads_it(text: str, width: int, rows: int, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_rows, "ROWS", rows)
        patch.setattr(opening, "_BLOCK", block)
        assert found(text, width) == expected(text, width)


@examples(100)
@given(table=PLAIN, end=st.sampled_from(["\n", "\r\n", "\r"]), width=st.integers(1, 4), last=st.booleans())
def test_rows_without_quotes_are_read_as_the_csv_module_reads_them(
    table: list[list[str]], end: str, width: int, last: bool
) -> None:
    text = end.join(",".join(row) for row in table) + end * last
    assert found(text, width) == expected(text, width)


def test_a_cell_beyond_the_limit_is_one_reject_and_its_neighbours_are_read() -> None:
    text = "a,b\n" + "x" * 200_000 + ",b\nc,d\n"
    assert found(text, 2) == ([("a", "b"), ("c", "d")], [Reason.TOO_LARGE], [2, 3, 4])


def test_a_line_beyond_the_limit_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_MOST_LINE", 40)
    monkeypatch.setattr(opening, "_BLOCK", 8)
    assert list(TextLines(io.BytesIO(b"a\n" + b"b" * 39 + b"\nc"), "a")) == ["a\n", "b" * 39 + "\n", "c"]
    with pytest.raises(InputError, match="a: line 3 is longer"):
        list(TextLines(io.BytesIO(b"a\rb\r\n" + b"c" * 41 + b"\n"), "a"))


def test_what_is_not_written_yet_is_not_waited_for() -> None:
    class Pipe(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return super().read1(2 if size is None else min(2, size))

        def read(self, size: int | None = -1) -> bytes:
            raise AssertionError("waits")

    lines = iter(TextLines(Pipe(b"a\nb\nc"), "a"))
    assert list(lines) == ["a\n", "b\n", "c"]
