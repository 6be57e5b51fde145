"""HIPAA's eighteen identifiers, as far as a field's name and the form of its values show them.

45 CFR 164.514(b)(2)(i) lists under (A) to (R) what must be removed from records about people ("Safe Harbor").
"""

from __future__ import annotations

from enum import StrEnum


class Identifying(StrEnum):
    """A kind of identifier that is looked for, by what it is called."""

    NAMES = "names of people"
    STREETS = "street addresses"
    COORDINATES = "coordinates"
    PHONES = "telephone or fax numbers"
    EMAILS = "e-mail addresses"
    NATIONAL = "social security numbers, or other numbers that a state gives to people"
    RECORDS = "numbers of records, plans, accounts or licences"
    BANKING = "IBANs or numbers of payment cards"
    VEHICLES = "identifiers of vehicles"
    DEVICES = "identifiers of devices"
    URLS = "web addresses"
    INTERNET = "internet addresses"
    IMAGES = "images"
    LOGINS = "user names"
    CODES = "UUIDs or hashes"
    FREE_TEXT = "free text, which may hold any identifier"

    @property
    def letters(self) -> tuple[str, ...]:
        """Return the letters under which the regulation lists it; none for free text."""
        return tuple(_LETTERS.get(self, ""))

    @property
    def is_category(self) -> bool:
        """Return whether values of this form may also be names of groups, or places that can be made wider."""
        return self in (Identifying.NAMES, Identifying.COORDINATES, Identifying.RECORDS, Identifying.FREE_TEXT)


_LETTERS = {
    Identifying.NAMES: "A",
    Identifying.STREETS: "B",
    Identifying.COORDINATES: "B",
    Identifying.PHONES: "DE",
    Identifying.EMAILS: "F",
    Identifying.NATIONAL: "G",
    Identifying.RECORDS: "HIJK",
    Identifying.BANKING: "J",
    Identifying.VEHICLES: "L",
    Identifying.DEVICES: "M",
    Identifying.URLS: "N",
    Identifying.INTERNET: "O",
    Identifying.IMAGES: "Q",
    Identifying.LOGINS: "R",
    Identifying.CODES: "R",
}

NOT_LOOKED_FOR = {
    "C": "Dates finer than a year and ages above 89 are quasi-identifiers: k people share what is published.",
    "P": "Measures of a body have no form of their own in a record.",
}
"""Letters of the regulation that no kind stands for, each with the reason."""
