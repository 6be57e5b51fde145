"""Write settings as YAML: in one line where they fit, else a line for each part."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

import yaml

WIDTH = 110
_WORD = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_NOT_TEXTS = frozenset({"yes", "no", "true", "false", "on", "off", "null"})  # for YAML 1.1


def block(key: str, value: object, margin: str) -> Iterator[str]:
    """Return a setting in YAML: in one line where it fits, else a line for each part, so that it can be sorted."""
    line = f"{margin}{scalar(key)}: {in_flow(value)}"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"{margin}{scalar(key)}:"
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from block(name, item, margin + "  ")
    elif isinstance(value, list):
        yield from (f"{margin}  - {in_flow(item)}" for item in value)
    else:
        yield f"{margin}  {in_flow(value)}"


def in_flow(value: object) -> str:
    """Return a setting in YAML's flow style."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {in_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(in_flow(item) for item in value) + "]"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, str):
        return scalar(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def scalar(text: str) -> str:
    """Return a text in one line of YAML, quoted unless it is a plain word."""
    if _WORD.fullmatch(text) and text.lower() not in _NOT_TEXTS:
        return text
    if text.isascii() and text.isprintable():
        return json.dumps(text)  # where nothing is escaped but quotes and backslashes, JSON is YAML
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=float("inf")).strip()
