"""Families over many windows: however often somebody comes back, a whole family is left."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.choices.engine_choice import FULL_DOMAIN, EngineChoice
from stream_anon.microdata.domains.families import Family, ShownAs
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from tests.attacks.town import ENGINES, HOMES, Service, classes_of, town_policy

FAMILIES: tuple[Family, ...] = (("flu", "cold", "asthma"), ("gout", "pox", "mumps", None))
LABELS = ("gout|mumps|pox|null", "asthma|cold|flu")
LEAST = 3
KNOWN = [value for family in FAMILIES for value in family]
PLAIN = town_policy(k=3)
POLICY = replace(
    PLAIN,
    attributes=tuple(
        replace(attribute, families=FAMILIES) if isinstance(attribute, Sensitive) else attribute
        for attribute in PLAIN.attributes
    ),
)
EXACT = replace(
    PLAIN,
    attributes=tuple(
        replace(attribute, families=(FAMILIES[0], FAMILIES[1][1:]), shown_as=ShownAs.VALUE)
        if isinstance(attribute, Sensitive)
        else attribute
        for attribute in PLAIN.attributes
    ),
)
PEOPLE, CROWD = 12, 30
HIGH = {"age": 6, "home": 2, "sex": 1}  # of the engine of fixed levels, on which few people make classes
COMMON = [value for family in EXACT.diverse[0].families for value in family]
CODEC = JsonCodec(POLICY)

illnesses = st.lists(st.sampled_from([*KNOWN, "unheard of"]), min_size=PEOPLE, max_size=PEOPLE)
visits = st.lists(st.lists(st.integers(0, PEOPLE - 1), min_size=1, max_size=20), min_size=1, max_size=6)


def _records(own: list[str | None], comers: list[int], window: int) -> list[dict[str, Any]]:
    return [
        {"person": f"p{i}", "age": (7 * i + window) % 100, "home": "h1", "sex": "female", "illness": own[i]}
        for i in comers
    ]


@settings(max_examples=40, deadline=None)
@given(illnesses, visits)
def test_who_comes_back_is_always_among_the_same_values(own: list[str | None], windows: list[list[int]]) -> None:
    """Also: who has a value in no family is never published, and whoever is published has a whole family."""
    service = Service(POLICY)
    left: dict[int, set[str]] = {}
    for number, comers in enumerate(windows):
        known = [i for i in comers if own[i] in KNOWN]
        if not known:
            continue
        release = service.release(_records(own, known, number))
        for rows in classes_of(release):
            for row in rows:
                (label,) = release.payload[row]
                seen = set(str(label).split("|"))
                left.setdefault(known[row], seen).intersection_update(seen)
    for person, values in left.items():
        (family,) = [family for family in FAMILIES if own[person] in family]
        assert values == {"null" if value is None else value for value in family}
        assert len(values) >= LEAST


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, CROWD - 1), st.booleans()), min_size=10, max_size=80),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.sampled_from(COMMON), min_size=CROWD, max_size=CROWD),
    st.lists(st.sampled_from(COMMON), min_size=CROWD, max_size=CROWD),
)
def test_who_comes_back_is_always_among_a_whole_family_of_which_others_have_the_rest(
    engine: str, windows: list[list[tuple[int, bool]]], own: list[str | None], second: list[str | None]
) -> None:
    """People come more than once to a window, and some of their records have another value."""
    service = Service(_by(engine))
    left: dict[int, set[str | None]] = {}
    for comers in windows:
        release = service.release([_record(i, (second if other else own)[i]) for i, other in comers])
        assert not release.gate_violations
        for rows in classes_of(release):
            holders: dict[str | None, set[int]] = {}
            for row in rows:
                holders.setdefault(release.payload[row][0], set()).add(comers[row][0])
            for family in EXACT.diverse[0].families:
                if not holders.keys().isdisjoint(family):
                    assert _can_be_told_apart([holders.get(value, set()) for value in family])
            for i, other in (comers[row] for row in rows):
                if not other:
                    left.setdefault(i, set(holders)).intersection_update(holders)
    for person, values in left.items():
        (family,) = [family for family in EXACT.diverse[0].families if own[person] in family]
        assert values >= set(family)


def _record(person: int, illness: str | None) -> dict[str, Any]:
    home = HOMES[person % len(HOMES)]
    return {"person": f"p{person}", "age": 7 * person % 100, "home": home, "sex": "male", "illness": illness}


def _by(engine: str) -> Policy:
    """Return the policy of exact values with an engine."""
    if engine != FULL_DOMAIN:
        return replace(EXACT, engine=EngineChoice(engine))
    attributes = (a.at_level(HIGH[a.name]) if isinstance(a, QuasiIdentifier) else a for a in EXACT.attributes)
    return replace(EXACT, attributes=tuple(attributes), engine=EngineChoice(engine))


def _can_be_told_apart(holders: list[set[int]]) -> bool:
    """Return whether each value can be somebody else's: Hall's condition."""
    some = (chosen for size in range(1, len(holders) + 1) for chosen in combinations(holders, size))
    return all(len(set().union(*chosen)) >= len(chosen) for chosen in some)


@settings(max_examples=60, deadline=None)
@given(illnesses)
def test_whatever_is_read_of_a_text_holds_families_alone(own: list[str | None]) -> None:
    """Of each record as it was written, escaped or not."""
    records = _records(own, list(range(PEOPLE)), 0)
    plain = [json.dumps(record).encode() for record in records]
    escaped = [text.replace(b'"flu"', rb'"fl\u0075"').replace(b'"pox"', rb'"\u0070ox"') for text in plain]
    for values in (plain, escaped):
        batch = CODEC.decode(values, 0, np.arange(PEOPLE))
        labels = [LABELS[value in FAMILIES[0]] for value in own if value in KNOWN]
        assert [row[0] for row in batch.payload] == labels
        assert batch.rejects.reasons.tolist() == [Reason.UNKNOWN_VALUE] * own.count("unheard of")


RESTED = replace(
    POLICY,
    attributes=tuple(
        replace(attribute, rest="other") if isinstance(attribute, Sensitive) else attribute
        for attribute in POLICY.attributes
    ),
)
RESTING = JsonCodec(RESTED)


@settings(max_examples=40, deadline=None)
@given(illnesses, visits)
def test_with_a_rest_everybody_is_published_and_who_is_in_it_is_in_no_family(
    own: list[str | None], windows: list[list[int]]
) -> None:
    service = Service(RESTED)
    shown: dict[int, set[object]] = {}
    for number, comers in enumerate(windows):
        texts = [json.dumps(record).encode() for record in _records(own, comers, number)]
        assert len(RESTING.decode(texts, 0, np.arange(len(texts)))) == len(comers)
        release = service.release(_records(own, comers, number))
        for rows in classes_of(release):
            for row in rows:
                shown.setdefault(comers[row], set()).update(release.payload[row])
    for person, labels in shown.items():
        assert labels == {"other" if own[person] not in KNOWN else LABELS[own[person] in FAMILIES[0]]}
