"""How many of those who fit a published tuple are in the data is counted again, from published values alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.population.published_presence import PresenceAudit
from stream_anon.audit.verdict import Kind, Verdict
from stream_anon.microdata.attributes import Unknown
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from tests.support.populations import bounded, fitting, of_nodes, population, shares
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import encode

GROUPS = [ward_people(6), ward_people(8, first=6, age=60, illness="stroke")]
PRESENT, UNTRUE = Kind.TOO_MANY_PRESENT, Kind.WRONG_ACHIEVED_PRESENCE
Change = Callable[[dict[str, Any]], object]


def _ward(**changes: Any) -> Policy:
    """Return a policy that publishes nodes alone."""
    return ward_policy(**{"attributes": of_nodes(ward_policy().attributes)} | changes)


def _policy(most: float = 0.5, fewer: int = 0, **changes: Any) -> Policy:
    """Return a policy whose population has two people for each one of the data, but for some of the first group."""
    bare = ward_policy()
    everybody = [
        tuple(a.code(one[a.name]) for a in bare.quasi_identifiers)
        for group, kept in zip(GROUPS, (12 - fewer, 16), strict=True)
        for one in (group * 2)[:kept]
    ]
    return _ward(**bounded(most, population(everybody)), **changes)


def _release(policy: Policy) -> Release:
    release = release_of(policy, GROUPS)
    return replace(release, achieved_presence=float(max(shares(policy, release))))


def _found(
    policy: Policy, release: Release, change: Change = lambda told: None, judge: Policy | None = None
) -> set[tuple[Kind, int | None]]:
    document = PolicyDocument.of(policy)
    (part,) = certificate_parts(release, policy, frame_of(release, promises=document.promises))
    certificate = json.loads(part)
    change(certificate)
    parts = [*document.parts(), encode(certificate)]
    verdict = audit_in_order(Audit(judge or policy), parts, released_records(release, policy))
    return {(violation.kind, violation.number) for violation in verdict.violations}


def test_a_release_within_its_bound_is_sound_and_says_what_it_reached() -> None:
    policy = _policy()
    release = _release(policy)
    assert release.achieved_presence == 0.5
    assert _found(policy, release) == set()
    (part,) = certificate_parts(release, policy, frame_of(release))
    assert json.loads(part)["achieved"]["presence"] == 0.5


def test_a_class_of_too_many_is_found_whatever_its_certificate_says() -> None:
    policy = _policy(fewer=1)
    release = _release(policy)
    first = next(number for number, share in enumerate(shares(policy, release)) if share > 0.5)
    found = _found(policy, release)
    assert found == {(PRESENT, first), (UNTRUE, None)}
    told = _found(policy, release, lambda told: told["achieved"].update(presence=0.5))
    assert {kind for kind, _ in told} == {PRESENT, UNTRUE}


def test_a_class_that_is_forged_into_the_certificate_is_found() -> None:
    def grown(told: dict[str, Any]) -> None:
        told["classes"][0]["individuals"] += 1
        told["classes"][0]["records"] += 1

    kinds = {kind for kind, _ in _found(_policy(), _release(_policy()), grown)}
    assert {PRESENT, UNTRUE, Kind.WRONG_CLASS_SIZE} <= kinds


@pytest.mark.parametrize("share", [0.49, 0.51, 0.0, None])
def test_the_share_that_is_told_is_that_of_the_classes(share: float | None) -> None:
    def change(told: dict[str, Any]) -> None:
        told["achieved"].pop("presence") if share is None else told["achieved"].update(presence=share)

    assert _found(_policy(), _release(_policy()), change) == {(UNTRUE, None)}
    bare = ward_policy()
    made_up = _found(bare, release_of(bare, GROUPS), lambda told: told["achieved"].update(presence=0.1))
    assert made_up == {(UNTRUE, None)}


def test_a_certificate_that_asks_for_another_share_or_population_is_found() -> None:
    policy = _policy()
    for changed in ({"most": 0.6}, {"digest": "sha256:" + "3" * 64}, {"people": 29}):
        found = _found(policy, _release(policy), lambda told, own=changed: told["asked"]["presence"].update(own))
        assert found == {(Kind.WRONG_CRITERIA, None)}


def test_a_window_without_a_class_reached_nothing() -> None:
    policy = _policy()
    nothing = release_of(policy, [], unplaced=ward_people(4))
    assert _found(policy, nothing) == set()
    assert _found(policy, nothing, lambda told: told["achieved"].update(presence=0.2)) == {(UNTRUE, None)}


def test_a_later_policy_judges_earlier_windows_by_its_population_if_it_is_theirs() -> None:
    policy = _policy(fewer=1)
    release = _release(policy)
    # The window is judged under its own document.
    lower = tuple(
        replace(a, max_level=0) if isinstance(a, QuasiIdentifier) and a.name == "plan" else a
        for a in policy.attributes
    )
    for later in (replace(policy, k=4), replace(policy, attributes=lower)):
        assert {kind for kind, _ in _found(policy, release, judge=later)} == {PRESENT, UNTRUE}
    # Without the file nothing is known but what is asked; with other codes it counts others.
    assert _found(policy, release, judge=_ward(k=4)) == {(UNTRUE, None)}
    wider = tuple(
        replace(a, domain=NumericDomain(Decimal(-9), Decimal(99), Decimal(1), 0))
        if isinstance(a, QuasiIdentifier) and a.name == "patient.age"
        else a
        for a in policy.attributes
    )
    assert _found(policy, release, judge=replace(policy, attributes=wider)) == {(UNTRUE, None)}


def test_a_window_whose_policy_is_not_known_is_judged_by_what_its_certificate_asks() -> None:
    policy = _policy()
    release = _release(policy)
    judge = ward_policy(k=5, digest="sha256:" + "5" * 64)
    (part,) = certificate_parts(release, policy, frame_of(release, promises=PolicyDocument.of(policy).promises))
    verdict = audit_in_order(Audit(judge), [part], released_records(release, policy))
    assert {violation.kind for violation in verdict.violations} == {Kind.MISSING_POLICY}


def test_records_without_a_certificate_are_counted_where_each_is_an_individual() -> None:
    for fewer, individual, expected in ((0, EVERY_RECORD, False), (1, EVERY_RECORD, True), (1, "person", False)):
        policy = _policy(fewer=fewer, individual=individual)
        audit = Audit(policy)
        for record in released_records(_release(policy), policy):
            audit.add_record("0" * 32, record)
        kinds = audit.finish().kinds
        assert Kind.NO_CERTIFICATE in kinds
        assert (PRESENT in kinds) == expected


def _town(seed: int = 0) -> list[tuple[int, ...]]:
    """Return codes of people like those of the data, but for one attribute."""
    draws = np.random.default_rng(seed)
    attributes = _ward().quasi_identifiers
    found = []
    for one in (one for group in GROUPS for one in group for _ in range(20)):
        codes = [a.code(one[a.name]) for a in attributes]
        place = int(draws.integers(len(attributes)))
        near = codes[place] + int(draws.integers(-4, 5))
        codes[place] = min(max(near, 0), attributes[place].size - 1)
        found.append(tuple(codes))
    return found


@pytest.mark.parametrize("most", [0.3, 0.29, 0.5])
def test_a_tuple_is_crowded_from_the_first_individual_beyond_its_share_on(most: float) -> None:
    policy = _ward(**bounded(most, population(_town())))
    judge = PresenceAudit(policy)
    release = release_of(policy, [*GROUPS, ward_people(1), ward_people(2, age=30), [*GROUPS[0], *GROUPS[1]]])
    tuples = [list(values) for values in zip(*release.classes.values, strict=True)]
    tuples += [[*own[:place], "*", *own[place + 1 :]] for own in tuples for place in range(len(own))]
    tuples += [[*own[:4], ["a", "c"], *own[5:]] for own in tuples[:2]]
    tuples += [[None, *own[1:]] for own in tuples[:2]] + [[7.5, *own[1:]] for own in tuples[:2]]
    seen = set()
    for values in tuples * 2:
        fit = fitting(policy, values)
        largest = fit * round(most * 100) // 100
        seen.add(fit)
        assert not judge.crowded(values, largest)
        assert judge.crowded(values, largest + 1)
    assert len(seen) > 5
    assert 0 in seen


def test_what_is_remembered_of_a_large_population_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_anon.audit.population.published_presence.MOST_REMEMBERED", 3 * len(set(_town())))
    policy = _ward(**bounded(0.5, population(_town())))
    judge, release = PresenceAudit(policy), release_of(policy, GROUPS)
    for values in zip(*release.classes.values, strict=True):
        assert judge.crowded(values, 10**6)
        assert 0 < len(judge.remembered) <= 3


def test_every_class_counts_and_one_that_nobody_fits_is_shared_by_all_who_do() -> None:
    for fewer in ((2, 0), (0, 2)):
        bare = ward_policy()
        everybody = [
            tuple(a.code(one[a.name]) for a in bare.quasi_identifiers)
            for group, less in zip(GROUPS, fewer, strict=True)
            for one in (group * 2)[less:]
        ]
        policy = _ward(**bounded(0.5, population(everybody)))
        release = _release(policy)
        assert _found(policy, release) == {(PRESENT, int(fewer[1] > 0)), (UNTRUE, None)}
    nobody = _ward(**bounded(0.5, population([(0,) * 6])))
    release = replace(release_of(nobody, GROUPS), achieved_presence=1.0)
    assert {kind for kind, _ in _found(nobody, release)} == {PRESENT, UNTRUE}


def test_the_largest_share_is_that_of_any_class() -> None:
    for low in (0, 1):
        bare = ward_policy()
        everybody = [
            tuple(a.code(one[a.name]) for a in bare.quasi_identifiers)
            for number, group in enumerate(GROUPS)
            for one in group * (2 if number == low else 4)
        ]
        policy = _ward(**bounded(0.6, population(everybody)))
        assert _found(policy, _release(policy)) == set()
        told = _found(policy, _release(policy), lambda told: told["achieved"].update(presence=0.25))
        assert told == {(UNTRUE, None)}


def _verdict(policy: Policy, judge: Policy) -> Verdict:
    release, document = _release(policy), PolicyDocument.of(policy)
    (part,) = certificate_parts(release, policy, frame_of(release, promises=document.promises))
    return audit_in_order(Audit(judge), [*document.parts(), part], released_records(release, policy))


def test_windows_that_were_not_counted_again_are_told_with_what_is_taken_on_trust() -> None:
    policy = _policy()
    told = "how many of the people who fit a class are in it, in 1 windows whose population is not at hand"
    assert told not in _verdict(policy, policy).trusted
    assert _verdict(policy, _ward(k=4)).trusted[-1] == told


def test_a_class_is_reported_once_where_each_record_is_an_individual() -> None:
    policy = _policy(fewer=1, individual=EVERY_RECORD)
    assert _verdict(policy, policy).kinds == {PRESENT: 1, UNTRUE: 1}


def test_where_unknown_values_alone_are_published_as_the_root_who_has_others_does_not_fit() -> None:
    x = QuasiIdentifier("x", NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0), unknown=Unknown.ROOT)
    known = population([(3,)] * 5 + [(x.unknown_code,)] * 2)
    for most, crowded in ((None, False), (0, True), (x.domain.height, False)):
        policy = Policy((replace(x, max_level=most),), 2, EVERY_RECORD, **bounded(0.5, known))
        assert PresenceAudit(policy).crowded(["*"], 2) == crowded
