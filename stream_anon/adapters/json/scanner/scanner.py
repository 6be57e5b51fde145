"""The scanner: a batch's records as columns, mostly without the interpreter's lock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json.passing import PassedTexts
from stream_anon.adapters.json.scanner import fields
from stream_anon.adapters.json.scanner.id_spans import IdSpans
from stream_anon.adapters.json.scanner.members import find_members
from stream_anon.adapters.json.scanner.moments import moment_codes
from stream_anon.adapters.json.scanner.nulls import clear_nulls
from stream_anon.adapters.json.scanner.odd_values import Found, OddValues
from stream_anon.adapters.json.scanner.skipping import KEY_ROOM
from stream_anon.adapters.json.scanner.tables import (
    ANY,
    CATEGORY,
    DATE,
    KEYED,
    KIND,
    MOMENT,
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
    """Reads records of a policy in half a microsecond each; the records that it leaves are read one by one.

    Parameters
    ----------
    policy
        The policy.
    tables
        Its tables.
    max_record_bytes
        Larger records are left.

    Attributes
    ----------
    coerced
        How many texts in the records of all batches counted as another type because their attributes say so.
    """

    def __init__(self, policy: Policy, tables: ScanTables, max_record_bytes: int) -> None:
        self._quasi, self._passing = policy.quasi_identifiers, policy.passed
        self._diverse = policy.diverse
        self._ordered = [policy.diversity[attribute.name].ordered for attribute in policy.diverse]
        self._by_id = policy.individual != EVERY_RECORD
        self._ids = IdSpans(policy) if policy.normalize else None
        self._odd = OddValues(policy)
        self._tables = tables
        read = [*self._quasi, *self._passing]
        self._coercing = [place for place, attribute in enumerate(read) if attribute.coerce]
        self.coerced = 0
        self._inner = np.where(tables.fields[:, KIND] == PARENT, tables.fields[:, TABLE], -1)
        self._most = max_record_bytes
        self._longest_key = max(len(key.encode()) for a in policy.attributes for key in a.path)
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
        # 1. Find the value of each field in each record.
        found = Found(texts.room, len(self._inner), len(texts))
        tables = self._tables
        key = np.zeros(self._longest_key + KEY_ROOM + len(PADDING), np.uint8)
        find_members(
            found.text, found.words, texts.stops, self._most,
            tables.labels, tables.slots, tables.tables, self._inner, np.empty(MOST_PARENTS, np.int64),
            np.full(len(self._inner) + 1, -1), key[: -len(PADDING)], padded_words(key),
            found.forms, found.starts, found.stops, found.plain,
        )  # fmt: skip
        # 2. No letter of several bytes holds a newline, so if the whole is text, each record is text. If it is not,
        # each record is looked at, so that one that is no text does not make the others slow.
        if not texts.is_text():
            found.plain &= np.fromiter(map(_is_text, texts), np.bool_, len(texts))
        if tables.nulls >= 0:
            table = tables.tables[tables.nulls]
            clear_nulls(found.words, found.forms, found.starts, found.stops, table, tables.slots, tables.labels)
        # 3. Make columns; a value that does not fit excludes its record.
        coerced = [found.look_closer(field) for field in self._coercing]
        codes, sensitive, individuals = self._columns(found)
        self.coerced += sum(int((texts_there & found.plain).sum()) for texts_there in coerced)
        places = np.flatnonzero(found.plain)
        passed = self._passed(found, len(places))
        if len(places) < len(texts):
            codes, sensitive, individuals = codes[:, places], sensitive[:, places], individuals[places]
        sources = np.full(len(places), source, np.int32)
        batch = CodedBatch(codes, sensitive, individuals, sources, offsets[places], passed, Rejects.of([]))
        return batch, np.flatnonzero(~found.plain)

    def _columns(self, found: Found) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        n, tables = len(found.plain), self._tables
        codes = np.empty((len(self._quasi), n), np.int32)
        sensitive = np.empty((len(self._diverse), n), np.int64)
        for place, attribute in enumerate(self._quasi):
            self._code(found, place, codes[place])
            is_any = bool(tables.fields[place, KIND] == ANY)
            self._odd.codes(found, place, attribute, codes[place], all_values=is_any)
        for place, passing in enumerate(self._passing, len(self._quasi)):
            own, field = found.of(place), tables.fields[place]
            keyed = int(field[KEYED])
            keys = sensitive[keyed] if keyed >= 0 else None
            ordered = keyed >= 0 and self._ordered[keyed]
            fields.judge_passing(found.text, *own, int(field[KIND]), found.plain)
            if keys is not None and not ordered:
                fields.value_keys(found.words, *own, PROCESS_KEY, self._others, keys)
            self._odd.passing(found, place, passing, keys, ordered=ordered)
        return codes, sensitive, self._individuals(found)

    def _code(self, found: Found, place: int, codes: NDArray[np.int32]) -> None:
        """Write the codes of those values of a quasi-identifier that a kernel knows."""
        own, tables = found.of(place), self._tables
        field = tables.fields[place]
        if field[KIND] in (CATEGORY, DATE):
            table, texts_only = tables.tables[field[TABLE]], bool(field[KIND] == DATE)
            fields.category_codes(
                found.words, *own, field, texts_only, table, tables.slots, tables.labels, codes, found.plain
            )
        elif field[KIND] == NUMBER:
            fields.number_codes(found.text, *own, field, codes, found.plain)
        elif field[KIND] == MOMENT:
            moments = tables.moments[place]
            moment_codes(found.text, *own, field, moments.begins, moments.codes, codes, found.plain)
        elif field[KIND] != ANY:
            fields.prefix_codes(found.text, *own, field, tables.letters[place], codes, found.plain)

    def _individuals(self, found: Found) -> NDArray[np.int64]:
        individuals = np.zeros(len(found.plain), np.int64)
        if not self._by_id:
            return individuals
        field = len(self._quasi) + len(self._passing)
        own = found.of(field)
        if self._ids is not None:
            individuals = self._ids.keys(found.text, *own, found.plain)
        else:
            fields.individual_keys(found.words, *own, PROCESS_KEY, individuals, found.plain)
        self._odd.individuals(found, field, individuals)
        return individuals

    def _passed(self, found: Found, count: int) -> PassedTexts:
        """Return a copy of the plain records' passing values, so that nothing else stays in memory."""
        ends = np.empty((count, len(self._passing)), np.int64)
        if not self._passing:
            return PassedTexts(np.empty(0, np.uint8), ends)
        first, last = len(self._quasi), len(self._quasi) + len(self._passing)
        text = found.final()
        room = np.empty(len(text) + _NULL * ends.size + len(PADDING), np.uint8)
        own = (found.forms[first:last], found.starts[first:last], found.stops[first:last])
        filled = fields.copy_passing(padded_words(text), *own, found.plain, padded_words(room), ends)
        return PassedTexts(room[:filled].copy(), ends)


def _is_text(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
