"""Releases as Arrow tables: one type for each column, whatever is published in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_anon.errors import InputError, SettingsError
from stream_anon.formats.tables.passed_columns import columns_of
from stream_anon.microdata.attributes import PassThrough, PublishedForm, ScalarType
from stream_anon.microdata.domains.domain import End, Published
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Classes, Release

_PASSED = {
    ScalarType.STRING: pa.string(),
    ScalarType.INTEGER: pa.int64(),
    ScalarType.NUMBER: pa.float64(),
    ScalarType.BOOLEAN: pa.bool_(),
}
_HALF = 32  # bits of a code
_ENDS = ("min", "max")


class ReleaseTables:
    """Writes releases of one policy as tables with a column for each published attribute, in policy order.

    Numbers and dates are a struct `{min, max}`: the ends of what is published, alike for an exact value, those of
    the whole range for "*", and both null for a missing value. Other quasi-identifiers are text: null for a missing
    value and "*" for anything. A set is a list of texts. Fields that pass have their declared type.

    Parameters
    ----------
    flat
        Two columns `NAME_min` and `NAME_max` in place of each struct.

    Raises
    ------
    SettingsError
        If two columns would have one name.
    """

    def __init__(self, policy: Policy, *, flat: bool = False) -> None:
        self._policy = policy
        self._flat = flat
        self.schema = pa.schema([field for attribute in policy.published for field in self._fields(attribute)])
        if len(set(self.schema.names)) < len(self.schema):
            raise SettingsError("flat", "two columns would have one name")

    def _fields(self, attribute: Any) -> list[Any]:
        name = attribute.column
        if isinstance(attribute, PassThrough):
            return [pa.field(name, _passed_type(attribute))]
        kind = _kind(attribute)
        if kind is None:
            sets = attribute.publication is PublishedForm.VALUES
            return [pa.field(name, pa.list_(pa.string()) if sets else pa.string())]
        if self._flat:
            return [pa.field(f"{name}_{end}", kind) for end in _ENDS]
        return [pa.field(name, pa.struct([pa.field(end, kind) for end in _ENDS]))]

    def table(self, release: Release) -> Any:
        """Return the released records of a window in their order.

        Raises
        ------
        InputError
            If a number does not fit its column.
        """
        rows = release.class_of_row[release.order]
        arrays: list[Any] = []
        passed = iter(columns_of(release.payload, release.order, len(self._policy.passed)))
        place = 0
        for attribute in self._policy.published:
            if isinstance(attribute, QuasiIdentifier):
                arrays += self._of_classes(attribute, release.classes, place, rows)
                place += 1
            elif isinstance(attribute, PassThrough):
                values, places = next(passed)
                arrays.append(_of_passed(attribute, values).take(pa.array(places)))
        return pa.table(arrays, schema=self.schema)

    def joined(self, tables: Iterable[Any]) -> Any:
        """Return the rows of all tables that `table` gave, in order."""
        return pa.concat_tables([self.schema.empty_table(), *tables])

    def _of_classes(
        self, attribute: QuasiIdentifier, classes: Classes, place: int, rows: NDArray[np.int32]
    ) -> list[Any]:
        kind, taken = _kind(attribute), pa.array(rows)
        if kind is None:
            texts = _texts(attribute, classes.values[place])
            sets = attribute.publication is PublishedForm.VALUES
            column = pa.array(texts, pa.list_(pa.string()) if sets else pa.string())
            return [column.take(taken)]
        # Classes are many, and what differs among their intervals is little.
        both = classes.low[place].astype(np.int64) << _HALF | classes.high[place]
        different, of_class = np.unique(both, return_inverse=True)
        found = [_ends(attribute, pair >> _HALF, pair & (1 << _HALF) - 1) for pair in different.tolist()]
        taken = pa.array(of_class[rows])
        ends = [pa.array([pair[end] for pair in found], kind).take(taken) for end in (0, 1)]
        if self._flat:
            return ends
        return [pa.StructArray.from_arrays(ends, fields=[pa.field(end, kind) for end in _ENDS])]


def _kind(attribute: QuasiIdentifier) -> Any:
    """Return the type of the ends of what is published; None for texts."""
    ends = attribute.domain.ends(0, attribute.domain.size - 1)
    if ends is None:
        return None
    end = ends[0]
    if isinstance(end, dt.datetime):
        return pa.timestamp("s", None if end.tzinfo is None else str(end.tzinfo))
    return {int: pa.int64(), float: pa.float64()}.get(type(end), pa.date32())


def _ends(attribute: QuasiIdentifier, low: int, high: int) -> tuple[End | None, End | None]:
    if low == high == attribute.missing_code:
        return None, None
    last = attribute.domain.size - 1
    ends = attribute.domain.ends(low, high) if high <= last else attribute.domain.ends(0, last)
    assert ends is not None  # noqa: S101 - it was asked before
    return ends


def _texts(attribute: QuasiIdentifier, values: Sequence[Published]) -> list[Any]:
    labels = attribute.domain.labels() if attribute.type is not ScalarType.STRING else None
    label_of = {(type(typed), typed): label for label in labels or () for typed in [attribute.typed(label)]}

    def text(value: Any) -> Any:
        return label_of.get((type(value), value), value)

    if attribute.publication is not PublishedForm.VALUES:
        return [text(value) for value in values]
    lists = [value if value is None or isinstance(value, list) else [value] for value in values]
    return [None if value is None else [text(own) for own in value] for value in lists]


def _passed_type(attribute: PassThrough) -> Any:
    own = _PASSED[attribute.type]
    return pa.list_(own) if attribute.many else own


def _decimal(value: Any) -> Any:
    if value is None:
        return None
    return [float(item) for item in value] if isinstance(value, list | tuple) else float(value)


def _of_passed(attribute: PassThrough, values: Sequence[Any]) -> Any:
    if attribute.type is ScalarType.NUMBER:
        try:
            values = list(map(_decimal, values))
        except OverflowError:
            raise _too_large(attribute, "is too large for a floating-point number") from None
    try:
        return pa.array(values, _passed_type(attribute))
    except (OverflowError, pa.ArrowInvalid):
        raise _too_large(attribute, "has more than 64 bits; declare it as type: number") from None


def _too_large(attribute: PassThrough, why: str) -> InputError:
    return InputError(f"{attribute.name}: a value {why}")
