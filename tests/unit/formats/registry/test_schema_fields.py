"""The types of declared fields: found in time linear in the schema, however its types name each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stream_anon.formats.registered_formats import described
from stream_anon.formats.registry.schema_fields import avro_fields, json_fields, protobuf_fields

MANY = 30  # types that all name each other; ways through them: MANY to the power of their depth


def test_alternatives_that_all_refer_to_each_other_are_looked_at_once() -> None:
    others = [{"$ref": f"#/definitions/d{number}"} for number in range(MANY)]
    definitions: dict[str, Any] = {f"d{number}": {"anyOf": others} for number in range(MANY)}
    definitions["d7"] = {"anyOf": others, "properties": {"age": {"type": "integer"}}}
    schema = {"definitions": definitions, "$ref": "#/definitions/d0"}
    assert json_fields(json.dumps(schema), [("age",), ("name",)]) == {("age",): "integer"}


def test_records_that_all_name_each_other_are_looked_at_once() -> None:
    onward = ["null", *(f"R{number}" for number in range(MANY))]
    schema = [
        {
            "type": "record",
            "name": f"R{number}",
            "fields": [{"name": "a", "type": onward}, {"name": "b", "type": "int"}],
        }
        for number in range(MANY)
    ]
    found = avro_fields(json.dumps(schema), (), [(*"aaaaaaaaaaaaaaa", "b"), ("b",)])
    assert found == {(*"aaaaaaaaaaaaaaa", "b"): "int", ("b",): "int"}


PROTOBUF_WITH_KEYS = """
syntax = "proto3";
import "google/protobuf/struct.proto";
message Event {
  map<string, string> labels = 1;
  map<string, Place> places = 2;
  google.protobuf.Struct more = 3;
  map<string, google.protobuf.Value> values = 4;
}
message Place { int32 zip = 1; }
"""
VALUE = "google.protobuf.Value"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("labels.os", "string"),
        ("places.home.zip", "integer"),
        ("places.home.city", None),
        ("more.os", VALUE),
        ("more.os.version", VALUE),
        ("values.os.version", VALUE),
        ("labels.os.version", None),
    ],
)
def test_a_protobuf_schema_has_the_keys_of_its_maps(path: str, kind: str | None) -> None:
    keys = tuple(path.split("."))
    found = protobuf_fields(described(PROTOBUF_WITH_KEYS), [keys])
    assert (keys in found) is (kind is not None)
    if kind == VALUE:
        assert found[keys] == VALUE


def test_a_json_schema_has_the_keys_that_its_additional_properties_describe() -> None:
    place = {"type": "object", "properties": {"zip": {"type": "integer"}}}
    labels = {"properties": {"os": {"type": "integer"}}, "additionalProperties": {"type": "string"}}
    schema = {"properties": {"labels": labels, "places": {"additionalProperties": place}, "shut": {}}}
    paths = [("labels", "os"), ("labels", "app"), ("places", "home", "zip"), ("places", "home", "x"), ("shut", "x")]
    assert json_fields(json.dumps(schema), paths) == {
        ("labels", "os"): "integer",
        ("labels", "app"): "string",
        ("places", "home", "zip"): "integer",
    }


AVRO_PLACE = {"type": "record", "name": "Place", "fields": [{"name": "zip", "type": "int"}]}
AVRO_WORDS: list[tuple[Any, str]] = [
    ({"type": "array", "items": "string"}, "array of string"),
    ({"type": "array", "items": "long"}, "array of long"),
    (["null", {"type": "array", "items": ["null", "long"]}], "array or null of long or null"),
    ({"type": "map", "values": "double"}, "map of double"),
    ({"type": "array", "items": {"type": "array", "items": "string"}}, "array of array of string"),
    ({"type": "array", "items": {"type": "int", "logicalType": "date"}}, "array of date"),
    ({"type": "array", "items": AVRO_PLACE}, "array of record"),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, "enum"),
]
JSON_WORDS: list[tuple[Any, str]] = [
    ({"type": "array", "items": {"type": "string"}}, "array of string"),
    ({"type": "array", "items": {"type": ["integer", "null"]}}, "array of integer or null"),
    ({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}, "array of integer or string"),
    ({"type": "array", "prefixItems": [{"type": "string"}]}, "array of string"),
    ({"type": "array", "items": False}, "array"),
    ({"type": "object", "additionalProperties": {"type": "number"}}, "object of number"),
    ({"enum": ["a", None, 3, 1.5, True]}, "boolean or integer or null or number or string"),
    ({"const": "a"}, "string"),
    ({"enum": 3}, "anything"),
    ({"type": "string", "enum": ["a"]}, "string"),
    ({}, "anything"),
]


@pytest.mark.parametrize(("kind", "word"), AVRO_WORDS)
def test_the_word_of_an_avro_type_tells_its_items_and_values(kind: Any, word: str) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]}
    assert avro_fields(json.dumps(schema), (), [("f",)]) == {("f",): word}


@pytest.mark.parametrize(("kind", "word"), JSON_WORDS)
def test_the_word_of_a_json_type_tells_its_items_values_and_choices(kind: Any, word: str) -> None:
    assert json_fields(json.dumps({"properties": {"f": kind}}), [("f",)]) == {("f",): word}


def test_the_word_of_a_protobuf_map_tells_its_values() -> None:
    assert protobuf_fields(described(PROTOBUF_WITH_KEYS), [("values",)])[("values",)].endswith(f" of {VALUE}")


def test_the_word_of_a_list_of_itself_ends() -> None:
    others = [{"$ref": f"#/definitions/d{number}"} for number in range(MANY)]
    lists = {f"d{number}": {"type": "array", "items": {"anyOf": others}} for number in range(MANY)}
    schema = {"definitions": lists, "properties": {"f": {"$ref": "#/definitions/d0"}}}
    assert json_fields(json.dumps(schema), [("f",)])[("f",)].startswith("anything or array of anything or array")
