"""Released records are read from cells as they were written: by what the policy says of each column."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from stream_anon.audit.formats import table_rows
from stream_anon.audit.formats.table_rows import CellReader, TypedReader, header_cells
from stream_anon.microdata.attributes import Identifier, Insensitive, ScalarType
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from tests.support.releases import ward_policy

MORE = Policy(
    (
        QuasiIdentifier("ward", CategoricalDomain(Hierarchy.flat(["1", "2"])), type=ScalarType.INTEGER),
        QuasiIdentifier("code", CategoricalDomain(Hierarchy.flat(["[1]", "y"]))),
        QuasiIdentifier("dose", NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0)),
        Insensitive("paid", ScalarType.BOOLEAN),
        Insensitive("cost", ScalarType.NUMBER),
        Insensitive("tags", ScalarType.STRING, many=True),
    ),
    2,
    EVERY_RECORD,
)


def _one(policy: Policy, name: str, cell: str) -> Any:
    record: Any = CellReader(policy, [name]).read([cell])
    for key in name.split("."):
        record = record[key]
    return record


def test_a_row_is_a_nested_record() -> None:
    header = ["patient.age", "note", "patient.zip", "plan", "visits", "result"]
    record = CellReader(ward_policy(), header).read(['{"min":20,"max":29}', "7", "123**", '["a","b"]', "3", "4"])
    assert record == {
        "patient": {"age": {"min": 20, "max": 29}, "zip": "123**"},
        "note": "7",  # undeclared: for the audit to refuse
        "plan": ["a", "b"],
        "visits": 3,
        "result": "4",
    }


def test_an_identifier_stands_where_the_audit_looks_for_it() -> None:
    policy = replace(MORE, attributes=(Identifier("patient.name"), *MORE.attributes))
    read = CellReader(policy, ["patient.name", "dose"])
    assert read.read(["Ida", "3"]) == {"patient": {"name": "Ida"}, "dose": 3}
    assert read.read(["", "3"]) == {"patient": {"name": ""}, "dose": 3}  # a column of its name is one too many
    typed = TypedReader(policy, ["patient.name", "dose"])
    assert typed.read([7, {"min": 3, "max": 3}]) == {"patient": {"name": 7}, "dose": 3}


def test_a_row_of_another_length_than_the_header_is_no_record() -> None:
    reader = CellReader(ward_policy(), ["illness", "visits"])
    assert reader.read(["flu", "3"]) == {"illness": "flu", "visits": 3}
    assert reader.read(["flu"]) is None
    assert reader.read(["flu", "3", "x"]) is None


def test_typed_values_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "_MOST_REMEMBERED", 3)
    reader = TypedReader(MORE, ["dose"])
    sizes = []
    for dose in [*range(9), 8, 7, 6, 5]:
        assert reader.read([{"min": dose, "max": dose}]) == {"dose": dose}
        sizes.append(len(reader._known))
    assert sizes == [1, 2, 3, 1, 2, 3, 1, 2, 3, 3, 3, 3, 1]  # it is emptied where a fourth comes


def test_a_header_that_names_a_column_twice_has_no_records() -> None:
    for header in (["visits", "visits"], ["note", "note"]):
        assert CellReader(ward_policy(), header).read(["3", "4"]) is None
    assert CellReader(ward_policy(), ["visits", "note"]).read(["3", "4"]) == {"visits": 3, "note": "4"}


def test_a_column_under_the_name_of_a_parent_leaves_its_children_no_place() -> None:
    assert CellReader(ward_policy(), ["patient", "patient.age"]).read(["x", "1"]) is None


@pytest.mark.parametrize(
    ("name", "cell", "value"),
    [
        ("ward", "1", 1),
        ("ward", "3", "3"),
        ("ward", "*", "*"),
        ("code", "[1]", "[1]"),
        ("code", "[x]", "[x]"),
        ("code", '["y"]', ["y"]),
        ("code", "y", "y"),
        ("code", "5", "5"),
        ("dose", "5", 5),
        ("dose", '{"min":1,"max":2}', {"min": 1, "max": 2}),
        ("dose", '{"min":1,"min":1}', '{"min":1,"min":1}'),
        ("dose", "null", "null"),
        ("dose", '"5"', '"5"'),
        ("dose", "[" * 100_000, "[" * 100_000),
        ("paid", "true", True),
        ("paid", "", None),
        ("cost", "1.5", 1.5),
        ("cost", "1e999", "1e999"),
        ("cost", "NaN", "NaN"),
        ("cost", "-Infinity", "-Infinity"),
        ("cost", "x", "x"),
        ("tags", '["a","b"]', ["a", "b"]),
        ("tags", "a", "a"),
    ],
)
def test_a_cell_is_read_by_the_type_of_its_column(name: str, cell: str, value: object) -> None:
    found = _one(MORE, name, cell)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "cell"), [("result", "12"), ("day", "2024"), ("patient.zip", "127"), ("illness", "5")]
)
def test_what_is_text_stays_text(name: str, cell: str) -> None:
    assert _one(ward_policy(), name, cell) == cell


def test_the_delimiter_is_the_one_that_shows_more_of_the_published_names() -> None:
    def split(line: str, delimiter: str) -> list[str]:
        return line.split(delimiter)

    policy = ward_policy()
    assert header_cells("illness;visits;a,day", policy, split) == (";", ["illness", "visits", "a,day"])
    assert header_cells("illness,visits,a;day", policy, split) == (",", ["illness", "visits", "a;day"])
    assert header_cells("visits", policy, split) == (",", ["visits"])
