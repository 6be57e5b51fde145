"""The scanner's tables: what each key and each value of a policy means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.json.scanner.letters import FIRST_NON_ASCII
from stream_anon.formats.json.scanner.lexing import FACTOR, LabelTables
from stream_anon.microdata.attributes import (
    Attribute,
    Identifier,
    Missing,
    PassThrough,
    ScalarType,
    Sensitive,
    Unknown,
)
from stream_anon.microdata.domains.code_reading import (
    ByIsoText,
    ByLabel,
    ByMoment,
    ByNumber,
    ByPrefix,
    ByText,
    OneByOne,
)
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

MOST_PARENTS = 24  # objects within objects; with `MOST_NESTED` more no record is too deep
MOST_UNITS = 10**17  # a number in units of its last decimal stays exact in 64 bits
_NONE = -1
WHOLE_VALUE = -2  # in place of the table of the keys within a field
_FREE = (_NONE, _NONE, _NONE)

# How a field's value is handled.
CATEGORY, DATE, NUMBER, PREFIX, INDIVIDUAL, PARENT = range(6)
PASS_STRING, PASS_INTEGER, PASS_NUMBER, PASS_BOOLEAN = range(6, 10)
MOMENT, ISO_TEXT = 10, 11
ANY = 12  # a domain whose values no kernel knows; each distinct one is looked at, see `odd_values`
PASS_LIST = 13  # each distinct one is looked at too
_PASSES = {
    ScalarType.STRING: PASS_STRING,
    ScalarType.INTEGER: PASS_INTEGER,
    ScalarType.NUMBER: PASS_NUMBER,
    ScalarType.BOOLEAN: PASS_BOOLEAN,
}

# The columns of `ScanTables.fields`. ROW: of the codes, or of what passes. TABLE: of its values, or of the keys
# within a parent, or of the families of what passes. MISSING, UNKNOWN: codes, or none if such a record is not for
# the scanner. KEYED: row of the sensitive keys, or none.
KIND, ROW, TABLE, MISSING, UNKNOWN, KEYED = range(6)
# Of a number, in units of its last decimal. WHOLE: finer ones are unfit.
LOW, HIGH, STEP, DECIMALS, WHOLE, CELLS = range(6, 12)
# Of a prefix. LEAST: length of a text. PAD: whole numbers get zeros in front.
LENGTH, KEEP, BASE, LEAST, PAD = range(6, 11)
_WIDTH = 12


ALL_BITS = 2**64 - 1


def spread(label: bytes) -> int:
    """Return the place of a label in a table, before the table's mask; see `lexing.look_up`."""
    found = len(label)
    for first in range(0, len(label), 8):
        found = ((found ^ int.from_bytes(label[first : first + 8], "little")) * FACTOR) & ALL_BITS
        found ^= found >> 32
    return found


@dataclass(frozen=True)
class ScanTables:
    """A policy as arrays, for the scanner.

    Parameters
    ----------
    labels
        All keys and values.
    fields
        int64[fields, 12], see the columns above; quasi-identifiers first, then what passes, the individual, and
        the parents of others.
    letters
        int16[quasi-identifiers, 256]: the place of each byte in a prefix's alphabet, -1 if it has none; from
        1 on where texts may be shorter, whose end is 0.
    longest
        The most slots that any look-up visits.
    nulls
        The table of the texts that mean a missing value, -1 if there are none.
    moments
        By field: how numbers that count moments, or texts of ISO 8601, are read.
    """

    labels: LabelTables
    fields: NDArray[np.int64]
    letters: NDArray[np.int16]
    longest: int
    nulls: int
    moments: Mapping[int, ByMoment | ByIsoText]


def scan_tables(policy: Policy) -> ScanTables | None:
    """Return the tables of a policy; None if it has attributes too deep for the scanner, see `deep_attributes`."""
    if deep_attributes(policy):
        return None
    builder = _Builder([_field(policy, attribute) for attribute in _read(policy)])
    for place, attribute in enumerate(_read(policy)):
        known = None
        if isinstance(attribute, QuasiIdentifier) and builder.fields[place][KIND] in (CATEGORY, DATE):
            known = _values(attribute)
        elif isinstance(attribute, Sensitive) and attribute.families:
            known = {value.encode(): number for value, number in _shown_numbers(attribute) if value is not None}
        if known is not None:
            builder.fields[place][TABLE] = builder.table(known)
    nulls = builder.table({text.encode(): 0 for text in policy.null_values}) if policy.null_values else _NONE
    builder.keys([(attribute.path, place) for place, attribute in enumerate(_read(policy))])
    moments = {
        place: reading
        for place, a in enumerate(policy.quasi_identifiers)
        if isinstance(reading := a.domain.reading(), ByMoment | ByIsoText)
    }
    return builder.build(np.array([_letters(a) for a in policy.quasi_identifiers], np.int16), nulls, moments)


def key_tables(paths: Sequence[tuple[str, ...]]) -> ScanTables:
    """Return tables of nothing but keys: a field for each path, then one for each parent."""
    builder = _Builder([[_NONE] * _WIDTH for _ in paths])
    builder.keys([(path, place) for place, path in enumerate(paths)])
    return builder.build(np.empty((0, 256), np.int16), _NONE, {})


def deep_attributes(policy: Policy) -> tuple[str, ...]:
    """Return the names of attributes so deep that records are read one by one."""
    return tuple(a.name for a in policy.attributes if len(a.path) > MOST_PARENTS)


def _read(policy: Policy) -> list[Attribute]:
    """Return the attributes that are read: quasi-identifiers, what passes, the individual."""
    individual = [a for a in policy.attributes if isinstance(a, Identifier) and a.name == policy.individual]
    return [*policy.quasi_identifiers, *policy.passed, *individual]


def _field(policy: Policy, attribute: Attribute) -> list[int]:
    row = [_NONE] * _WIDTH
    if isinstance(attribute, PassThrough):
        row[KIND], row[ROW] = (
            PASS_LIST if attribute.many else _PASSES[attribute.type],
            policy.passed.index(attribute),
        )
        names = [diverse.name for diverse in policy.diverse]
        row[KEYED] = names.index(attribute.name) if attribute.name in names else _NONE
        if isinstance(attribute, Sensitive):
            row[UNKNOWN] = _NONE if attribute.rest is None else len(attribute.families)
            row[MISSING] = dict(_shown_numbers(attribute)).get(None, row[UNKNOWN])
    elif isinstance(attribute, QuasiIdentifier):
        row[ROW] = policy.quasi_identifiers.index(attribute)
        row[MISSING] = attribute.missing_code if attribute.missing is Missing.LEAF else _NONE
        row[UNKNOWN] = attribute.unknown_code if attribute.unknown is Unknown.ROOT else _NONE
        if not _describe(row, attribute):
            row[KIND] = ANY
    else:
        row[KIND] = INDIVIDUAL
    return row


def _shown_numbers(attribute: Sensitive) -> list[tuple[str | None, int]]:
    return [(value, number) for number, alike in enumerate(attribute.shown_alike) for value in alike]


def _describe(row: list[int], attribute: QuasiIdentifier) -> bool:
    """Write how values of an attribute are read; return False if no kernel does."""
    match attribute.domain.reading():
        case ByLabel():
            row[KIND] = CATEGORY
        case ByText():
            # A text that is not in the table may still be a value: it is not for the scanner to say.
            row[KIND], row[UNKNOWN] = DATE, _NONE
        case ByPrefix() as prefix if all(letter.isascii() for letter in prefix.places):
            row[KIND] = PREFIX
            row[LENGTH], row[KEEP], row[BASE] = prefix.length, prefix.keep, prefix.base
            row[LEAST], row[PAD] = prefix.least, prefix.pad
        case ByNumber() as grid:
            return _describe_grid(row, grid)
        case ByMoment(begins) if abs(begins).max() <= MOST_UNITS:
            row[KIND] = MOMENT
        case ByIsoText():
            row[KIND] = ISO_TEXT
        case ByPrefix() | ByMoment() | OneByOne():
            return False
    return True


def _describe_grid(row: list[int], grid: ByNumber) -> bool:
    row[KIND] = NUMBER
    *ends, decimals = grid.units()
    if decimals > 9 or any(abs(end) > MOST_UNITS for end in ends):
        return False
    row[LOW], row[HIGH], row[STEP] = ends
    row[DECIMALS], row[WHOLE], row[CELLS] = decimals, grid.decimals is not None, grid.size
    return True


def _values(attribute: QuasiIdentifier) -> dict[bytes, int] | None:
    match attribute.domain.reading():
        case ByLabel(codes) | ByText(codes):
            return {text.encode(): code for text, code in codes.items()}
    return None


def _letters(attribute: QuasiIdentifier) -> list[int]:
    reading = attribute.domain.reading()
    letters = reading.places.items() if isinstance(reading, ByPrefix) else ()
    places = {ord(letter): place for letter, place in letters}
    return [places.get(byte, _NONE) if byte < FIRST_NON_ASCII else _NONE for byte in range(256)]


class _Builder:
    """Collects labels into tables."""

    def __init__(self, fields: list[list[int]]) -> None:
        self.fields = fields
        self._labels: list[int] = []
        self._slots: list[tuple[int, int, int]] = []
        self._tables: list[tuple[int, int]] = []
        self._longest = 0

    def table(self, meanings: Mapping[bytes, int]) -> int:
        """Add a table; return its number."""
        capacity = 4
        while capacity < 4 * len(meanings):
            capacity *= 2
        slots = [_FREE] * capacity
        for label, meaning in meanings.items():
            slot = spread(label) & (capacity - 1)
            while slots[slot] is not _FREE:
                slot = (slot + 1) & (capacity - 1)
            slots[slot] = (len(label), len(self._labels), meaning)
            self._labels += [
                int.from_bytes(label[first : first + 8].ljust(8, b"\0"), "little", signed=True)
                for first in range(0, max(len(label), 1), 8)
            ]
        self._longest = max(self._longest, _longest_run(slots) + 1)
        self._tables.append((len(self._slots), capacity - 1))
        self._slots += slots
        return len(self._tables) - 1

    def keys(self, members: list[tuple[tuple[str, ...], int]], level: int = 0) -> int:
        """Add a table of the keys of an object; return its number. The outermost one is the last table."""
        groups: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for path, place in members:
            groups.setdefault(path[level], []).append((path, place))
        meanings: dict[bytes, int] = {}
        for key, group in groups.items():
            path, place = group[0]
            if len(path) > level + 1:
                row = [_NONE] * _WIDTH
                row[KIND], row[TABLE] = PARENT, self.keys(group, level + 1)
                place = len(self.fields)
                self.fields.append(row)
            meanings[key.encode()] = place
        return self.table(meanings)

    def build(
        self, letters: NDArray[np.int16], nulls: int, moments: Mapping[int, ByMoment | ByIsoText]
    ) -> ScanTables:
        return ScanTables(
            LabelTables(
                np.array(self._labels, np.int64), np.array(self._slots, np.int64), np.array(self._tables, np.int64)
            ),
            np.array(self.fields, np.int64),
            letters,
            self._longest,
            nulls,
            moments,
        )


def _longest_run(slots: list[tuple[int, int, int]]) -> int:
    """Return how many taken slots stand side by side at most; the last slot's neighbour is the first."""
    longest = run = 0
    for slot in [*slots, *slots]:
        run = 0 if slot is _FREE else run + 1
        longest = max(longest, run)
    return longest
