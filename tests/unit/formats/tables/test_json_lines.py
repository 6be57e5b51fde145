from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import InputError
from stream_anon.formats.tables import json_lines, record_files
from stream_anon.formats.tables.csv_files import CsvReader, CsvWriter
from stream_anon.formats.tables.format_names import Format, format_of
from stream_anon.formats.tables.json_lines import JsonLinesReader, JsonLinesWriter
from stream_anon.formats.tables.new_files import NewFile
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

POLICY = Policy(
    (QuasiIdentifier("color", CategoricalDomain(Hierarchy.flat(["red", "green"]))),), k=2, individual=EVERY_RECORD
)


class Trickle(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        self.data, self.step = data, step

    def read1(self, _size: int) -> bytes:
        piece, self.data = self.data[: self.step], self.data[self.step :]
        return piece


def lines_of(file: Any, most: int = 1 << 20) -> list[tuple[int, bytes]]:
    """Read a file with a decoder that keeps what it is given."""

    def decode(values: Sequence[bytes | None], source: int, offsets: np.ndarray) -> Any:
        assert source == 9
        return list(zip(offsets.tolist(), values, strict=True))

    reader = JsonLinesReader(file, decode, 9, most)
    found: list[Any] = [line for batch in reader for line in batch]  # type: ignore[attr-defined]
    return found


def test_blank_lines_are_no_records_and_count_as_lines() -> None:
    data = b'\xef\xbb\xbf{"a":1}\n\n \r\n{"b"\n[]\r\nlast'
    assert lines_of(io.BytesIO(data)) == [(0, b'{"a":1}'), (3, b'{"b"'), (4, b"[]\r"), (5, b"last")]


@given(st.lists(st.binary(max_size=6).filter(lambda line: b"\n" not in line)), st.integers(1, 9))
def test_lines_do_not_depend_on_how_the_bytes_come_in(lines: list[bytes], step: int) -> None:
    data = b"x\n" + b"\n".join(lines)
    expected = [(i, line) for i, line in enumerate([b"x", *lines]) if line.strip(b" \t\n\r\x0b\x0c")]
    assert lines_of(Trickle(data, step)) == expected
    assert lines_of(io.BytesIO(data)) == expected


def test_a_line_that_is_too_long_is_cut_off_and_the_next_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "BLOCK", 8)
    (first, second, third) = lines_of(io.BytesIO(b"ab\n" + b"x" * 1000 + b"\nc"), most=20)
    assert (first, third) == ((0, b"ab"), (2, b"c"))
    assert second[0] == 1
    assert 20 < len(second[1]) <= 30


def test_the_written_lines_are_the_bytes_of_the_codec() -> None:
    class Kept(io.BytesIO):
        closes = 0

        def close(self) -> None:
            self.closes += 1

    for owned in (True, False):
        file = Kept()
        writer = JsonLinesWriter(file, lambda _release: [b'{"a":1}', b"{}"], owned=owned)
        writer.write(None)  # type: ignore[arg-type]
        writer.write(None)  # type: ignore[arg-type]
        assert file.getvalue() == b'{"a":1}\n{}\n' * 2
        writer.close()
        assert file.closes == owned


def test_the_suffix_of_a_file_decides_its_format(tmp_path: Path) -> None:
    def decode(*_: object) -> Any:
        raise AssertionError

    csv_name = str(tmp_path / "a.CSV")
    Path(csv_name).write_text("color\n", encoding="utf-8")
    reader = record_files.open_reader(csv_name, POLICY, decode)
    assert isinstance(reader, CsvReader)
    reader.close()
    for name in ("a.jsonl", "a.ndjson", "a.json"):
        path = tmp_path / name
        path.write_bytes(b"\n")
        lines = record_files.open_reader(str(path), POLICY, decode)
        assert isinstance(lines, JsonLinesReader)
        assert list(lines) == []
        assert lines.bytes_read == record_files.size_of(str(path)) == 1
        lines.close()
    for name, kind in (("o.csv", CsvWriter), ("o.jsonl", JsonLinesWriter)):
        with NewFile(str(tmp_path / name)) as new:
            writer = record_files.open_writer(new, format_of(name), POLICY, lambda _release: [])
            assert isinstance(writer, kind)
            writer.close()
    assert (format_of("-"), format_of("-", Format.CSV)) == (Format.JSONL, Format.CSV)
    assert record_files.size_of("-") is None
    with pytest.raises(
        InputError, match=r"must end in \.csv, .*\.parquet, with \.gz behind that if it is compressed, or be -"
    ):
        format_of("a.xlsx")
    with pytest.raises(InputError, match="cannot be opened"):
        record_files.open_reader(str(tmp_path / "absent.csv"), POLICY, decode)
