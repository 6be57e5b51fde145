"""The scanner: a batch's plain records as columns, most of the time without the interpreter lock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json.passing import PassedTexts
from stream_anon.adapters.json.scanner import fields
from stream_anon.adapters.json.scanner.asking import AskedColumn
from stream_anon.adapters.json.scanner.id_spans import IdSpans
from stream_anon.adapters.json.scanner.lexing import HIGHS
from stream_anon.adapters.json.scanner.members import find_members
from stream_anon.adapters.json.scanner.nulls import clear_nulls
from stream_anon.adapters.json.scanner.tables import (
    ASKED,
    CATEGORY,
    DATE,
    KEYED,
    KIND,
    MOST_PARENTS,
    NUMBER,
    PARENT,
    TABLE,
    ScanTables,
)
from stream_anon.microdata.batch import MISSING_KEY, CodedBatch, Rejects
from stream_anon.microdata.keys import PADDING, PROCESS_KEY, padded_words, text_keys
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.texts import Texts

_NULL = len(b"null")


class Scanner:
    """Reads the plain records of a policy, half a microsecond each.

    Parameters
    ----------
    policy
        The policy.
    tables
        Its tables.
    max_record_bytes
        Larger records are left.
    """

    def __init__(self, policy: Policy, tables: ScanTables, max_record_bytes: int) -> None:
        self._quasi, self._passing = len(policy.quasi_identifiers), len(policy.passed)
        self._diverse = len(policy.diverse)
        self._by_id = policy.individual != EVERY_RECORD
        self._ids = IdSpans(policy) if policy.normalize else None
        self._tables = tables
        self._asked = [AskedColumn(attribute) for attribute in policy.quasi_identifiers]
        self._inner = np.where(tables.fields[:, KIND] == PARENT, tables.fields[:, TABLE], -1)
        self._most = max_record_bytes
        self._others = np.array([MISSING_KEY, *text_keys(["True", "False"])], np.int64)

    def scan(self, texts: Texts, source: int, offsets: NDArray[np.int64]) -> tuple[CodedBatch, NDArray[np.intp]]:
        """Return the plain records as a batch without rejects, and the places of all others.

        Parameters
        ----------
        texts
            One JSON text each, with a newline between.
        source
            The worker's number of the partition.
        offsets
            int64[n].
        """
        # 1. No letter of several bytes holds a newline: what is text as a whole is text in each record.
        high = 0 if texts.is_text() else HIGHS
        # 2. What each record holds of each field.
        found = _Found(texts.room, len(self._inner), len(texts))
        tables = self._tables
        find_members(
            found.text, found.words, texts.stops, self._most, high,
            tables.labels, tables.slots, tables.tables, self._inner, np.empty(MOST_PARENTS, np.int64),
            np.full(len(self._inner) + 1, -1), found.forms, found.starts, found.stops, found.plain,
        )  # fmt: skip
        if tables.nulls >= 0:
            table = tables.tables[tables.nulls]
            clear_nulls(found.words, found.forms, found.starts, found.stops, table, tables.slots, tables.labels)
        # 3. Columns; a value that is not for the scanner takes its record out.
        codes, sensitive, individuals = self._columns(found)
        places = np.flatnonzero(found.plain)
        passed = self._passed(found, len(places))
        if len(places) < len(texts):
            codes, sensitive, individuals = codes[:, places], sensitive[:, places], individuals[places]
        sources = np.full(len(places), source, np.int32)
        batch = CodedBatch(codes, sensitive, individuals, sources, offsets[places], passed, Rejects.of([]))
        return batch, np.flatnonzero(~found.plain)

    def _columns(self, found: _Found) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        n, tables = len(found.plain), self._tables
        codes = np.empty((self._quasi, n), np.int32)
        sensitive = np.empty((self._diverse, n), np.int64)
        individuals = np.zeros(n, np.int64)
        for place in range(self._quasi):
            own, field = found.of(place), tables.fields[place]
            if field[KIND] in (CATEGORY, DATE):
                table, texts_only = tables.tables[field[TABLE]], bool(field[KIND] == DATE)
                fields.category_codes(
                    found.words,
                    *own,
                    field,
                    texts_only,
                    table,
                    tables.slots,
                    tables.labels,
                    codes[place],
                    found.plain,
                )
            elif field[KIND] == NUMBER:
                fields.number_codes(found.text, *own, field, codes[place], found.plain)
            elif field[KIND] == ASKED:
                self._asked[place].codes(found.text, *own, codes[place], found.plain)
            else:
                fields.prefix_codes(found.text, *own, field, tables.letters[place], codes[place], found.plain)
        for place in range(self._quasi, self._quasi + self._passing):
            own, field = found.of(place), tables.fields[place]
            fields.judge_passing(found.text, *own, int(field[KIND]), found.plain)
            if field[KEYED] >= 0:
                fields.value_keys(found.words, *own, PROCESS_KEY, self._others, sensitive[field[KEYED]])
        if self._by_id:
            own = found.of(self._quasi + self._passing)
            if self._ids is not None:
                return codes, sensitive, self._ids.keys(found.text, *own, found.plain)
            fields.individual_keys(found.words, *own, PROCESS_KEY, individuals, found.plain)
        return codes, sensitive, individuals

    def _passed(self, found: _Found, count: int) -> PassedTexts:
        """Return what passes of the plain records, copied: nothing else of a record stays in memory."""
        ends = np.empty((count, self._passing), np.int64)
        if not self._passing:
            return PassedTexts(np.empty(0, np.uint8), ends)
        first, last = self._quasi, self._quasi + self._passing
        room = np.empty(len(found.text) + _NULL * ends.size + len(PADDING), np.uint8)
        own = (found.forms[first:last], found.starts[first:last], found.stops[first:last])
        filled = fields.copy_passing(found.words, *own, found.plain, padded_words(room), ends)
        return PassedTexts(room[:filled].copy(), ends)


class _Found:
    """What was found in a batch: of each field and record the form of the value and its span."""

    def __init__(self, room: NDArray[np.uint8], count: int, n: int) -> None:
        self.text = room
        self.words = padded_words(room)
        self.forms = np.zeros((count, n), np.int8)
        self.starts = np.empty((count, n), np.int64)
        self.stops = np.empty((count, n), np.int64)
        self.plain = np.empty(n, np.bool_)

    def of(self, field: int) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]:
        """Return the forms, starts and stops of one field."""
        return self.forms[field], self.starts[field], self.stops[field]
