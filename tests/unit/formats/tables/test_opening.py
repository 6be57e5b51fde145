"""Every command reads files of records alike: compressed, with tabs, or as one JSON array, in bounded memory."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.cli.run.anonymize import _too_many
from stream_anon.errors import InputError
from stream_anon.files.file_report import FileReport
from stream_anon.files.job import FileJob
from stream_anon.files.two_tables import beside
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.tables.format_names import Format, format_of, released_format
from stream_anon.formats.tables.json_arrays import array_begins, lines_of_array
from stream_anon.formats.tables.new_files import NewFile, write_whole
from stream_anon.formats.tables.opening import lines_of, open_records
from stream_anon.formats.tables.record_files import open_reader, open_writer, size_of
from stream_anon.formats.tables.undeclared_samples import read_sample
from stream_anon.microdata.attributes import Insensitive, ScalarType
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.operations.samples import sample_of_file
from tests.support.traced import traced

POLICY = Policy(
    (
        QuasiIdentifier("color", CategoricalDomain(Hierarchy.flat(["red", "green"]))),
        Insensitive("note", ScalarType.STRING),
    ),
    k=2,
    individual=EVERY_RECORD,
)
RECORDS = [{"color": "red", "note": 'a,"b\\'}, {"color": "green", "note": "[{\n"}, {"color": "red", "note": "é;\t"}]


def _table(delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["color", "note"])
    writer.writerows([record["color"], record["note"]] for record in RECORDS)
    return text.getvalue().encode()


CONTENTS = {
    "a.csv": _table(","),
    "a.tsv": _table("\t"),
    "a.jsonl": b"".join(json.dumps(record).encode() + b"\n" for record in RECORDS),
    "a.json": json.dumps(RECORDS, indent=2).encode(),
    "bom.json": b"\xef\xbb\xbf\n" + json.dumps(RECORDS, separators=(",", ":")).encode(),
}


def _file(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return str(path)


def _records(name: str) -> tuple[list[list[int]], list[Any], int]:
    reader = open_reader(name, POLICY, codec_of(POLICY).decode)
    try:
        batches = list(reader)
    finally:
        reader.close()
    codes = [code for batch in batches for code in batch.codes[0].tolist()]
    notes = [row[0] for batch in batches for row in batch.payload]  # type: ignore[attr-defined]
    return codes, notes, sum(len(batch.rejects) for batch in batches)


@pytest.mark.parametrize("packed", ["", ".gz", ".GZ"])
@pytest.mark.parametrize("name", CONTENTS)
def test_the_same_records_are_read_however_they_are_written(name: str, packed: str, tmp_path: Path) -> None:
    content = gzip.compress(CONTENTS[name]) if packed else CONTENTS[name]
    path = tmp_path / (name + packed)
    path.write_bytes(content)
    assert _records(str(path)) == ([1, 0, 1], [record["note"] for record in RECORDS], 0) or _records(str(path)) == (
        [0, 1, 0],
        [record["note"] for record in RECORDS],
        0,
    )
    sample = read_sample(path)
    assert (sample.records, sample.columns["color"].values) == (3, ["red", "green", "red"])
    assert (size_of(str(path)) is None) == bool(packed)


@pytest.mark.parametrize("name", ["o.csv.gz", "o.tsv", "o.tsv.gz", "o.jsonl.gz"])
def test_outputs_are_written_as_their_name_says(name: str, tmp_path: Path) -> None:
    with NewFile(str(tmp_path / name)) as new:
        writer = open_writer(new, format_of(name), POLICY, lambda _release: [], "," if "tsv" in name else "\t")
        writer.close()
        new.publish()
    written = (tmp_path / name).read_bytes()
    text = gzip.decompress(written) if name.endswith(".gz") else written
    assert text == {"csv": b"color,note\n", "tsv": b"color\tnote\n", "jsonl": b""}[name.split(".")[1]]


def test_a_compressed_file_tells_neither_its_name_nor_when_it_was_made(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.csv.gz", b"x")
    write_whole(tmp_path / "b.csv.gz", b"x")
    first, second = ((tmp_path / name).read_bytes() for name in ("a.csv.gz", "b.csv.gz"))
    assert first == second
    assert first[3] == 0  # no flag: neither a name nor a comment
    assert first[4:8] == bytes(4)
    assert gzip.decompress(first) == b"x"


def test_a_block_that_publishes_nothing_leaves_no_compressed_file(tmp_path: Path) -> None:
    with NewFile(str(tmp_path / "a.csv.gz")) as new:
        new.file.write(b"x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl.gz", gzip.compress(CONTENTS["a.jsonl"] * 900)[:-20], "ends in the midst of its gzip data"),
        ("a.csv.gz", gzip.compress(CONTENTS["a.csv"] * 900)[:-20], "ends in the midst of its gzip data"),
        ("a.csv.gz", CONTENTS["a.csv"], "is not a gzip file, or a damaged one"),
        ("a.csv.gz", gzip.compress(b"color,note\n")[:-8] + bytes(8), "is not a gzip file, or a damaged one"),
        ("a.csv", gzip.compress(CONTENTS["a.csv"]), r"its name must end in \.gz"),
        ("a.csv", b"PK\x03\x04rest", "a zip archive or a workbook"),
        ("a.csv", "color,note\n".encode("utf-16"), "UTF-16"),
        ("a.json", CONTENTS["a.json"][:-3], "ends in the midst of its JSON array"),
        ("a.json", CONTENTS["a.json"] + b"{}", "goes on behind its JSON array"),
        ("a.csv", b"color\tnote\nred\tx\n", r"if tabs part the cells, name it \.tsv"),
        ("a.csv", "color,größe,nöte\n".encode("cp1252"), "may be cp1252.*iconv -f cp1252 -t utf-8"),
        ("a.csv", b"color,gr\x81sse\n", "may be cp850"),
        ("a.parquet.gz", b"x", "Parquet is compressed in itself"),
        ("absent.csv.gz", None, "cannot be opened"),
    ],
    # Compressed bytes hold the time, and are no name for a test.
    ids=[
        *("cut-off jsonl.gz", "cut-off csv.gz", "not compressed", "damaged", "compressed", "zip", "utf-16"),
        *("cut-off array", "two arrays", "tabs", "cp1252", "cp850", "parquet.gz", "absent"),
    ],
)
def test_what_cannot_be_read_is_told_in_words(
    name: str, content: bytes | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        _records(str(path))
    assert "red" not in str(caught.value)


def test_a_folder_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(InputError, match="Is a directory"):
        _records(str(tmp_path / "a.csv"))


def test_a_sample_that_is_not_utf8_says_which_encoding_it_may_be(tmp_path: Path) -> None:
    name = _file(tmp_path, "a.csv", b"color\n" + ("gr\xfcn\n" * 9).encode("cp1252"))
    with pytest.raises(InputError, match="is not UTF-8 text; it may be cp1252"):
        read_sample(Path(name))


def test_records_of_which_none_is_utf8_say_which_encoding_it_may_be(tmp_path: Path) -> None:
    name = _file(tmp_path, "a.csv", b"color,note\n" + b"red,gr\xfcn\n" * 9)
    with pytest.raises(InputError, match="is not UTF-8 text; it may be cp1252"):
        sample_of_file(POLICY, name)
    report = FileReport("forest", records_in=9, faults=Counter({(Reason.NOT_UTF8.label, None): 9}))
    told = _too_many(FileJob(POLICY, name, str(tmp_path / "o.csv")), report)
    assert "is not UTF-8 text; it may be cp1252" in told


def test_names_of_compressed_files_say_their_format() -> None:
    assert (format_of("a.CSV.GZ"), format_of("a.tab"), format_of("-", Format.TSV)) == (
        Format.CSV,
        Format.TSV,
        Format.TSV,
    )
    assert (released_format(Path("r.tsv.gz")), released_format(Path("r.gz"))) == (Format.TSV, Format.JSONL)
    assert (beside("out.csv.gz"), beside("out.tsv")) == ("out.sensitive.csv.gz", "out.sensitive.tsv")
    with pytest.raises(InputError, match="must end in"):
        format_of("a.gz")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('a"\\[]{},\n\té'), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", '"', "\\"]), inner, max_size=3)
    ),
    max_leaves=8,
)
ARRAYS = st.lists(st.dictionaries(st.sampled_from(["a", "b,", '"]']), VALUES, max_size=3), min_size=1, max_size=6)
LAYOUTS: list[Callable[[Any], str]] = [
    lambda value: json.dumps(value, indent=1, ensure_ascii=False),
    lambda value: json.dumps(value, separators=(",", ":")),
]


class Pieces(io.RawIOBase):
    """Gives a few bytes at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        self.data, self.step = data, step

    def read(self, _size: int = -1) -> bytes:
        piece, self.data = self.data[: self.step], self.data[self.step :]
        return piece


@given(ARRAYS, st.sampled_from(LAYOUTS), st.integers(1, 30))
@settings(deadline=None)
def test_a_line_of_an_array_is_one_of_its_elements(
    array: list[Any], written: Callable[[Any], str], step: int
) -> None:
    data = written(array).encode()
    assert array_begins(data)
    first = data.index(b"[") + 1
    pieces = Pieces(data, max(step, first))
    text = io.BufferedReader(lines_of_array(pieces, "a"), 16).read()  # type: ignore[arg-type]
    assert [json.loads(line) for line in text.split(b"\n") if line.strip()] == array


@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.jsonl.gz", "bomb.json.gz"])
def test_a_small_file_that_unpacks_to_one_long_line_takes_bounded_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_anon.formats.tables.opening._MOST_LINE", 1 << 20)
    begin = {"csv": b"color,note\nred,", "jsonl": b'{"color":"', "json": b'[{"color":"'}[name.split(".")[1]]
    path = tmp_path / name
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(begin)
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    assert path.stat().st_size < 1 << 20
    with traced() as memory:
        if name == "bomb.jsonl.gz":
            assert _records(str(path)) == ([], [], 1)
        else:
            with pytest.raises(InputError, match=r"longer than 1 MiB|ends in the midst of its JSON array"):
                _records(str(path))
        assert memory()[1] < 16 << 20


def test_a_line_beyond_the_limit_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_anon.formats.tables.opening._MOST_LINE", 3)
    assert list(lines_of(io.BytesIO(b"abc\nx"[:3] + b""), "a")) == [b"abc"]
    with pytest.raises(InputError, match="a: line 2 is longer"):
        list(lines_of(io.BytesIO(b"ab\nabcd\n"), "a"))


@pytest.mark.parametrize("array", [b"[]", b" [ ]\n", b"\xef\xbb\xbf[\r\n]\r\n\r\n"])
def test_an_empty_array_holds_no_record(array: bytes, tmp_path: Path) -> None:
    with open_records(_file(tmp_path, "a.json", array), Format.JSONL) as file:
        assert not file.read().strip()


def test_arrays_of_other_things_stay_lines(tmp_path: Path) -> None:
    name = _file(tmp_path, "a.jsonl", b"[1, 2]\n[]\n")
    with open_records(name, Format.JSONL) as file:
        assert file.read() == b"[1, 2]\n[]\n"
