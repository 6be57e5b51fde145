"""Forms of single texts that identify: each function says of one text whether it has the form.

A form is tried on any text that a record can hold: on its first `MOST_READ` characters, in linear time.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from unicodedata import category

MOST_READ = 500  # characters; a text that is longer is prose, or the beginning of an image

# Between blanks or brackets: neither part of a web address nor `git@host:path`.
_EMAIL = re.compile(r"(?<![^\s<(,;:])[^\s@<>(),;:/]{1,64}@[^\s@<>(),;:/]{1,180}\.[^\W\d_]{2,}(?![^\s>),;.])")
_URL = re.compile(r"(https?|ftp)://\S+|www\.[^\s.]+\.\S+", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_HASH = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{16,128}", re.IGNORECASE)
_MAC = re.compile(r"[0-9a-f]{2}([:-][0-9a-f]{2}){5}", re.IGNORECASE)
# With + it is in the form of ITU-T E.164, at most 15 digits; a decimal with a sign is none.
_E164 = re.compile(r"\+[1-9][\d ()./-]{5,22}\d")
_NATIONAL_PHONE = re.compile(r"\(\d{3}\) ?\d{3}-\d{4}|\d{3}[-. ]\d{3}[-. ]\d{4}|\(?0\d{1,4}\)?[ /-]\d[\d /-]{4,14}")
_DIALLED = re.compile(r"[+(]?\d[\d ()./-]{4,22}\d")
_DECIMAL = re.compile(r"[+-]?\d+\.\d+")
_DAY = re.compile(r"\d{1,4}([-/. ])\d{1,2}\1\d{1,4}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}( ?[0-9A-Z]){11,30}")
# ISO/IEC 7812: sixteen or nineteen digits from 22 on, or those of American Express; a moment begins with 19 or 20.
_CARD = re.compile(r"(?:2[2-7]|[3-6]\d)\d{2}([ -]?)\d{4}\1\d{4}\1\d{4}(\1\d{3})?|3[47]\d{13}")
_IMEI = re.compile(r"[0-9]{15}")
# ISO 3779: seventeen characters without I, O and Q; a letter behind F tells it from a hash.
_VIN = re.compile(r"(?=.*\d)(?=.*[G-HJ-NPR-Z])[A-HJ-NPR-Z0-9]{17}")
_SSN = re.compile(r"\d{3}-\d{2}-\d{4}")
_NUMBERED = re.compile(r"(?=(?:\D*\d){3})[A-Z0-9][A-Z0-9 ./-]{3,24}", re.IGNORECASE)
_PLATE = re.compile(r"(?=.*\d)(?=.*[^\W\d])[\w -]{4,12}")
# A number with a unit of up to three letters, and what Python writes of a large one: `40k`, `3x`, `1e+16`.
_COUNTED = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?[^\W\d_]{0,3}", re.IGNORECASE)
# Families of animals and of plants: ICZN, article 29.2, and ICN, article 18.1.
_TAXON = re.compile(r"[A-Z]+(idae|aceae)", re.IGNORECASE)
_LOGIN = re.compile(r"(?=.*[^\W\d])[\w.@+-]{2,64}")
_PAIR = re.compile(r"([+-]?\d{1,2}\.\d{3,})\s*[,; ]\s*([+-]?\d{1,3}\.\d{3,})")
_FINE = re.compile(r"[+-]?\d{1,3}\.\d{3,}")
_BASE64_IMAGES = ("data:image/", "/9j/", "iVBORw0KGgo")  # a data URL; what JPEG and PNG begin with
_LEAST_IMAGE = 100
_MOST_NAME = 60
_PROSE_LENGTH, _PROSE_SPACES = 60, 6


def is_email(text: str) -> bool:
    """Return whether a text is an e-mail address or holds one between blanks."""
    return "@" in text and _EMAIL.search(text) is not None


def is_url(text: str) -> bool:
    """Return whether a text is a web address."""
    return _URL.fullmatch(text) is not None


def is_internet_address(text: str) -> bool:
    """Return whether a text is an address of IPv4 or IPv6."""
    if text.count(".") != 3 and text.count(":") < 2:
        return False
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_code(text: str) -> bool:
    """Return whether a text is a UUID, or so many hexadecimal digits as a hash has."""
    return _UUID.fullmatch(text) is not None or _HASH.fullmatch(text) is not None


def is_device(text: str) -> bool:
    """Return whether a text is a MAC address."""
    return _MAC.fullmatch(text) is not None


def is_mobile_device(text: str) -> bool:
    """Return whether a text is an IMEI: fifteen digits, the last of which checks the others."""
    return _IMEI.fullmatch(text) is not None and _luhn(text)


def is_international_phone(text: str) -> bool:
    """Return whether a text is a telephone number with its country, `+49 30 123456`."""
    return _E164.fullmatch(text) is not None and not _DECIMAL.fullmatch(text) and 8 <= _digits(text) <= 15


def is_phone(text: str) -> bool:
    """Return whether a text is written as a telephone number, without its country or with it.

    Without it other numbers may be written alike, those of parts for instance.
    """
    return is_international_phone(text) or (
        _NATIONAL_PHONE.fullmatch(text) is not None and not _DAY.fullmatch(text)
    )


def may_be_phone(text: str) -> bool:
    """Return whether a text may be a telephone number where the field's name says that it holds some.

    Digits alone may count something, such as calls. They are a number to dial if they begin with 0, or if they are
    eight or more: so many have national numbers of mobile telephones.
    """
    if _DAY.fullmatch(text) or _DECIMAL.fullmatch(text):
        return False
    least = 8 if text.isdigit() and text[0] != "0" else 6
    return _DIALLED.fullmatch(text) is not None and least <= _digits(text) <= 15


def is_ssn(text: str) -> bool:
    """Return whether a text is written as a social security number of the United States."""
    return _SSN.fullmatch(text) is not None


def is_banking(text: str) -> bool:
    """Return whether a text is an IBAN or the number of a payment card, by their check digits."""
    if _CARD.fullmatch(text):
        return _luhn(re.sub("[ -]", "", text))
    if not _IBAN.fullmatch(text):
        return False
    from stdnum import iban

    return iban.is_valid(text)


def is_like_card(text: str) -> bool:
    """Return whether a text has as many digits as the number of a payment card, in its groups."""
    return _CARD.fullmatch(text) is not None


def is_vehicle(text: str) -> bool:
    """Return whether a text is a vehicle identification number."""
    return _VIN.fullmatch(text) is not None


def may_be_plate(text: str) -> bool:
    """Return whether a text may be a number plate where the field's name says so."""
    return _PLATE.fullmatch(text) is not None


def may_be_numbered(text: str) -> bool:
    """Return whether a text may number a record or an account where the field's name says so."""
    return _NUMBERED.fullmatch(text) is not None and not _DECIMAL.fullmatch(text) and not _DAY.fullmatch(text)


def may_be_login(text: str) -> bool:
    """Return whether a text may be a user name where the field's name says so, and no number with a unit."""
    return _LOGIN.fullmatch(text) is not None and not _COUNTED.fullmatch(text)


def may_be_street(text: str) -> bool:
    """Return whether a text may be a street with its number where the field's name says so."""
    return " " in text and any(map(str.isalpha, text)) and any(map(str.isdigit, text))


def is_place(text: str) -> bool:
    """Return whether a text is a latitude and a longitude, both to 100 m or finer."""
    found = _PAIR.fullmatch(text)
    return found is not None and abs(float(found[1])) <= 90 and abs(float(found[2])) <= 180


def may_be_coordinate(text: str) -> bool:
    """Return whether a number may be one coordinate, to 100 m or finer, where the field's name says so."""
    return is_place(text) or (_FINE.fullmatch(text) is not None and abs(float(text)) <= 180)


def may_be_name(text: str) -> bool:
    """Return whether a text may be somebody's name where the field's name says so: one to five words of letters.

    The scientific name of a family of animals or plants is nobody's.
    """
    parts = text.replace(",", " ").split()
    if _TAXON.fullmatch(text):
        return False
    return len(text) <= _MOST_NAME and 1 <= len(parts) <= 5 and all(map(_is_word, parts))


def is_like_name(text: str) -> bool:
    """Return whether a text is two to four words of letters, with no small letter before the first and the last.

    In scripts without capitals, and so often without blanks, it may be one word of two to four letters.
    """
    parts = text.split()
    if not may_be_name(text) or parts[0][0].islower() or parts[-1][0].islower():
        return False
    return 2 <= len(parts) <= 4 or (2 <= len(text) <= 4 and not text[0].isupper())


def is_image(text: str) -> bool:
    """Return whether a text is the beginning of an image in base64."""
    return len(text) >= _LEAST_IMAGE and text.startswith(_BASE64_IMAGES)


def is_prose(text: str) -> bool:
    """Return whether a text is long, or of many words."""
    return len(text) > _PROSE_LENGTH or text.count(" ") > _PROSE_SPACES


def shape(text: str) -> str:
    """Return what a text has where: A for a letter, 9 for a digit, everything else as it is."""
    return "".join("9" if letter.isdigit() else "A" if letter.isalpha() else letter for letter in text)


def letters(text: str) -> str:
    """Return the letters of a text, in their order."""
    return "".join(filter(str.isalpha, text))


def _is_word(text: str) -> bool:
    """Return whether a text is of letters, with the marks, hyphens and apostrophes that names have."""
    bare = re.sub("['\u2019.-]", "", text)
    return bare[:1].isalpha() and all(category(letter)[0] in "LM" for letter in bare)


def _digits(text: str) -> int:
    return sum(map(str.isdigit, text))


def _luhn(digits: str) -> bool:
    from stdnum import luhn

    return luhn.is_valid(digits)
