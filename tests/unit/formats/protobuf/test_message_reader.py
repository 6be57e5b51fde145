from __future__ import annotations

import base64
import json
import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message_factory import GetMessageClass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_anon.errors import InputError
from stream_anon.formats.protobuf.message_reader import MessageReader
from stream_anon.formats.protobuf.program import MOST_FIELDS
from stream_anon.formats.protobuf.proto_files import message_of
from stream_anon.formats.protobuf.walking import write_texts
from stream_anon.formats.unwrapping import FITS, Unwrapped
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.texts import Texts
from tests.support import protobuf_records as support
from tests.support.effort import examples
from tests.support.protobuf_records import Unfit, bodies, descriptors, files, meaning, pruned

MOST = 1_000_000
slowly = settings(examples(250), deadline=None, suppress_health_check=list(HealthCheck))


def told(found: Unwrapped) -> list[Any]:
    """Return what each text says, or why there is none."""
    return [
        Reason(outcome).label
        if outcome != FITS
        else None
        if text is None
        else json.loads(text, parse_float=Decimal, parse_constant=pytest.fail)
        for text, outcome in zip(found.texts, found.outcomes.tolist(), strict=True)
    ]


def oracle(kind: Any, body: bytes) -> Any:
    try:
        return meaning(kind, body)
    except Unfit:
        return Unfit


def has_replaced_messages(file: FileDescriptorProto) -> bool:
    """Tell whether a message may be in a oneof: the reader does not look at it once another member replaces it."""
    return any(
        field.HasField("oneof_index") and field.type in (support.F.TYPE_MESSAGE, support.F.TYPE_GROUP)
        for message in file.message_type
        for field in message.field
    )


def check(file: FileDescriptorProto, kind: Any, body: bytes, got: Any) -> None:
    expected = oracle(kind, body)
    if expected is not Unfit:
        assert got == expected
    elif not isinstance(got, str):
        assert has_replaced_messages(file) or "google.protobuf.Value" in str(file) or "Struct" in str(file)


@slowly
@given(data=st.data(), file=files())
def test_a_body_means_what_googles_reader_reads(data: st.DataObject, file: FileDescriptorProto) -> None:
    message, kind = descriptors(file)
    drawn = data.draw(st.lists(bodies(message), min_size=1, max_size=4))
    found = told(MessageReader(message, [()], MOST).unwrap(Texts.of(drawn)))
    for body, got in zip(drawn, found, strict=True):
        check(file, kind, body, got)


@slowly
@given(data=st.data(), file=files())
def test_bytes_that_were_changed_are_read_or_rejected_as_googles_reader_does(
    data: st.DataObject, file: FileDescriptorProto
) -> None:
    message, kind = descriptors(file)
    drawn = []
    for body in data.draw(st.lists(bodies(message), min_size=1, max_size=4)):
        at = data.draw(st.integers(0, len(body)))
        drawn.append(body[:at] + data.draw(st.binary(max_size=3)) + body[at + data.draw(st.integers(0, 3)) :])
    drawn.append(data.draw(st.binary(max_size=30)))
    found = told(MessageReader(message, [()], MOST).unwrap(Texts.of(drawn)))
    for body, got in zip(drawn, found, strict=True):
        check(file, kind, body, got)


@slowly
@given(data=st.data(), file=files())
def test_what_is_read_of_some_fields_is_the_same_without_the_others(
    data: st.DataObject, file: FileDescriptorProto
) -> None:
    message, kind = descriptors(file)
    drawn = data.draw(st.lists(bodies(message), min_size=1, max_size=4))
    keys = st.sampled_from([*(field.name for field in message.fields), "nothing"])
    paths = data.draw(st.lists(st.lists(keys, min_size=1, max_size=3).map(tuple), max_size=3))
    found = told(MessageReader(message, paths, MOST).unwrap(Texts.of(drawn)))
    for body, got in zip(drawn, found, strict=True):
        expected = oracle(kind, body)
        if expected is not Unfit and not isinstance(got, str):
            assert pruned(got, paths) == pruned(expected, paths)
            assert got.keys() <= {path[0] for path in paths}
        assert expected is Unfit or not isinstance(got, str)


@slowly
@given(data=st.data(), file=files())
def test_bodies_are_read_by_themselves_however_they_lie(data: st.DataObject, file: FileDescriptorProto) -> None:
    message, _ = descriptors(file)
    drawn: list[bytes | None] = [*data.draw(st.lists(bodies(message), max_size=5)), None, b""]
    reader = MessageReader(message, [()], MOST)
    together = told(reader.unwrap(Texts.of(drawn)))
    assert together == [told(reader.unwrap(Texts.of([body])))[0] for body in drawn]
    assert together[-2] is None
    assert isinstance(together[-1], dict)
    cut = Texts.of([b"", *drawn])[1:]
    without_gaps = np.frombuffer(b"".join(body or b"" for body in drawn) + bytes(8), np.uint8)
    stops = np.cumsum([len(body or b"") for body in drawn])
    missing = np.array([body is None for body in drawn])
    assert told(reader.unwrap(cut)) == together
    assert told(reader.unwrap(Texts(without_gaps, stops, 0, missing))) == together


# One schema with everything that a reader could get wrong, and what it says of a body to the letter.
SCHEMA = """
syntax = "proto3";
package clinic;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "google/type/date.proto";
import "google/type/decimal.proto";
import "confluent/type/decimal.proto";
import "confluent/meta.proto";
import "common/place.proto";
message Unused { string note = 1; }
message Envelope {
  message Visit {
    string name = 1 [(confluent.field_meta).doc = "never published"];
    int32 age = 2;
    optional int32 weight = 3;
    enum Ward { WARD_UNKNOWN = 0; EYES = 1; EARS = -2; }
    Ward ward = 4;
    google.protobuf.Timestamp at = 5;
    google.type.Date born = 6;
    google.protobuf.StringValue note = 7;
    google.protobuf.Struct more = 8;
    confluent.type.Decimal paid = 9;
    google.type.Decimal due = 10;
    oneof contact { string mail = 11; int64 phone = 12; }
    repeated sint32 scores = 13;
    map<string, common.Place> places = 14;
    bytes picture = 15;
    float fever = 16;
    google.protobuf.Duration stay = 17;
    Visit before = 18;
  }
  Visit after = 1;
  string op = 2;
}
"""
REFERENCES = {
    "common/place.proto": 'syntax = "proto2"; package common; message Place { optional uint64 code = 1; }'
}


@pytest.fixture(scope="module")
def visit() -> Any:
    return message_of(SCHEMA, [1], REFERENCES)


def _read(visit: Any, paths: Sequence[str], *given_messages: dict[str, Any]) -> list[Any]:
    kind = GetMessageClass(visit)
    texts = [json_format.ParseDict({"after": one}, kind()).SerializeToString() for one in given_messages]
    keys = [tuple(path.split(".")) for path in paths]
    return [json.loads(text) for text in MessageReader(visit, keys, MOST).unwrap(Texts.of(texts)).texts]


def test_a_schema_of_a_registry_is_read_to_the_letter(visit: Any) -> None:
    given_message = {
        "name": 'A "B"',
        "age": 41,
        "weight": 0,
        "ward": "EYES",
        "at": "2024-02-29T10:11:12.100Z",
        "born": {"year": 1983, "month": 2, "day": 28},
        "note": "",
        "more": {"a": [1, None, True, {"b": "c"}]},
        "paid": {"value": base64.b64encode((-12345).to_bytes(4, "big", signed=True)).decode(), "scale": 2},
        "due": {"value": "12.50"},
        "phone": "9223372036854775807",
        "scores": [-1, 2],
        "places": {"home": {"code": "18446744073709551615"}, "": {}},
        "picture": "AAAA",
        "fever": 38.1,
        "stay": "-1.500s",
        "before": {"age": 40},
    }
    [found] = _read(visit, ["after", "op"], given_message)
    absent = {"name": "", "age": 0, "ward": "WARD_UNKNOWN", "picture": [[]], "fever": 0.0}
    assert found == {
        "after": {
            **given_message,
            "paid": -123.45,
            "due": 12.5,
            "born": "1983-02-28",
            "at": "2024-02-29T10:11:12.100Z",
            "phone": 9223372036854775807,
            "places": {"home": {"code": 18446744073709551615}, "": {}},
            "picture": [[]],
            "before": {**absent, "age": 40},
        },
        "op": "",
    }


def test_a_field_that_is_not_there_is_missing_or_its_default_as_the_schema_has_it(visit: Any) -> None:
    paths = ["after.age", "after.weight", "after.ward", "after.at", "after.note", "after.mail", "after.scores"]
    assert _read(visit, paths, {}) == [{"after": {"age": 0, "ward": "WARD_UNKNOWN"}}]
    assert _read(visit, ["after.weight", "after.nothing.such"], {}) == [{"after": {}}]


def test_nothing_but_the_declared_fields_is_written(visit: Any) -> None:
    said = {"name": "Anna", "age": 4, "note": "told", "before": {"name": "Anna"}}
    assert _read(visit, ["after.age"], said) == [{"after": {"age": 4}}]
    assert _read(visit, ["after.before.age"], said) == [{"after": {"before": {"age": 0}}}]


def test_messages_that_come_in_parts_are_one_and_the_last_member_of_a_oneof_counts(visit: Any) -> None:
    kind = GetMessageClass(visit)
    parts = [{"age": 1, "scores": [1], "mail": "m"}, {"weight": 5, "scores": [2], "phone": "7"}, {"age": 3}]
    text = b"".join(json_format.ParseDict({"after": part}, kind()).SerializeToString() for part in parts)
    # `mail` is not read, and still is replaced.
    for paths in (["after.age", "after.weight", "after.scores", "after.phone"], ["after.mail", "after.age"]):
        keys = [tuple(path.split(".")) for path in paths]
        [found] = MessageReader(visit, keys, MOST).unwrap(Texts.of([text])).texts
        whole = {"age": 3, "weight": 5, "scores": [1, 2], "phone": 7}
        assert json.loads(found or b"") == {"after": {path[1]: whole[path[1]] for path in keys if path[1] in whole}}


LINKS = FileDescriptorProto(name="links.proto", package="links", syntax="proto3")
_link = LINKS.message_type.add(name="Link")
_link.field.add(name="next", number=1, type=support.F.TYPE_MESSAGE, type_name=".links.Link", label=1)
_link.field.add(name="all", number=2, type=support.F.TYPE_MESSAGE, type_name=".links.Link", label=3)
_link.field.add(name="numbers", number=3, type=support.F.TYPE_INT64, label=3)
_link.field.add(name="text", number=4, type=support.F.TYPE_STRING, label=1)
_link.field.add(name="kinds", number=5, type=support.F.TYPE_ENUM, type_name=".links.Kind", label=3)
_kind = LINKS.enum_type.add(name="Kind")
_kind.value.add(name="K" * 5000, number=0)


def nested(levels: int, number: int = 1) -> bytes:
    body = b""
    for _ in range(levels):
        body = bytes([number << 3 | 2]) + support.varint(len(body)) + body
    return body


def outcome(body: bytes, most: int = MOST, paths: Sequence[tuple[str, ...]] = ((),)) -> str:
    # The text of ten megabytes may take the room of many records.
    values = [body] if len(body) > MOST else [body, b"\x22\x01x"]
    found = MessageReader(descriptors(LINKS)[0], paths, most).unwrap(Texts.of(values))
    for text in list(found.texts)[1:]:
        assert json.loads(text or b"") == ({"text": "x"} if () in paths else {})  # the next one is read
    return "fits" if found.outcomes[0] == FITS else Reason(int(found.outcomes[0])).label


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (nested(63), "fits"),
        (nested(64), "too-deep"),
        (nested(10_000), "too-deep"),
        (nested(63, 2), "fits"),
        (nested(5000, 2), "too-deep"),
        (b"\x0b" * 100_000, "too-deep"),  # groups that nobody knows
        (b"\x0b" * 60, "malformed"),  # and that end nowhere
        (b"\x0b" * 60 + b"\x0c" * 60, "fits"),
        (b"\x0b\x14", "malformed"),
        (b"\x0c", "malformed"),
        (b"\x22\xff\xff\xff\xff\x07", "malformed"),  # lengths that lie
        (b"\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "malformed"),
        (b"\x0a\x05\x22\x7fabc", "malformed"),
        (b"\x1a\x03\x80\x80\x80", "malformed"),
        (b"\x18" + b"\x80" * 11, "malformed"),
        (b"\x22\x02\xc3\x28", "not-utf8"),
        (b"\xfa\xff\xff\xff\x0f\x02\xc3\x28", "fits"),  # a text of the last possible field
        (b"\x07", "malformed"),
        (b"\x80\x80\x80\x80\x80\x80", "malformed"),
        (b"\x22\xc0\x84\x3d" + b"a" * 1_000_000, "too-large"),
        (b"\x22\x80\x88\x3d" + b"\x00" * 900_000, "malformed"),
        (b"\x22\xa0\x8d\x06" + b"\x01" * 100_000, "fits"),  # which are escaped
        (b"\x22\xe0\xa7\x12" + b"\x01" * 300_000, "too-large"),
        (b"\x12\x00" * 400_000, "too-large"),
        (b"\x2a\xa0\x8d\x06" + b"\x00" * 100_000, "too-large"),  # each byte is a name of five thousand
        (b"\x1a\x90\xa1\x0f" + b"\xff" * 250_000, "malformed"),
    ],
)
def test_hostile_bytes_are_rejected_for_what_they_are(body: bytes, wanted: str) -> None:
    assert outcome(body) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"\x0b" * 10**7, "too-deep"),
        (b"\x12\x00" * (5 * 10**6), "fits"),
        (b"\x80" * 10**7, "malformed"),
        (b"\x22" + support.varint(10**7) + b"\x00" * 10**7, "fits"),
        (b"\x22" + support.varint(10**7 + 1) + b"\x00" * 10**7, "malformed"),
        (nested(10_000) * 200, "too-deep"),
    ],
)
def test_ten_megabytes_are_read_or_rejected_at_once(body: bytes, wanted: str) -> None:
    start = time.thread_time()
    assert outcome(body, most=10**8) == wanted
    assert time.thread_time() - start < 20  # compilation included


def test_a_body_above_the_limit_is_not_looked_at() -> None:
    assert outcome(b"\x07" * 101, most=100) == "too-large"
    assert outcome(b"\x07" * 100, most=100) == "malformed"
    assert outcome(b"\x22\x28" + b"a" * 40, most=51) == "fits"  # and its text is 51 bytes with its key
    assert outcome(b"\x22\x29" + b"a" * 41, most=51) == "too-large"


def test_what_is_not_declared_is_not_read_whatever_it_holds() -> None:
    for body in (nested(10_000), b"\x22\x02\xc3\x28", b"\x1a\x01\x80"):
        assert outcome(body, paths=[("nothing",)]) == "fits"


def test_a_wide_message_that_comes_often_takes_bounded_work() -> None:
    file = FileDescriptorProto(name="wide.proto", package="wide", syntax="proto2")
    wide = file.message_type.add(name="Wide")
    wide.field.add(name="all", number=1, type=support.F.TYPE_MESSAGE, type_name=".wide.Wide", label=3)
    for number in range(2, 10_000):
        wide.field.add(name=f"f{number}", number=number, type=support.F.TYPE_INT32, label=1)
    found = MessageReader(descriptors(file)[0], [()], MOST).unwrap(Texts.of([b"\x0a\x00" * 250_000, b"\x10\x01"]))
    assert found.outcomes.tolist() == [Reason.TOO_LARGE, FITS]


def test_a_schema_of_too_many_fields_is_refused() -> None:
    file = FileDescriptorProto(name="wide.proto", package="wide", syntax="proto2")
    count = MOST_FIELDS // 3
    for name in ("A", "B", "C"):
        wide = file.message_type.add(name=name)
        for number in range(1, count + 1):
            wide.field.add(name=f"f{number}", number=number, type=support.F.TYPE_INT32, label=1)
    for number, name in enumerate(("A", "B", "C"), start=count + 1):
        file.message_type[0].field.add(
            name=name, number=number, type=support.F.TYPE_MESSAGE, type_name=f".wide.{name}", label=1
        )
    message = descriptors(file)[0]
    with pytest.raises(InputError, match="too many fields"):
        MessageReader(message, [()], MOST)
    MessageReader(message, [("f1",), ("B",)], MOST)


@pytest.mark.skipif(not hasattr(write_texts, "signatures"), reason="kernels are not compiled here")
def test_a_reader_that_is_warm_compiles_nothing_for_any_body() -> None:
    message, _ = descriptors(LINKS)
    MessageReader(message, [("nothing",)], MOST).warm_up()
    compiled = list(write_texts.signatures)  # type: ignore[attr-defined]
    reader = MessageReader(message, [()], MOST)
    for texts in (Texts.of([]), Texts.of([b""]), Texts.of([None]), Texts.of([nested(9), None, b"\x22\x01x"])):
        reader.unwrap(texts)
        reader.unwrap(texts[1:])
        reader.unwrap(Texts(texts.room.copy(), texts.stops.copy(), texts.gap, texts.missing))
    assert list(write_texts.signatures) == compiled  # type: ignore[attr-defined]
