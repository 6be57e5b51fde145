"""Decode many records at once into columns; what does not fit the columns is left to single reading."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json.column_tables import CodeColumn, column_coder, table_of, unpredictable
from stream_anon.adapters.json.packing import Packer, Pick, Rows, picker
from stream_anon.adapters.json.shape import record_shape
from stream_anon.adapters.json.single_reading import MOST_LEVELS, too_deep
from stream_anon.errors import Unfit
from stream_anon.microdata.attributes import PassThrough, ScalarType, is_plain
from stream_anon.microdata.coding import Passed, sensitive_keys
from stream_anon.microdata.ids import Normalization, normalized
from stream_anon.microdata.keys import text_keys
from stream_anon.microdata.policy import EVERY_RECORD, Policy

_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_BLOCK = 1 << 16
_WHOLE = {int, type(None)}


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The records that fit, as columns in the order of `places`, and the places of all others.

    Parameters
    ----------
    codes
        int32[q, n].
    sensitive
        int64[s, n].
    individuals
        int64[n], zeros if every record is an individual.
    passed
        n tuples.
    places
        intp[n], ascending places in the decoded sequence.
    left
        bool[all], records that only a single look tells.
    """

    codes: NDArray[np.int32]
    sensitive: NDArray[np.int64]
    individuals: NDArray[np.int64]
    passed: list[Passed]
    places: NDArray[np.intp]
    left: NDArray[np.bool_]


class ColumnDecoder:
    """Decode a policy's records, about a microsecond each."""

    def __init__(self, policy: Policy, max_record_bytes: int) -> None:
        self._most = max_record_bytes
        self._nulls = policy.null_values
        self._shape = record_shape(policy)
        self._decode: Callable[[Any], msgspec.Struct] = msgspec.json.Decoder(self._shape.type).decode
        place = self._shape.place
        tabled, self._routed = [], list[tuple[int, Pick, CodeColumn]]()
        for row, attribute in enumerate(policy.quasi_identifiers):
            table = table_of(attribute)
            if table is None:
                self._routed.append((row, picker(place[attribute.name]), column_coder(attribute)))
            else:
                tabled.append((row, attribute, table, place[attribute.name]))
        self._packer = Packer(tabled)
        self._sizes = np.array([[a.size] for a in policy.quasi_identifiers], np.int64)
        every = policy.individual == EVERY_RECORD
        self._individual = None if every else picker(place[policy.individual])
        self._steps = policy.normalize
        self._passed = [(attribute, picker(place[attribute.name])) for attribute in policy.passed]
        self._diverse = [(policy.passed.index(a), policy.diversity[a.name].ordered) for a in policy.diverse]

    def decode(self, values: Sequence[bytes | None]) -> Columns:
        """Return the columns of all records that fit beyond doubt."""
        texts, joint = self._fit_to_parse(values)
        rows, left = self._parse(texts)
        if self._nulls:
            self._shape.clear(rows, self._nulls)
        places = np.flatnonzero(~left)
        _look_inside(texts, joint, left)
        try:
            columns, doubt = self._columns(rows, places, left)
        except AttributeError:  # a parent of declared fields is null
            self._shape.repair(rows)
            columns, doubt = self._columns(rows, places, left)
        if not doubt.any():
            return columns
        left[places[doubt]] = True
        sure = np.flatnonzero(~doubt)
        return Columns(
            columns.codes[:, sure],
            columns.sensitive[:, sure],
            columns.individuals[sure],
            [columns.passed[i] for i in sure.tolist()],
            places[sure],
            left,
        )

    def _columns(
        self, rows: Rows, places: NDArray[np.intp], left: NDArray[np.bool_]
    ) -> tuple[Columns, NDArray[np.bool_]]:
        """Return the columns of all parsed records and which of these only a single look tells.

        Raises
        ------
        AttributeError
            If a parent of a field is null: see `RecordShape.repair`.
        """
        codes = np.empty((len(self._sizes), len(rows)), np.int32)
        self._packer.codes(rows, codes)
        for row, pick, code in self._routed:
            codes[row] = code(pick(rows))
        doubt = left[places] | (codes == self._sizes).any(axis=0)
        individuals = self._individuals(rows, doubt)
        fields = [_pass(attribute, pick(rows), doubt) for attribute, pick in self._passed]
        keys = [_keys(fields[i], ordered) for i, ordered in self._diverse]
        sensitive = np.array(keys, np.int64).reshape(len(keys), len(rows))
        passed: list[Passed] = list(zip(*fields, strict=True)) if fields else [()] * len(rows)
        return Columns(codes, sensitive, individuals, passed, places, left), doubt

    def _fit_to_parse(self, values: Sequence[bytes | None]) -> tuple[list[bytes], bytes]:
        """Return the values, with nothing in place of missing and overlong ones, and all of them joined."""
        texts: list[bytes] = [value or b"" for value in values] if None in values else list(values)  # type: ignore[arg-type]
        joint = b"\n".join(texts)
        if len(joint) > self._most and max(map(len, texts)) > self._most:
            texts = [text if len(text) <= self._most else b"" for text in texts]
            joint = b"\n".join(texts)
        return texts, joint

    def _parse(self, texts: list[bytes]) -> tuple[list[msgspec.Struct], NDArray[np.bool_]]:
        """Parse each text by itself; a joint one would let a hostile record swallow its neighbour."""
        left = np.zeros(len(texts), np.bool_)
        rows: list[msgspec.Struct] = []
        failed = 0
        parsed = map(self._decode, texts)
        while True:
            try:
                rows.extend(parsed)
            except _ERRORS:
                # `extend` keeps what came before the error, and the map goes on after it.
                left[len(rows) + failed] = True
                failed += 1
            else:
                return rows, left

    def _individuals(self, rows: Rows, doubt: NDArray[np.bool_]) -> NDArray[np.int64]:
        if self._individual is None:
            return np.zeros(len(rows), np.int64)
        ids = self._individual(rows)
        types = set(map(type, ids))
        if types == {int}:
            ids = list(map(str, ids))
        elif types - {str}:
            ids = [str(i) if type(i) is int else i if type(i) is str else "" for i in ids]
        if self._steps:
            # Each distinct id once, and only for this call: nobody's id outlives its batch.
            spelled = {text: _spelled(text, self._steps) for text in set(ids)}
            ids = list(map(spelled.__getitem__, ids))
        if "" in ids:  # no id, a float, or one that is too long: a single look tells
            doubt |= np.fromiter(map("".__eq__, ids), np.bool_, len(ids))
        return text_keys(ids)


def _spelled(text: str, steps: Collection[Normalization]) -> str:
    try:
        return normalized(text, steps)
    except Unfit:
        return ""


def _pass(attribute: PassThrough, column: list[Any], doubt: NDArray[np.bool_]) -> list[Any]:
    """Return a field's values as `pass_value` does, a column at once."""
    if attribute.type is ScalarType.NUMBER and float in set(map(type, column)):
        return [int(value) if type(value) is float and is_plain(value) else value for value in column]
    if attribute.type is ScalarType.INTEGER and not set(map(type, column)) <= _WHOLE:
        for i, value in enumerate(column):
            if type(value) is float:
                if value.is_integer():
                    column[i] = int(value)
                else:
                    doubt[i] = True
    return column


def _keys(column: list[Any], ordered: bool) -> list[int]:
    names = unpredictable(column)
    distinct = dict(zip(reversed(names), reversed(column), strict=True))  # of equal ones the first
    keys = dict(zip(distinct, sensitive_keys(list(distinct.values()), ordered).tolist(), strict=True))
    return list(map(keys.__getitem__, names))


def _look_inside(texts: list[bytes], joint: bytes, left: NDArray[np.bool_]) -> None:
    """Mark records that hold, where nobody declared a field, bytes that are no text or too deep a nesting."""
    if not joint.isascii():
        for i, text in enumerate(texts):
            if not text.isascii() and not _is_text(text):
                left[i] = True
    # Each parsed record opens one object at least, so none opens more than what goes beyond that.
    if sum(map(np.count_nonzero, _openings(joint))) < len(texts) - np.count_nonzero(left) + MOST_LEVELS:
        return
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
    places = np.flatnonzero(np.concatenate(list(_openings(joint))))
    counts = np.diff(np.searchsorted(places, ends), prepend=0)
    for i in np.flatnonzero(counts > MOST_LEVELS).tolist():
        left[i] |= too_deep(texts[i])


def _openings(joint: bytes) -> Iterator[NDArray[np.bool_]]:
    """Yield where arrays and objects open, or a string holds such a bracket, block by block in the cache."""
    codes = np.frombuffer(joint, np.uint8)
    for start in range(0, len(codes), _BLOCK):
        yield (codes[start : start + _BLOCK] & 0xDF) == ord("[")  # "[" and "{" differ in that one bit


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
