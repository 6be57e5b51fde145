"""Values that need a closer look: each distinct one is decoded and coded once, as that of a single record is.

Odd values are strings with escapes, and numbers with exponents or many digits. No kernel knows the values of some
domains, or the order of a sensitive attribute's numbers. The scanner keeps the record around such a value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import Unfit
from stream_anon.formats.json.scanner.forms import ABSENT, NULL, ODD, STRING, FieldSpans
from stream_anon.formats.json.scanner.letters import QUOTE
from stream_anon.microdata.attributes import Passing, PassThrough, ScalarType
from stream_anon.microdata.batch import MISSING_KEY, ItemKeys
from stream_anon.microdata.coding import code_value, individual_text, meant, passed_value
from stream_anon.microdata.ids import Normalization, normalized
from stream_anon.microdata.keys import PADDING, padded_words, text_keys
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.sensitive_keys import criterion_keys

_T = TypeVar("_T")
_value = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, Unfit)

_EXACT_DIGITS = 15
"""Whole numbers of more digits may have no float of their own."""


class FoundValues:
    """The form and the span of each value in a batch, by field and record; see `forms`.

    Parameters
    ----------
    room
        uint8[]: the records and `PADDING`.
    """

    def __init__(self, room: NDArray[np.uint8], fields: int, n: int) -> None:
        self.text = room
        self.words = padded_words(room)
        self.forms = np.zeros((fields, n), np.int8)
        self.starts = np.empty((fields, n), np.int64)
        self.stops = np.empty((fields, n), np.int64)
        self.plain = np.empty(n, np.bool_)
        self._added: list[bytes] = []
        self._end = len(room)

    def of(self, field: int | slice) -> FieldSpans:
        """Return the forms, starts and stops of one field, or of several."""
        return FieldSpans(self.forms[field], self.starts[field], self.stops[field])

    def lengths(self, field: int) -> NDArray[np.int64]:
        """Return how many bytes the odd values of a field have, int64[n]; 0 for all else: it may have no place."""
        forms, starts, stops = self.of(field)
        return np.where(forms == ODD, stops - starts, 0)

    def look_closer(self, field: int) -> NDArray[np.bool_]:
        """Make the strings of a field odd values; return bool[n], where its value is a text."""
        own = self.forms[field]
        strings: NDArray[np.bool_] = own == STRING
        self.starts[field] -= strings
        self.stops[field] += strings
        escaped = np.zeros(len(own), np.bool_)
        odd = np.flatnonzero(own == ODD)
        escaped[odd] = self.text[self.starts[field][odd]] == QUOTE
        own[strings] = ODD
        texts: NDArray[np.bool_] = strings | escaped
        return texts

    def odd(self, field: int) -> NDArray[np.intp]:
        """Return which plain records have an odd value there."""
        return np.flatnonzero(self.plain & (self.forms[field] == ODD))

    def texts(self, field: int, rows: NDArray[np.intp]) -> list[bytes]:
        """Return the JSON of the values of some rows that have one."""
        quotes = self.forms[field][rows] == STRING
        starts, stops = self.starts[field][rows] - quotes, self.stops[field][rows] + quotes
        return [self._whole[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]

    def add(self, text: bytes) -> tuple[int, int]:
        """Add a JSON text, which `final` reads; return where it begins and ends."""
        begin, self._end = self._end, self._end + len(text)
        self._added.append(text)
        return begin, self._end

    def replace(self, field: int, row: int, text: bytes) -> None:
        """Replace a row's odd value by another JSON text."""
        self.starts[field, row], self.stops[field, row] = self.add(text)

    def final(self) -> NDArray[np.uint8]:
        """Return the text that holds all spans, those of replaced values too, and `PADDING`."""
        if not self._added:
            return self.text
        text = np.concatenate([self.text, np.frombuffer(b"".join([*self._added, PADDING]), np.uint8)])
        text.setflags(write=False)  # otherwise the compiler sees another type
        return text

    @cached_property
    def _whole(self) -> bytes:
        return self.text.tobytes()


class OddValues:
    """Codes odd values and values that no kernel knows; a record with a value that does not fit is no longer plain.

    Tables hold persons' values, so none outlives its call. They are keyed by texts, since nobody can foresee the
    hash of a text. A producer could choose integers that all have the same hash.
    """

    def __init__(self, policy: Policy) -> None:
        self._nulls = policy.null_values
        self._sets: dict[int, tuple[int, ...]] = {}
        self._steps: Collection[Normalization] = policy.normalize

    def codes(
        self,
        found: FoundValues,
        field: int,
        attribute: QuasiIdentifier,
        codes: NDArray[np.int32],
        *,
        all_values: bool,
    ) -> None:
        """Write the codes of odd values, or of all values, of a quasi-identifier into int32[n]."""
        rows = self._rows(found, field, all_values)
        if all_values:
            self._code_missing(found, field, attribute, codes)
        if len(rows):
            judged = self._judged(found.texts(field, rows), lambda value: code_value(attribute, value))
            codes[rows] = [0 if code is None else code for code in judged]
            found.plain[rows] = [code is not None for code in judged]

    def passing(
        self,
        found: FoundValues,
        field: int,
        attribute: PassThrough,
        keys: NDArray[np.int64] | None,
        *,
        ordered: bool,
    ) -> None:
        """Replace odd values by the texts that the encoder writes for them; write their keys into int64[n].

        With `ordered` the keys of all values are written.
        """
        rows = self._rows(found, field, ordered)
        if keys is not None and attribute.type is ScalarType.NUMBER and not ordered:
            # Whole numbers beyond 2**53 may be one as a float; see `criterion_keys`.
            every = self._rows(found, field, all_values=True)
            long = found.stops[field][every] - found.starts[field][every] > _EXACT_DIGITS
            rows = np.union1d(rows, every[long])
        if ordered and keys is not None:
            keys[:] = MISSING_KEY
        if not len(rows):
            return

        def judge(value: object) -> tuple[bytes, Passing]:
            passed = passed_value(attribute, value)
            return _encode(passed), passed

        texts = found.texts(field, rows)
        judged = self._judged(texts, judge)
        found.plain[rows] = [one is not None for one in judged]
        for row, text, one in zip(rows.tolist(), texts, judged, strict=True):
            if one is not None and one[0] != text:
                found.replace(field, row, one[0])
        if keys is not None:
            distinct = dict(zip(texts, [None if one is None else one[1] for one in judged], strict=True))
            coded, sets = criterion_keys(attribute, list(distinct.values()), ordered)
            self._sets |= sets
            made = dict(zip(distinct, coded.tolist(), strict=True))
            keys[rows] = [made[text] for text in texts]

    def taken_sets(self) -> ItemKeys:
        """Return the sets behind the keys of lists that were written since the last time."""
        sets, self._sets = self._sets, {}
        return sets

    def individuals(self, found: FoundValues, field: int, keys: NDArray[np.int64]) -> None:
        """Write the keys of odd ids into int64[n]."""
        rows = found.odd(field)
        if len(rows):
            steps = self._steps
            ids = self._judged(found.texts(field, rows), lambda value: normalized(individual_text(value), steps))
            found.plain[rows] = [bool(one) for one in ids]
            keys[rows] = text_keys([one or "" for one in ids])

    def _rows(self, found: FoundValues, field: int, all_values: bool) -> NDArray[np.intp]:
        if not all_values:
            return found.odd(field)
        forms = found.forms[field]
        return np.flatnonzero(found.plain & (forms != ABSENT) & (forms != NULL))

    def _code_missing(
        self, found: FoundValues, field: int, attribute: QuasiIdentifier, codes: NDArray[np.int32]
    ) -> None:
        missing = (found.forms[field] == ABSENT) | (found.forms[field] == NULL)
        try:
            codes[missing] = code_value(attribute, None)
        except Unfit:
            found.plain &= ~missing

    def _judged(self, texts: list[bytes], judge: Callable[[object], _T]) -> list[_T | None]:
        """Return the verdict on each value; None if only the single reader can judge its record."""
        known: dict[bytes, _T | None] = {}
        for text in texts:
            if text not in known:
                known[text] = None
                try:
                    value = _value(text)
                    known[text] = judge(meant(value, self._nulls))
                except _ERRORS:
                    continue
        return list(map(known.__getitem__, texts))
