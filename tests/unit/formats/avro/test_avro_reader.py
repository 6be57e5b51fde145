"""The reader of Avro bodies against a plain one, and both against fastavro."""

from __future__ import annotations

import io
import json
import math
import struct
import time
from typing import Any

import fastavro
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_anon.errors import InputError
from stream_anon.formats.avro.avro_reader import AvroReader
from stream_anon.formats.avro.walking import STEPS_A_BYTE, write_texts
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.unwrapping import FITS, UnwrappingCodec
from stream_anon.formats.writing.fractions import put_fractions
from stream_anon.microdata.attributes import Identifier, Insensitive, ScalarType
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.texts import Texts
from tests.support import hostile
from tests.support.avro_records import PlainReader, Unfit, bodies, in_json, named_types, read_json, schemas, zigzag
from tests.support.effort import examples

MOST = 100_000
slowly = settings(
    examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def all_of(schema: dict[str, Any]) -> list[tuple[str, ...]]:
    return [(field["name"],) for field in schema["fields"]]


def plainly(schema: Any, body: bytes, *, logical: bool = True) -> Any:
    try:
        return PlainReader(body, named_types(schema), logical=logical).whole(schema)
    except Unfit:
        return Unfit


def is_idle(schema: Any, body: bytes) -> bool:
    """Return whether a body has many more values than bytes; each takes at most four steps."""
    reader = PlainReader(body, named_types(schema))
    reader.whole(schema)
    return 4 * reader.values > STEPS_A_BYTE * len(body)


def record(*types: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "R",
        "fields": [{"name": f"f{i}", "type": one} for i, one in enumerate(types)],
    }


def read(schema: Any, *values: bytes | None, most: int = MOST, paths: Any = None) -> tuple[list[Any], list[int]]:
    found = AvroReader(json.dumps(schema), all_of(schema) if paths is None else paths, most).unwrap(
        Texts.of(values)
    )
    return [text and json.loads(text) for text in found.texts], found.outcomes.tolist()


def outcome(schema: Any, body: bytes, most: int = MOST) -> int:
    return read(schema, body, most=most)[1][0]


@st.composite
def changed(draw: st.DrawFn, body: bytes) -> bytes:
    at = draw(st.integers(0, len(body)))
    return body[:at] + draw(st.binary(max_size=3)) + body[at + draw(st.integers(0, 3)) :]


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], list[bytes]]:
    schema = draw(schemas())
    sound = draw(st.lists(bodies(schema, named_types(schema)), min_size=1, max_size=4))
    return schema, [draw(changed(body)) if draw(st.booleans()) else body for body in sound]


@slowly
@given(case=cases())
def test_a_body_means_what_a_plain_reader_says_and_is_rejected_where_it_rejects(
    case: tuple[dict[str, Any], list[bytes]],
) -> None:
    schema, values = case
    found = AvroReader(json.dumps(schema), all_of(schema), MOST).unwrap(Texts.of(values))
    for body, text, told in zip(values, found.texts, found.outcomes.tolist(), strict=True):
        expected = plainly(schema, body)
        if not body:
            assert (text, told) == (None, FITS)
        elif expected is Unfit:
            assert text is None
            assert told in {Reason.MALFORMED, Reason.NOT_UTF8, Reason.TOO_DEEP, Reason.TOO_LARGE}
        elif told == Reason.TOO_LARGE:
            assert is_idle(schema, body)
        else:
            assert told == FITS
            assert text is not None
            assert read_json(text) == in_json(expected)


@slowly
@given(case=cases())
def test_the_plain_reader_reads_what_fastavro_reads(case: tuple[dict[str, Any], list[bytes]]) -> None:
    schema, values = case
    parsed = fastavro.parse_schema(bare(schema))
    for body in values:
        expected = plainly(schema, body, logical=False)
        if expected is not Unfit:
            assert same(fastavro.schemaless_reader(io.BytesIO(body), parsed, None), expected)


def bare(schema: Any) -> Any:
    """Return a schema without logical types."""
    if isinstance(schema, list):
        return [bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: bare(one) if key != "fields" else [bare(field) for field in one] for key, one in schema.items()}
    return {key: one for key, one in inner.items() if key not in {"logicalType", "precision", "scale"}}


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return set(found) == set(expected) and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float | np.float32):
        return bool(found == expected) or (math.isnan(found) and math.isnan(expected))
    return (type(found) is type(expected) and found == expected) or bytes(found) == expected


@slowly
@given(case=cases(), data=st.data())
def test_only_declared_paths_are_written(case: tuple[dict[str, Any], list[bytes]], data: st.DataObject) -> None:
    schema, values = case
    keys = st.sampled_from([f"f{i}" for i in range(5)])
    paths = data.draw(st.lists(st.lists(keys, min_size=1, max_size=3).map(tuple), max_size=4))
    found = AvroReader(json.dumps(schema), paths, MOST).unwrap(Texts.of(values))
    whole = AvroReader(json.dumps(schema), all_of(schema), MOST).unwrap(Texts.of(values))
    assert found.outcomes.tolist() == whole.outcomes.tolist()
    for text, complete in zip(found.texts, whole.texts, strict=True):
        if complete is None or text is None:
            assert text is complete is None
            continue
        read_text, read_whole = json.loads(text), json.loads(complete)
        for path in paths:
            assert looked_up(read_text, path) == looked_up(read_whole, path)
        assert set(read_text) == {path[0] for path in paths} & set(read_whole)


def looked_up(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


@slowly
@given(values=st.lists(st.binary(max_size=60), max_size=20), schema=schemas())
def test_no_bytes_make_it_fail(values: list[bytes], schema: dict[str, Any]) -> None:
    found = AvroReader(json.dumps(schema), all_of(schema), MOST).unwrap(Texts.of(values))
    assert len(found.texts) == len(values)
    assert found.texts.are_text().all()


def test_each_body_is_read_by_itself_however_many_there_are() -> None:
    schema = record("double", "string")
    values = [struct.pack("<d", i / 7) + zigzag(i % 50) + b"x" * (i % 50) for i in range(3000)]
    values[17] = values[1700] = b"\xff"
    found, outcomes = read(schema, *values)
    assert [i for i, told in enumerate(outcomes) if told != FITS] == [17, 1700]
    for i, one in enumerate(found):
        assert one is None or one == {"f0": i / 7, "f1": "x" * (i % 50)}


def test_a_record_may_hold_many_fractions() -> None:
    values = [zigzag(50) + struct.pack("<50d", *(i / 7 + j for j in range(50))) + b"\x00" for i in range(40)]
    found, _ = read(record({"type": "array", "items": "double"}), *values)
    assert found == [{"f0": [i / 7 + j for j in range(50)]} for i in range(40)]


def test_a_list_that_passes_is_released_without_the_blanks_behind_its_fractions() -> None:
    attributes = (
        Identifier("f0"),
        Insensitive("f1", ScalarType.NUMBER, many=True),
        Insensitive("f2", ScalarType.NUMBER),
    )
    age = QuasiIdentifier("f3", hostile.grid("0", "99", "1", 0))
    policy = Policy((*attributes, age), k=2, individual="f0")
    schema = record("string", {"type": "array", "items": "float"}, "double", "int")
    reader = AvroReader(json.dumps(schema), [one.path for one in policy.attributes], MOST)
    body = (
        zigzag(1) + b"x" + zigzag(2) + struct.pack("<2f", 0.1, 2.5) + b"\x00" + struct.pack("<d", 1 / 3) + zigzag(9)
    )
    batch = UnwrappingCodec([reader], JsonCodec(policy)).decode([body], 0, np.arange(1))
    assert batch.payload.text.tobytes() == b"[0.1,2.5]0.3333333333333333"  # type: ignore[attr-defined]


def test_a_stretch_of_texts_is_read_where_it_lies() -> None:
    schema = record("string")
    values = Texts.of([zigzag(2) + b"ab", zigzag(1) + b"c", zigzag(3) + b"def"])
    found = AvroReader(json.dumps(schema), all_of(schema), MOST).unwrap(values[1:])
    assert list(found.texts) == [b'{"f0":"c"}', b'{"f0":"def"}']


def test_an_empty_value_and_none_are_missing_and_no_misfits() -> None:
    assert read(record("null"), None, b"") == ([None, None], [FITS, FITS])


@pytest.mark.parametrize(
    ("schema", "body", "reason"),
    [
        (record("string"), zigzag(5) + b"abc", Reason.MALFORMED),
        (record("string"), zigzag(-1) + b"abc", Reason.MALFORMED),
        (record("string"), zigzag(2**62) + b"abc", Reason.MALFORMED),
        (record("bytes"), zigzag(2**63 - 1), Reason.MALFORMED),
        (record("string"), zigzag(3) + b"abcd", Reason.MALFORMED),  # a byte is left over
        (record("string"), zigzag(2) + b"\xed\xa0", Reason.NOT_UTF8),
        (record("string"), zigzag(3) + b"\xed\xa0\x80", Reason.NOT_UTF8),  # half of a pair
        (record("string"), zigzag(2) + b"\xc0\x80", Reason.NOT_UTF8),  # too long for its letter
        (record("long"), b"\xff" * 10, Reason.MALFORMED),
        (record("long"), b"\xff" * 9 + b"\x02", Reason.MALFORMED),  # 65 bits
        (record("int"), zigzag(2**31), Reason.MALFORMED),
        (record({"type": "int", "logicalType": "date"}), zigzag(-(2**31) - 1), Reason.MALFORMED),
        (record({"type": "int", "logicalType": "time-millis"}), zigzag(2**31), Reason.MALFORMED),
        (record("boolean"), b"\x02", Reason.MALFORMED),
        (record(["null", "int"]), zigzag(2), Reason.MALFORMED),
        (record(["null", "int"]), zigzag(-1), Reason.MALFORMED),
        (record({"type": "enum", "name": "E", "symbols": ["A"]}), zigzag(1), Reason.MALFORMED),
        (record({"type": "enum", "name": "E", "symbols": ["A"]}), zigzag(-1), Reason.MALFORMED),
        (record({"type": "fixed", "name": "F", "size": 2**30}), b"abc", Reason.MALFORMED),
        (record({"type": "array", "items": "null"}), zigzag(2**60) + b"\x00", Reason.TOO_LARGE),
        (record({"type": "array", "items": "null"}), zigzag(-(2**63)) + zigzag(0) + b"\x00", Reason.MALFORMED),
        (record({"type": "map", "values": "int"}), zigzag(2**60) + b"\x00", Reason.MALFORMED),
        (record({"type": "array", "items": "int"}), zigzag(-3) + b"\xff", Reason.MALFORMED),
    ],
)
def test_lengths_that_lie_and_what_a_schema_does_not_know_are_rejects(
    schema: Any, body: bytes, reason: int
) -> None:
    assert outcome(schema, body) == reason
    unread = AvroReader(json.dumps(schema), [("other",)], MOST).unwrap(Texts.of([body]))
    assert unread.outcomes.tolist() == [reason]  # of a field that nobody asked for too


@pytest.mark.parametrize(
    ("kind", "body", "found"),
    [
        ("int", zigzag(4) + b"\x00", 4),  # a byte is left over
        ("boolean", b"\x02", True),
        (["null", "int"], zigzag(-1) + zigzag(2), 2),  # the last type of a union
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, zigzag(-1), "B"),
        ("int", zigzag(2**40), 2**40),
        ("long", b"\x82" + b"\x80" * 9 + b"\x00", 1),  # eleven bytes
        ("long", b"\xff" * 9 + b"\x7f", -(2**63)),  # 70 bits
        ({"type": "array", "items": "null"}, zigzag(2000) + b"\x00", [None] * 2000),  # many values in few bytes
    ],
)
def test_what_fastavro_takes_and_this_reader_rejects(kind: Any, body: bytes, found: Any) -> None:
    """All its differences beside limits of bytes and levels."""
    schema = record(kind)
    assert fastavro.schemaless_reader(io.BytesIO(body), fastavro.parse_schema(schema), None) == {"f0": found}
    assert outcome(schema, body) in {Reason.MALFORMED, Reason.TOO_LARGE}


def test_the_bytes_that_a_block_tells_are_not_believed() -> None:
    schema = record({"type": "array", "items": "int"})
    for told in (0, 1, 2**62, -5):
        assert read(schema, zigzag(-2) + zigzag(told) + b"\x02\x04\x00")[0] == [{"f0": [1, 2]}]


LIST = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}


@pytest.mark.parametrize(
    ("levels", "reason"), [(63, FITS), (64, FITS), (65, Reason.TOO_DEEP), (5000, Reason.TOO_DEEP)]
)
def test_a_record_may_be_nested_sixty_four_levels_deep(levels: int, reason: int) -> None:
    body = zigzag(1) * (levels - 1) + zigzag(0)
    assert outcome(LIST, body) == reason
    assert AvroReader(json.dumps(LIST), [], MOST).unwrap(Texts.of([body])).outcomes.tolist() == [reason]


def test_records_that_take_no_bytes_do_not_take_forever() -> None:
    """Two of the next in each: 2**60 records in no byte."""
    inner: Any = {"type": "record", "name": "N0", "fields": []}
    for level in range(1, 60):
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": f"N{level - 1}"}]
        inner = {"type": "record", "name": f"N{level}", "fields": fields}
    start = time.thread_time()
    assert outcome(record(inner, "int"), zigzag(1)) == Reason.TOO_LARGE
    assert time.thread_time() - start < 20  # compilation included


def test_bodies_and_texts_above_the_limit_are_too_large() -> None:
    text = record("string")
    assert outcome(text, zigzag(90) + b"x" * 90, most=100) == FITS
    assert outcome(text, zigzag(95) + b"x" * 95, most=100) == Reason.TOO_LARGE  # as JSON
    assert outcome(text, zigzag(101) + b"x" * 101, most=100) == Reason.TOO_LARGE
    assert outcome(text, zigzag(40) + b"\x00" * 40, most=100) == Reason.TOO_LARGE  # six letters each
    assert outcome(
        record({"type": "array", "items": "long"}), zigzag(9) + zigzag(2**62) * 9 + b"\x00", most=100
    ) == (Reason.TOO_LARGE)


def test_ten_megabytes_are_read_or_rejected_at_once() -> None:
    array = record({"type": "array", "items": "boolean"})
    body = zigzag(10**7) + b"\x01" * 10**7 + b"\x00"
    assert read(array, body, most=10**8)[0] == [{"f0": [True] * 10**7}]
    assert outcome(array, body, most=10**6) == Reason.TOO_LARGE
    text = record("string")
    body = zigzag(10**7) + b"\x00" * 10**7
    assert read(text, body, most=10**8)[0] == [{"f0": "\x00" * 10**7}]


def test_a_field_that_the_writer_lacks_is_missing_and_none_makes_an_empty_object() -> None:
    assert read(record("int"), zigzag(4), paths=[("f0",), ("other",)]) == ([{"f0": 4}], [FITS])
    assert read(record("int"), zigzag(4), paths=[("other", "inner")]) == ([{}], [FITS])


def test_a_path_that_goes_below_a_value_without_keys_cannot_be_read() -> None:
    assert read(record("int", ["null", "int"]), zigzag(4) + b"\x00", paths=[("f0", "x"), ("f1", "x")])[0] == [
        {"f0": [[]], "f1": None}
    ]


def test_a_schema_that_is_no_record_is_read_as_what_it_is() -> None:
    for schema, body, text in (
        ("string", zigzag(1) + b"a", b"[[]]"),
        (["null", record("int")], b"\x00", b"null"),
        (["null", record("int")], b"\x02\x04", b'{"f0":2}'),
        ({"type": "map", "values": "int"}, zigzag(1) + zigzag(2) + b"f0" + zigzag(2) + b"\x00", b'{"f0":2}'),
    ):
        assert list(AvroReader(json.dumps(schema), [("f0",)], MOST).unwrap(Texts.of([body])).texts) == [text]


def test_types_of_other_schemas_are_found() -> None:
    inner = {"type": "record", "name": "Inner", "namespace": "a.b", "fields": [{"name": "x", "type": "int"}]}
    outer = {"type": "record", "name": "Outer", "namespace": "a.b", "fields": [{"name": "f", "type": "Inner"}]}
    reader = AvroReader(json.dumps(outer), [("f",)], MOST, {"inner": json.dumps(inner)})
    assert list(reader.unwrap(Texts.of([zigzag(7)])).texts) == [b'{"f":{"x":7}}']


@pytest.mark.parametrize(
    "schema",
    [
        "",
        "null!",
        "[",
        "3",
        '{"type":"record"}',
        '"Unknown"',
        '{"type":"record","name":"R","fields":[{"name":"f","type":"S"}]}',
        '{"type":"record","name":"R","fields":3}',
        '{"type":"record","name":"R","fields":[{"name":3,"type":"int"}]}',
        '{"type":"fixed","name":"F","size":-1}',
        '{"type":"fixed","name":"F","size":"9"}',
        '{"type":"enum","name":"E","symbols":[1]}',
        '{"type":["int",3]}',
        "[" * 100_000 + "]" * 100_000,
        '{"type":"array","items":' * 3000 + '"int"' + "}" * 3000,
    ],
)
def test_what_is_no_schema_is_refused(schema: str) -> None:
    with pytest.raises(InputError, match="Avro schema"):
        AvroReader(schema, [("f",)], MOST)


def test_a_logical_type_that_does_not_go_with_its_type_is_left_aside() -> None:
    """As Avro 1.12 says; nothing is left of bytes then that could be read. Too large a precision does no harm."""
    fixed = {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 50}
    decimals: list[Any] = [
        {"type": "bytes", "logicalType": "decimal", **told}
        for told in (
            {},
            {"precision": 0},
            {"precision": 2, "scale": 3},
            {"precision": 2, "scale": -1},
            {"scale": "x"},
        )
    ]
    others = [{"type": "string", "logicalType": "date"}, {"type": "int", "logicalType": ["x"]}]
    schema = record(*decimals, fixed, *others)
    body = (zigzag(1) + b"\x05") * len(decimals) + b"\x01\x02" + zigzag(1) + b"a" + zigzag(7)
    found = read(schema, body)[0][0]
    assert list(found.values()) == [[[]]] * len(decimals) + [258, "a", 7]


def test_defaults_docs_and_types_in_types_do_not_matter() -> None:
    field = {"name": "f0", "type": {"type": {"type": "int", "logicalType": "date"}}, "default": "x", "doc": 3}
    schema = {"type": "record", "name": "R", "fields": [field, {"name": "f1", "type": {"type": "E"}}]}
    enum = {"type": "enum", "name": "E", "symbols": ["A", "B"], "default": "A"}
    schema["fields"].insert(0, {"name": "e", "type": enum})
    assert read(schema, b"\x00" + zigzag(1) + b"\x02")[0] == [{"e": "A", "f0": "1970-01-02", "f1": "B"}]


@pytest.mark.skipif(not hasattr(write_texts, "signatures"), reason="kernels are not compiled here")
def test_what_is_warm_compiles_nothing_for_any_body() -> None:
    reader = AvroReader(json.dumps(record(["null", "double"], "string")), [("f0",), ("f1",)], MOST)
    reader.warm_up()
    compiled = [list(kernel.signatures) for kernel in (write_texts, put_fractions)]  # type: ignore[attr-defined]
    body = b"\x02" + struct.pack("<d", 1.5) + zigzag(1) + b"a"
    room = np.frombuffer(bytearray(body + bytes(8)), np.uint8)
    for values in (Texts.of([]), Texts.of([b"", None]), Texts.of([body] * 3), Texts(room, np.array([len(body)]))):
        found = reader.unwrap(values)
        assert len(found.texts) == len(values)
    empty = AvroReader(json.dumps(record("null")), [], MOST).unwrap(Texts.of([b"\x00", b""]))
    assert empty.outcomes.tolist() == [Reason.MALFORMED, FITS]
    assert [list(kernel.signatures) for kernel in (write_texts, put_fractions)] == compiled  # type: ignore[attr-defined]
