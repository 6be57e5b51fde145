"""Columns of Arrow: their different values as Python has them, and which of them each row holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream_anon.formats.tables.table_columns import FITS, Column, KeyColumn
from stream_anon.microdata.attributes import Attribute, PassThrough
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.coding import UNREADABLE
from stream_anon.microdata.keys import PADDING, PROCESS_KEY, padded_words, span_keys

_UUID = "arrow.uuid"
_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


def column_of(array: Any, attribute: Attribute) -> Column:
    """Return an array as a column of values that `python_values.plain` understands.

    A null is None. What JSON has nothing like, as a list or bytes, is `UNREADABLE`. O(n), with a Python object for
    each different value.
    """
    kind = array.type
    if isinstance(attribute, PassThrough) and attribute.many:
        return _lists(array)
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == _UUID:
            return _coded(array.storage.dictionary_encode(), _uuids)
        return _unreadable(array)
    if pa.types.is_null(kind):
        return Column([None], np.zeros(len(array), np.int64))
    if pa.types.is_dictionary(kind):
        if not _is_scalar(array.dictionary.type):
            return _unreadable(array)
        if len(array.dictionary) <= len(array):
            return _coded(array, _scalars)
        return column_of(array.dictionary_decode(), attribute)  # a batch holds few values of a large dictionary
    if not _is_scalar(kind):
        return _unreadable(array)
    return _coded(_narrowed(array).dictionary_encode(), _scalars)


def _lists(array: Any) -> Column:
    """Return a column of lists of scalars; what is none is `UNREADABLE`."""
    kind = array.type
    if pa.types.is_null(kind):
        return Column([None], np.zeros(len(array), np.int64))
    if not any(test(kind) for test in _LISTS) or not _is_item(kind.value_type):
        return _unreadable(array)
    try:
        found = array.to_pylist()
    except (ValueError, OverflowError, UnicodeDecodeError):
        found = [_scalar(cell) for cell in array]
    return Column.of([tuple(cell) if isinstance(cell, list) else cell for cell in found])


def _is_item(kind: Any) -> bool:
    return bool(pa.types.is_null(kind) or _is_scalar(kind.value_type if pa.types.is_dictionary(kind) else kind))


def _narrowed(array: Any) -> Any:
    """Return an array of a type that can be made a dictionary, and whose values Python has."""
    kind = array.type
    if pa.types.is_timestamp(kind):
        return pc.cast(array, pa.timestamp("us", kind.tz), safe=False) if kind.unit == "ns" else array
    if pa.types.is_float16(kind):
        return pc.cast(array, pa.float32())
    return pc.cast(array, pa.large_string()) if pa.types.is_string_view(kind) else array


def _is_scalar(kind: Any) -> bool:
    tests = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, _is_text)
    return any(test(kind) for test in (*tests, pa.types.is_date, pa.types.is_timestamp))


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _coded(encoded: Any, read: Any) -> Column:
    values = read(encoded.dictionary)
    indices = encoded.indices
    if indices.null_count:
        indices = pc.fill_null(pc.cast(indices, pa.int64()), len(values))
        values = [*values, None]
    return Column(values, indices.to_numpy(zero_copy_only=False))


def _scalars(array: Any) -> Sequence[Any]:
    if pa.types.is_float32(array.type):
        return list(array.to_numpy(zero_copy_only=False)) if not array.null_count else list(map(_narrow, array))
    if _is_text(array.type) and not _is_sound(array):
        return [_text(value) for value in pc.cast(array, pa.large_binary()).to_pylist()]
    try:
        found: Sequence[Any] = array.to_pylist()
    except (ValueError, OverflowError):  # a day beyond the year 9999
        return list(map(_scalar, array))
    return found


def _scalar(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return UNREADABLE


def _narrow(scalar: Any) -> Any:
    value = scalar.as_py()
    return None if value is None else np.float32(value)


def _text(value: bytes | None) -> Any:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return UNREADABLE


def _is_sound(array: Any) -> bool:
    """Return whether every text is UTF-8; readers of files do not look."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _uuids(array: Any) -> Sequence[Any]:
    return [None if value is None else UUID(bytes=value) for value in array.to_pylist()]


def _unreadable(array: Any) -> Column:
    return Column([UNREADABLE, None], pc.is_null(array).to_numpy(zero_copy_only=False).astype(np.int64))


def keys_of(array: Any, nulls: Collection[str]) -> KeyColumn | None:
    """Return the keys of individuals whose ids are texts or whole numbers; None for ids of other types.

    O(n), without an object for each row. The ids are not normalized.

    Parameters
    ----------
    nulls
        Texts that mean a missing id.
    """
    if not (pa.types.is_integer(array.type) or _is_text(array.type)):
        return None
    texts = pc.cast(array, pa.large_string())  # of views nobody says which are in a set
    if nulls and _is_text(array.type):
        missing = pc.is_in(texts, pa.array(sorted(nulls), texts.type))
        texts = pc.if_else(missing, pa.scalar(None, texts.type), texts)
    if texts.null_count:
        texts = pc.fill_null(texts, "")
    if not _is_sound(texts):
        return None
    _, ends, text = texts.buffers()
    places = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    room = b"" if text is None else bytes(text)[int(places[0]) : int(places[-1])]
    keys = np.empty(len(texts), np.int64)
    span_keys(padded_words(room + PADDING), places[1:] - places[0], PROCESS_KEY, keys)
    reasons = np.where(np.diff(places) == 0, int(Reason.NO_INDIVIDUAL), FITS).astype(np.int8)
    return KeyColumn(keys, reasons)
