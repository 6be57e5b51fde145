"""Guess roles from names and from what values look like."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum

from stream_anon.formats.tables.undeclared_samples import NESTED, Value
from stream_anon.judging.disguises.field_words import (
    NAMES,
    NAMING,
    NUMBERING,
    PEOPLE,
    POSTAL,
    RECORDS,
    THINGS,
    last_words,
    word_set,
    words,
)
from stream_anon.judging.disguises.forms import is_prose
from stream_anon.judging.disguises.resembling import MOST_LOOKED_AT, PROSE, Resemblance, resemblance
from stream_anon.microdata.domains.calendar.moments import PER_SECOND

# Words of a name that make a field identify a person whatever its values are.
_IDENTIFYING = NAMES | word_set(
    "ssn nin passport iban mrn nhs username login imei imsi uuid guid uid iid pid individual"
)
# Of these, words that stand for one person.
_OF_PEOPLE = word_set("iid uid pid mrn ssn nhs")
# What a person has alone, or nearly so.
_OWN = word_set("nin passport username login iban email mail phone telephone tel mobile")
# Words that identify if the values are many; if they are few it may be a yes or no, and is left out.
_CONTACT = word_set("email mail phone telephone tel mobile fax address street plate ip mac")
_MANY = 20
_SENSITIVE = word_set(
    "diagnosis diagnoses icd icd9 icd10 disease condition illness symptom symptoms disorder medication medications "
    "drug drugs prescription hiv genetic disability religion political politics party orientation sexuality union "
    "salary income wage wages earnings pay debt conviction offence score grade outcome result treatment "
    "procedure allergy diseases conditions illnesses disorders disabilities convictions offences outcomes results "
    "treatments procedures allergies"
)
_PERSONAL = word_set(
    "age sex gender race ethnic ethnicity birth birthday dob born city town village county region state country "
    "nationality native zone district borough marital education occupation job profession employer school "
    "workclass language family lat lon lng latitude longitude height weight"
)
_MONEY = word_set("amount cost price fare fee total tip toll tolls charge balance payment distance duration")

_MOMENTS = word_set(
    "at date day epoch moment time timestamp ts when datetime unix utc created updated modified changed seen "
    "joined registered registration logged expires expiry start started begin began end ended finished since "
    "until posted published sent received pickup dropoff departure arrival"
)
_WHOLE = re.compile(r"\d{1,15}(\.0)?")
_NUMBER_OR_DAY = re.compile(
    r"([-+\d.,:/T Z]|(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}|"
    r"mon|tue|wed|thu|fri|sat|sun|[ap]m)+",
    re.IGNORECASE,
)
_PACKED = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])([01]\d|2[0-3])[0-5]\d[0-5]\d")
_EARLY, _EARLIEST, _LATEST = 315_532_800, 946_684_800, 2_208_988_800  # 1980, 2000 and 2040, in seconds
_TRIED = 2_000  # values by which a column of texts is judged


class FieldKind(Enum):
    """What is known of a field before its domain is looked for."""

    IDENTIFIER = "identifier"
    SENSITIVE = "sensitive"
    PLAIN = "plain"
    TEXT = "free text"
    CONTACT = "named like an identifier, but with few values"
    NESTED = "a list, but not of texts alone"
    LIST = (
        'a list of texts, which can be no quasi-identifier; if readers need it: `role: sensitive, type: "string[]"`'
    )
    SENSITIVE_LIST = "a sensitive list of texts"
    IDENTIFYING_LIST = "a list of what looks like identifiers"


_OF_LISTS = {
    FieldKind.IDENTIFIER: FieldKind.IDENTIFYING_LIST,
    FieldKind.SENSITIVE: FieldKind.SENSITIVE_LIST,
    FieldKind.PLAIN: FieldKind.LIST,
}


def is_postal(name: str) -> bool:
    """Return whether a name is that of a postal code."""
    return not POSTAL.isdisjoint(words(name))


def is_age(name: str) -> bool:
    """Return whether a name is that of somebody's age in years."""
    return "age" in last_words(name)


def is_moment(name: str) -> bool:
    """Return whether a name is that of a point in time."""
    return not _MOMENTS.isdisjoint(words(name))


def is_personal(name: str) -> bool:
    """Return whether a name is that of a property by which people are described."""
    return not (_PERSONAL | POSTAL).isdisjoint(words(name))


def is_id(name: str) -> bool:
    """Return whether a name is that of a number which only tells people or things apart."""
    own = last_words(name)
    return "id" in own or bool(own & (PEOPLE | THINGS) and own & NUMBERING)


def is_amount(name: str) -> bool:
    """Return whether a name is that of something which is counted or measured."""
    return is_measure(name) or is_age(name) or not _SENSITIVE.isdisjoint(words(name))


def is_epoch(number: float, form: str, *, named: bool) -> bool:
    """Return whether a number may be a moment of a format that counts since 1970.

    Seconds have as many digits as telephone numbers: only a field's name tells that it holds moments (`named`).
    """
    first = _EARLY if named else _EARLIEST
    return (named or form != "epoch-s") and first <= number / PER_SECOND[form] < _LATEST


def is_measure(name: str) -> bool:
    """Return whether a name is that of an amount."""
    return not _MONEY.isdisjoint(words(name))


def kind_of(name: str, values: Sequence[Value], records: int) -> FieldKind:
    """Return the kind of a field of single values or of lists, which are judged by their items.

    `records` is the size of the sample.
    """
    lists = [value for value in values if isinstance(value, tuple)]
    if not lists:
        return _scalar_kind(name, values, records)
    items = [item for value in lists for item in value if item is not None]
    if NESTED in lists or not items:
        return FieldKind.NESTED
    kind = _scalar_kind(name, items, records)
    return _OF_LISTS.get(kind, kind)


def _scalar_kind(name: str, values: Sequence[Value], records: int) -> FieldKind:
    distinct = len(set(values))
    named = is_moment(name)
    texts = [value for value in values if isinstance(value, str)]
    moments = _share([str(value) for value in _some(values)], lambda text: _is_moment(text, named)) > 0.8
    disguise = None if moments else disguised(name, values)
    if _identifies(name, distinct, len(values)) or disguise is not None:
        return FieldKind.IDENTIFIER
    if not _CONTACT.isdisjoint(last_words(name)):
        return FieldKind.CONTACT
    if _share(texts, is_prose) > PROSE:
        return FieldKind.TEXT
    if not moments and _counts_up(values):
        return FieldKind.IDENTIFIER
    if not _SENSITIVE.isdisjoint(words(name)):
        return FieldKind.SENSITIVE
    codes = len(texts) > 0.5 * len(values) and _share(texts, _is_number_or_day) < 0.5
    if codes and records >= 20 and distinct > 0.9 * len(values) > 18:
        return FieldKind.IDENTIFIER
    return FieldKind.PLAIN


def disguised(name: str, values: Sequence[Value]) -> Resemblance | None:
    """Return the identifier that values look like, unless they may as well be categories or places."""
    different = list(dict.fromkeys(values))
    found = resemblance(name, different[:: -(-len(different) // MOST_LOOKED_AT) or 1], few=True)
    return None if found is None or (found.kind.is_category and not found.of_people) else found


def _identifies(name: str, distinct: int, present: int) -> bool:
    own = last_words(name)
    people = not PEOPLE.isdisjoint(words(name))
    many = distinct > _MANY or distinct > 0.3 * present
    if own & _IDENTIFYING or own in ({"id"}, {"rid"}):
        return True
    if "id" in own:
        return people or many
    if own & PEOPLE and own & NUMBERING:
        return many
    if "name" in own:
        return people or own == {"name"} or bool(own & NAMING)
    if own & _CONTACT:
        return many
    return len(own) == 1 and bool(own & PEOPLE) and many


def _some(values: Sequence[Value]) -> Sequence[Value]:
    return values[:: max(1, len(values) // _TRIED)]


def _share(texts: Sequence[str], test: Callable[[str], bool]) -> float:
    counts = Counter(texts[:: max(1, len(texts) // _TRIED)])
    return sum(count for text, count in counts.items() if test(text)) / counts.total() if counts else 0.0


def _is_moment(text: str, named: bool) -> bool:
    """Return whether digits may tell a moment, by name or since 1970; so may a payment card."""
    if re.fullmatch(r"\d{9,16}(\.\d+)?", text) is None:
        return False
    if named and _PACKED.fullmatch(text):
        return True
    return any(is_epoch(float(text), form, named=named) for form in PER_SECOND)


def _is_number_or_day(text: str) -> bool:
    return _NUMBER_OR_DAY.fullmatch(text) is not None


def _counts_up(values: Sequence[Value]) -> bool:
    """Return whether whole numbers grow from row to row: the number of a record, or of who was added next."""
    some, before = values[:5000], -1
    for text in map(str, some):
        if _WHOLE.fullmatch(text) is None or int(text.removesuffix(".0")) <= before:
            return False
        before = int(text.removesuffix(".0"))
    return len(some) >= 20


def person_score(name: str, distinct: int, present: int) -> int:
    """Return how well an identifier seems to tell people (not records, not things) apart; 0 for not at all.

    The kind of name counts more than repeats, and of two that are named alike the one with repeats wins: people
    come back. Many people have one first name, and of full names some are shared: they are the last resort.
    """
    named, own = set(words(name)), last_words(name)
    recurs = distinct < 0.95 * present
    if own & (NAMES | {"name"}):
        whole = not own & (NAMES - {"fullname"}) and not (own & NAMING) - {"full"}
        return 1 if whole or distinct >= 0.5 * present else 0
    if named & PEOPLE and named & RECORDS - NUMBERING:
        return 4 if recurs else 0  # `customer_order_id` numbers orders
    if named & PEOPLE:
        return 20 + 2 * ("id" in named or bool(named & NUMBERING)) + recurs
    if named & _OF_PEOPLE:
        return 20 + recurs
    if named & _OWN:
        return STRONG + recurs
    if named & (RECORDS | THINGS):
        return 0
    return 8 if recurs else 2


STRONG = 12
"""A score of a field of which hardly two people have the same value."""
