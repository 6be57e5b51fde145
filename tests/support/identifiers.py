"""Made-up identifiers of each kind, of nobody."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import numpy as np
from stdnum import luhn
from stdnum.iso7064 import mod_97_10

from stream_anon.judging.disguises.identifying import Identifying

COUNT = 60
_FIRST = ["Ada", "Grace", "Emmy", "José", "Søren", "Nguyễn", "Anne-Marie", "Zoë", "Иван", "王"]
_LAST = ["Lovelace", "O'Neil", "Nöther", "van Dam", "de la Cruz", "MacLeod", "Петров", "小明"]
_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZÄ"
_STREETS = ["Elm Street", "Rue de Rome", "Hauptstr.", "Calle Mayor"]


def _draws(count: int, low: int, high: int) -> list[int]:
    drawn: list[int] = np.random.default_rng(count + low + high).integers(low, high, count).tolist()
    return drawn


def _made(make: Callable[[int], object], low: int = 10**8, high: int = 10**9) -> list[object]:
    return [make(number) for number in _draws(COUNT, low, high)]


def _iban(number: int) -> str:
    account = f"37040044{number:010d}"
    return f"DE{mod_97_10.calc_check_digits(account + 'DE')}{account}"


def _with_check(prefix: str, number: int) -> str:
    digits = f"{prefix}{number}"
    return digits + luhn.calc_check_digit(digits)


def _hex(number: int) -> str:
    return f"{number * 0x9E3779B97F4A7C15 % 2**128 | 0xA << 124:032x}"


NAMES = [f"{_FIRST[i % 10]} {_LAST[i % 8]}" for i in range(40)]

# A field of people, the kind, and values.
OF_PEOPLE: list[tuple[str, Identifying, list[object]]] = [
    ("patient_name", Identifying.NAMES, [*NAMES]),
    ("surname", Identifying.NAMES, [*_LAST, "Meier", "Rossi", "Novák", "Kováč"]),
    (
        "customer.name",
        Identifying.NAMES,
        [f"{family}{given}" for family in "王李张刘" for given in ("小明", "伟", "芳", "秀英")],
    ),
    ("home_address", Identifying.STREETS, [f"{_STREETS[i % 4]} {i + 1}" for i in range(COUNT)]),
    ("contact", Identifying.PHONES, _made(lambda n: f"+49 30 {n}")),
    ("reach_at", Identifying.PHONES, _made(lambda n: f"+1 (212) {n % 900 + 100}-{n % 9000 + 1000}")),
    ("phone", Identifying.PHONES, _made(lambda n: f"0{n % 900 + 100}/{n}")),
    ("mobile", Identifying.PHONES, _made(lambda n: 10**9 + n)),
    ("note", Identifying.EMAILS, _made(lambda n: f"u{n}@mail.example.org")),
    ("sent_by", Identifying.EMAILS, _made(lambda n: f"U{n} <u{n}@bücher.example>")),
    ("remark", Identifying.EMAILS, [*_made(lambda n: f"ask u{n}@example.org, please")[:12], *map(str, range(200))]),
    ("code", Identifying.NATIONAL, _made(lambda n: f"{n % 900:03d}-{n % 90 + 10}-{n % 9000 + 1000}")),
    ("ssn", Identifying.NATIONAL, _made(lambda n: n)),
    ("mrn", Identifying.RECORDS, _made(lambda n: f"MRN-{n}")),
    ("medicalRecordNumber", Identifying.RECORDS, _made(lambda n: n)),
    ("pay_to", Identifying.BANKING, _made(_iban)),
    ("paid_with", Identifying.BANKING, _made(lambda n: _with_check("411111", n))),
    ("car", Identifying.VEHICLES, _made(lambda n: f"WVWZZZ1K{n}")),
    ("licencePlate", Identifying.VEHICLES, _made(lambda n: f"B-XY {n % 9000 + 1000}")),
    ("handset", Identifying.DEVICES, _made(lambda n: _with_check("35209", n))),
    ("device.imei", Identifying.DEVICES, _made(lambda n: _with_check("35209", n))),
    ("school.pupil.email", Identifying.EMAILS, _made(lambda n: f"u{n}@example.org")),
    ("home_phone_number", Identifying.PHONES, _made(lambda n: 10**9 + n)),
    ("plate", Identifying.VEHICLES, _made(lambda n: f"{_LETTERS[n % 24]}{_LETTERS[n % 23]}-{n % 900 + 100}")),
    (
        "plate_number",
        Identifying.VEHICLES,
        _made(lambda n: f"KA01{_LETTERS[n % 24]}{_LETTERS[n % 23]}{n % 9000 + 1000}"),
    ),
    ("family_name", Identifying.NAMES, ["Meier", "Aceves", "Davidae-Roy", "Rossi", "Kim", *_LAST]),
    ("mobile", Identifying.PHONES, _made(lambda n: 2 * 10**7 + n % 10**7)),  # of Denmark, Norway or Singapore
    ("mobile", Identifying.PHONES, _made(lambda n: f"06{n % 10**8:08d}")),
    ("login", Identifying.LOGINS, _made(lambda n: f"{_FIRST[n % 3].lower()}.{_LETTERS[n % 24]}{n % 100}")),
    ("login", Identifying.LOGINS, _made(lambda n: f"{n % 100}walker")),
    ("username", Identifying.LOGINS, _made(lambda n: f"walker{n % 1000}")),
]

# What people and things have alike.
OF_THINGS: list[tuple[str, Identifying, list[object]]] = [
    ("name", Identifying.NAMES, ["Green Tea", "Red Wine", *NAMES]),
    ("subject_name", Identifying.NAMES, [f"Lesson{letter}" for letter in "abcdefghijklm"]),
    ("gps", Identifying.COORDINATES, _made(lambda n: f"{n % 89 + n / 10**9:.5f}, {n % 179 - n / 10**9:.5f}")),
    ("home.lat", Identifying.COORDINATES, _made(lambda n: n % 89 + n / 10**9)),
    ("where", Identifying.COORDINATES, _made(lambda n: f"{n % 89 + n / 10**9:.4f},{n % 179 - n / 10**9:.4f}")),
    ("call", Identifying.PHONES, _made(lambda n: f"({n % 900 + 100}) {n % 800 + 200}-{n % 9000 + 1000}")),
    (
        "seen_by",
        Identifying.DEVICES,
        _made(lambda n: ":".join(f"{n >> shift & 255:02x}" for shift in range(0, 24, 4))),
    ),
    ("page", Identifying.URLS, _made(lambda n: f"https://example.org/{n}")),
    ("from", Identifying.INTERNET, _made(lambda n: f"10.{n % 250}.{n % 199}.{n % 99}")),
    ("source", Identifying.INTERNET, _made(lambda n: f"2001:db8::{n % 65000:x}:{n % 999:x}")),
    ("photo", Identifying.IMAGES, _made(lambda n: "/9j/" + _hex(n) * 8)),
    ("token", Identifying.CODES, _made(lambda n: str(UUID(_hex(n))))),
    ("key", Identifying.CODES, _made(_hex)),
    ("account", Identifying.RECORDS, _made(lambda n: f"{n}")),
    ("ref", Identifying.RECORDS, _made(lambda n: f"AB{n}")),
    ("text", Identifying.FREE_TEXT, _made(lambda n: f"came for the {n}th time and told us that all is well again")),
    ("store.email", Identifying.EMAILS, _made(lambda n: f"shop{n}@example.org")),
]
