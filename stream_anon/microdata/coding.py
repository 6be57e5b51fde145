"""Code one decoded record: the single place that says what fits a policy and what becomes of it.

Every reader agrees with this: those that work on columns for speed are tested against it, value by value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stream_anon.errors import Unfit
from stream_anon.microdata.attributes import Attribute, Passing, PassThrough, ScalarType, pass_value
from stream_anon.microdata.batch import NO_ATTRIBUTE, CodedBatch, ItemKeys, Reason, Rejects
from stream_anon.microdata.ids import Normalization, normalized
from stream_anon.microdata.keys import text_key
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.sensitive_keys import criterion_keys

UNREADABLE = object()  # stands for a value that cannot be of any attribute's type
_MOST_WHOLE = 10**4300  # integers below can be read and written as text
_WHOLE = re.compile(r"[+-]?[0-9]{1,4300}")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")

Passed = tuple[Passing, ...]


@dataclass(frozen=True, slots=True)
class CodedRecord:
    """A record that fits: its place in each column of a `CodedBatch`."""

    codes: tuple[int, ...]
    sensitive: tuple[int, ...]
    individual: int
    passed: Passed
    sets: ItemKeys = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a record does not fit, and the index of the attribute at fault in the policy."""

    reason: Reason
    attribute: int = NO_ATTRIBUTE


def individual_text(value: object) -> str:
    """Return an individual's id as a text: `1`, `1.0` and `"1"` are one person.

    `Unfit` for no id or one that is neither text nor a whole number.
    """
    value = _sound(value)
    if value is None or value == "":
        raise Unfit(Reason.NO_INDIVIDUAL)
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Unfit(Reason.WRONG_TYPE)


def individual_key(value: object, steps: Collection[Normalization] = ()) -> int:
    """Return the key of an individual's id; spellings that `steps` make equal have one key.

    Equal for equal ids within a process, and keyed by it. `Unfit` for no id, one that is neither text nor a whole
    number, and one that is too long to be normalized.
    """
    text = normalized(individual_text(value), steps)
    if not text:
        raise Unfit(Reason.NO_INDIVIDUAL)
    return text_key(text)


class RecordCoder:
    """Code records one by one, about 10 us each.

    Identifiers that tell no individuals apart are not looked at. `coerced` counts the texts in coded records that
    counted as another type because their attributes say so.
    """

    def __init__(self, policy: Policy) -> None:
        self._attributes = policy.attributes
        self._individual = -1 if policy.individual == EVERY_RECORD else policy.index[policy.individual]
        self._steps = policy.normalize
        self._diverse = {name: diversity.ordered for name, diversity in policy.diversity.items()}
        self._nulls = policy.null_values
        self._coercing = [i for i, attribute in enumerate(policy.attributes) if attribute.coerce]
        self.coerced = 0

    def code(self, values: Sequence[object]) -> CodedRecord | Misfit:
        """Code the values of all declared attributes in policy order, None for what is missing.

        The first attribute in policy order that does not fit is the one at fault.
        """
        if self._nulls:
            values = [meant(value, self._nulls) for value in values]
        codes: list[int] = []
        sensitive: list[int] = []
        passed: list[Passing] = []
        sets: dict[int, tuple[int, ...]] = {}
        individual = 0
        for i, attribute in enumerate(self._attributes):
            try:
                if isinstance(attribute, QuasiIdentifier):
                    codes.append(code_value(attribute, values[i]))
                elif isinstance(attribute, PassThrough):
                    passed.append(passed_value(attribute, values[i]))
                    if attribute.name in self._diverse:
                        keys, own = criterion_keys(attribute, passed[-1:], self._diverse[attribute.name])
                        sensitive.append(int(keys[0]))
                        sets.update(own)
                elif i == self._individual:
                    individual = individual_key(values[i], self._steps)
            except Unfit as unfit:
                return Misfit(Reason(unfit.reason), i)
        self.coerced += sum(isinstance(values[i], str) for i in self._coercing)
        return CodedRecord(tuple(codes), tuple(sensitive), individual, tuple(passed), sets)


def code_value(attribute: QuasiIdentifier, value: object) -> int:
    """Return the code of one value; `Unfit` if there is none."""
    return attribute.code(_sound(coerced(attribute, value)))


def passed_value(attribute: PassThrough, value: object) -> Passing:
    """Return one value as it will be written; `Unfit` for a wrong type."""
    if attribute.many and isinstance(value, list | tuple):
        return pass_value(attribute, list(map(_sound, value)))
    return pass_value(attribute, _sound(coerced(attribute, value)))


def meant(value: object, nulls: Collection[str]) -> object:
    """Return a value with the texts that mean a missing one as None, in a list too."""
    if isinstance(value, list | tuple):
        return [meant(item, nulls) for item in value]
    return None if isinstance(value, str) and value in nulls else value


def coerced(attribute: Attribute, value: object) -> object:
    """Return what a text stands for where its attribute has `coerce`; any other value as it is.

    A comma is a decimal point, never a mark of thousands. Blanks around do not count, nor does the case of true and
    false. A text that stands for nothing stays a text, which is of a wrong type.
    """
    if not attribute.coerce or not isinstance(value, str):
        return value
    read = scalar_of(attribute.text_type, value.strip(), comma=True)
    return value if read is UNREADABLE else read


def scalar_of(kind: ScalarType, text: str, *, comma: bool = False) -> object:
    """Return the value of a type that a text without blanks around stands for, `UNREADABLE` if it is none.

    With `comma` a number may have a decimal comma.
    """
    if kind is ScalarType.STRING:
        return text
    if kind is ScalarType.BOOLEAN:
        return {"true": True, "false": False}.get(text.lower(), UNREADABLE)
    if comma and "." not in text:
        text = text.replace(",", ".", 1)
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else UNREADABLE


def find(record: Mapping[str, object], path: Sequence[str]) -> object:
    """Return the value at `path`, None where it or a parent is missing, `UNREADABLE` under a scalar or array."""
    value: object = record
    for key in path:
        if not isinstance(value, Mapping):
            return None if value is None else UNREADABLE
        value = value.get(key)
    return value


def _sound(value: object) -> object:
    """Return a value as it is, or `UNREADABLE` if JSON cannot hold it or it cannot be written."""
    if isinstance(value, float) and not math.isfinite(value):
        return UNREADABLE
    if isinstance(value, int) and not -_MOST_WHOLE < value < _MOST_WHOLE:
        return UNREADABLE
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return UNREADABLE
    return value


class BatchBuilder:
    """Collect coded records and rejects of one source into a batch.

    Parameters
    ----------
    policy
        Says how many columns there are.
    source
        The worker's number of the partition.
    """

    def __init__(self, policy: Policy, source: int) -> None:
        self._shape = (len(policy.quasi_identifiers), len(policy.diverse))
        self._source = source
        self._records: list[CodedRecord] = []
        self._offsets: list[int] = []
        self._rejects: list[tuple[int, int, int, int]] = []

    def add(self, result: CodedRecord | Misfit, offset: int) -> None:
        """Add what became of the record at `offset`."""
        if isinstance(result, Misfit):
            self._rejects.append((result.reason, result.attribute, self._source, offset))
        else:
            self._records.append(result)
            self._offsets.append(offset)

    def __len__(self) -> int:
        return len(self._records) + len(self._rejects)

    def build(self, numbers: int | None = None) -> CodedBatch:
        """Return the batch; with `numbers` every record is an individual, numbered from there on."""
        records, n = self._records, len(self._records)
        individuals = [record.individual for record in records]
        return CodedBatch(
            np.array([record.codes for record in records], np.int32).reshape(n, self._shape[0]).T,
            np.array([record.sensitive for record in records], np.int64).reshape(n, self._shape[1]).T,
            np.array(individuals, np.int64) if numbers is None else np.arange(numbers, numbers + n),
            np.full(n, self._source, np.int32),
            np.array(self._offsets, np.int64),
            [record.passed for record in records],
            Rejects.of(self._rejects),
            {key: items for record in records for key, items in record.sets.items()},
        )
