"""The JSON Schema of a settings file, generated from the model that validates it.

`python -m stream_anon.settings.json_schema FILE` writes it; a test compares the committed file with the model.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stream_anon.settings.model import Settings
from stream_anon.settings.sections.section import Duration, models_in

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DURATION = {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d)?\s*$"}
_SECONDS = get_args(Duration)[1]  # what marks a field as a duration


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a settings file."""
    generated = Settings.model_json_schema()
    definitions = generated.pop("$defs")
    for model in _models(Settings, set()):
        target = generated if model is Settings else definitions[model.__name__]
        for key, field in model.model_fields.items():
            target["properties"][key] = _property(field, target["properties"][key])
    head = {
        "$schema": _DIALECT,
        "$id": "urn:stream-anon:schema:settings:1",
        "title": "stream-anon settings",
        "description": "One YAML file; all but attributes can be overridden by STREAM_ANON__SECTION__KEY.",
    }
    generated = {key: value for key, value in generated.items() if key not in head}
    return {**head, **_untitled(generated), "$defs": _untitled(definitions)}


def _models(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[type[BaseModel]]:
    """Yield a model and all that its fields hold, each once."""
    if model in seen:
        return
    seen.add(model)
    yield model
    for field in model.model_fields.values():
        for inner in models_in(field.annotation):
            yield from _models(inner, seen)


def _property(field: FieldInfo, schema: dict[str, Any]) -> dict[str, Any]:
    described = dict(schema)
    if is_duration(field):
        outside = {name: described.pop(name) for name in ("default",) if name in described}
        described.pop("title", None)
        described = {"anyOf": [described | {"description": "seconds"}, _DURATION], **outside}
    return described | ({"description": _on_one_line(field.description)} if field.description else {})


def is_duration(field: FieldInfo) -> bool:
    """Return whether a setting is a duration, in seconds or as a text such as `30s`."""
    return _SECONDS in field.metadata


def meaning(model: type[BaseModel], key: str, field: FieldInfo) -> str:
    """Return what a setting means; KeyError if it has no docstring."""
    if not field.description:
        raise KeyError(f"{model.__name__}.{key}")
    return _on_one_line(field.description)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _untitled(schema: Any) -> Any:
    """Drop the titles that repeat a key; a field of that name stays."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _untitled(inner) for name, inner in value.items()} if key == "properties" else _untitled(value)
        for key, value in schema.items()
        if key != "title"
    }


def as_text(schema: dict[str, Any]) -> str:
    """Return a schema as it stands in its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_text(settings_schema()), encoding="utf-8")
