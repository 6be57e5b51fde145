"""Say how the keys of a sample resemble a declared key that never comes, without repeating a key of the sample.

A key that nobody declared may be a person's value. So the text says how it differs, and never what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

MOST_LOOKED_AT = 1_000  # of the sample that are looked at
_CASE = "Records do have a key that differs only in case. "
_FLAT = 'Records do have a single key with the dots in it: declare path: ["one.key"] for it. '
_NESTED = "Records do have a value under these keys, one within the other: declare its path as a list of them. "
_EDIT = "Records do have a key that differs in one character. "

_decode = msgspec.json.Decoder().decode


def likeness(values: Iterable[bytes | None], path: Sequence[str]) -> str:
    """Return how a key that some records hold resembles those of `path`, in words; empty if none does.

    Parameters
    ----------
    values
        Raw records; anything but JSON objects is skipped.
    path
        The declared keys from the record's top to the value.
    """
    column = ".".join(path)
    apart = tuple(column.split("."))
    records = (record for record in map(_object, islice(values, MOST_LOOKED_AT)) if record is not None)
    found = {keys for record in records for keys in _paths(record, (), len(apart))}
    for words, resembles in (
        (_FLAT, lambda keys: len(keys) < len(path) and ".".join(keys) == column),
        (_NESTED, lambda keys: len(keys) > len(path) and keys == apart),
        (_CASE, lambda keys: ".".join(keys).casefold() == column.casefold()),
        (_EDIT, lambda keys: len(keys) == len(path) and one_edit_apart(".".join(keys), column)),
    ):
        if any(map(resembles, found)):
            return words
    return ""


def _object(value: bytes | None) -> dict[str, object] | None:
    try:
        record = _decode(value or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _paths(record: dict[str, object], above: tuple[str, ...], depth: int) -> Iterator[tuple[str, ...]]:
    """Yield the keys that lead to each value that is no object, at most `depth` of them."""
    for key, value in record.items():
        keys = (*above, key)
        if isinstance(value, dict) and len(keys) < depth:
            yield from _paths(value, keys, depth)
        elif value is not None and not isinstance(value, dict):
            yield keys


def one_edit_apart(one: str, other: str) -> bool:
    """Return whether one character added, left out or replaced makes one text the other."""
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1 or short == long:
        return False
    same = next((i for i, letter in enumerate(short) if letter != long[i]), len(short))
    return short[same + (len(short) == len(long)) :] == long[same + 1 :]
