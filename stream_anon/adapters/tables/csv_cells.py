"""Cells of text: their attribute says what they mean."""

from __future__ import annotations

import re

from stream_anon.microdata.attributes import Attribute, PassThrough, QuasiIdentifier, ScalarType
from stream_anon.microdata.coding import UNREADABLE
from stream_anon.microdata.domains.reading import ByLabel, ByNumber

_WHOLE = re.compile(r"[+-]?[0-9]{1,4300}")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")


def parse(attribute: Attribute, cell: str, nulls: frozenset[str] = frozenset()) -> object:
    """Return the value that a cell stands for, as JSON would hold it; None for an empty one and one of `nulls`.

    A cell that does not fit the attribute's type stays text or becomes unreadable, and coding rejects it.
    """
    if isinstance(attribute, PassThrough) and attribute.type is ScalarType.STRING:
        return None if cell in nulls else cell or None
    text = cell.strip()
    if not text or text in nulls:
        return None
    if isinstance(attribute, PassThrough):
        return _scalar(attribute.type, text)
    match attribute.domain.reading() if isinstance(attribute, QuasiIdentifier) else None:
        case ByNumber():
            return _number(text)
        case ByLabel(codes):
            value = _scalar(attribute.type, text)  # type: ignore[attr-defined]
            return text if value is UNREADABLE or text in codes else value
    return text


def _scalar(kind: ScalarType, text: str) -> object:
    if kind is ScalarType.BOOLEAN:
        return {"true": True, "false": False}.get(text.lower(), UNREADABLE)
    return text if kind is ScalarType.STRING else _number(text)


def _number(text: str) -> object:
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else UNREADABLE
