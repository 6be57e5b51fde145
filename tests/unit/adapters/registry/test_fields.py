"""The types of declared fields: found in time linear in the schema, however its types name each other."""

from __future__ import annotations

import json
from typing import Any

from stream_anon.adapters.registry.fields import avro_fields, json_fields

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
