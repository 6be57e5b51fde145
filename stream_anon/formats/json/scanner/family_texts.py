"""Sensitive values of families are replaced by what is published of them, without an object for each record."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.json.scanner import fields
from stream_anon.formats.json.scanner.forms import ODD
from stream_anon.formats.json.scanner.odd_values import FoundValues
from stream_anon.formats.json.scanner.tables import ScanTables
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.sensitive_keys import criterion_keys


class FamilyTexts:
    """Writes what is shown of one attribute's values. Odd values are left, and so is what has no label."""

    def __init__(self, attribute: Sensitive) -> None:
        texts = list(map(msgspec.json.encode, attribute.labels))
        self._text = b"".join(texts)
        self._ends = np.cumsum([0, *map(len, texts)])
        self._is_text = np.array([label is not None for label in attribute.labels])
        self._keys = criterion_keys(attribute, attribute.labels, ordered=False)[0]

    def replace(self, found: FoundValues, place: int, tables: ScanTables, keys: NDArray[np.int64] | None) -> None:
        """Replace all values of a field that are not odd; write the keys of what is shown into int64[n].

        A record whose value has no label is no longer plain. Call it when odd values have been replaced: what it
        writes looks odd.
        """
        spans = found.of(place)
        forms, starts, stops = spans
        odd = forms == ODD
        families = np.empty(len(forms), np.int32)
        fields.category_codes(found.words, spans, tables.fields[place], True, tables.labels, families, found.plain)
        rows = np.flatnonzero(found.plain & ~odd)
        of_row = families[rows]
        if keys is not None:
            keys[rows] = self._keys[of_row]
        written = self._is_text[of_row]  # what is missing stays so
        rows, of_row = rows[written], of_row[written]
        begin, _ = found.add(self._text)
        starts[rows], stops[rows] = begin + self._ends[of_row], begin + self._ends[of_row + 1]
        forms[rows] = ODD  # of what is odd no quotes are added
