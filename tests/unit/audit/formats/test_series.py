"""Records that are counted together are judged as those that are counted one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.audit.audit import Audit
from stream_anon.audit.formats.series import DecodedSeries, Layout, in_series
from stream_anon.audit.formats.table_rows import CellReader, TypedReader
from stream_anon.audit.verdict import Verdict
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.support.shapes import shaped_record

BATCH = f"{1:032x}"
Change = Callable[[dict[str, Any]], Any]


def _put(name: str, value: Any) -> Change:
    def change(record: dict[str, Any]) -> dict[str, Any]:
        return record | {name: value}

    return change


def _without(name: str) -> Change:
    def change(record: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in record.items() if key != name}

    return change


CHANGES: list[Change] = [
    lambda record: record,
    lambda _: None,
    _without("visits"),
    _without("patient"),
    _put("patient", None),
    _put("patient", {"age": 3}),
    _put("patient", {"age": 3, "zip": "12345", "name": "x"}),
    _put("person", "x"),
    _put("note", 1),
    _put("visits", "3"),
    _put("visits", True),
    _put("visits", 3.0),
    _put("visits", None),
    _put("result", None),
    _put("result", 7),
    _put("result", "fine"),
    _put("result", ["fine"]),
    _put("illness", "nobody's"),
    _put("illness", 1),
    _put("weight", 1.0),
    _put("weight", 1),
    _put("weight", True),
    _put("plan", {"a": 1}),
]
changes = st.lists(st.tuples(st.integers(0, 10), st.sampled_from(CHANGES)), max_size=3)
shapes = st.sampled_from(list(Shape))


@cache
def _policy(shape: Shape) -> Policy:
    return replace(ward_policy(), shape=shape)


@cache
def _window(shape: Shape) -> tuple[bytes, list[Any]]:
    policy = _policy(shape)
    release = release_of(policy, [ward_people(5), ward_people(4, first=5, age=60, illness="stroke")])
    (part,) = certificate_parts(release, policy, frame_of(release))
    records = released_records(release, ward_policy())
    return part, [json.loads(json.dumps(shaped_record(policy, _flat(record)))) for record in records]


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Return a natural record by the names of attributes."""
    names = [attribute.name for attribute in ward_policy().published]
    return {name: _at(record, ward_policy().attribute(name).path) for name in names}


def _at(record: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        record = record[key]
    return record


def _verdict(shape: Shape, add: Callable[[Audit], Iterator[None]], *, part_first: bool) -> Verdict:
    audit, (part, _) = Audit(_policy(shape)), _window(shape)
    if part_first:
        audit.add_part(part)
    for _ in add(audit):
        pass
    if not part_first:
        audit.add_part(part)
    return audit.finish()


@given(shapes, changes, st.integers(1, 12), st.booleans(), st.booleans(), st.sampled_from([None, 3000, 3001]))
@settings(deadline=None, max_examples=60)
def test_a_series_is_judged_as_its_records_are_one_by_one(
    shape: Shape, chosen: list[tuple[int, Change]], size: int, part_first: bool, bare: bool, time: int | None
) -> None:
    _, whole = _window(shape)
    records: list[Any] = [*whole, whole[0]]  # one more than certified
    for place, change in chosen:
        record = records[place % len(records)]
        records[place % len(records)] = change(record) if isinstance(record, dict) else record

    def one_by_one(audit: Audit) -> Iterator[None]:
        for record in records:
            yield audit.add_record(BATCH, record, time, bare=bare)

    def together(audit: Audit) -> Iterator[None]:
        for start in range(0, len(records), size):
            yield audit.add_series(BATCH, DecodedSeries(records[start : start + size]), time, bare=bare)

    assert _verdict(shape, together, part_first=part_first) == _verdict(shape, one_by_one, part_first=part_first)


@pytest.mark.parametrize("shape", list(Shape))
def test_records_without_a_fault_are_read_together(shape: Shape) -> None:
    from stream_anon.audit.released_records import ReleasedRecordReader

    _, records = _window(shape)
    reader = ReleasedRecordReader(_policy(shape))
    read = reader.read_series(DecodedSeries(records))
    assert read is not None
    one_by_one = [reader.read(record)[0] for record in records]
    assert list(read.keys) == [one.key for one in one_by_one]
    assert read.tuples == {one.key: one.quasi for one in one_by_one}
    assert list(zip(*read.passed, strict=True)) == [one.passed for one in one_by_one]


CELLS = st.sampled_from(
    [
        "",
        "3",
        "-0",
        "03",
        "1e400",
        "1.5",
        "NaN",
        "true",
        '"3"',
        "[]",
        '["a","b"]',
        '{"min":20,"max":29}',
        "*",
        "flu",
        " 7",
    ]
)
HEADERS = st.sampled_from(
    [
        ["patient.age", "patient.zip", "illness", "visits"],
        ["visits", "illness", "patient.age", "patient.zip"],
        ["patient.age", "patient.zip", "illness"],
        ["patient.age", "patient.zip", "illness", "visits", "note"],
        ["patient.age", "patient.age", "illness", "visits"],
        ["patient", "patient.zip", "illness", "visits"],
    ]
)
LAYOUT = Layout([("patient", "age"), ("patient", "zip"), ("illness",), ("visits",)])


@given(HEADERS, st.data())
@settings(deadline=None)
def test_rows_of_cells_have_the_columns_of_their_records(header: list[str], data: st.DataObject) -> None:
    sizes = st.just(len(header)) | st.integers(0, 5)
    rows = data.draw(
        st.lists(sizes.flatmap(lambda size: st.lists(CELLS, min_size=size, max_size=size)), min_size=1)
    )
    series = CellReader(ward_policy(), header).series(rows)
    expected = DecodedSeries(list(series)).columns(LAYOUT)
    found = series.columns(LAYOUT)
    assert found is None or repr(found) == repr(expected)  # 1, 1.0 and true are three
    if len(header) == len(set(header)) == 4 and "patient" not in header:
        assert (found is None) == (expected is None)


def test_rows_of_typed_values_have_the_columns_of_their_records() -> None:
    header = ["patient.age", "patient.zip", "illness", "visits"]
    rows = [({"min": 20, "max": 29}, "12***", "flu", 3), (None, "*", "stroke", None)]
    series = TypedReader(ward_policy(), header).series(rows)
    assert series.columns(LAYOUT) == DecodedSeries(list(series)).columns(LAYOUT)
    assert series.columns(LAYOUT) is not None
    assert series.columns(Layout([("illness",)])) is None
    halves = TypedReader(ward_policy(), ["patient.age_min", "patient.age_max", *header[1:]])
    assert halves.series([(20, 29, "12***", "flu", 3)]).columns(LAYOUT) is None  # read one by one


def test_what_a_reader_of_cells_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from stream_anon.audit.formats import table_rows

    monkeypatch.setattr(table_rows, "_MOST_REMEMBERED", 3)
    reader, layout = CellReader(ward_policy(), ["visits"]), Layout([("visits",)])
    for start in range(0, 40, 2):
        assert reader.series([[str(start)], [str(start + 1)]]).columns(layout) == [[start, start + 1]]
        assert len(vars(reader)["_known"]["visits"]) <= 3


def test_many_records_are_dealt_with_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from stream_anon.audit.formats import series

    monkeypatch.setattr(series, "MOST", 2)
    assert [list(piece) for piece in in_series([1, 2, 3])] == [[1, 2], [3]]
