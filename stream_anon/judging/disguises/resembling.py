"""Say which of HIPAA's identifiers the values of a field look like.

A pure function of a field's name and of some of its values: nothing is sent anywhere, and what is returned holds no
value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from stream_anon.judging.disguises import forms
from stream_anon.judging.disguises.field_words import (
    NAMES,
    NAMING,
    NUMBERING,
    PEOPLE,
    POSTAL,
    THINGS,
    last_words,
    names_person,
    word_set,
    words,
)
from stream_anon.judging.disguises.identifying import Identifying
from stream_anon.judging.disguises.state_numbers import ALSO_OF_OTHERS, OF_PEOPLE, most_of_one_state
from stream_anon.microdata.attributes import Attribute
from stream_anon.rounding import in_percent

FEWEST = 10
"""Values of a form below which nothing is said: so few may be the addresses of an office. And of ten random numbers
`MOST` have the check digits of one state in fewer than two of 100,000 fields."""

MOST = 0.8
"""Share of the different values that must have a form which others may have too. The rest may be mistyped."""

SOME = 0.05
"""Share that must have a form that nothing else has: as many as may be rare (`judging.tally.MOST_LINKABLE`)."""

PROSE = 0.2
"""Share of long texts from which a field counts as free text."""

MOST_LOOKED_AT = 1_000  # values of a field; 20 ms

_PHONE = word_set("phone telephone tel mobile fax msisdn")
_STREET = word_set("address addr street")
_NOT_STREET = word_set("ip mac email mail web url wallet") | _PHONE
_COORDINATE = word_set(
    "lat latitude lon lng longitude coord coords coordinate coordinates gps geo location position"
)
_STATE_NUMBER = word_set("ssn nin nino nhs passport sin cpr bsn pesel aadhaar cpf curp")
_RECORD = word_set("mrn")
_ACCOUNT = word_set("account acct licence license beneficiary insurance policy member certificate chart")
_PLATE = word_set("plate numberplate licenseplate")
_OF_VEHICLES = word_set("licence license vehicle numberplate licenseplate")
_LOGIN = word_set("username login")
# Beside these others may stand without another meaning: `home_phone`, but not `phone_calls`.
_QUALIFYING = (
    PEOPLE | NUMBERING | word_set("home work private contact primary emergency licence license vehicle name id")
)
_OF_THINGS = THINGS - word_set("device line")  # people have these
_LEAST_CODE = 7  # characters of a record's number; shorter ones are postal codes and flights, too


@dataclass(frozen=True, slots=True)
class Resemblance:
    """What the values of a field look like.

    Parameters
    ----------
    share
        Of the different values that were looked at, those of this form.
    of_people
        Whether such a value names a person, however many hold it. A UUID or an address of the internet may be that
        of a thing, too: it names a person only if hardly anybody shares it.
    """

    kind: Identifying
    share: float
    of_people: bool


@dataclass(frozen=True, slots=True)
class Disguise:
    """A field that a policy publishes as it is, and what its values look like.

    Parameters
    ----------
    accepted
        Whether the policy says that somebody has weighed it (`accept_linkable`).
    """

    attribute: str
    resemblance: Resemblance
    accepted: bool


@dataclass(frozen=True, slots=True)
class _LookedFor:
    """A form to look for: how many of the values must have it, and whether it is that of people alone."""

    kind: Identifying
    has: Callable[[str], bool]
    least: float
    of_people: bool


_BY_FORM = (
    _LookedFor(Identifying.EMAILS, forms.is_email, SOME, of_people=True),
    _LookedFor(Identifying.PHONES, forms.is_international_phone, MOST, of_people=True),
    _LookedFor(Identifying.NATIONAL, forms.is_ssn, MOST, of_people=True),
    _LookedFor(Identifying.BANKING, forms.is_banking, MOST, of_people=True),
    _LookedFor(Identifying.VEHICLES, forms.is_vehicle, MOST, of_people=True),
    _LookedFor(Identifying.DEVICES, forms.is_mobile_device, MOST, of_people=True),
    _LookedFor(Identifying.DEVICES, forms.is_device, SOME, of_people=False),
    _LookedFor(Identifying.URLS, forms.is_url, SOME, of_people=False),
    _LookedFor(Identifying.INTERNET, forms.is_internet_address, MOST, of_people=False),
    _LookedFor(Identifying.IMAGES, forms.is_image, SOME, of_people=False),
    _LookedFor(Identifying.CODES, forms.is_code, MOST, of_people=False),
    _LookedFor(Identifying.COORDINATES, forms.is_place, MOST, of_people=False),
    _LookedFor(Identifying.BANKING, forms.is_like_card, MOST, of_people=False),
    _LookedFor(Identifying.PHONES, forms.is_phone, MOST, of_people=False),
    _LookedFor(Identifying.FREE_TEXT, forms.is_prose, PROSE, of_people=False),
)


def resemblance(name: str, values: Iterable[Hashable], *, few: bool = False) -> Resemblance | None:
    """Return what the values of a field look like, None if they look like no identifier.

    Parameters
    ----------
    name
        The field's, with dots between the keys of a path.
    values
        Different ones, of the types that a record can hold; the items of a list count each.
    few
        Whether fewer than `FEWEST` are enough where most have a form that no field's name must tell: a proposal
        errs on the closed side.
    """
    return _most_alike((name,), values, few=few)


def looks_like(attribute: Attribute, values: Sequence[Hashable]) -> Resemblance | None:
    """Return what the values of a declared field look like, by its name in the policy and that in the records."""
    return _most_alike(tuple(dict.fromkeys((attribute.name, attribute.column))), values, few=False)


def _most_alike(names: Sequence[str], values: Iterable[Hashable], *, few: bool) -> Resemblance | None:
    """Return what values look like most by any of the names of their field; see `resemblance`."""
    items = (item for value in values for item in (value if isinstance(value, tuple) else (value,)))
    different = set(items) - {None}
    texts = [text[: forms.MOST_READ] for item in different if (text := _text(item)) is not None]
    fewest = min(FEWEST, MOST * len(different)) if few else FEWEST
    if not texts or len(texts) < fewest:
        return None
    of_thing = all(map(_names_thing, names))
    looked_for = [(form, fewest, form.of_people and not of_thing) for form in _BY_FORM]
    for name in names:
        person = not _names_thing(name)
        looked_for += [(form, FEWEST, form.of_people and person) for form in _by_name(name, texts)]
    found = [
        Resemblance(form.kind, count / len(different), of_people)
        for form, enough, of_people in dict.fromkeys(looked_for)
        if (count := sum(map(form.has, texts))) >= max(enough, form.least * len(different))
    ]
    found += _numbers(names, texts, len(different), of_thing)
    return max(found, key=lambda own: (own.of_people, own.share), default=None)


def _names_thing(name: str) -> bool:
    return not _OF_THINGS.isdisjoint(words(name)) and PEOPLE.isdisjoint(words(name))


def in_words(found: Resemblance) -> str:
    """Return what values look like, for people: the kind, the share, and where HIPAA lists it; no value."""
    letters = ", ".join(found.kind.letters)
    listed = f" ({letters} in HIPAA's list)" if letters else ""
    return f"{in_percent(found.share, 0)} of its different values look like {found.kind}{listed}"


def _text(value: object) -> str | None:
    """Return a value as the text that it would be written as, None for a truth value or nothing."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return repr(value)


def _by_name(name: str, texts: Sequence[str]) -> Iterator[_LookedFor]:
    """Yield the forms that only the name of a field makes those of identifiers."""
    own = last_words(name)
    if _is_of(own, _PHONE):
        yield _LookedFor(Identifying.PHONES, forms.may_be_phone, MOST, of_people=True)
    if own & _STATE_NUMBER:
        yield _LookedFor(Identifying.NATIONAL, forms.may_be_numbered, MOST, of_people=True)
    if own & _RECORD or {"medical", "record"} <= own:
        yield _LookedFor(Identifying.RECORDS, forms.may_be_numbered, MOST, of_people=True)
    if own & _ACCOUNT:
        yield _LookedFor(Identifying.RECORDS, forms.may_be_numbered, MOST, of_people=False)
    # A plate of a laboratory is numbered too, behind the same letters.
    if _is_of(own, _PLATE) and (own & _OF_VEHICLES or _most(forms.letters, texts)[1] < MOST * len(texts)):
        yield _LookedFor(Identifying.VEHICLES, forms.may_be_plate, MOST, of_people=True)
    if own & _STREET and not own & _NOT_STREET:
        yield _LookedFor(Identifying.STREETS, forms.may_be_street, MOST, of_people=True)
    if _is_of(own, _LOGIN) or own == {"user", "name"}:
        yield _LookedFor(Identifying.LOGINS, forms.may_be_login, MOST, of_people=True)
    if own & _COORDINATE:
        yield _LookedFor(Identifying.COORDINATES, forms.may_be_coordinate, MOST, of_people=False)
    if names_person(name):
        # A surname may be any word. `subject_name` may be that of a lesson, unless it looks like a whole name.
        part = bool(own & (NAMES | NAMING))
        yield _LookedFor(Identifying.NAMES, forms.may_be_name, MOST, of_people=part)
        yield _LookedFor(Identifying.NAMES, forms.is_like_name, MOST, of_people=True)
    elif own == {"name"} or (len(own) == 1 and own & PEOPLE):
        yield _LookedFor(Identifying.NAMES, forms.is_like_name, MOST, of_people=False)


def _is_of(own: set[str], known: frozenset[str]) -> bool:
    return bool(own & known) and own <= known | _QUALIFYING


def _most(of: Callable[[str], str], texts: Sequence[str]) -> tuple[str, int]:
    """Return what most texts have in common, and how many of them have it."""
    return Counter(map(of, texts)).most_common(1)[0]


def _numbers(names: Sequence[str], texts: Sequence[str], different: int, of_thing: bool) -> Iterator[Resemblance]:
    """Yield what is seen of all values together: numbers of one state, or of one shape."""
    least = max(FEWEST, MOST * different)
    for states, of_people in ((OF_PEOPLE, not of_thing), (ALSO_OF_OTHERS, False)):
        count = most_of_one_state(texts, states, MOST)
        if count >= least:
            yield Resemblance(Identifying.NATIONAL, count / different, of_people)
    most, count = _most(forms.shape, texts)
    numbered = len(most) >= _LEAST_CODE and most.count("9") >= 3 and "A" in most and not set(most) - set("A9-_/")
    if numbered and count >= least and any(POSTAL.isdisjoint(words(name)) for name in names):
        yield Resemblance(Identifying.RECORDS, count / different, of_people=False)
