"""Policies with an attribute of every kind, and records that try to fool their readers."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from stream_anon.microdata.attributes import (
    Attribute,
    Identifier,
    Insensitive,
    Missing,
    PublishedForm,
    ScalarType,
    Sensitive,
    Unknown,
)
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.ids import Normalization
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

MONTHS = DateDomain("%Y-%m-%d", dt.date(2024, 1, 1), dt.date(2024, 3, 31))
TWO_YEARS = replace(MONTHS, latest=dt.date(2025, 3, 31))


def flat(*labels: str) -> CategoricalDomain:
    return CategoricalDomain(Hierarchy.flat(labels))


def grid(low: str, high: str, step: str, decimals: int | None) -> NumericDomain:
    return NumericDomain(Decimal(low), Decimal(high), Decimal(step), decimals)


def broad_policy(missing: Missing, unknown: Unknown) -> Policy:
    """Return a policy of all domains and types, some of them deep, whose codes do not fit one integer."""

    def quasi(name: str, domain: Any, kind: ScalarType = ScalarType.STRING) -> QuasiIdentifier:
        return QuasiIdentifier(name, domain, missing=missing, unknown=unknown, type=kind)

    attributes: tuple[Attribute, ...] = (
        Insensitive("visit.ward"),
        quasi("patient.age", grid("0", "99", "1", 0)),
        Identifier("ssn"),
        quasi("patient.home.zip", PrefixDomain(3, "0123456789", 3)),
        quasi("patient.home.plz", PrefixDomain(3, "0123456789", 3, pad=True)),
        quasi("post", PrefixDomain(4, "A012", 3, shorter=True)),
        replace(quasi("dotted.key", grid("0", "9", "1", 0)), keys=("dotted.key",)),
        replace(quasi("half.dotted.key", grid("0", "9", "1", 0)), keys=("half", "dotted.key")),
        quasi("visit.day", MONTHS),
        quasi("patient.home.code", PrefixDomain(4, "zA0ä", 2)),
        Identifier("id"),
        quasi("level", flat("1", "2", "-3", "x", "05"), ScalarType.STRING),
        quasi("smoker", flat("true", "false"), ScalarType.BOOLEAN),
        quasi("color", flat("red", "blau", "grün", 'a"b', "tiny\u2028")),
        quasi("odd", flat("true", "1", "0", "é")),
        quasi("weight", grid("0.5", "200", "0.5", 1)),
        quasi("height", grid("0.7", "2.5", "0.1", None)),
        quasi("income", grid("0", "1000000", "1", 0)),
        quasi("meters", grid("-8000", "8000", "1", 0)),
        quasi("grams", grid("0", "16000", "2", 0)),
        quasi("far", grid("999999999999900", "1000000000000000", "1", 0)),
        quasi("speck", grid("0", "0.00001", "0.0000000001", None)),
        quasi("when", DateDomain("%d.%m.%Y", dt.date(2024, 1, 1), dt.date(2024, 3, 31))),
        Sensitive("result"),
        Sensitive("score", ScalarType.NUMBER),
        Sensitive("count", ScalarType.INTEGER),
        Insensitive("flag", ScalarType.BOOLEAN),
        Insensitive("note"),
    )
    diversity = {name: Diversity(2) for name in ("result", "score", "count")}
    return Policy(attributes, k=2, individual="id", diversity=diversity)


def plain_policy(missing: Missing, unknown: Unknown) -> Policy:
    """Return the broad policy without numbers that are too fine for a kernel."""
    broad = broad_policy(missing, unknown)
    return replace(broad, attributes=tuple(a for a in broad.attributes if a.name != "speck"))


def shaped_policy(shape: Shape) -> Policy:
    """Return the plain policy with a set of categories and days of two years, whose records have another shape."""
    plain = plain_policy(Missing.LEAF, Unknown.ROOT)
    years = {"visit.day": TWO_YEARS, "when": replace(TWO_YEARS, format="%d.%m.%Y")}
    attributes = [
        replace(a, domain=years[a.name]) if isinstance(a, QuasiIdentifier) and a.name in years else a
        for a in plain.attributes
    ]
    sets = {"level": ScalarType.STRING, "smoker": ScalarType.BOOLEAN}
    attributes = [
        replace(a, publication=PublishedForm.VALUES) if isinstance(a, QuasiIdentifier) and a.name in sets else a
        for a in attributes
    ]
    return replace(plain, attributes=tuple(attributes), shape=shape)


def families_policy(policy: Policy) -> Policy:
    """Return a policy whose results are published as families; one of them is long, and a missing value is one."""
    families = (("fine", "ü\u2028", 'a"b'), ("poor", "1", "true"), ("\u00e9\u0001" * 150, None, 'q"\\\n'))
    return replace(
        policy,
        attributes=tuple(
            replace(a, families=families) if isinstance(a, Sensitive) and a.name == "result" else a
            for a in policy.attributes
        ),
    )


def null_policy(policy: Policy) -> Policy:
    """Return a policy with texts that mean a missing value: an id, a zip code and an empty text among them."""
    return replace(policy, null_values=frozenset({"", "NA", "fine", "p", "2012", "3.2.2024", "ü\u2028"}))


def spelled_policy(policy: Policy, *steps: Normalization) -> Policy:
    """Return a policy for which differences in the spelling of an id do not count."""
    return replace(policy, normalize=steps)


def coercing_policy(policy: Policy) -> Policy:
    """Return a policy for which a text of a number or a truth value counts as one."""
    able = {a.name for a in policy.attributes if a.text_type is not ScalarType.STRING}
    return replace(policy, attributes=tuple(replace(a, coerce=a.name in able) for a in policy.attributes))


KEYS = {a.name: a.path for a in broad_policy(Missing.LEAF, Unknown.REJECT).attributes}


def every_record_policy() -> Policy:
    """Return a small policy in which every record is an individual and nothing passes."""
    attributes = (Identifier("id"), QuasiIdentifier("age", grid("0", "9", "1", 0)))
    return Policy(attributes, k=2, individual=EVERY_RECORD)


UUID = "0fab37c1-22d0-4b4e-9d0c-5a1f0e6c7d88"
SPELLINGS = [
    *("P", " p", "p\t", "\u00a0\uff50", "\u00e9", "e\u0301", "\u00c9\x7f", "01", "\uff11", "\u0661", "000", " "),
    *(UUID, UUID.upper(), f"{{{UUID}}}", UUID.replace("-", ""), f"urn:UUID:{UUID}", f"urn:uuid:{{{UUID}}}"),
    *(f"{{{UUID}", f"{UUID}}}", UUID[:-1], f"{UUID}0", f" {UUID} ", "urn:uuid:", "0" * 32, "0" * 31 + "1"),
    *("{" + "0" * 34, "0" * 36, "-" * 36, "1" * 512, "a" * 513, "\u00e9" * 512, "\u00e9" * 513, "\u0130", "-01"),
    *("0x1", "p\x7fp", "q q", "q  q", "\u200b"),
]
FITTING = {
    "visit.ward": ["A", "B%s", "ü\u2028"],
    "visit.day": ["2024-02-29"],
    "patient.age": [0, 25, 99, 25.0],
    "patient.home.zip": ["012", 112, 999],
    "patient.home.plz": ["012", 12, 999],
    "post": ["A0", "A01", 1, "2012", "0"],
    "dotted.key": [7, 0, 9.0],
    "half.dotted.key": [7, 0, 9.0],
    "patient.home.code": ["zA0ä", "AAAA"],
    "ssn": ["x", [], None],
    "id": ["1", 1, 1.0, "p", 10**30, 1e30, *SPELLINGS],
    "level": ["1", 1, 1.0, -3, "x", "05"],
    "speck": [0, 0.00001, 0.000002],
    "smoker": [True, False, "true"],
    "color": ["red", "grün", 'a"b', "tiny\u2028"],
    "odd": [True, "é", "1", 1, 0, 0.0],
    "weight": [0.5, 70, 70.5, 70.0, 199.9],
    "height": [1.7, 0.7, 2.5, 1, 1.0, 1.7, 1.75, 0.7000000000000001],
    "income": [0, 999_999, 1e6],
    "meters": [-8000, 17, 8e3],
    "grams": [0, 1, 16000],
    "far": [999999999999901, 1e15, 999999999999999.0],
    "when": ["03.02.2024", "3.2.2024"],
    "result": ["fine", "poor", ""],
    "score": [1, 1.0, -1, -2, 0.0, -0.0, 1e300],
    "count": [1, 2.0, -1, -2, 10**40, 1e22],
    "flag": [True, False],
    "note": ["", "\u0000\U0001f600", "%d"],
}

_texts = st.text(max_size=5) | st.sampled_from(
    [
        "",
        "1",
        "true",
        "null",
        "*",
        "0123",
        "2024-01-01",
        "2024-1-1",
        "\ud800",
        "a\udc00",
        "ä",
        "٣٣٣",
        "-3",
        "x\x00",
        "25",
        " 7 ",
        "0,5",
        "7.0",
        "1,234.5",
        "1e3",
        "1e999",
        "TRUE",
        "False",
        "+5",
        ".5",
        "5,",
        "1" * 5000,
    ]
)
_numbers = (
    st.integers(-3, 101)
    | st.integers()
    | st.sampled_from([2**53, 2**63, 2**64, 10**22, 10**400])
    | st.floats()
    | st.sampled_from([0.7, 2.5, 2.4999999999999996, 0.6999999999999999, 1e308, -0.0, 12.0, 1e22])
)
_scalars = st.none() | st.booleans() | _numbers | _texts
TRICKY = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    50,
    200,
    0.0,
    -0.0,
    1.0,
    1.5,
    0.7,
    2.5,
    2.6,
    0.6,
    70.25,
    250.5,
    1e15,
    10**400,
]
TRICKY += [
    "",
    "true",
    "false",
    "1",
    "1.0",
    "0",
    "x",
    "012",
    "999",
    "٣٣٣",
    "zA0ä",
    "AAAA",
    "AAAB",
    "2024-02-30",
    "1.2.2024",
]
TRICKY += [
    [],
    {},
    [1],
    "\U0001f600",
    "*",
    "null",
    "NA",
    "None",
    10**16,
    2**63,
    2**64,
    -(2**63) - 1,
    1e22,
    12,
    7.0,
    "red",
    "RED",
]

anything = st.recursive(
    _scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(_texts, v, max_size=3), max_leaves=6
)

_RAW = [
    b"1e999",
    b"-1e400",
    b"NaN",
    b"Infinity",
    b"1" * 4300,
    b"-" + b"1" * 4300,
    b"1" * 4301,
    b"1" * 5000,
    b'"\xff"',
    b'"\\ud800"',
    b"01",
    b"{",
    b"]",
    b'"',
    b"\xed\xa0\x80",
]


@st.composite
def objects(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    """Draw a record in which most fields fit, so that it mostly goes the way of columns."""
    record: dict[str, Any] = {}
    for name in names:
        fate = draw(st.integers(0, 99))
        if fate == 0:
            continue
        value = FITTING[name][0]
        if fate < 30:
            value = None if fate == 1 else draw(anything if fate == 2 else st.sampled_from(FITTING[name]))
        *parents, last = KEYS[name]
        place = record
        for key in parents:
            place = place.setdefault(key, {})
            if not isinstance(place, dict):
                break
        if isinstance(place, dict):
            place[last] = value
    if draw(st.integers(0, 19)) == 0:
        key = draw(st.sampled_from(["patient", "visit", "patient.age", "dotted", "half", "other", "ssn"]))
        record[key] = draw(anything)
    if draw(st.integers(0, 19)) == 0 and isinstance(record.get("patient"), dict):
        record["patient"]["home"] = draw(anything)
    return record


def text_of(record: dict[str, Any]) -> bytes:
    """Return JSON as a careless producer writes it: NaN, halves of surrogate pairs and all."""
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")


@st.composite
def values(draw: st.DrawFn, names: list[str]) -> bytes | None:
    """Draw the value of a Kafka record."""
    fate = draw(st.integers(0, 29))
    if fate == 0:
        return draw(
            st.sampled_from([None, b"", b" ", b"null", b"[]", b"[1", b"{}", b"{", b"\xef\xbb\xbf{}", b"1" * 400])
        )
    record = draw(objects(names))
    text = json.dumps(record).encode() if draw(st.booleans()) else text_of(record)
    if fate == 1:
        depth = draw(st.sampled_from([60, 62, 63, 64, 65, 100, 5000]))
        deep = draw(
            st.sampled_from([b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b"[[]," * depth])
        )
        return text[:-1] + b',"z":' + deep + b"}"
    if fate == 2:
        name = KEYS.get(draw(st.sampled_from([*names, "z"])), "z")[0]
        return text[:-1] + b"," + json.dumps(name).encode() + b":" + draw(st.sampled_from(_RAW)) + b"}"
    if fate == 3:
        twin = text_of(draw(objects(names)))
        return text[:-1] + b"," + twin[1:]
    if fate == 4:
        cut = draw(st.integers(0, len(text)))
        return text[:cut] + draw(st.binary(max_size=3)) + text[cut + draw(st.integers(0, 3)) :]
    if fate == 5:
        return text + draw(st.sampled_from([b"\n", b" ,", text, b"\x00"]))
    return text
