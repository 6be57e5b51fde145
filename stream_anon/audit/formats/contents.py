"""The contents of released classes, hashed again as certificates tell them; see docs/reference/output.md."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from stream_anon.microdata.attributes import PassThrough, ScalarType

_ENCODER = msgspec.json.Encoder()
_WHOLE = 2**53  # beyond it doubles skip whole numbers


def lines_of(passed: Sequence[PassThrough], columns: Sequence[Sequence[Any]], records: int) -> list[bytes]:
    """Return for each of n records the line that says what passes of it.

    However a format spells a value, its line says the same. Values are of their attributes' types, or None.
    """
    meant = [_meant(attribute, column) for attribute, column in zip(passed, columns, strict=True)]
    rows: list[tuple[Any, ...]] = list(zip(*meant, strict=True)) if meant else [()] * records
    try:
        return _ENCODER.encode_lines(rows).split(b"\n")[:-1]
    except UnicodeEncodeError:
        return list(map(_line, rows))


def content_digest(batch: str, promises: str, published: bytes, lines: Iterable[bytes], key: bytes) -> str:
    """Return the digest of a class.

    Parameters
    ----------
    promises
        Hash of its policy document; where none is named, of its policy.
    published
        Its tuple as JSON.
    lines
        Those of its records, in any order.
    key
        Up to 64 bytes.
    """
    text = b"\n".join([f"stream_anon digest 1 {batch} {promises}".encode(), published, *sorted(lines), b""])
    return hashlib.blake2b(text, digest_size=32, key=key).hexdigest()


def _line(row: tuple[Any, ...]) -> bytes:
    """Return the line of a record; an empty one, as none has, where a text holds half of a surrogate pair."""
    try:
        return _ENCODER.encode(row)
    except UnicodeEncodeError:
        return b""


def _meant(attribute: PassThrough, values: Sequence[Any]) -> Sequence[Any]:
    """Return what values mean in any format: not each tells an empty text or list from a missing value."""
    if attribute.type is ScalarType.NUMBER:
        values = [list(map(_number, value)) if type(value) is list else _number(value) for value in values]
    if attribute.many or attribute.type is ScalarType.STRING:
        return [None if value in ("", []) else value for value in values]
    return values


def _number(value: Any) -> Any:
    """Return a number as its double, and a whole one up to 2**53 as an integer; what has no double stays."""
    if type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            return value
    return int(value) if type(value) is float and value.is_integer() and abs(value) <= _WHOLE else value
