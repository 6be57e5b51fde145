"""Which schemas say the same: what a registry prints anew does, what would read bytes otherwise does not."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from stream_anon.audit.formats.stated_schemas import CONNECT, Stated, said_plainly, schema_of
from stream_anon.formats.registered_formats import described
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.policy_document import PolicyDocument
from tests.support.hostile import shaped_policy
from tests.support.releases import ward_policy

Change = Callable[[Any], Any]
FORMS = ["avro", "json-schema", "protobuf", CONNECT]
forms = pytest.mark.parametrize("form", FORMS)
shapes = pytest.mark.parametrize("shape", [Shape.TYPED, Shape.FLAT])
MOMENT = {"type": "long", "logicalType": "timestamp-millis"}
AVRO: dict[str, Any] = {
    "type": "record",
    "name": "released_record",
    "namespace": "stream_anon",
    "doc": "Ours.",
    "fields": [
        {"name": "city", "doc": "words", "type": ["null", "string"], "default": None},
        {"name": "at", "type": MOMENT},
        {
            "name": "age",
            "type": {
                "type": "record",
                "name": "age",
                "namespace": "stream_anon.released_record",
                "fields": [
                    {"name": "min", "type": "long"},
                    {"name": "codes", "type": {"type": "array", "items": "long"}},
                ],
            },
        },
        {"name": "again", "type": {"type": "map", "values": "stream_anon.released_record.age"}},
    ],
}
PROTOBUF = """
// Ours.
syntax = "proto3";
package stream_anon;
message ReleasedRecord {
  message age_object {
    optional int64 min = 1;
    optional int64 max = 2;  // included
  }
  optional age_object age = 1;
  optional string home_city = 2 [json_name = "home_city"];
  repeated string plan = 3;
}
"""
REPRINTED = """
syntax = "proto3";
package stream_anon;

message ReleasedRecord {
  repeated string plan = 3;
  optional string home_city = 2 [
    json_name = "home_city"
  ];
  optional .stream_anon.ReleasedRecord.age_object age = 1;
  message age_object { optional int64 max = 2; optional int64 min = 1; }
}
"""
JSON: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:ours",
    "title": "Ours",
    "type": "object",
    "properties": {
        "title": {"type": ["string", "null"], "description": "words"},
        "age": {"type": "integer", "minimum": 0},
        "plan": {"oneOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
    },
    "required": ["title", "age", "plan"],
    "additionalProperties": False,
}


def avro(schema: Any) -> bytes:
    return said_plainly("avro", json.dumps(schema), described)


def _changed(schema: Any, change: Change) -> Any:
    copy = json.loads(json.dumps(schema))
    change(copy)
    return copy


def _reprinted(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of Avro as Java prints it: in another order, without what is the same outside."""
    fields = schema["fields"]
    age = fields[2]["type"] | {"type": "record"}
    return {
        "fields": [
            {"type": ["null", {"type": "string"}], "default": None, "name": "city"},
            fields[1],
            {"type": age, "name": "age"},
            {"name": "again", "type": {"values": {"type": "stream_anon.released_record.age"}, "type": "map"}},
        ],
        "type": "record",
        "name": "stream_anon.released_record",
    }


def test_what_a_registry_prints_anew_in_avro_says_the_same() -> None:
    assert avro(_reprinted(AVRO)) == avro(AVRO)
    assert avro(_changed(AVRO, lambda s: s["fields"][3]["type"].update(values="released_record.age"))) != avro(AVRO)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(name="another"),
        lambda s: s.update(namespace="elsewhere"),
        lambda s: s.pop("namespace"),
        lambda s: s.update(note="Mrs Smith"),
        lambda s: s.update(doc=["Mrs Smith"], aliases=["Smith"]),
        lambda s: s["fields"].reverse(),
        lambda s: s["fields"].pop(),
        lambda s: s["fields"].append({"name": "note", "type": "string", "default": "Mrs Smith"}),
        lambda s: s["fields"][0].update(name="town"),
        lambda s: s["fields"][0].update(type="string"),
        lambda s: s["fields"][0].update(type=["string", "null"]),
        lambda s: s["fields"][0].update(default="Mrs Smith"),
        lambda s: s["fields"][1].update(type="long"),
        lambda s: s["fields"][1]["type"].update(logicalType="timestamp-micros"),
        lambda s: s["fields"][2]["type"].update(namespace="stream_anon"),
        lambda s: s["fields"][2]["type"]["fields"][0].update(type="int"),
        lambda s: s["fields"][2]["type"]["fields"][1]["type"].update(items="int"),
        lambda s: s["fields"][3]["type"].update(values="long"),
    ],
)
def test_another_schema_of_avro_says_something_else(change: Change) -> None:
    assert avro(_changed(AVRO, change)) != avro(AVRO)


@pytest.mark.parametrize("kind", ["record", "error", "enum", "fixed"])
def test_a_named_type_of_avro_is_itself_by_its_full_name_alone(kind: str) -> None:
    def inner(**name: str) -> dict[str, Any]:
        more: dict[str, Any] = {"fixed": {"size": 4}, "enum": {"symbols": ["A"]}}.get(kind, {"fields": []})
        field = {"name": "f", "type": {"type": kind, **name, **more}}
        return {"type": "record", "name": "outer", "namespace": "a", "fields": [field]}

    assert avro(inner(name="x")) == avro(inner(name="x", namespace="a")) == avro(inner(name="a.x"))
    assert avro(inner(name="a.x", namespace="b")) == avro(inner(name="a.x"))
    assert avro(inner(name="x", namespace="b")) == avro(inner(name="b.x")) != avro(inner(name="a.x"))
    assert avro(inner(name="x", namespace="")) not in (avro(inner(name="x")), avro(inner(name="y", namespace="")))


def test_a_reference_of_avro_is_a_full_name_and_no_plain_type() -> None:
    def referring(name: str) -> bytes:
        fields = [{"name": "f", "type": name}, {"name": "g", "type": ["null", {"type": name}]}]
        return avro({"type": "record", "name": "r", "namespace": "a", "fields": fields})

    assert referring("x") == referring("a.x") != referring("b.x")
    assert referring("long") != referring("a.long")
    assert avro({"type": "array", "items": "a.x"}) != avro({"type": "a.array", "items": "a.x"})


def test_a_file_of_protobuf_that_is_printed_anew_says_the_same() -> None:
    pytest.importorskip("grpc_tools", reason="needs the extra protobuf")
    said = said_plainly("protobuf", PROTOBUF, described)
    assert said_plainly("protobuf", REPRINTED, described) == said
    for old, new in (
        ("int64 max", "int32 max"),
        ("max = 2", "max = 3"),
        ("plan = 3", "plan = 4"),
        ("repeated", "optional"),
        ("optional string", "string"),
        ("plan", "plans"),
        ("package stream_anon;", "package another;"),
        ("package stream_anon;", 'package stream_anon; option java_package = "Smith";'),
        ("message ReleasedRecord", "message Released"),
        (' [json_name = "home_city"]', ""),
        ("repeated string plan = 3;", "repeated string plan = 3; optional string note = 4;"),
        ("message age_object", "message unused {} message age_object"),
        ("message age_object", "enum Unused { NONE = 0; } message age_object"),
        ("message ReleasedRecord", "message Second {}  message ReleasedRecord"),
        ("message ReleasedRecord", "enum Second { NONE = 0; }  message ReleasedRecord"),
        ("repeated string plan = 3;", "reserved 4; repeated string plan = 3;"),
    ):
        assert old in PROTOBUF
        assert said_plainly("protobuf", PROTOBUF.replace(old, new, 1), described) != said, (old, new)


def test_a_file_of_protobuf_that_is_registered_as_a_descriptor_says_the_same() -> None:
    pytest.importorskip("grpc_tools", reason="needs the extra protobuf")
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto()
    described(PROTOBUF).file.CopyToProto(file)
    file.name = "somewhere/else.proto"
    file.source_code_info.location.add(path=[4, 0], span=[1, 2, 3], leading_comments="Theirs.")
    text = b64encode(file.SerializeToString()).decode()
    assert said_plainly("protobuf", text, described) == said_plainly("protobuf", PROTOBUF, described)


def test_enums_and_choices_of_protobuf_say_the_same_in_any_order() -> None:
    pytest.importorskip("grpc_tools", reason="needs the extra protobuf")
    head, two = 'syntax = "proto3"; message M {', ["enum E { A = 0; }", "enum D { B = 0; }"]
    choices = ["oneof b { int64 x = 1; }", "oneof a { int64 y = 2; int64 z = 3; }"]
    there, back = head + " ".join([*two, *choices]) + "}", head + " ".join([*two[::-1], *choices[::-1]]) + "}"
    assert said_plainly("protobuf", there, described) == said_plainly("protobuf", back, described)
    other = there.replace("x = 1; }", "x = 1; int64 z = 3; }").replace("y = 2; int64 z = 3;", "y = 2;")
    assert said_plainly("protobuf", other, described) != said_plainly("protobuf", there, described)
    inner = ["message X { bool a = 1; }", "message Y { bool b = 1; }"]
    nested, back = head + " ".join(inner) + "}", head + " ".join(inner[::-1]) + "}"
    assert said_plainly("protobuf", nested, described) == said_plainly("protobuf", back, described)
    outside = 'syntax = "proto3"; message M {} enum E { A = 0; } enum D { B = 0; }'
    turned = 'syntax = "proto3"; enum D { B = 0; } enum E { A = 0; } message M {}'
    assert said_plainly("protobuf", outside, described) == said_plainly("protobuf", turned, described)


def test_a_json_schema_that_is_printed_anew_says_the_same() -> None:
    said = said_plainly("json-schema", json.dumps(JSON), described)
    turned = {key: JSON[key] for key in reversed(JSON)} | {"title": "Theirs", "required": ["plan", "age", "title"]}
    turned["properties"] = _changed(JSON["properties"], lambda p: p["age"].update(minimum=0.0))
    assert said_plainly("json-schema", json.dumps(turned), described) == said
    for change in (
        lambda s: s["properties"].pop("title"),
        lambda s: s["properties"]["age"].update(minimum=1),
        lambda s: s["properties"]["age"].update(minimum=0.5),
        lambda s: s["properties"]["age"].update(default="Mrs Smith"),
        lambda s: s["properties"]["age"].update(description=["Mrs Smith"]),
        lambda s: s["properties"]["plan"]["oneOf"].reverse(),
        lambda s: s["properties"]["plan"]["oneOf"][0]["enum"].append("c"),
        lambda s: s["required"].pop(),
        lambda s: s.update(additionalProperties=True),
    ):
        changed = json.dumps(_changed(JSON, change))
        assert said_plainly("json-schema", changed, described) != said


@pytest.mark.parametrize(
    ("form", "text"),
    [
        *((form, text) for form in ("avro", "json-schema", CONNECT) for text in ("{", "", "\ud800", "[" * 5000)),
        *(("avro", text) for text in ("5", "{}", '{"type": "record", "doc": 5, "fields": []}')),
        ("avro", '{"type": "array", "items": 5}'),
        ("avro", '{"type": "record", "name": 5, "fields": []}'),
        ("avro", '{"type": "record", "name": "r", "fields": [5]}'),
        ("avro", '{"type": "record", "name": "r", "fields": [{"name": "f"}]}'),
        ("protobuf", "nonsense"),
    ],
)
def test_what_is_no_schema_says_nothing(form: str, text: str) -> None:
    if form == "protobuf":
        pytest.importorskip("grpc_tools", reason="needs the extra protobuf")
    with pytest.raises(ValueError, match=r"."):
        said_plainly(form, text, described)


@forms
@shapes
def test_a_policy_that_is_read_from_its_document_has_the_same_schema(shape: Shape, form: str) -> None:
    if form == "protobuf":
        pytest.importorskip("grpc_tools", reason="needs the extra protobuf")
    plain = [attribute for attribute in shaped_policy(shape).attributes if "key" not in attribute.name]
    for policy in (Policy(tuple(plain), 2, "id", shape=shape), ward_policy(shape=shape)):
        again = PolicyDocument.of(policy).policy()
        text = schema_of(policy, form)
        stated = Stated(form, said_plainly(form, text, described), described)
        assert stated.own(policy) == stated.own(again) == stated.said
        assert stated.own(_without_a_field(policy)) != stated.said
        assert said_plainly(form, text.replace("released under", "made by"), described) == stated.said


def _without_a_field(policy: Policy) -> Policy:
    return Policy(policy.attributes[:-1], policy.k, policy.individual, shape=policy.shape)


@pytest.mark.parametrize("form", ["avro", "protobuf", CONNECT])
def test_natural_records_have_no_schema_with_types(form: str) -> None:
    assert Stated(form, b"", described).own(ward_policy()) is None
