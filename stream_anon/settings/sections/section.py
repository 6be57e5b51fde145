"""What every section of the settings is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict

SIZE_PATTERN = r"^[1-9][0-9]{0,5} ?([KMG]i?B)$"
_SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


class Section(BaseModel):
    """A closed section: unknown keys are errors.

    A setting stands in one place: its name, bounds and default, and below them what it means. The page on settings,
    the JSON Schema and the chart are generated from that.

    Parameters
    ----------
    explanation
        What the page on settings says of the section, above the table of its keys.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    explanation: ClassVar[str] = ""


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that the type of a field names, in their order."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def _seconds(value: object) -> object:
    """Return a duration such as `30s`, `500ms` or `2m` in seconds; plain numbers are seconds."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", value)
    if match is None:
        raise ValueError("must be a duration such as 500ms, 30s or 2m")
    return float(match[1]) * _UNITS[match[2] or "s"]


def size_of(text: str) -> int:
    """Return the bytes of a size such as `512MiB` that fits `SIZE_PATTERN`."""
    unit = text.lstrip("0123456789 ")
    return int(text.removesuffix(unit)) * _SIZES[unit]


Duration = Annotated[float, BeforeValidator(_seconds)]
