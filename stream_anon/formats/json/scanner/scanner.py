"""The scanner: a batch's records as columns, mostly without the interpreter's lock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.json.scanner import fields
from stream_anon.formats.json.scanner.epoch_moments import moment_arrays, moment_codes
from stream_anon.formats.json.scanner.family_texts import FamilyTexts
from stream_anon.formats.json.scanner.forms import LIST
from stream_anon.formats.json.scanner.id_spans import IdSpans
from stream_anon.formats.json.scanner.iso_texts import iso_codes
from stream_anon.formats.json.scanner.nulls import clear_nulls
from stream_anon.formats.json.scanner.odd_values import FoundValues, OddValues
from stream_anon.formats.json.scanner.spans import SpanFinder
from stream_anon.formats.json.scanner.tables import (
    ANY,
    CATEGORY,
    DATE,
    ISO_TEXT,
    KEYED,
    KIND,
    MOMENT,
    NUMBER,
    PARENT,
    PASS_LIST,
    TABLE,
    ScanTables,
)
from stream_anon.formats.writing.passed_texts import PassedTexts
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import MISSING_KEY, CodedBatch, Rejects
from stream_anon.microdata.domains.code_reading import ByIsoText, ByMoment
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
        self._families = {
            place: FamilyTexts(passing)
            for place, passing in enumerate(self._passing, len(self._quasi))
            if isinstance(passing, Sensitive) and passing.families
        }
        self._diverse = policy.diverse
        self._ordered = [policy.diversity[attribute.name].ordered for attribute in policy.diverse]
        self._by_id = policy.individual != EVERY_RECORD
        self._ids = IdSpans(policy) if policy.normalize else None
        self._odd = OddValues(policy)
        self._tables = tables
        read = [*self._quasi, *self._passing]
        self._coercing = [place for place, attribute in enumerate(read) if attribute.coerce]
        self.coerced = 0
        kinds = tables.fields[:, KIND]
        inner = np.where(kinds == PARENT, tables.fields[:, TABLE], np.where(kinds == PASS_LIST, LIST, -1))
        keys = (key for attribute in policy.attributes for key in attribute.path)
        self._finder = SpanFinder(tables, inner, keys, max_record_bytes)
        self._moments = {
            place: moment_arrays(moments)
            for place, moments in tables.moments.items()
            if isinstance(moments, ByMoment)
        }
        self._iso_moments = {
            place: (moment_arrays(texts.own_clock), moment_arrays(texts.instants), texts.with_time)
            for place, texts in tables.moments.items()
            if isinstance(texts, ByIsoText)
        }
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
        # 1. Find the value of each field in each record, and see which records are text at all.
        found, tables = self._finder.find(texts), self._tables
        if tables.nulls >= 0:
            clear_nulls(found.words, found.of(slice(None)), tables.nulls, tables.labels)
        # 2. Make columns; a value that does not fit excludes its record.
        coerced = [found.look_closer(field) for field in self._coercing]
        codes, sensitive, individuals = self._columns(found)
        self.coerced += sum(int((texts_there & found.plain).sum()) for texts_there in coerced)
        places = np.flatnonzero(found.plain)
        passed = self._passed(found, len(places))
        if len(places) < len(texts):
            codes, sensitive, individuals = codes[:, places], sensitive[:, places], individuals[places]
        sources = np.full(len(places), source, np.int32)
        batch = CodedBatch(
            codes, sensitive, individuals, sources, offsets[places], passed, Rejects.of([]), self._odd.taken_sets()
        )
        return batch, np.flatnonzero(~found.plain)

    def _columns(self, found: FoundValues) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
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
            fields.judge_passing(found.text, own, int(field[KIND]), found.plain)
            if keys is not None and not ordered:
                fields.value_keys(found.words, own, PROCESS_KEY, self._others, keys)
            self._odd.passing(found, place, passing, keys, ordered=ordered)
            if place in self._families:
                self._families[place].replace(found, place, tables, keys)
        return codes, sensitive, self._individuals(found)

    def _code(self, found: FoundValues, place: int, codes: NDArray[np.int32]) -> None:
        """Write the codes of those values of a quasi-identifier that a kernel knows."""
        own, tables = found.of(place), self._tables
        field = tables.fields[place]
        if field[KIND] in (CATEGORY, DATE):
            texts_only = bool(field[KIND] == DATE)
            fields.category_codes(found.words, own, field, texts_only, tables.labels, codes, found.plain)
        elif field[KIND] == NUMBER:
            fields.number_codes(found.text, own, field, codes, found.plain)
        elif field[KIND] == MOMENT:
            moment_codes(found.text, own, field, self._moments[place], codes, found.plain)
        elif field[KIND] == ISO_TEXT:
            iso_codes(found.text, own, field, *self._iso_moments[place], codes, found.plain)
        elif field[KIND] != ANY:
            fields.prefix_codes(found.text, own, field, tables.letters[place], codes, found.plain)

    def _individuals(self, found: FoundValues) -> NDArray[np.int64]:
        individuals = np.zeros(len(found.plain), np.int64)
        if not self._by_id:
            return individuals
        field = len(self._quasi) + len(self._passing)
        own = found.of(field)
        if self._ids is not None:
            individuals = self._ids.keys(found.text, own, found.plain)
        else:
            fields.individual_keys(found.words, own, PROCESS_KEY, individuals, found.plain)
        self._odd.individuals(found, field, individuals)
        return individuals

    def _passed(self, found: FoundValues, count: int) -> PassedTexts:
        """Return a copy of the plain records' passing values, so that nothing else stays in memory."""
        ends = np.empty((count, len(self._passing)), np.int64)
        if not self._passing:
            return PassedTexts(np.empty(0, np.uint8), ends)
        first, last = len(self._quasi), len(self._quasi) + len(self._passing)
        text = found.final()
        # The text of a family stands in `text` once and is copied for each of its records.
        shown = sum(int(found.lengths(i)[found.plain].sum()) for i in self._families)
        room = np.empty(len(text) + shown + _NULL * ends.size + len(PADDING), np.uint8)
        own = found.of(slice(first, last))
        filled = fields.copy_passing(padded_words(text), own, found.plain, padded_words(room), ends)
        return PassedTexts(room[:filled].copy(), ends)
