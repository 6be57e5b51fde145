"""What the words of a field's name say: whether it is of people, of things or of records."""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


NAMES = word_set("surname lastname firstname fullname forename familyname givenname")
NAMING = word_set("first last full family given maiden middle sur")
PEOPLE = word_set(
    "patient person user customer client member subject student employee citizen driver rider guest visitor "
    "insured resident participant child pupil tenant owner cardholder subscriber"
)
# Names of things, of which many people may have the same one.
THINGS = word_set(
    "movie film song track album book article product item good sku store shop branch brand category department "
    "team company vendor supplier station stop route line device sensor room ward hospital clinic school course "
    "class city country region zone district place location venue page post campaign channel status type group "
    "part serial lot batch plant species"
)
# What is counted by these is a record, not a person.
RECORDS = word_set(
    "rid record row line event message order transaction receipt visit ride trip booking invoice session request "
    "sequence seq nr number index"
)
# Beside a word for people these number people.
NUMBERING = word_set("no nr num number key code ref")
POSTAL = word_set("zip zipcode postal postcode postalcode plz cp pincode")

_RELATED = word_set("contact emergency legal preferred mother father parent guardian spouse physician doctor")
_VAGUE = word_set("full family fullname familyname")

_GLUED = re.compile(rf"({'|'.join(sorted(PEOPLE | RECORDS | THINGS))})(id|{'|'.join(sorted(NUMBERING))})")


def words(name: str) -> list[str]:
    """Return the lower-case words of a field's name: `patient.birthDate` has three, and `movieid` two."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", name))
    found = [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]
    return [part for word in found for part in _unglued(word)]


def _unglued(word: str) -> tuple[str, ...]:
    glued = None if word in POSTAL else _GLUED.fullmatch(word)
    return (word,) if glued is None else glued.groups()


def last_words(name: str) -> set[str]:
    """Return the words after the last dot: `patient.address.city` is a city."""
    return set(words(name.rpartition(".")[2]))


def names_person(name: str) -> bool:
    """Return whether a name is that of people's names, or of a part of them.

    `name` alone may be a thing's, `patient.drug_name` says what is named, and a drug has a full name too.
    """
    above, own = words(name.rpartition(".")[0]), last_words(name)
    if not own & (NAMES | {"name"}) or own - NAMES - NAMING - PEOPLE - _RELATED - {"name"}:
        return False
    if own - _VAGUE - {"name"}:
        return True
    return not PEOPLE.isdisjoint(above) or (not above and own != {"name"})
