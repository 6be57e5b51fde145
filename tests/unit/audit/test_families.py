"""The audit finds whatever is published in a family's place, and certificates that state other families."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.released_records import ReleasedRecordReader
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.domains.families import Family, ShownAs
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
    found = kinds(story.verdict())
    assert Kind.ILLEGAL_VALUE in found
    assert Kind.BROKEN_FAMILY not in found, "what is asked where values are published"


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


WARD: tuple[Family, ...] = (("fine", "poor"), ("worse", None))


@pytest.fixture
def exact() -> Story:
    """Classes of four people and more, each with both families."""
    plain = ward_policy()
    attributes = tuple(
        replace(attribute, families=WARD, shown_as=ShownAs.VALUE) if isinstance(attribute, Sensitive) else attribute
        for attribute in plain.attributes
    )
    values = ["fine", "poor", "worse", None]
    return Story(
        ward_policy(attributes=attributes, diversity={}),
        lambda person: {"result": values[person % 4]},
    )


def _of(story: Story, window: int, value: object) -> list[dict[str, Any]]:
    return [record for record in story.records[window] if record["result"] == value]


def test_a_release_of_whole_families_is_found_right(exact: Story) -> None:
    assert kinds(exact.verdict()) == set()
    assert _of(exact, 0, None), "a missing value is a value"


@pytest.mark.parametrize(
    ("window", "before", "after"),
    [(1, "poor", "fine"), (0, None, "worse"), (0, "worse", None), (1, "worse", "fine")],
    ids=["a value is gone", "a missing one", "a missing one is left", "another family has it"],
)
def test_a_family_that_is_broken_is_found(exact: Story, window: int, before: object, after: object) -> None:
    for record in _of(exact, window, before):
        record["result"] = after
    assert Kind.BROKEN_FAMILY in kinds(exact.verdict())


@pytest.mark.parametrize("value", ["bad", "fine|poor", "null", ["fine"], 1], ids=str)
def test_what_is_in_no_family_is_found_where_values_are_published(exact: Story, value: Any) -> None:
    exact.records[1][0]["result"] = value
    assert Kind.ILLEGAL_VALUE in kinds(exact.verdict())


def test_a_certificate_that_states_the_other_way_is_found(exact: Story) -> None:
    exact.certificates[0]["asked"]["families"]["result"]["publish"] = "family"
    assert Kind.WRONG_CRITERIA in kinds(exact.verdict())


def test_a_missing_value_counts_where_the_certificate_alone_tells_that_values_are_published(exact: Story) -> None:
    for window in exact.records:
        for record in window:
            if record["result"] == "worse":
                record["result"] = None
    exact.records[1] = [
        record | {"result": None if record["result"] == "poor" else "fine"} for record in exact.records[1]
    ]
    flat = [decode_record(encode(record)) for window in exact.records for record in window]
    verdict = audit_in_order(Audit(ward_policy(k=2, diversity={})), exact.parts(), flat)
    assert not {Kind.TOO_FEW_VALUES, Kind.WRONG_CRITERIA} & kinds(verdict)
    for record in exact.records[1]:
        record["result"] = None
    flat = [decode_record(encode(record)) for window in exact.records for record in window]
    assert Kind.TOO_FEW_VALUES in kinds(audit_in_order(Audit(ward_policy(k=2, diversity={})), exact.parts(), flat))


def test_families_of_which_the_certificate_alone_tells_are_taken_on_trust(story: Story) -> None:
    """Without the policy document nobody can tell a family from another text."""
    flat = [decode_record(encode(record)) for window in story.records for record in window]
    verdict = audit_in_order(Audit(ward_policy(k=2, diversity={})), story.parts(), flat)
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
