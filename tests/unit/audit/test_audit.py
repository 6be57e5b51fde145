"""The audit: a right release passes, and each thing that is broken once is found for what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.collected_violations import MOST_OF_A_KIND
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import Story, kinds


def test_a_right_release_passes(story: Story) -> None:
    verdict = story.verdict()
    assert verdict.violations == ()
    assert verdict.clean
    counts = verdict.counts
    assert (counts.windows, counts.parts, counts.partitions, counts.classes, counts.records) == (3, 3, 2, 3, 15)
    assert len(verdict.checked) > 3
    assert any("individuals" in text for text in verdict.trusted)


Break = Callable[[Story], object]


def _certificate(number: int, **changes: Any) -> Break:
    return lambda story: story.certificates[number].update(changes)


def _class(number: int, **changes: Any) -> Break:
    return lambda story: story.certificates[0]["classes"][number].update(changes)


def _value(name: str, value: Any) -> Break:
    return lambda story: story.certificates[0]["classes"][0]["values"].update({name: value})


def _range(number: int, place: int, **changes: Any) -> Break:
    return lambda story: story.certificates[number]["inputs"][place].update(changes)


def _record(**changes: Any) -> Break:
    return lambda story: story.records[0][0].update(changes)


def _patient(**changes: Any) -> Break:
    return lambda story: story.records[0][0]["patient"].update(changes)


def _reasons(kind: str, **reasons: int) -> Break:
    return lambda story: story.certificates[1].update({f"{kind}_by_reason": reasons})


# A class that is not published as it is certified.
OTHERWISE = {Kind.UNCERTIFIED_CLASS, Kind.WRONG_CLASS_SIZE}
# A record that left its class and stands alone.
ALONE = OTHERWISE | {Kind.TOO_FEW_RECORDS, Kind.TOO_FEW_VALUES, Kind.WRONG_ACHIEVED_L}
# A certificate in the middle that cannot be read.
LOST = {Kind.GAP, Kind.UNKNOWN_PREVIOUS}

# What is broken, and all that must be found for it.
BREAKS: dict[str, tuple[Break, set[Kind]]] = {
    "unknown policy": (_certificate(1, promises="sha256:" + "1" * 64), {Kind.MISSING_POLICY}),
    "later version": (_certificate(1, schema=3), {Kind.LATER_VERSION, Kind.NO_CERTIFICATE} | LOST),
    "day that does not exist": (_certificate(1, closed="2024-02-30T08:00:00Z"), {Kind.WRONG_TIMES}),
    "topic of a file that is none": (_certificate(1, delivery="file"), {Kind.WRONG_TOPIC}),
    "missing of an undeclared field": (_certificate(1, missing={"Smith": 1}), {Kind.WRONG_MISSING}),
    "missing of an identifier": (_certificate(1, missing={"person": 1}), {Kind.WRONG_MISSING}),
    "missing more than there are": (_certificate(1, missing={"visits": 10}), {Kind.WRONG_MISSING}),
    "a risk accepted twice": (_certificate(1, accepted=["no-replicas", "no-replicas"]), {Kind.WRONG_ACCEPTED}),
    "lower k asked": (
        _certificate(1, asked={"k": 2, "max_share": 0.5, "distinct_l": {"result": 2}}),
        {Kind.WRONG_CRITERIA},
    ),
    "larger share asked": (
        _certificate(1, asked={"k": 3, "max_share": 1.0, "distinct_l": {"result": 2}}),
        {Kind.WRONG_CRITERIA},
    ),
    "no diversity asked": (
        _certificate(1, asked={"k": 3, "max_share": 0.5, "distinct_l": {}}),
        {Kind.WRONG_CRITERIA},
    ),
    "ids from another field": (
        _certificate(1, individual={"field": "person", "path": ["event"]}),
        {Kind.WRONG_INDIVIDUAL},
    ),
    "closed before opened": (_certificate(1, closed="2024-05-13T07:59:59Z"), {Kind.WRONG_TIMES}),
    "in one more": (_certificate(1, **{"in": 12}), {Kind.WRONG_IN}),
    "rejected one less": (_certificate(1, **{"in": 10}, rejected=1), {Kind.WRONG_REJECTED}),
    "suppressed one less": (_certificate(1, **{"in": 10}, suppressed=2), {Kind.WRONG_SUPPRESSED, Kind.WRONG_GCP}),
    "suppressed for no reason": (_reasons("suppressed"), {Kind.WRONG_SUPPRESSED}),
    "suppressed for another reason": (_reasons("suppressed", unplaced=2, mood=1), {Kind.UNKNOWN_REASON}),
    "rejected for another reason": (_reasons("rejected", mood=2), {Kind.UNKNOWN_REASON}),
    "ignored and not in": (_certificate(1, ignored={"deleted": 1}), {Kind.WRONG_IN}),
    "ignored for another reason": (_certificate(1, **{"in": 12}, ignored={"mood": 1}), {Kind.UNKNOWN_REASON}),
    "a dead letter that is ignored": (_reasons("rejected", deleted=2), {Kind.UNKNOWN_REASON}),
    "released one less": (
        _certificate(1, **{"in": 10}, released=5),
        {Kind.WRONG_RELEASED, Kind.WRONG_CLASS_SIZE, Kind.WRONG_GCP, Kind.NO_CERTIFICATE},
    ),
    "class one larger": (_class(0, records=6), {Kind.WRONG_CLASS_SIZE, Kind.WRONG_RELEASED, Kind.WRONG_GCP}),
    "class of two people": (_class(1, individuals=2), {Kind.TOO_FEW_INDIVIDUALS, Kind.WRONG_ACHIEVED_K}),
    "more people than records": (_class(0, individuals=6), {Kind.TOO_MANY_INDIVIDUALS}),
    "achieved k too high": (
        _certificate(0, achieved={"k": 5, "distinct_l": {"result": 3}}),
        {Kind.WRONG_ACHIEVED_K},
    ),
    "achieved k of no class": (_certificate(2, achieved={"k": 3, "distinct_l": {}}), {Kind.WRONG_ACHIEVED_K}),
    "achieved no k": (_certificate(0, achieved={"k": None, "distinct_l": {"result": 3}}), {Kind.WRONG_ACHIEVED_K}),
    "achieved l too high": (
        _certificate(0, achieved={"k": 4, "distinct_l": {"result": 4}}),
        {Kind.WRONG_ACHIEVED_L},
    ),
    "achieved l too low": (
        _certificate(0, achieved={"k": 4, "distinct_l": {"result": 1}}),
        {Kind.WRONG_ACHIEVED_L},
    ),
    "achieved no l": (_certificate(0, achieved={"k": 4, "distinct_l": {}}), {Kind.WRONG_ACHIEVED_L}),
    "achieved l of another": (
        _certificate(0, achieved={"k": 4, "distinct_l": {"result": 3, "visits": 2}}),
        {Kind.WRONG_ACHIEVED_L},
    ),
    "classes alike": (
        lambda story: story.certificates[0]["classes"].append(story.certificates[0]["classes"][0]),
        {Kind.CLASS_TWICE, Kind.WRONG_RELEASED, Kind.WRONG_GCP},
    ),
    "class left out": (
        lambda story: story.certificates[0]["classes"].pop(),
        {Kind.UNCERTIFIED_CLASS, Kind.WRONG_RELEASED, Kind.WRONG_GCP, Kind.WRONG_ACHIEVED_K},
    ),
    "attribute left out of a class": (
        lambda story: story.certificates[0]["classes"][0]["values"].pop("day"),
        {Kind.WRONG_ATTRIBUTES, Kind.WRONG_NCP, Kind.WRONG_GCP} | OTHERWISE,
    ),
    "another attribute in a class": (_value("visits", 3), {Kind.WRONG_ATTRIBUTES}),
    "interval that is no node": (
        _value("patient.age", {"min": 20, "max": 24}),
        {Kind.ILLEGAL_CLASS_VALUE} | OTHERWISE,
    ),
    "category that does not exist": (_value("illness", "influenza"), {Kind.ILLEGAL_CLASS_VALUE} | OTHERWISE),
    "set out of order": (_value("plan", ["b", "a"]), {Kind.ILLEGAL_CLASS_VALUE} | OTHERWISE),
    "wider node": (_value("illness", "respiratory"), {Kind.WRONG_NCP, Kind.WRONG_GCP} | OTHERWISE),
    "ncp too good": (_class(0, ncp=0.01), {Kind.WRONG_NCP}),
    "gcp too good": (_certificate(0, gcp=0.01), {Kind.WRONG_GCP}),
    "gcp of nothing": (_certificate(0, gcp=None), {Kind.WRONG_GCP}),
    "range backwards": (_range(0, 0, start=30), {Kind.WRONG_RANGE, Kind.TOO_MANY_RECORDS}),
    "partition twice": (_range(0, 1, partition=0), {Kind.WRONG_RANGE, Kind.OVERLAP}),
    "more records than offsets": (
        lambda story: story.certificates[2].update(inputs=[]),
        {Kind.TOO_MANY_RECORDS},
    ),
    "gap": (_range(1, 0, start=21), {Kind.GAP}),
    "gap of a window": (lambda story: story.certificates[1]["inputs"].pop(), {Kind.GAP}),
    "overlap": (_range(1, 0, start=19), {Kind.OVERLAP}),
    "overlap at the end": (_range(1, 0, end=50), {Kind.OVERLAP}),
    "range twice": (_range(1, 0, start=0, end=20), {Kind.OVERLAP, Kind.GAP}),
    "other topic": (_range(1, 0, topic="pets"), {Kind.GAP}),
    "previous unknown": (_certificate(2, previous="sha256:" + "2" * 64), {Kind.UNKNOWN_PREVIOUS}),
    "previous twice": (
        lambda story: story.certificates[2].update(previous=story.certificates[1]["previous"]),
        {Kind.PREVIOUS_TWICE},
    ),
    "batch twice": (
        lambda story: story.certificates[1].update(batch=f"{1:032x}"),
        {Kind.BATCH_TWICE, Kind.EXTRA_RECORDS} | LOST,
    ),
    "part missing": (_certificate(1, parts=2, part=2), {Kind.MISSING_PART} | LOST),
    "not a certificate": (_certificate(1, schema="7"), {Kind.MALFORMED_CERTIFICATE, Kind.NO_CERTIFICATE} | LOST),
    "a count of four hundred digits": (
        _certificate(1, released=10**400),
        {Kind.MALFORMED_CERTIFICATE, Kind.NO_CERTIFICATE} | LOST,
    ),
    "certificate missing": (lambda story: story.certificates.pop(1), {Kind.NO_CERTIFICATE} | LOST),
    "record missing": (lambda story: story.records[1].pop(), {Kind.NO_RECORDS, Kind.WRONG_CLASS_SIZE}),
    "record twice": (
        lambda story: story.records[1].append(story.records[1][0]),
        {Kind.NO_CERTIFICATE},
    ),
    "record moved": (
        lambda story: story.records[0].insert(0, story.records[1].pop()),
        ALONE,
    ),
    "undeclared field": (_record(note="x"), {Kind.UNDECLARED_FIELD}),
    "undeclared field below": (_patient(note="x"), {Kind.UNDECLARED_FIELD}),
    "dotted key": (lambda story: story.records[0][0].update({"patient.age": 1}), {Kind.UNDECLARED_FIELD}),
    "undeclared field in another's place": (
        lambda story: story.records[0][0].update(note=story.records[0][0].pop("visits")),
        {Kind.UNDECLARED_FIELD, Kind.MISSING_FIELD},
    ),
    "parent is a text": (_record(patient="x"), {Kind.UNDECLARED_FIELD, Kind.MISSING_FIELD} | ALONE),
    "parent is missing": (_record(patient=None), {Kind.MISSING_FIELD} | ALONE),
    "identifier": (_record(person="p1"), {Kind.IDENTIFYING_FIELD}),
    "field missing": (lambda story: story.records[0][0].pop("visits"), {Kind.MISSING_FIELD}),
    "qi missing": (lambda story: story.records[0][0].pop("day"), {Kind.MISSING_FIELD} | ALONE),
    "text for a number": (_record(visits="3"), {Kind.WRONG_TYPE}),
    "decimal for an integer": (_record(visits=3.0), {Kind.WRONG_TYPE}),
    "truth for an integer": (_record(visits=True), {Kind.WRONG_TYPE}),
    "number for a text": (_record(result=3), {Kind.WRONG_TYPE}),
    "object for a text": (_record(result={"is": "fine"}), {Kind.WRONG_TYPE}),
    "exact value": (_patient(zip="12345"), ALONE),
    "value of no hierarchy": (_record(illness="influenza"), {Kind.ILLEGAL_VALUE} | ALONE),
    "interval of no node": (_patient(age={"min": 20, "max": 24}), {Kind.ILLEGAL_VALUE} | ALONE),
    "one result for all": (
        lambda story: [record.update(result="fine") for record in story.records[1]],
        {Kind.TOO_FEW_VALUES, Kind.WRONG_ACHIEVED_L},
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_release_is_found(name: str, story: Story) -> None:
    breaking, expected = BREAKS[name]
    breaking(story)
    verdict = story.verdict()
    assert not verdict.clean
    assert kinds(verdict) == expected


def test_every_kind_can_be_found(policy: Policy) -> None:
    # Those that a file cannot show are broken below, on topics, and in test_input_ranges.py.
    elsewhere = {Kind.PARTS_DISAGREE, Kind.WRONG_BATCH, Kind.NO_BATCH, Kind.EXTRA_RECORDS, Kind.METADATA}
    elsewhere |= {
        Kind.WRONG_DOCUMENT,
        Kind.LIVES_MIXED,
        Kind.MALFORMED_RECORD,
        Kind.UNEVEN_VALUES,
        Kind.DISTANT_VALUES,
        Kind.WRONG_ACHIEVED_SPREAD,
        Kind.WRONG_SUPPRESSION,  # in test_suppression.py
        Kind.BROKEN_FAMILY,  # in test_families.py
        Kind.TOO_FEW_SHIELDED,  # in test_shields.py
        Kind.WRONG_ACHIEVED_SHIELD,
        Kind.TOO_MANY_PRESENT,  # in population/test_published_presence.py
        Kind.WRONG_ACHIEVED_PRESENCE,
        Kind.WRONG_SCHEMA,  # in test_stated_schemas.py
        Kind.UNREADABLE,  # in test_strays.py
        Kind.WRONG_DIGEST,
        Kind.DIGESTS_WITHOUT_KEY,  # in test_contents.py
        Kind.WRONG_SERIES,  # in test_series.py
        Kind.UNSIGNED,  # in signing/test_signatures.py
        Kind.FORGED,
        Kind.UNKNOWN_SIGNER,
        Kind.SIGNER_CHANGED,
        Kind.REPLAYED,
        Kind.REORDERED,
        Kind.WRONG_COUNTERFEITS,  # in population/test_completed_classes.py
    }
    assert set.union(*(expected for _, expected in BREAKS.values())) | elsewhere == set(Kind)


def test_a_violation_names_its_class_and_window(story: Story) -> None:
    story.certificates[0]["classes"][1]["individuals"] = 2
    story.records[1][0]["illness"] = "flu"
    found = {(v.kind, v.batch, v.number, v.attribute) for v in story.verdict().violations}
    assert (Kind.TOO_FEW_INDIVIDUALS, f"{1:032x}", 1, None) in found
    assert (Kind.WRONG_CLASS_SIZE, f"{2:032x}", 0, None) in found


def test_a_violation_repeats_no_value_and_no_undeclared_key(story: Story) -> None:
    story.records[0][0] |= {"Mrs Smith": "Smith", "illness": "Smith", "person": "Smith", "visits": "Smith"}
    story.records[0][1]["patient"] = "Smith"
    story.certificates[1]["classes"][0]["values"] = {"Smith": "Smith"}
    story.certificates[2]["rejected_by_reason"] = {"Smith": 2}
    verdict = story.verdict()
    assert len(verdict.violations) > 5
    assert "Smith" not in str(verdict)


def test_violations_of_one_kind_do_not_fill_the_memory_or_hide_another(policy: Policy) -> None:
    audit = Audit(policy)
    for number in range(MOST_OF_A_KIND + 901):
        audit.add_record(f"{number:x}", None)
    audit.add_record("ff" * 8, {"person": "Mrs Smith"})
    verdict = audit.finish()
    assert verdict.violations[0].kind is Kind.IDENTIFYING_FIELD
    assert sum(one.kind is Kind.MALFORMED_RECORD for one in verdict.violations) == MOST_OF_A_KIND
    assert verdict.kinds[Kind.MALFORMED_RECORD] == MOST_OF_A_KIND + 901
    assert len(verdict.violations) + verdict.more == sum(verdict.kinds.values())
    assert not verdict.clean


@pytest.mark.parametrize("place", ["visits", "illness", "patient", "result"])
@pytest.mark.parametrize("value", [10**400, -(10**400), [[]] * 9, {"min": 10**400, "max": 0}])
def test_a_record_of_huge_numbers_does_not_end_the_audit(place: str, value: Any, story: Story) -> None:
    story.records[0][0][place] = value
    found = kinds(story.verdict())
    if place == "visits" and isinstance(value, int):  # which is an integer
        assert not found
    else:
        assert found


def test_a_topic_that_the_settings_do_not_read_is_told_without_its_name(story: Story) -> None:
    story.certificates[1]["inputs"] = [
        *story.certificates[1]["inputs"],
        {"topic": "Mrs Smith", "partition": 0, "start": 0, "end": 9},
    ]
    flat = [record for window in story.records for record in window]
    verdict = audit_in_order(Audit(story.policy, reads={"people"}.__contains__), story.parts(), flat)
    assert kinds(verdict) == {Kind.WRONG_TOPIC}
    assert "Smith" not in str(verdict)
    assert audit_in_order(Audit(story.policy), story.parts(), flat).clean


def test_possible_missing_values_and_accepted_risks_pass(story: Story) -> None:
    story.certificates[1] |= {"missing": {"visits": 9, "patient.age": 0}, "accepted": ["no-replicas"]}
    verdict = story.verdict()
    assert verdict.violations == ()
    assert verdict.accepted == {"no-replicas": 1}


def test_a_person_with_many_records_is_counted_as_many(policy: Policy) -> None:
    people = ward_people(3)
    release = release_of(policy, [[*people, *people]])
    (part,) = certificate_parts(release, policy, frame_of(release))
    assert audit_in_order(Audit(policy), [part], released_records(release, policy)).clean
    each = ward_policy(individual=EVERY_RECORD)
    assert kinds(audit_in_order(Audit(each), [part], released_records(release, policy))) == {
        Kind.TOO_MANY_INDIVIDUALS,
        Kind.WRONG_INDIVIDUAL,
    }


def test_a_class_below_k_is_found_though_its_certificate_admits_it() -> None:
    # The certificate and the records agree; only the policy that it names is broken.
    policy, loose = ward_policy(k=3), ward_policy(k=2)
    release = release_of(loose, [ward_people(2)])
    promises = PolicyDocument.of(policy).promises
    (part,) = certificate_parts(release, loose, frame_of(release, promises=promises))
    found = kinds(audit_in_order(Audit(policy), [part], released_records(release, loose)))
    assert found == {Kind.TOO_FEW_RECORDS, Kind.TOO_FEW_INDIVIDUALS, Kind.WRONG_CRITERIA}
