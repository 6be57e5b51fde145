"""What is published of a value covers it: a law for every domain, judged by readings of its own.

A reading knows the settings and what a published value is documented to mean. It calls nothing of the domains.
"""

from __future__ import annotations

import datetime as dt
import json
import string
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError, Unfit
from stream_anon.library import Anonymizer
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.effort import examples

Covers = Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Case:
    """A quasi-identifier's settings, values that a record may hold, and how to read what is published of them."""

    settings: dict[str, Any]
    values: list[Any]
    covers: Covers


def _number_covers(published: Any, value: Any) -> bool:
    ends = (published["min"], published["max"]) if isinstance(published, dict) else (published, published)
    low, high = (Decimal(str(end)) for end in ends)
    return low <= Decimal(str(value)) <= high


def _text_covers(length: int, pad: bool, shorter: bool) -> Covers:
    def covers(published: str, value: Any) -> bool:
        text = value if isinstance(value, str) else str(int(value))
        if pad and not isinstance(value, str):
            text = "0" * (length - len(text)) + text
        if shorter:
            return text.startswith(published[:-1]) if published.endswith("*") else text == published
        return len(text) == len(published) and all(p in ("*", t) for p, t in zip(published, text, strict=True))

    return covers


def _day_covers(form: str) -> Covers:
    def covers(published: str, value: str) -> bool:
        day = dt.datetime.strptime(value, form).date()  # noqa: DTZ007 - a day has no zone
        quarter = f"{day.year:04}-Q{(day.month + 2) // 3}"
        return published in (day.isoformat(), day.isoformat()[:7], quarter, day.isoformat()[:4])

    return covers


def _group_covers(groups: dict[str, list[str]]) -> Covers:
    def covers(published: Any, value: Any) -> bool:
        if isinstance(published, list):
            return any(covers(each, value) for each in published)
        text = json.dumps(value) if not isinstance(value, str) else value
        written = json.dumps(published) if not isinstance(published, str) else published
        return written == text or text in groups.get(written, [])

    return covers


@st.composite
def numbers(draw: st.DrawFn) -> Case:
    decimals = draw(st.sampled_from([0, 1, 2, None]))
    unit = Decimal(1).scaleb(-(decimals if decimals is not None else 3))
    low = draw(st.integers(-300, 300)) * unit
    step = draw(st.integers(1, 9)) * unit
    high = low + step + draw(st.integers(0, 400)) * unit
    levels = draw(st.sampled_from([[], [2], [2, 4], [5, 10, 20]]))

    def plain(number: Decimal) -> int | float:
        return int(number) if decimals == 0 else float(number)

    settings = {
        "min": plain(low), "max": plain(high), "step": plain(step), "decimals": decimals,
        "levels": [plain(step * factor) for factor in levels], "publish": draw(st.sampled_from(["nodes", "tight"])),
    }  # fmt: skip
    on_grid = st.integers(0, int((high - low) / unit)).map(lambda units: plain(low + units * unit))
    between = st.floats(float(low), float(high)) if decimals is None else on_grid
    return Case({"numeric": settings}, draw(st.lists(on_grid | between, min_size=1, max_size=6)), _number_covers)


@st.composite
def texts(draw: st.DrawFn) -> Case:
    alphabet = draw(st.sampled_from(["digits", "alphanumeric", "01ab"]))
    letters = {"digits": string.digits, "alphanumeric": string.digits + string.ascii_uppercase}.get(
        alphabet, alphabet
    )
    length, shorter = draw(st.integers(1, 9)), draw(st.booleans())
    pad = not shorter and draw(st.booleans())
    settings = {"length": length, "alphabet": alphabet, "shorter": shorter} | ({"pad": "zeros"} if pad else {})
    text = st.text(letters, min_size=1, max_size=length) | st.text(letters, min_size=length, max_size=length)
    values = st.lists(text | st.integers(0, 10**length), min_size=1, max_size=6)
    return Case({"prefix": settings}, draw(values), _text_covers(length, pad, shorter))


@st.composite
def days(draw: st.DrawFn) -> Case:
    form = draw(st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S", "%j/%Y"]))
    first = draw(st.dates(dt.date(1900, 1, 1), dt.date(2090, 1, 1)))
    last = first + dt.timedelta(days=draw(st.integers(1, 1500)))
    moments = st.datetimes(dt.datetime.combine(first, dt.time()), dt.datetime.combine(last, dt.time(23, 59)))
    values = [moment.strftime(form) for moment in draw(st.lists(moments, min_size=1, max_size=6))]
    return Case({"date": {"format": form, "min": str(first), "max": str(last)}}, values, _day_covers(form))


@st.composite
def categories(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from(["string", "integer", "boolean"]))
    leaves = ["true", "false"] if kind == "boolean" else [str(i) for i in range(draw(st.integers(2, 12)))]
    cuts = draw(st.lists(st.integers(1, len(leaves)), max_size=3))
    groups: dict[str, list[str]] = {}
    for number, cut in enumerate(sorted(set(cuts))):
        groups[f"g{number}"] = [leaf for leaf in leaves[:cut] if not any(leaf in g for g in groups.values())]
    rest = [leaf for leaf in leaves if not any(leaf in group for group in groups.values())]
    tree: dict[str, Any] = {name: group for name, group in groups.items() if group} | dict.fromkeys(rest)
    settings = {"hierarchy": tree, "type": kind, "publish": draw(st.sampled_from(["nodes", "values"]))}
    forms: dict[str, Callable[[str], Any]] = {"integer": int, "boolean": lambda text: text == "true"}
    values = draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=6))
    return Case(settings, [forms.get(kind, str)(value) for value in values], _group_covers(groups))


CASES = {"numbers": numbers(), "texts": texts(), "days": days(), "categories": categories()}


def _document(case: Case, **more: Any) -> dict[str, Any]:
    return {
        "privacy": {"k": 2, "individual": "id"},
        "attributes": {
            "id": {"role": "identifier"},
            "x": {"role": "quasi-identifier", **case.settings, **more},
            "row": {"role": "insensitive", "type": "integer"},
        },
    }


def _attribute(case: Case, **more: Any) -> QuasiIdentifier | None:
    """Return the attribute of a case; None if its settings are refused."""
    try:
        policy = build_policy(parse_settings(_document(case, **more)), Path("policy.yaml"))
    except SettingsError:
        return None
    return policy.quasi_identifiers[0]


def _holds(case: Case, published: Any, value: Any) -> bool:
    return published == "*" or (published is not None and case.covers(published, value))


@pytest.mark.parametrize("kind", CASES)
@examples(150)
@given(data=st.data())
def test_a_published_value_covers_every_value_of_its_class(kind: str, data: st.DataObject) -> None:
    case = data.draw(CASES[kind])
    attribute = _attribute(case, unknown=data.draw(st.sampled_from(["reject", "root"])))
    assume(attribute is not None)
    assert attribute is not None
    coded = []
    for value in case.values:
        try:
            coded.append((value, attribute.code(value)))
        except Unfit:
            continue
    assume(coded)
    codes = [code for _, code in coded]
    if attribute.publication is PublishedForm.VALUES:
        published = [attribute.publish_set(codes)]
    else:
        bounds = attribute.node(min(codes), max(codes))
        published = [attribute.publish(*bounds)]
        if attribute.publication is PublishedForm.NODES:  # and what privacy.extra_levels makes of it
            published.append(attribute.publish(*attribute.above(*bounds)))
    for each in published:
        for value, _ in coded:
            assert _holds(case, json.loads(json.dumps(each)), value), (each, value)


@pytest.mark.parametrize("kind", CASES)
@examples(6)
@given(data=st.data())
def test_a_released_record_covers_the_record_that_came(kind: str, data: st.DataObject) -> None:
    case = data.draw(CASES[kind])
    assume(_attribute(case) is not None)
    document = _document(case)
    document["attributes"]["row"]["accept_linkable"] = True
    values = case.values * 3
    records = [json.dumps({"id": i, "x": value, "row": i}).encode() for i, value in enumerate(values)]
    anonymizer = Anonymizer(build_policy(parse_settings(document), Path("policy.yaml")))
    for release in [*anonymizer.add(records), *anonymizer.close()]:
        for record in release.records:
            assert _holds(case, record["x"], values[record["row"]]), record


@pytest.mark.parametrize(
    ("settings", "value", "published"),
    [
        ({"length": 7, "alphabet": "alphanumeric"}, 12345, None),
        ({"length": 5}, 2138, None),
        ({"length": 5, "pad": "zeros"}, 2138, "02138"),
        ({"length": 7, "alphabet": "alphanumeric", "shorter": True}, 12345, "12345*"),
        ({"length": 7, "alphabet": "alphanumeric", "shorter": True}, "SW1A", "SW1A"),
    ],
)
def test_a_whole_number_is_never_padded_in_silence(
    settings: dict[str, Any], value: Any, published: str | None
) -> None:
    case = Case({"prefix": settings}, [value], _text_covers(settings["length"], "pad" in settings, False))
    anonymizer = Anonymizer(build_policy(parse_settings(_document(case)), Path("policy.yaml")))
    records = [json.dumps({"id": i, "x": value, "row": 1}).encode() for i in range(3)]
    releases = [*anonymizer.add(records), *anonymizer.close()]
    assert {record["x"] for release in releases for record in release.records} == ({published} - {None})
    assert {each.reason for release in releases for each in release.rejected} <= {"unknown-value"}
