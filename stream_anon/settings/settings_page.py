"""The page on settings (docs/reference/settings.md), generated from the model that validates them.

`python -m stream_anon.settings.settings_page FILE` writes it; a test compares the committed file with the model.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from stream_anon.settings import model
from stream_anon.settings.attributes import attribute, domains
from stream_anon.settings.json_schema import is_duration, meaning
from stream_anon.settings.sections import (
    certificate_settings,
    criterion_settings,
    engine_settings,
    format_settings,
    kafka_settings,
    method_settings,
    privacy_settings,
    release_settings,
    window_settings,
)
from stream_anon.settings.sections.section import Section

HEAD = """# Settings
One YAML file. Unknown keys are errors, and a message names the key and what is allowed. This page is generated from
the model that validates the file (`make schemas`); the same as a JSON Schema is
[schemas/settings.schema.json](../../schemas/settings.schema.json).

- **Environment.** Every value outside `attributes` can be overridden by `STREAM_ANON__SECTION__KEY`, such as
  `STREAM_ANON__WINDOW__MAX_RECORDS=5000` or `STREAM_ANON__KAFKA__SECURITY__PASSWORD`. A variable that names no
  section is an error. The environment wins over the file, and the options of a command win over both.
- **Durations** are numbers of seconds or texts: `500ms`, `30s`, `2m`, `1h`, `30d`.
- **Files** of hierarchies are sought beside the settings file, those of `kafka.security` in the working folder.
- **Fields** may lie deep: `patient.age` is the field `age` of the object `patient`. A single key with a dot in it,
  as in `{"after.age": 30}`, is declared by its `path`: `path: ["after.age"]`. What is released keeps these keys. In
  a CSV file the column of a field is named by its keys, joined by dots, in either case.
"""


SECTIONS: tuple[tuple[str, type[Section]], ...] = (
    ("kafka", kafka_settings.KafkaSettings),
    ("kafka.input", kafka_settings.InputSettings),
    ("kafka.format", format_settings.FormatSettings),
    ("kafka.registry", format_settings.RegistrySettings),
    ("kafka.security", kafka_settings.SecuritySettings),
    ("privacy", privacy_settings.PrivacySettings),
    ("privacy.individual", privacy_settings.IndividualSettings),
    ("privacy.sensitive.NAME", criterion_settings.DiversitySettings),
    ("privacy.sensitive.NAME.recursive_cl", criterion_settings.RecursionSettings),
    ("privacy.sensitive.NAME.t_closeness", criterion_settings.ClosenessSettings),
    ("privacy.shields", privacy_settings.ShieldSettings),
    ("privacy.returning", privacy_settings.ReturningSettings),
    ("privacy.presence", privacy_settings.PresenceSettings),
    ("window", window_settings.WindowSettings),
    ("engine", engine_settings.EngineSettings),
    ("input", model.RecordSettings),
    ("output", model.OutputSettings),
    ("certificates", certificate_settings.CertificateSettings),
    ("certificates.sign", certificate_settings.SigningSettings),
    ("release", release_settings.ReleaseSettings),
    ("attributes.NAME", attribute.AttributeSettings),
    *((f"attributes.NAME.{key}", kind) for key, kind in attribute.DOMAIN_SETTINGS.items()),
    ("attributes.NAME.hierarchy", domains.BalancedSettings),
    ("attributes.NAME.hierarchy, by words", domains.WordsSettings),
    ("method", method_settings.MethodSettings),
    ("method.choices", method_settings.ChoiceSettings),
    ("http", model.HttpSettings),
    ("logs", model.LogSettings),
)


def settings_page() -> str:
    """Return the page, Markdown: one table a section."""
    parts = [HEAD]
    for name, section in SECTIONS:
        text = section.explanation
        rows = "\n".join(_row(section, key, field) for key, field in section.model_fields.items())
        head = "| key | default | allowed | meaning |\n| --- | --- | --- | --- |"
        parts.append(f"## {name}\n" + (f"{text}\n\n" if text else "") + f"{head}\n{rows}\n")
    return "\n".join(parts)


def _row(model: type[BaseModel], key: str, field: FieldInfo) -> str:
    cells = (f"`{key}`", _default(field), _allowed(field), meaning(model, key, field))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if default is PydanticUndefined or default in (None, "", [], {}) or isinstance(default, BaseModel):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if is_duration(field):
        return f"`{default:g}s`"
    if isinstance(default, float):
        return f"`{default:g}`"
    return f"`{default}`"


def _allowed(field: FieldInfo) -> str:
    if is_duration(field):
        unit = "s"
        text = "a duration"
    else:
        unit = ""
        text = " or ".join(dict.fromkeys(_kinds(field.annotation)))
    bounds = _bounds(field, unit)
    return f"{text}, {bounds}" if bounds else text


def _bounds(field: FieldInfo, unit: str) -> str:
    found = []
    for rule in field.metadata:
        match rule:
            case MinLen(min_length=1):
                found.append("not empty")
            case MinLen(min_length=length):
                found.append(f"of length {length} at least")
            case Ge(ge=bound):
                found.append(f"from {_number(bound)}{unit}")
            case Gt(gt=bound):
                found.append(f"above {_number(bound)}{unit}")
            case Le(le=bound):
                found.append(f"to {_number(bound)}{unit}")
            case Lt(lt=bound):
                found.append(f"below {_number(bound)}{unit}")
            case _:
                pattern = getattr(rule, "pattern", None)
                found += [f"`{pattern}`"] if pattern else []
    return " ".join(found)


def _number(bound: Any) -> str:
    if isinstance(bound, int) and bound >= 2**31:
        return f"2^{math.log2(bound + 1):g} - 1"
    return f"{bound:,}"


_WORDS: dict[Any, str] = {str: "a text", int: "an integer", float: "a number", bool: "true or false"} | {
    Path: "a file",
    SecretStr: "a text",
    dt.date: "a day",
    Any: "anything",
}


def _kinds(annotation: Any) -> Iterator[str]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        yield ", ".join(f"`{value}`" for value in arguments)
    elif isinstance(annotation, type) and issubclass(annotation, StrEnum):
        yield ", ".join(f"`{value}`" for value in annotation)
    elif origin is Annotated:
        yield from _kinds(arguments[0])
    elif origin in (Union, UnionType):
        yield from (kind for argument in arguments for kind in _kinds(argument))
    elif origin is list:
        yield "a list"
    elif annotation is NoneType:
        return
    elif origin is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        yield "a mapping"
    else:
        yield _WORDS[annotation]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(settings_page(), encoding="utf-8")
