"""Guess roles from names and from what values look like."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum

from stream_anon.formats.tables.undeclared_samples import NESTED, Value
from stream_anon.microdata.domains.calendar.moments import PER_SECOND


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words of a name that make a field identify a person whatever its values are.
_NAMES = _set("surname lastname firstname fullname forename familyname givenname")
_IDENTIFYING = _NAMES | _set(
    "ssn nin passport iban mrn nhs username login imei imsi uuid guid uid iid pid individual"
)
# Of these, words that stand for one person.
_OF_PEOPLE = _set("iid uid pid mrn ssn nhs")
# What a person has alone, or nearly so.
_OWN = _set("nin passport username login iban email mail phone telephone tel mobile")
# Words that identify if the values are many; if they are few it may be a yes or no, and is left out.
_CONTACT = _set("email mail phone telephone tel mobile fax address street plate ip mac")
_MANY = 20
_PEOPLE = _set(
    "patient person user customer client member subject student employee citizen driver rider guest visitor "
    "insured resident participant child pupil tenant owner cardholder subscriber"
)
# Names of things, of which many people may have the same one.
_THINGS = _set(
    "movie film song track album book article product item good sku store shop branch brand category department "
    "team company vendor supplier station stop route line device sensor room ward hospital clinic school course "
    "class city country region zone district place location venue page post campaign channel status type group"
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

_IDENTITIES = (
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
_IDENTITY = re.compile("|".join(_IDENTITIES))

_MOMENTS = _set(
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


_GLUED = re.compile(rf"({'|'.join(sorted(_PEOPLE | _RECORDS | _THINGS))})(id|{'|'.join(sorted(_NUMBERING))})")


def words(name: str) -> list[str]:
    """Return the lower-case words of a field's name: `patient.birthDate` has three, and `movieid` two."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", name))
    found = [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]
    return [part for word in found for part in _unglued(word)]


def _unglued(word: str) -> tuple[str, ...]:
    glued = None if word in _POSTAL else _GLUED.fullmatch(word)
    return (word,) if glued is None else glued.groups()


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


def is_id(name: str) -> bool:
    """Return whether a name is that of a number which only tells people or things apart."""
    own = _last(name)
    return "id" in own or bool(own & (_PEOPLE | _THINGS) and own & _NUMBERING)


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


def _some(values: Sequence[Value]) -> Sequence[Value]:
    return values[:: max(1, len(values) // _TRIED)]


def _share(texts: Sequence[str], test: Callable[[str], bool]) -> float:
    counts = Counter(texts[:: max(1, len(texts) // _TRIED)])
    return sum(count for text, count in counts.items() if test(text)) / counts.total() if counts else 0.0


def _is_identity(text: str) -> bool:
    return _IDENTITY.fullmatch(text) is not None


def _is_moment(text: str, named: bool) -> bool:
    """Return whether digits may tell a moment, by name or since 1970; so may a payment card."""
    if re.fullmatch(r"\d{9,16}(\.\d+)?", text) is None:
        return False
    if named and _PACKED.fullmatch(text):
        return True
    return any(is_epoch(float(text), form, named=named) for form in PER_SECOND)


def _is_prose(text: str) -> bool:
    return len(text) > 60 or text.count(" ") > 6


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
    named, own = set(words(name)), _last(name)
    recurs = distinct < 0.95 * present
    if own & (_NAMES | {"name"}):
        whole = not own & (_NAMES - {"fullname"}) and not (own & _NAMING) - {"full"}
        return 1 if whole or distinct >= 0.5 * present else 0
    if named & _PEOPLE and named & _RECORDS - _NUMBERING:
        return 4 if recurs else 0  # `customer_order_id` numbers orders
    if named & _PEOPLE:
        return 20 + 2 * ("id" in named or bool(named & _NUMBERING)) + recurs
    if named & _OF_PEOPLE:
        return 20 + recurs
    if named & _OWN:
        return STRONG + recurs
    if named & (_RECORDS | _THINGS):
        return 0
    return 8 if recurs else 2


STRONG = 12
"""A score of a field of which hardly two people have the same value."""
