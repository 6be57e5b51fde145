"""Each certificate is checked alone: its sums, its figures, and how many values were missing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.verdict import Kind, Verdict, Violation
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import Release
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import encode, kinds


def _verdict(policy: Policy, release: Release, given: Policy | None = None, **changes: Any) -> Verdict:
    (part,) = certificate_parts(release, policy, frame_of(release))
    parts = [encode(json.loads(part) | changes)]
    return audit_in_order(Audit(given or policy), parts, released_records(release, policy))


def _without_day(policy: Policy) -> Release:
    """Return a release of two classes, four records without a day and three with one; two are suppressed."""
    nowhere = [record | {"day": None} for record in ward_people(4)]
    groups = [nowhere, ward_people(3, first=4, age=60)]
    return release_of(policy, groups, unplaced=ward_people(2, first=90))


@pytest.mark.parametrize(("count", "right"), [(3, False), (4, True), (9, True), (10, False)])
def test_at_least_the_records_published_without_a_value_must_count_as_missing(count: int, right: bool) -> None:
    policy = ward_policy()
    release = _without_day(policy)
    assert [values is None for values in release.classes.values[3]] == [True, False]
    verdict = _verdict(policy, release, missing={"day": count})
    expected = () if right else (Violation(Kind.WRONG_MISSING, f"{1:032x}", None, "day"),)
    assert verdict.violations == expected


def test_an_attribute_that_no_class_publishes_may_lack_values_in_every_record() -> None:
    policy = ward_policy()
    release = _without_day(policy)
    assert _verdict(policy, release, missing={"day": 4, "visits": 0, "result": 9}).violations == ()


def test_a_name_that_is_not_published_is_not_repeated() -> None:
    policy = ward_policy()
    release = _without_day(policy)
    for name in ("Mrs Smith", "person"):
        verdict = _verdict(policy, release, missing={"day": 4, name: 1})
        assert verdict.violations == (Violation(Kind.WRONG_MISSING, f"{1:032x}"),)


def test_on_trust_any_attribute_may_lack_values() -> None:
    policy = ward_policy(k=2)
    release = _without_day(policy)
    given = ward_policy(k=5, digest="sha256:" + "5" * 64)
    verdict = _verdict(policy, release, given, missing={"day": 4, "other": 2})
    assert (verdict.violations, verdict.counts.on_trust) == ((), 1)
    for name, shown in (("day", "day"), ("Mrs Smith", None)):
        verdict = _verdict(policy, release, given, missing={name: 3 if name == "day" else 99})
        assert verdict.violations == (Violation(Kind.WRONG_MISSING, f"{1:032x}", None, shown),)


def test_people_may_come_twice_in_a_window_on_trust() -> None:
    policy, given = ward_policy(), ward_policy(k=5, digest="sha256:" + "5" * 64)
    people = ward_people(3)
    release = release_of(policy, [[*people, *people]])
    assert _verdict(policy, release, given).violations == ()
    (part,) = certificate_parts(release, policy, frame_of(release))
    (one,) = json.loads(part)["classes"]
    more = [one | {"individuals": 7}]
    achieved = {"k": 7, "distinct_l": {"result": 3}}
    found = kinds(_verdict(policy, release, given, classes=more, achieved=achieved))
    assert found == {Kind.TOO_MANY_INDIVIDUALS}


def test_where_each_record_is_a_person_a_class_has_as_many_people_as_records() -> None:
    policy = ward_policy(individual=EVERY_RECORD)
    release = release_of(policy, [ward_people(4)])
    assert _verdict(policy, release).violations == ()
    (part,) = certificate_parts(release, policy, frame_of(release))
    (one,) = json.loads(part)["classes"]
    achieved = {"k": 3, "distinct_l": {"result": 3}}
    found = kinds(_verdict(policy, release, classes=[one | {"individuals": 3}], achieved=achieved))
    assert found == {Kind.TOO_MANY_INDIVIDUALS}


def test_a_window_without_records_has_no_loss() -> None:
    policy = ward_policy()
    release = release_of(policy, [])
    assert _verdict(policy, release, gcp=None).violations == ()
    assert kinds(_verdict(policy, release, gcp=0.0)) == {Kind.WRONG_GCP}


def test_a_window_of_suppressed_records_loses_all() -> None:
    policy = ward_policy()
    release = release_of(policy, [], unplaced=ward_people(2))
    assert _verdict(policy, release).violations == ()
    for gcp in (0.99, None):
        assert kinds(_verdict(policy, release, gcp=gcp)) == {Kind.WRONG_GCP}


@pytest.mark.parametrize("change", [1e-6, -1e-6])
def test_a_loss_may_differ_by_rounding_only(change: float) -> None:
    policy = ward_policy()
    release = _without_day(policy)
    (part,) = certificate_parts(release, policy, frame_of(release))
    certificate = json.loads(part)
    first, second = certificate["classes"]
    assert _verdict(policy, release, gcp=certificate["gcp"] + change / 1e6).violations == ()
    assert kinds(_verdict(policy, release, gcp=certificate["gcp"] + change)) == {Kind.WRONG_GCP}
    wrong = [first, second | {"ncp": second["ncp"] + change}]
    expected = (Violation(Kind.WRONG_NCP, f"{1:032x}", 1),)
    assert _verdict(policy, release, classes=wrong).violations == expected


def test_each_illegal_value_of_a_class_is_named_with_its_attribute() -> None:
    policy = ward_policy()
    release = _without_day(policy)
    (part,) = certificate_parts(release, policy, frame_of(release))
    first, second = json.loads(part)["classes"]
    wrong = second | {"values": second["values"] | {"illness": "influenza", "plan": ["b", "a"]}}
    verdict = _verdict(policy, release, classes=[first, wrong])
    found = {(v.number, v.attribute) for v in verdict.violations if v.kind is Kind.ILLEGAL_CLASS_VALUE}
    assert found == {(1, "illness"), (1, "plan")}
    assert Kind.WRONG_GCP not in kinds(verdict), "where a value is not known, nobody knows the loss"
    assert Kind.WRONG_NCP not in kinds(verdict)


def test_figures_of_an_attribute_without_a_criterion_are_wrong() -> None:
    policy = ward_policy()
    release = release_of(policy, [ward_people(4)])
    achieved = {"k": 4, "distinct_l": {"result": 3}, "sensitive": {"visits": {"alpha": 0.5}}}
    expected = (Violation(Kind.WRONG_ACHIEVED_SPREAD, f"{1:032x}"),)
    assert _verdict(policy, release, achieved=achieved).violations == expected


def test_a_window_may_be_closed_in_the_second_in_which_it_was_opened() -> None:
    policy = ward_policy()
    release = release_of(policy, [ward_people(4)])
    assert _verdict(policy, release, closed="2024-05-13T08:00:00Z").violations == ()


def test_different_risks_may_be_accepted() -> None:
    policy = ward_policy()
    release = release_of(policy, [ward_people(4)])
    verdict = _verdict(policy, release, accepted=["no-replicas", "few-partitions"])
    assert (verdict.violations, verdict.accepted) == ((), {"few-partitions": 1, "no-replicas": 1})


def test_an_illegal_value_does_not_hide_a_wrong_loss_of_a_later_class() -> None:
    policy = ward_policy()
    release = _without_day(policy)
    (part,) = certificate_parts(release, policy, frame_of(release))
    first, second = json.loads(part)["classes"]
    wrong = [first | {"values": first["values"] | {"illness": "influenza"}}, second | {"ncp": 0.9}]
    violations = _verdict(policy, release, classes=wrong).violations
    assert Violation(Kind.WRONG_NCP, f"{1:032x}", 1) in violations
    assert Violation(Kind.ILLEGAL_CLASS_VALUE, f"{1:032x}", 0, "illness") in violations
