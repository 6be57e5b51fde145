"""Cells of text: their attribute says what they mean."""

from __future__ import annotations

import msgspec

from stream_anon.microdata.attributes import Attribute, PassThrough, ScalarType
from stream_anon.microdata.coding import UNREADABLE, scalar_of
from stream_anon.microdata.domains.code_reading import ByLabel, ByMoment, ByNumber
from stream_anon.microdata.quasi_identifier import QuasiIdentifier


def parse(attribute: Attribute, cell: str, nulls: frozenset[str] = frozenset()) -> object:
    """Return the value that a cell stands for, as JSON would hold it; None for an empty one and one of `nulls`.

    A cell that does not fit the attribute's type stays text or becomes unreadable, and coding rejects it.
    """
    if isinstance(attribute, PassThrough) and attribute.many:
        return _listed(cell)
    if isinstance(attribute, PassThrough) and attribute.type is ScalarType.STRING:
        return None if cell in nulls else cell or None
    text = cell.strip()
    if not text or text in nulls:
        return None
    if isinstance(attribute, PassThrough):
        return _typed(attribute, attribute.type, text)
    match attribute.domain.reading() if isinstance(attribute, QuasiIdentifier) else None:
        case ByNumber() | ByMoment():
            return _typed(attribute, ScalarType.NUMBER, text)
        case ByLabel(codes):
            value = scalar_of(attribute.type, text)  # type: ignore[attr-defined]
            return text if value is UNREADABLE or text in codes else value
    return text


def _typed(attribute: Attribute, kind: ScalarType, text: str) -> object:
    """Return the value of a cell; its text where coding may find another one in it, of a decimal comma."""
    value = scalar_of(kind, text)
    return text if value is UNREADABLE and attribute.coerce else value


def _listed(cell: str) -> object:
    """Return the list of a cell that holds it as JSON."""
    if not cell.strip():
        return None
    try:
        value = msgspec.json.decode(cell)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return UNREADABLE
    return tuple(value) if isinstance(value, list) else UNREADABLE
