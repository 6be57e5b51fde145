"""What is published by a shield's attributes is counted again, from records and from certificates."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import Release
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import encode

PLAN, ILLNESS = Shield(("plan",), 9), Shield(("illness",), 5)
SHIELDS = (PLAN, ILLNESS)  # both classes publish the same set of plans, and not the same illness
BARE = {(Kind.TOO_FEW_SHIELDED, "illness"), (Kind.WRONG_ACHIEVED_SHIELD, "illness")}


def _release(policy: Policy, second: int = 5, reached: tuple[int, ...] | None = None) -> Release:
    """Return a release of two classes, of six people and of some."""
    groups = [ward_people(6), ward_people(second, first=6, illness="stroke")]
    release = release_of(policy, groups)
    found = (6 + second, min(6, second)) if reached is None else reached
    return replace(release, achieved_shields=found)


Change = Callable[[dict[str, Any]], object]


def _found(
    policy: Policy, release: Release, change: Change = lambda certificate: None, judge: Policy | None = None
) -> set[tuple[Kind, str | None]]:
    document = PolicyDocument.of(policy)
    (part,) = certificate_parts(release, policy, frame_of(release, promises=document.promises))
    certificate = json.loads(part)
    change(certificate)
    parts = [*([] if judge else document.parts()), encode(certificate)]
    verdict = audit_in_order(Audit(judge or policy), parts, released_records(release, policy))
    return {(violation.kind, violation.attribute) for violation in verdict.violations}


def test_a_release_within_its_shields_is_sound_and_says_what_they_reached() -> None:
    policy = ward_policy(shields=SHIELDS)
    release = _release(policy)
    assert _found(policy, release) == set()
    (part,) = certificate_parts(release, policy, frame_of(release))
    told = json.loads(part)
    assert told["asked"]["shields"] == [{"attributes": ["plan"], "k": 9}, {"attributes": ["illness"], "k": 5}]
    assert told["achieved"]["shields"] == [{"attributes": ["plan"], "k": 11}, {"attributes": ["illness"], "k": 5}]


def test_a_certificate_of_a_policy_without_shields_has_no_word_of_them() -> None:
    release = release_of(ward_policy(), [ward_people(6)])
    (part,) = certificate_parts(release, ward_policy(), frame_of(release))
    assert b"shield" not in part


def test_too_few_records_that_share_a_shields_values_are_found_in_records_and_certificate() -> None:
    policy = ward_policy(shields=SHIELDS)
    assert _found(policy, _release(policy, 4)) == BARE


@pytest.mark.parametrize("told", [4, 6, 12])
def test_what_a_shield_reached_is_no_more_and_no_less_than_classes_and_policy_allow(told: int) -> None:
    policy = ward_policy(shields=SHIELDS)
    assert _found(policy, _release(policy, reached=(11, told))) == {(Kind.WRONG_ACHIEVED_SHIELD, "illness")}


def test_people_of_several_classes_count_once_so_that_fewer_than_their_sum_may_be_told() -> None:
    policy = ward_policy(shields=SHIELDS)
    assert _found(policy, _release(policy, reached=(9, 5))) == set()
    assert _found(policy, _release(policy, reached=(8, 5))) == {(Kind.WRONG_ACHIEVED_SHIELD, "plan")}
    # Where each record counts as an individual the sum is exact.
    records = ward_policy(shields=SHIELDS, individual=EVERY_RECORD)
    assert _found(records, _release(records)) == set()
    assert _found(records, _release(records, reached=(10, 5))) == {(Kind.WRONG_ACHIEVED_SHIELD, "plan")}


def test_shields_that_a_certificate_leaves_out_or_makes_up_are_found() -> None:
    policy = ward_policy(shields=SHIELDS)
    release = _release(policy)
    for change in (
        lambda told: told["achieved"].pop("shields"),
        lambda told: told["achieved"]["shields"].pop(),
        lambda told: told["achieved"]["shields"].append({"attributes": ["day"], "k": 9}),
        lambda told: told["achieved"]["shields"].reverse(),
    ):
        assert _found(policy, release, change) == {(Kind.WRONG_ACHIEVED_SHIELD, None)}
    bare = ward_policy()
    made_up = {"shields": [{"attributes": ["Smith"], "k": 9}]}
    found = _found(bare, release_of(bare, [ward_people(6)]), lambda told: told["achieved"].update(made_up))
    assert found == {(Kind.WRONG_ACHIEVED_SHIELD, None)}
    assert _found(policy, release, lambda told: told["asked"].pop("shields")) == {(Kind.WRONG_CRITERIA, None)}


def test_a_window_without_a_class_reached_nothing() -> None:
    policy = ward_policy(shields=SHIELDS)
    nothing = release_of(policy, [], unplaced=ward_people(4))
    assert _found(policy, nothing) == set()
    made_up = {"shields": [{"attributes": ["plan"], "k": 9}, {"attributes": ["illness"], "k": 5}]}
    assert _found(policy, nothing, lambda told: told["achieved"].update(made_up)) == {
        (Kind.WRONG_ACHIEVED_SHIELD, None)
    }


def test_a_window_whose_policy_is_not_known_is_judged_by_the_shields_that_its_certificate_names() -> None:
    policy, judge = ward_policy(shields=SHIELDS), ward_policy(k=5, digest="sha256:" + "5" * 64)
    unknown = {(Kind.MISSING_POLICY, None)}
    assert _found(policy, _release(policy), judge=judge) == unknown
    # It is not known either whether each record counts as an individual.
    assert _found(policy, _release(policy, reached=(9, 5)), judge=judge) == unknown
    # Only declared names are repeated, one by one: "illness" is one.
    assert _found(policy, _release(policy, 4), judge=judge) == unknown | BARE
    nothing = release_of(policy, [], unplaced=ward_people(4))
    assert _found(policy, nothing, judge=judge) == unknown
    stray = {"shields": [{"attributes": ["Smith"], "k": 9}]}
    found = _found(policy, _release(policy), lambda told: told["asked"].update(stray), judge=judge)
    assert (Kind.WRONG_CRITERIA, None) in found
    assert not any(name == "Smith" for _, name in found)


def test_records_without_a_certificate_are_counted_too() -> None:
    policy = ward_policy(shields=(ILLNESS,))
    for second, expected in ((5, False), (4, True)):
        audit = Audit(policy)
        for record in released_records(_release(policy, second, (second,)), policy):
            audit.add_record("0" * 32, record)
        kinds = audit.finish().kinds
        assert Kind.NO_CERTIFICATE in kinds
        assert (Kind.TOO_FEW_SHIELDED in kinds) == expected


def test_a_large_k_is_judged_where_windows_of_the_document_are_smaller() -> None:
    wide = Shield(("illness",), 20_000)
    policy = ward_policy(shields=(wide,), window=replace(ward_policy().window, max_records=20_000))
    assert PolicyDocument.of(policy).policy().shields == (wide,)
    assert (Kind.TOO_FEW_SHIELDED, "illness") in _found(policy, _release(policy, 5, (5,)))
