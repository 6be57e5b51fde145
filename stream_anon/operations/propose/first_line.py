"""Tell whether the first line of a CSV file holds names of columns, or is a record."""

from __future__ import annotations

from collections.abc import Callable

from stream_anon.formats.tables.undeclared_samples import FieldSample, SampledField
from stream_anon.judging.disguises.field_words import words
from stream_anon.operations.propose.support import FEWEST

_MISSING = frozenset(["n/a", "na", "nan", "none", "null", "nil", "unknown", "missing", "other"])

_USUAL = frozenset(
    words(
        "name first last family given full id no nr number key code patient person user customer client member "
        "student employee age sex gender race ethnicity date time day year month birth born dob city town village "
        "county region state country nationality zip zipcode postal postcode plz marital status education "
        "occupation job profession employer school class workclass language street address email mail phone "
        "telephone department ward hospital diagnosis illness disease condition symptom medication treatment "
        "religion salary income amount price cost type category group product"
    )
)


def holds_names(sample: FieldSample) -> bool:
    """Return whether the names of a sample differ from the values below them as no value of theirs does.

    Two names do that have letters and no digit, or consist of usual words for fields, where no value does: a record
    may hold one such cell, as `n.a.` in a column of numbers. Otherwise most names differ so, or begin with a small
    letter where no value does.
    """
    columns = [(name, column) for name, column in sample.columns.items() if len(column.values) >= FEWEST]
    telling = [any(_differs(*each, test) for test in (_is_no_number, _is_usual)) for each in columns]
    different = [
        is_telling or _differs(*each, _begins_small) for is_telling, each in zip(telling, columns, strict=True)
    ]
    return sum(telling) >= 2 or 2 * sum(different) > len(columns)


def _differs(name: str, column: SampledField, test: Callable[[str], bool]) -> bool:
    if name.casefold() in _MISSING or not test(name):
        return False
    return not any(test(str(value)) for value in column.distinct)


def _is_no_number(text: str) -> bool:
    return any(map(str.isalpha, text)) and not any(map(str.isdigit, text))


def _is_usual(text: str) -> bool:
    found = words(text)
    return bool(found) and _USUAL.issuperset(found)


def _begins_small(text: str) -> bool:
    return text[:1].islower()
