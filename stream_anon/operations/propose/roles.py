"""Guess roles from names and from what values look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from itertools import pairwise

from stream_anon.adapters.tables.samples import NESTED, Value


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words of a name that make a field identify a person whatever its values are.
_IDENTIFYING = _set(
    "ssn nin passport iban mrn nhs username login surname lastname firstname fullname forename familyname "
    "givenname imei imsi uuid guid uid iid pid userid customerid patientid personid memberid individual"
)
# Of these, words that stand for one person.
_OF_PEOPLE = _set("iid uid pid mrn ssn nhs userid customerid patientid personid memberid")
# Words that identify if the values are many; if they are few it may be a yes or no, and is left out.
_CONTACT = _set("email mail phone telephone tel mobile fax address street plate ip mac")
_MANY = 20
_PEOPLE = _set(
    "patient person user customer client member subject student employee citizen driver rider guest visitor "
    "insured resident participant child pupil tenant owner cardholder subscriber"
)
_NAMING = _set("first last full family given maiden middle sur")
# What is counted by these is a record, not a person.
_RECORDS = _set(
    "rid record row line event message order transaction receipt visit ride trip booking invoice session request "
    "sequence seq nr number index"
)
# Beside a word for people these number people.
_NUMBERING = _set("no nr num number key code ref")
_SENSITIVE = _set(
    "diagnosis diagnoses icd icd9 icd10 disease condition illness symptom symptoms disorder medication medications "
    "drug drugs prescription hiv genetic disability religion political politics party orientation sexuality union "
    "salary income wage wages earnings pay debt conviction offence score grade outcome result treatment "
    "procedure allergy diseases conditions illnesses disorders disabilities convictions offences outcomes results "
    "treatments procedures allergies"
)
_POSTAL = _set("zip zipcode postal postcode postalcode plz cp pincode")
_PERSONAL = _set(
    "age sex gender race ethnic ethnicity birth birthday dob born city town village county region state country "
    "nationality native zone district borough marital education occupation job profession employer school "
    "workclass language family lat lon lng latitude longitude height weight"
)
_MONEY = _set("amount cost price fare fee total tip toll tolls charge balance payment distance duration")

_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"[^@\s]+@[^@\s]+\.[^@\s]+",  # mail
        r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}",  # UUID
        r"\d{3}-\d{2}-\d{4}",  # social security number
        r"\+\d[\d ()./-]{6,18}\d|\(?0\d{1,4}\)?[ /-]\d[\d /-]{4,14}",  # telephone
        r"\d{1,3}(\.\d{1,3}){3}|([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}",  # internet address
        r"[A-Z]{2}\d{2}[0-9A-Z]{11,30}",  # IBAN
        r"(\d{4}[ -]?){3}\d{1,7}",  # payment card
        r"(?=.*\d)(?=.*[a-fA-F])[0-9a-fA-F]{16,128}",  # hash
        r"https?://\S+",
    )
)

_MOMENTS = frozenset({"at", "date", "day", "epoch", "moment", "time", "timestamp", "ts", "when"})


class FieldKind(Enum):
    """What is known of a field before its domain is looked for."""

    IDENTIFIER = "identifier"
    SENSITIVE = "sensitive"
    PLAIN = "plain"
    TEXT = "free text"
    CONTACT = "named like an identifier, but with few values"
    NESTED = "a list, but not of texts alone, or not in every record"
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


def words(name: str) -> list[str]:
    """Return the lower-case words of a field's name: `patient.birthDate` has three."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]


def is_postal(name: str) -> bool:
    """Return whether a name is that of a postal code."""
    return not _POSTAL.isdisjoint(words(name))


def is_age(name: str) -> bool:
    """Return whether a name is that of somebody's age in years."""
    return "age" in _last(name)


def is_moment(name: str) -> bool:
    """Return whether a name is that of a point in time."""
    return not _MOMENTS.isdisjoint(words(name))


def is_personal(name: str) -> bool:
    """Return whether a name is that of a property by which people are described."""
    return not (_PERSONAL | _POSTAL).isdisjoint(words(name))


def is_measure(name: str) -> bool:
    """Return whether a name is that of an amount."""
    return not _MONEY.isdisjoint(words(name))


def kind_of(name: str, values: Sequence[Value], records: int) -> FieldKind:
    """Return the kind of a field; `records` is the size of the sample. A list is judged by its items."""
    lists = [value for value in values if isinstance(value, tuple)]
    if not lists:
        return _scalar_kind(name, values, records)
    items = [item for value in lists for item in value if item is not None]
    if len(lists) < len(values) or NESTED in lists or not items:
        return FieldKind.NESTED
    kind = _scalar_kind(name, items, records)
    return _OF_LISTS.get(kind, kind)


def _scalar_kind(name: str, values: Sequence[Value], records: int) -> FieldKind:
    texts = [value for value in values if isinstance(value, str)]
    distinct = len(set(values))
    moments = is_moment(name) and _share([str(value) for value in values], _is_epoch) > 0.8
    alike = 0.0 if moments else _share(texts, _is_identity) * len(texts)
    if _identifies(name, distinct, len(values)) or alike > 0.8 * len(values):
        return FieldKind.IDENTIFIER
    if not _CONTACT.isdisjoint(_last(name)):
        return FieldKind.CONTACT
    if _share(texts, _is_prose) > 0.2:
        return FieldKind.TEXT
    if not moments and _counts_up(values):
        return FieldKind.IDENTIFIER
    if not _SENSITIVE.isdisjoint(words(name)):
        return FieldKind.SENSITIVE
    codes = len(texts) > 0.5 * len(values) and _share(texts, _is_number_or_day) < 0.5
    if codes and records >= 20 and distinct > 0.9 * len(values) > 18:
        return FieldKind.IDENTIFIER
    return FieldKind.PLAIN


def _last(name: str) -> set[str]:
    """Return the words after the last dot: `patient.address.city` is a city."""
    return set(words(name.rpartition(".")[2]))


def _identifies(name: str, distinct: int, present: int) -> bool:
    own = _last(name)
    people = not _PEOPLE.isdisjoint(words(name))
    many = distinct > _MANY or distinct > 0.3 * present
    if own & _IDENTIFYING or own in ({"id"}, {"rid"}):
        return True
    if "id" in own:
        return people or many
    if own & _PEOPLE and own & _NUMBERING:
        return many
    if "name" in own:
        return people or own == {"name"} or bool(own & _NAMING)
    if own & _CONTACT:
        return many
    return len(own) == 1 and bool(own & _PEOPLE) and many


def _share(texts: Sequence[str], test: Callable[[str], bool]) -> float:
    some = texts[:5000]
    return sum(map(test, some)) / len(some) if some else 0.0


def _is_identity(text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in _PATTERNS)


def _is_epoch(text: str) -> bool:
    """Return whether a text may count seconds, milliseconds or microseconds since 1970; so may a payment card."""
    return re.fullmatch(r"(\d{9,10}|\d{12,13}|\d{15,16})(\.\d+)?", text) is not None


def _is_prose(text: str) -> bool:
    return len(text) > 60 or text.count(" ") > 6


def _is_number_or_day(text: str) -> bool:
    return bool(re.fullmatch(r"[-+]?[\d.,:/T Z+-]+", text))


def _counts_up(values: Sequence[Value]) -> bool:
    """Return whether whole numbers grow from row to row: the number of a record, or of who was added next."""
    some = values[:5000]
    numbers = [int(text.removesuffix(".0")) for text in map(str, some) if re.fullmatch(r"\d{1,15}(\.0)?", text)]
    return len(numbers) == len(some) >= 20 and all(a < b for a, b in pairwise(numbers))


def person_score(name: str, distinct: int, present: int) -> int:
    """Return how well an identifier seems to tell people (not records) apart; 0 for not at all.

    A name counts more than repeats, and of two that are named alike the one with repeats wins: people come back.
    """
    named = set(words(name))
    recurs = distinct < 0.95 * present
    if named & _PEOPLE and named & _RECORDS - _NUMBERING:
        return 4 if recurs else 0  # `customer_order_id` numbers orders
    if named & _PEOPLE:
        return 10 + 2 * ("id" in named or bool(named & _NUMBERING)) + recurs
    if named & _OF_PEOPLE:
        return 10 + recurs
    if named & _RECORDS:
        return 0
    if recurs:
        return 8
    return 2 if named & (_IDENTIFYING | _CONTACT) else 1
