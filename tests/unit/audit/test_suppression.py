"""What a certificate says of `max_suppressed`: its counts decide, and what the policy asks of such a window."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.choices.window_limits import AboveMost
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import encode


def _policy(above: AboveMost, bound: RecordBound | None = None) -> Policy:
    return ward_policy(max_suppressed=bound or RecordBound(0.2), above_max_suppressed=above)


def _release(policy: Policy, lost: int) -> Release:
    """Return a release of eight records of which so many more are unplaced: two of ten are a fifth."""
    return release_of(policy, [ward_people(8)], unplaced=ward_people(lost, first=50))


def _found(policy: Policy, release: Release, **changes: Any) -> set[Kind]:
    document = PolicyDocument.of(policy)
    (part,) = certificate_parts(release, policy, frame_of(release, promises=document.promises))
    parts = [*document.parts(), encode(json.loads(part) | changes)]
    verdict = audit_in_order(Audit(policy), parts, released_records(release, policy))
    return {violation.kind for violation in verdict.violations}


@pytest.mark.parametrize("above", AboveMost)
@pytest.mark.parametrize("lost", [0, 2])
def test_a_window_within_the_bound_is_sound_and_must_not_say_otherwise(above: AboveMost, lost: int) -> None:
    policy = _policy(above)
    release = _release(policy, lost)
    assert _found(policy, release) == set()
    assert _found(policy, release, above_max_suppressed=True) == {Kind.WRONG_SUPPRESSION}


def test_a_window_above_the_bound_is_sound_if_it_says_so() -> None:
    policy = _policy(AboveMost.PUBLISH)
    release = _release(policy, 3)
    assert _found(policy, replace(release, above_max_suppressed=True)) == set()
    assert _found(policy, release) == {Kind.WRONG_SUPPRESSION}


def test_a_window_above_the_bound_is_not_released_where_it_is_to_be_suppressed() -> None:
    policy = _policy(AboveMost.SUPPRESS)
    release = replace(_release(policy, 3), above_max_suppressed=True)
    assert _found(policy, release) == {Kind.WRONG_SUPPRESSION}


def _whole(policy: Policy, reasons: dict[str, int]) -> dict[str, Any]:
    nothing = release_of(policy, [], unplaced=ward_people(10))
    (part,) = certificate_parts(nothing, policy, frame_of(nothing))
    return json.loads(part) | {"suppressed_by_reason": reasons, "above_max_suppressed": True}


@pytest.mark.parametrize(
    ("above", "reasons", "sound"),
    [
        (AboveMost.SUPPRESS, {"unplaced": 3, "max-suppressed": 7}, True),
        (AboveMost.SUPPRESS, {"unplaced": 2, "max-suppressed": 8}, False),  # two of ten were allowed
        (AboveMost.SUPPRESS, {"max-suppressed": 10}, False),
        (AboveMost.PUBLISH, {"unplaced": 3, "max-suppressed": 7}, False),
    ],
)
def test_a_window_is_suppressed_whole_only_where_the_policy_wants_it_and_for_its_other_records(
    above: AboveMost, reasons: dict[str, int], sound: bool
) -> None:
    policy = _policy(above)
    document = PolicyDocument.of(policy)
    certificate = _whole(policy, reasons) | {"promises": document.promises}
    verdict = audit_in_order(Audit(policy), [*document.parts(), encode(certificate)], [])
    assert {violation.kind for violation in verdict.violations} == (set() if sound else {Kind.WRONG_SUPPRESSION})


def test_a_policy_without_a_bound_marks_nothing_and_suppresses_nothing_for_it() -> None:
    policy = ward_policy()
    release = _release(policy, 3)
    (part,) = certificate_parts(release, policy, frame_of(release))
    assert b"max_suppressed" not in part
    assert _found(policy, release) == set()
    assert _found(policy, release, above_max_suppressed=False) == {Kind.WRONG_SUPPRESSION}
    reasons = {"max-suppressed": 3}
    assert _found(policy, release, suppressed_by_reason=reasons) == {Kind.WRONG_SUPPRESSION}


def test_a_window_whose_policy_is_not_known_is_not_accused_of_what_it_may_have_asked() -> None:
    policy = _policy(AboveMost.SUPPRESS)
    certificate = _whole(policy, {"unplaced": 3, "max-suppressed": 7}) | {"promises": None}
    verdict = audit_in_order(Audit(ward_policy(k=5, digest="sha256:" + "5" * 64)), [encode(certificate)], [])
    assert verdict.violations == ()


def test_what_is_asked_of_the_window_stands_in_the_document_and_comes_back() -> None:
    policy = _policy(AboveMost.SUPPRESS, RecordBound(records=7))
    read = PolicyDocument.of(policy).policy()
    assert (read.max_suppressed, read.above_max_suppressed) == (RecordBound(records=7), AboveMost.SUPPRESS)
    assert "suppressed" not in PolicyDocument.of(ward_policy()).text
