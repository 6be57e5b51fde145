"""Of a field with families nothing but labels comes out, whatever way values come in and however they are spelt.

Where values are published as they are, nothing but values of families.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from stream_anon import anonymize_frame
from stream_anon.files.incoming import Incoming
from stream_anon.formats.json import json_codec
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.json.scanner.odd_values import FoundValues
from stream_anon.formats.json.scanner.tables import TABLE, UNKNOWN, scan_tables
from stream_anon.formats.tables.arrow.frames import batches_of
from stream_anon.formats.tables.arrow.parquet_files import ParquetReader
from stream_anon.formats.tables.arrow.releases import ReleaseTables
from stream_anon.formats.tables.csv_files import CsvReader
from stream_anon.formats.writing.passed_texts import PassedTexts
from stream_anon.microdata.attributes import Identifier, Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.families import Family, ShownAs, label_of
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.sensitive_keys import family_keys, sensitive_keys
from tests.conformance.formats import FORMATS
from tests.conformance.test_codecs import release_of

FAMILIES: tuple[Family, ...] = (
    ("flu", "cold", 'a "cough"'),
    ("br\u00f6k\u2028en", None, "\U0001f600"),
    ("a\\b", "tab\there", "q%s/"),
)
VALUES = [value for family in FAMILIES for value in family]
LABEL_OF: dict[object, str] = {value: label_of(family) for family in FAMILIES for value in family}
LABELS = set(LABEL_OF.values())
UNREADABLE = object()
HALVES = ["\ud800", "flu\udc00", "\udc00\ud800"]
OTHER_TEXTS = [
    "Flu",
    "flu ",
    " flu",
    "flu\0",
    "fl",
    "flux",
    "",
    " ",
    "null",
    "cold|flu",
    *LABELS,
    "br\u00f6k",
    "\ufeffflu",
]
OTHERS: list[Any] = [*OTHER_TEXTS, 1, 0, 1.5, -1e300, True, False, [], ["flu"], {"flu": "flu"}, {}]
NULL_TEXT = "NA"
POLICY = Policy(
    (
        Identifier("id"),
        QuasiIdentifier("y", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0)),
        Sensitive("x", families=FAMILIES),
    ),
    k=2,
    individual="id",
    diversity={"x": Diversity(2)},
    null_values=frozenset({NULL_TEXT}),
)
REST = 'o"ther'
# A missing value is in the rest too.
RESTED = replace(
    POLICY,
    attributes=(*POLICY.attributes[:2], Sensitive("x", families=(FAMILIES[0], FAMILIES[2]), rest=REST)),
)
POLICIES = {"counted": POLICY, "not-counted": replace(POLICY, diversity={}), "with-a-rest": RESTED}


def label_under(policy: Policy, value: object) -> str | None:
    """Return what is published of a value; None if its record is rejected. Half a letter is no text."""
    if policy is RESTED and (value in FAMILIES[1] or (isinstance(value, str) and value not in [*VALUES, *HALVES])):
        return REST
    return LABEL_OF.get(value)


EXACT = replace(
    POLICY,
    attributes=(*POLICY.attributes[:2], Sensitive("x", families=FAMILIES, shown_as=ShownAs.VALUE)),
    diversity={},
)


def exact_in(batch: CodedBatch) -> dict[int, object]:
    """Return what was kept of each record, by offset, each counted as a value of its own; a missing one too."""
    found = [row[0] for row in batch.payload]
    keys = batch.sensitive[0].tolist()
    assert len(set(zip(keys, found, strict=True))) == len(set(found)) == len(set(keys))
    assert set(keys) <= family_keys(EXACT.diverse[0]).keys()
    return dict(zip(batch.offsets.tolist(), found, strict=True))


def labels_in(batch: CodedBatch) -> dict[int, str]:
    """Return what was kept of each record, by offset; all of it labels, and counted as such."""
    found = [row[0] for row in batch.payload]
    assert set(found) <= {*LABELS, REST}
    assert batch.sensitive[0].tolist() == sensitive_keys(found).tolist()
    assert len(set(batch.sensitive[0].tolist())) == len(set(found))
    return dict(zip(batch.offsets.tolist(), found, strict=True))


def _spellings(value: str | None) -> Iterator[bytes]:
    """Yield the JSON of a value, with and without escapes, and with blanks around it."""
    yield json.dumps(value).encode()
    yield json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    yield b" \t" + json.dumps(value).encode() + b" "
    if value is None:
        return
    body = value.encode("utf-16-be", "surrogatepass")
    units = [f"\\u{high:02x}{low:02X}" for high, low in zip(body[::2], body[1::2], strict=True)]
    yield f'"{"".join(units)}"'.encode()
    if value.isascii() and value.isalpha():
        yield f'"{units[0]}{value[1:]}"'.encode()
        yield f'"{value[:-1]}{units[-1]}"'.encode()
    if "/" in value:
        yield json.dumps(value).replace("/", "\\/").encode()


def _json_records() -> Iterator[tuple[bytes, object]]:
    """Yield records and the value that they have."""
    start = b'{"id":"p","y":20'
    for value in [*VALUES, NULL_TEXT, *OTHER_TEXTS, *HALVES]:
        for text in _spellings(value):
            yield start + b',"x":' + text + b"}", None if value == NULL_TEXT else value
            yield b'{"x":' + text + b',"id":"p","y":20}', None if value == NULL_TEXT else value
    for other in OTHERS:
        text = b',"x":' + json.dumps(other).encode() + b"}"
        yield start + text, other if isinstance(other, str) else UNREADABLE
    yield start + b"}", None
    yield start + rb',"\u0078":"fl\u0075"}', "flu"
    broken = (
        b'"fl\xff"',
        b'"\xed\xa0\x80"',
        b'"flu',
        b"flu",
        b'"\\u00"',
        b'"fl\x01u"',
        b'"\\ud800\\u0041"',
        b"nul",
    )
    for text in broken:
        yield start + b',"x":' + text + b"}", UNREADABLE


@pytest.mark.parametrize("families", [*POLICIES, "exact"])
def test_both_ways_of_reading_json_leave_the_same_bytes_of_labels(
    families: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = (POLICIES | {"exact": EXACT})[families]
    records = list(_json_records())
    texts = [text for text, _ in records]
    offsets = np.arange(len(texts))
    scanning = JsonCodec(policy)
    quick = scanning.decode(texts, 0, offsets)
    monkeypatch.setattr(json_codec, "scan_tables", lambda _: None)
    single = JsonCodec(policy)
    slow = single.decode(texts, 0, offsets)
    assert single.read_singly == len(texts)
    shown = {value: value for value in VALUES} if policy is EXACT else None
    if shown is not None:
        wanted = {place: shown[value] for place, (_, value) in enumerate(records) if value in shown}
    else:
        labels = [None if value is UNREADABLE else label_under(policy, value) for _, value in records]
        wanted = {place: label for place, label in enumerate(labels) if label is not None}
    assert scanning.read_singly <= len(texts) - len(wanted), "the scanner reads what fits"
    for batch in (quick, slow):
        assert isinstance(batch.payload, PassedTexts)
        found = dict(zip(batch.offsets.tolist(), [row[0] for row in batch.payload], strict=True))
        assert found == wanted
        if policy.diversity and policy is not EXACT:
            assert labels_in(batch) == wanted
        if policy is EXACT:
            assert exact_in(batch) == wanted
        assert batch.payload.text.tobytes() == quick.payload.text.tobytes()  # type: ignore[attr-defined]
        assert batch.payload.ends.tolist() == quick.payload.ends.tolist()  # type: ignore[attr-defined]
        assert batch.sensitive.tolist() == quick.sensitive.tolist()
        assert batch.rejects.offsets.tolist() == quick.rejects.offsets.tolist()
        assert batch.rejects.reasons.tolist() == quick.rejects.reasons.tolist()


def test_no_code_stands_for_a_text_in_no_family() -> None:
    tables = scan_tables(POLICY)
    assert tables is not None
    own = tables.fields[1]
    assert own[UNKNOWN] == -1
    assert own[TABLE] >= 0


@pytest.mark.parametrize("policy", [POLICY, RESTED], ids=["families", "with-a-rest"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_leaves_labels(name: str, policy: Policy) -> None:
    form = FORMATS[name]
    values = [*VALUES, NULL_TEXT, *OTHERS, *HALVES]
    records = [{"id": "p", "y": 20, "x": value} for value in values]
    texts = [*map(form.write, records), form.write({"id": "p", "y": 20})]
    codec = form.make(policy, max_record_bytes=8_000)
    batch = codec.decode(texts, 0, np.arange(len(texts)))
    meant = [value if isinstance(value, str | None) else UNREADABLE for value in values]
    labels = [label_under(policy, None if value == NULL_TEXT else value) for value in [*meant, None]]
    wanted = {place: label for place, label in enumerate(labels) if label is not None}
    assert labels_in(batch) == wanted
    shown = [record["x"] for record in map(form.read, codec.encode(release_of(policy, batch, 1)))]
    assert set(shown) <= {*LABELS, REST}


@pytest.mark.parametrize("left", [-(10**9), 10**9])
def test_a_missing_value_takes_no_room_whatever_is_left_in_memory_of_its_place(
    left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = FoundValues.__init__

    def after_others(found: FoundValues, room: NDArray[np.uint8], fields: int, n: int) -> None:
        made(found, room, fields, n)
        found.starts[:], found.stops[:] = 0, left

    monkeypatch.setattr(FoundValues, "__init__", after_others)
    values = ["flu", None, "flu"]
    texts: list[bytes | None] = [json.dumps({"id": "p", "y": 20, "x": value}).encode() for value in values]
    texts.append(b'{"id":"p","y":20}')
    batch = JsonCodec(EXACT).decode(texts, 0, np.arange(len(texts)))
    assert [row[0] for row in batch.payload] == [*values, None]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_leaves_exact_values_where_these_are_published(name: str) -> None:
    form = FORMATS[name]
    records = [{"id": "p", "y": 20, "x": value} for value in [*VALUES, NULL_TEXT, *OTHERS, *HALVES]]
    texts = [*map(form.write, records), form.write({"id": "p", "y": 20})]
    codec = form.make(EXACT, max_record_bytes=8_000)
    batch = codec.decode(texts, 0, np.arange(len(texts)))
    assert exact_in(batch) == {**dict(enumerate(VALUES)), len(VALUES): None, len(texts) - 1: None}
    shown = [record["x"] for record in map(form.read, codec.encode(release_of(EXACT, batch, 1)))]
    assert set(shown) <= set(VALUES)
    assert shown


def _table(cells: Any) -> pa.Table:
    return pa.table({"id": ["p"] * len(cells), "y": [20] * len(cells), "x": cells})


def _by_csv(cells: Sequence[Any], _: Path) -> Iterable[CodedBatch]:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["id", "y", "x"])
    writer.writerows(["p", 20, cell] for cell in cells)
    return CsvReader(io.BytesIO(file.getvalue().encode()), POLICY)


def _by_parquet(cells: Sequence[Any], folder: Path) -> Iterable[CodedBatch]:
    pq.write_table(_table(pa.array(cells)), folder / "in.parquet")
    return ParquetReader(str(folder / "in.parquet"), POLICY)


def _twice_in_a_dictionary(cells: Sequence[Any]) -> Any:
    """Return a dictionary array with values that no cell has, and with each value twice."""
    texts = [*dict.fromkeys(cell for cell in cells if cell is not None)]
    places = [None if cell is None else texts.index(cell) + (i % 2) * len(texts) for i, cell in enumerate(cells)]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array([*texts, *texts, "unused"]))


def _objects(cells: Sequence[Any], _: Path) -> Iterable[CodedBatch]:
    odd: list[Any] = [1, 1.5, float("nan"), True, b"flu", ["flu"], ("flu",), {"flu": 1}, np.str_("flu"), *HALVES]
    frame = pd.DataFrame({"x": pd.Series([*cells, *odd], dtype=object)})
    return batches_of(frame.assign(id="p", y=20), POLICY)


def _arrow(make: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any], Path], Iterable[CodedBatch]]:
    return lambda cells, _: batches_of(_table(make(cells)), POLICY)


WAYS: dict[str, Callable[[Sequence[Any], Path], Iterable[CodedBatch]]] = {
    "csv": _by_csv,
    "parquet": _by_parquet,
    "records": lambda cells, _: Incoming(POLICY).batches([{"id": "p", "y": 20, "x": cell} for cell in cells]),
    "string": _arrow(pa.array),
    "large string": _arrow(lambda cells: pa.array(cells, pa.large_string())),
    "string view": _arrow(lambda cells: pa.array(cells, pa.string_view())),
    "dictionary": _arrow(lambda cells: pa.array(cells).dictionary_encode()),
    "every value twice in a dictionary": _arrow(_twice_in_a_dictionary),
    "slices": lambda cells, _: batches_of(_table(pa.array([*"ab", *cells])).slice(2).to_reader(5), POLICY),
    "pandas of objects": _objects,
    "pandas of categories": lambda cells, _: batches_of(
        pd.DataFrame({"x": pd.Series(cells, dtype="category")}).assign(id="p", y=20), POLICY
    ),
    "polars": lambda cells, _: batches_of(pl.from_arrow(_table(pa.array(cells))), POLICY),
    "polars of categories": lambda cells, _: batches_of(
        pl.DataFrame({"x": pl.Series(cells, dtype=pl.Categorical)}).with_columns(id=pl.lit("p"), y=pl.lit(20)),
        POLICY,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_tables_and_frames_leave_labels_and_no_number_of_a_value(way: str, tmp_path: Path) -> None:
    cells = [*VALUES, NULL_TEXT, *(text for text in OTHER_TEXTS if text), None, *VALUES]
    wanted = {place: LABEL_OF[cell] for place, cell in enumerate(cells) if cell in LABEL_OF}
    wanted[len(VALUES)] = LABEL_OF[None]
    found: dict[int, str] = {}
    first = 10**9
    for batch in WAYS[way](cells, tmp_path):
        found |= labels_in(batch)
        first = min([first, *batch.offsets.tolist(), *batch.rejects.offsets.tolist()])
        column = ReleaseTables(POLICY).table(release_of(POLICY, batch, 1)).column("x")
        assert column.type == pa.string()
        assert pc.unique(column).to_pylist() == list(dict.fromkeys(column.to_pylist()))
        assert set(column.to_pylist()) <= LABELS
    found = {place - first: label for place, label in found.items()}  # files count lines
    if way == "pandas of objects":  # NaN is missing, and a text of numpy is a text
        wanted |= {len(cells) + 2: LABEL_OF[None], len(cells) + 8: LABEL_OF["flu"]}
    assert found == wanted


@pytest.mark.parametrize("way", ["records", "string", "dictionary", "pandas of objects"])
def test_frames_leave_exact_values_where_these_are_published(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.conformance.test_family_labels.POLICY", EXACT)
    cells = [*VALUES, NULL_TEXT, "no such value", None]
    found = [value for batch in WAYS[way](cells, Path()) for value in exact_in(batch).values()]
    odd = ["flu", None] if way == "pandas of objects" else []
    assert sorted(map(str, found)) == sorted(map(str, [*VALUES, None, None, *odd]))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_categories_of_a_frame_do_not_come_out_as_categories(kind: str) -> None:
    cells = VALUES * 6
    plain = _table(pa.array(cells)).set_column(0, "id", pa.array([f"p{i}" for i in range(len(cells))]))
    table = plain.set_column(2, "x", pa.array(cells).dictionary_encode())
    frame = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "pyarrow": lambda: table}[kind]()
    released = anonymize_frame(frame, POLICY, accept_risks=["rare-values"])
    if kind == "pyarrow":
        assert released.schema.field("x").type == pa.string()
        assert released.schema.metadata is None
    elif kind == "polars":
        assert released["x"].dtype == pl.String
    else:
        assert not isinstance(released["x"].dtype, pd.CategoricalDtype)
    shown = list(released["x"].to_pylist() if kind == "pyarrow" else released["x"])
    assert len(shown) == len(cells)
    assert set(shown) == LABELS
