"""The audit finds whatever is published in a family's place, and certificates that state other families."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stream_anon.audit.audit import audit_in_order
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.released_records import ReleasedRecordReader
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.domains.families import Family
from tests.support.releases import ward_policy
from tests.unit.audit.story import Story, encode, kinds

FAMILIES: tuple[Family, ...] = (("fine", "poor", "bad"), ("worse", "best", None))
LABELS = ("bad|fine|poor", "best|worse|null")


@pytest.fixture
def story() -> Story:
    plain = ward_policy()
    attributes = tuple(
        replace(attribute, families=FAMILIES) if isinstance(attribute, Sensitive) else attribute
        for attribute in plain.attributes
    )
    policy = ward_policy(attributes=attributes, diversity={})
    return Story(policy, lambda person: {"result": LABELS[person % 2]})


def test_a_release_of_families_is_found_right(story: Story) -> None:
    assert kinds(story.verdict()) == set()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("fine", id="the exact value"),
        pytest.param("fine|poor|bad", id="its family in another order"),
        pytest.param("bad|fine", id="a part of its family"),
        pytest.param("bad|best|fine|poor|worse|null", id="both families"),
        pytest.param("", id="nothing"),
        pytest.param(None, id="null"),
        pytest.param(["bad", "fine", "poor"], id="a list"),
        pytest.param([], id="an empty list"),
        pytest.param({"bad": "fine"}, id="an object"),
        pytest.param(1, id="a number"),
        pytest.param(True, id="a truth value"),
    ],
)
def test_what_is_no_family_is_found(story: Story, value: Any) -> None:
    story.records[0][0]["result"] = value
    assert Kind.ILLEGAL_VALUE in kinds(story.verdict())


@pytest.mark.parametrize("value", [["bad|fine|poor"], {"bad|fine|poor": 1}, None, 1], ids=str)
def test_what_is_no_family_is_found_where_types_are_not_known(story: Story, value: Any) -> None:
    """A list cannot be looked up among texts, and the audit must not stop at it."""
    reader = ReleasedRecordReader(story.policy, typed=False)
    record = story.records[0][0] | {"result": value}
    assert (Kind.ILLEGAL_VALUE, "result") in reader.read(record)[1]


@pytest.mark.parametrize(
    ("key", "value"), [("least", 2), ("digest", "sha256:" + "1" * 64)], ids=["least", "digest"]
)
def test_a_certificate_that_states_other_families_is_found(story: Story, key: str, value: Any) -> None:
    assert story.certificates[0]["asked"]["families"]["result"][key] != value
    story.certificates[0]["asked"]["families"]["result"][key] = value
    assert Kind.WRONG_CRITERIA in kinds(story.verdict())


def test_a_certificate_that_states_no_families_is_found(story: Story) -> None:
    del story.certificates[0]["asked"]["families"]
    assert Kind.WRONG_CRITERIA in kinds(story.verdict())


def test_families_of_which_the_certificate_alone_tells_are_taken_on_trust(story: Story) -> None:
    """Without the policy document nobody can tell a family from another text."""
    flat = [decode_record(encode(record)) for window in story.records for record in window]
    verdict = audit_in_order(ward_policy(k=2, diversity={}), story.parts(), flat)
    assert Kind.WRONG_CRITERIA not in kinds(verdict)


@pytest.fixture
def rested() -> Story:
    plain = ward_policy()
    attributes = tuple(
        replace(attribute, families=FAMILIES, rest="other") if isinstance(attribute, Sensitive) else attribute
        for attribute in plain.attributes
    )
    policy = ward_policy(attributes=attributes, diversity={})
    return Story(policy, lambda person: {"result": (*LABELS, "other")[person % 3]})


def test_a_rest_is_found_right_and_what_it_stands_for_is_not(rested: Story) -> None:
    assert kinds(rested.verdict()) == set()
    rested.records[0][0]["result"] = "unheard of"
    assert Kind.ILLEGAL_VALUE in kinds(rested.verdict())


def test_a_rest_that_is_not_asked_is_found(story: Story) -> None:
    story.records[0][0]["result"] = "other"
    assert Kind.ILLEGAL_VALUE in kinds(story.verdict())


def test_a_certificate_that_keeps_a_rest_back_is_found(rested: Story) -> None:
    assert rested.certificates[0]["asked"]["families"]["result"].pop("rest") == "other"
    assert Kind.WRONG_CRITERIA in kinds(rested.verdict())
