from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import InputError
from stream_anon.formats.tables import csv_rows
from stream_anon.formats.tables.csv_cells import parse
from stream_anon.formats.tables.csv_files import CsvReader, CsvWriter
from stream_anon.microdata.attributes import Identifier, Insensitive, ScalarType, Sensitive, Unknown
from stream_anon.microdata.batch import NO_ATTRIBUTE, CodedBatch, Reason, Rejects
from stream_anon.microdata.coding import BatchBuilder, RecordCoder
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Classes, Release
from tests.support.effort import examples

AGES = NumericDomain(Decimal(0), Decimal(120), Decimal(1), 0)
YEAR = DateDomain("%Y-%m-%d", dt.date(2024, 1, 1), dt.date(2024, 12, 31))
POLICY = Policy(
    (
        Identifier("ssn"),
        Identifier("id"),
        QuasiIdentifier("patient.age", AGES),
        QuasiIdentifier("color", CategoricalDomain(Hierarchy.flat(["red", "green"])), unknown=Unknown.ROOT),
        QuasiIdentifier("level", CategoricalDomain(Hierarchy.flat(["1", "2"])), type=ScalarType.INTEGER),
        QuasiIdentifier("zip", PrefixDomain(3, "0123456789", 3)),
        QuasiIdentifier("day", YEAR),
        Sensitive("result"),
        Insensitive("visits", ScalarType.INTEGER),
        Insensitive("weight", ScalarType.NUMBER),
        Insensitive("smoker", ScalarType.BOOLEAN),
    ),
    k=2,
    individual="id",
    diversity={"result": Diversity(2)},
)
NAMES = ["id", "patient.age", "color", "level", "zip", "day", "result", "visits", "weight", "smoker"]
GOOD = ["p1", "30", "red", "2", "012", "2024-01-02", "fine", "3", "70.5", "true"]


def read(text: str | bytes, policy: Policy = POLICY) -> CodedBatch:
    data = text.encode() if isinstance(text, str) else text
    (batch,) = CsvReader(io.BytesIO(data), policy, source=4)
    return batch


def table(*rows: Sequence[str], names: Sequence[str] = NAMES, delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([names, *rows])
    return text.getvalue()


def changed(**cells: str) -> list[str]:
    return [cells.get(name.replace(".", "_"), cell) for name, cell in zip(NAMES, GOOD, strict=True)]


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_columns_are_found_by_name(delimiter: str) -> None:
    names, row = [*NAMES[::-1], "un,decl;ared"], [*GOOD[::-1], "x"]
    reader = CsvReader(io.BytesIO(b"\xef\xbb\xbf" + table(row, names=names, delimiter=delimiter).encode()), POLICY)
    (batch,) = reader
    assert reader.delimiter == delimiter
    assert batch.codes.T.tolist() == [[30, 0, 1, 12, 1]]
    assert [repr(p) for p in batch.payload] == ["('fine', 3, 70.5, True)"]


@pytest.mark.parametrize(
    ("cells", "row", "expected"),
    [
        ({"patient_age": "25.0"}, 0, 25),
        ({"patient_age": " 25 "}, 0, 25),
        ({"patient_age": "2.5e1"}, 0, 25),
        ({"patient_age": ""}, 0, 121),
        ({"color": "pink"}, 1, 3),
        ({"color": ""}, 1, 2),
        ({"level": "2.0"}, 2, 1),
        ({"zip": "  999"}, 3, 999),
    ],
)
def test_a_cell_is_read_as_its_attribute_says(cells: dict[str, str], row: int, expected: int) -> None:
    batch = read(table(GOOD, changed(**cells)))
    assert not len(batch.rejects)
    assert batch.codes[row, 1] == expected


@pytest.mark.parametrize(
    ("cells", "reason", "attribute"),
    [
        ({"id": " "}, Reason.NO_INDIVIDUAL, "id"),
        ({"patient_age": "121"}, Reason.OUT_OF_RANGE, "patient.age"),
        ({"patient_age": "1" * 400}, Reason.OUT_OF_RANGE, "patient.age"),
        ({"patient_age": "nan"}, Reason.WRONG_TYPE, "patient.age"),
        ({"patient_age": "1e999"}, Reason.WRONG_TYPE, "patient.age"),
        ({"patient_age": "1_0"}, Reason.WRONG_TYPE, "patient.age"),
        ({"patient_age": "\u0663"}, Reason.WRONG_TYPE, "patient.age"),
        ({"level": "high"}, Reason.UNKNOWN_VALUE, "level"),
        ({"zip": "12"}, Reason.UNKNOWN_VALUE, "zip"),
        ({"day": "2025-01-01"}, Reason.OUT_OF_RANGE, "day"),
        ({"day": "x"}, Reason.WRONG_TYPE, "day"),
        ({"visits": "1.5"}, Reason.WRONG_TYPE, "visits"),
        ({"weight": "inf"}, Reason.WRONG_TYPE, "weight"),
        ({"smoker": "yes"}, Reason.WRONG_TYPE, "smoker"),
        ({"zip": "x", "patient_age": "-1"}, Reason.OUT_OF_RANGE, "patient.age"),
    ],
)
def test_a_bad_cell_is_rejected_with_its_reason_and_attribute(
    cells: dict[str, str], reason: Reason, attribute: str
) -> None:
    batch = read(table(GOOD, changed(**cells), GOOD))
    assert batch.offsets.tolist() == [0, 2]
    rejects = batch.rejects
    found = (Reason(int(rejects.reasons[0])), POLICY.attributes[int(rejects.attributes[0])].name)
    assert found == (reason, attribute)
    assert (rejects.offsets.tolist(), rejects.sources.tolist()) == ([1], [4])


def test_a_bad_row_is_rejected_alone() -> None:
    good = ",".join(GOOD).encode()
    rows = [
        ",".join(NAMES).encode(),
        good,
        good + b",more",
        b"",
        good[:-5],
        good.replace(b"fine", b"f\xffne"),
        good.replace(b"fine", b"x" * 200_000),
        good.replace(b"fine", b"f\x00ne"),
        good,
    ]
    batch = read(b"\n".join(rows))
    assert batch.offsets.tolist() == [0, 5, 6]
    expected = [Reason.MALFORMED, Reason.MALFORMED, Reason.NOT_UTF8, Reason.TOO_LARGE]
    assert batch.rejects.reasons.tolist() == expected
    assert set(batch.rejects.attributes.tolist()) == {NO_ATTRIBUTE}
    assert batch.rejects.offsets.tolist() == [1, 2, 3, 4]


def test_no_row_is_lost_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "ROWS", 3)
    blank = "\r\n" * 10
    text = table(*[GOOD] * 4) + blank + table(*[changed(id="")] * 4, names=GOOD)
    file = io.BytesIO(text.encode())
    reader = CsvReader(file, POLICY)
    batches = list(reader)
    assert np.concatenate([batch.offsets for batch in batches]).tolist() == [0, 1, 2, 3, 4]
    assert Rejects.concatenate([batch.rejects for batch in batches]).offsets.tolist() == [5, 6, 7, 8]
    assert reader.bytes_read == len(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "input: is empty or does not begin with a header"),
        ("\n", "input: is empty or does not begin with a header"),
        (table(names=NAMES[:-1]), "input: has no column 'smoker', which the policy declares"),
        (table(names=[*NAMES, "color"]), "input: has twice the column 'color', which the policy declares"),
    ],
)
def test_a_header_without_what_the_policy_declares_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        CsvReader(io.BytesIO(text.encode()), POLICY)
    assert str(raised.value) == message


def test_an_undeclared_column_is_not_named_in_an_error() -> None:
    with pytest.raises(InputError) as raised:
        CsvReader(io.BytesIO(b"secret name,id\n1,2\n"), POLICY)
    assert "secret" not in str(raised.value)


def test_without_ids_every_row_is_an_individual_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "ROWS", 2)
    policy = Policy((QuasiIdentifier("age", AGES),), k=2, individual=EVERY_RECORD)
    batches = list(CsvReader(io.BytesIO(b"age\n1\n2\nx\n4\n5\n"), policy))
    assert [batch.individuals.tolist() for batch in batches] == [[0, 1], [2], [3]]
    assert batches[1].rejects.offsets.tolist() == [2]


cells = st.sampled_from(["", " ", "1", "2.0", "30", "red", "true", "FALSE", "012", "2024-05-05", "-1", "ä", "1e3"])


@examples(60)
@given(st.lists(st.lists(cells, min_size=10, max_size=10), min_size=1, max_size=8))
def test_columns_of_cells_are_read_as_single_cells_are(rows: list[list[str]]) -> None:
    batch = read(table(*rows))
    coder, builder = RecordCoder(POLICY), BatchBuilder(POLICY, 4)
    for offset, row in enumerate(rows):
        by_name = dict(zip(NAMES, row, strict=True))
        values = [parse(a, by_name[a.name]) if a.name in by_name else None for a in POLICY.attributes]
        builder.add(coder.code(values), offset)
    expected = builder.build()
    for name in ("codes", "sensitive", "individuals", "sources", "offsets"):
        assert getattr(batch, name).tolist() == getattr(expected, name).tolist(), name
    assert list(batch.payload) == list(expected.payload)
    for name in ("reasons", "attributes", "sources", "offsets"):
        assert getattr(batch.rejects, name).tolist() == getattr(expected.rejects, name).tolist(), name


def release_of(values: Sequence[Sequence[Any]], order: list[int], payload: Sequence[Any]) -> Release:
    bounds, ones = np.zeros((len(values), 2), np.int32), np.ones(2, np.int64)
    classes = Classes(bounds, bounds, values, ones, ones, np.zeros((len(values), 2)))
    rejects = Rejects.of([])
    rows = np.array([0, 1, 0], np.int32)
    return Release(classes, rows, np.array(order, np.int64), payload, {}, rejects, (), (), 0.0, 1.0, 2, {}, 0.0)


def test_released_cells_are_plain_texts_or_json(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    values = [[{"min": 20, "max": 29}, 5], [["red", "green"], "*"], [None, 2], ["01*", "*"], ["2024-05", "*"]]
    payload = [("a;b", 3, 70.0, True), ("lost", 0, 0.0, False), ('q"\n', None, None, None)]
    writer = CsvWriter(path.open("wb"), POLICY, ";")
    writer.write(release_of(values, [2, 0], payload))
    writer.write(release_of(values, [], payload))
    writer.write(release_of(values, [1], payload))
    writer.close()
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""), delimiter=";"))
    interval = '{"min":20,"max":29}'
    assert json.loads(interval) == values[0][0]
    assert rows == [
        NAMES[1:],
        [interval, '["red","green"]', "", "01*", "2024-05", 'q"\n', "", "", ""],
        [interval, '["red","green"]', "", "01*", "2024-05", "a;b", "3", "70.0", "true"],
        ["5", "*", "2", "*", "*", "lost", "0", "0.0", "false"],
    ]


def test_a_file_without_passing_fields_is_written(tmp_path: Path) -> None:
    policy = Policy((QuasiIdentifier("age", AGES),), k=2, individual=EVERY_RECORD)
    path = tmp_path / "out.csv"
    writer = CsvWriter(path.open("wb"), policy)
    writer.write(release_of([[None, 7]], [0, 1], [(), (), ()]))
    writer.close()
    assert path.read_text(encoding="utf-8") == 'age\n""\n7\n'


def test_a_record_is_found_by_the_line_in_which_it_begins() -> None:
    policy = Policy((QuasiIdentifier("age", AGES),), k=2, individual=EVERY_RECORD)
    text = 'age,note\n1,"two\nlines"\n\nx,\n3,"three\n\nlines"\ny,\n1\n'
    reader = CsvReader(io.BytesIO(text.encode()), policy)
    (batch,) = reader
    assert reader.lines(batch.rejects.offsets).tolist() == [5, 9, 10]
    assert batch.rejects.offsets.tolist() == [1, 3, 4]
