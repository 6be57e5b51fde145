"""Auditing what a topic yields: records and certificates in any order."""

from __future__ import annotations

import random
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.verdict import Kind, Verdict
from stream_anon.microdata.policy import Policy
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, release_of, released_records, ward_people
from tests.unit.audit.story import Story, encode, kinds
from tests.unit.audit.test_audit import BREAKS


def _events(story: Story) -> list[tuple[str, Any]]:
    events: list[tuple[str, Any]] = [("part", part) for part in story.parts()]
    for certificate, records in zip(story.certificates, story.records, strict=True):
        events += [("record", (certificate["batch"], record)) for record in records]
    return events


def _audited(policy: Policy, events: list[tuple[str, Any]]) -> Verdict:
    audit = Audit(policy)
    for kind, value in events:
        audit.add_part(value) if kind == "part" else audit.add_record(*value)
    return audit.finish()


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_a_topic_does_not_matter(seed: int, story: Story) -> None:
    events = _events(story)
    random.Random(seed).shuffle(events)
    verdict = _audited(story.policy, events)
    assert verdict.violations == ()
    assert (verdict.counts.windows, verdict.counts.records) == (3, 15)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", ["undeclared field", "gap", "exact value", "previous twice", "class one larger"])
def test_a_violation_is_found_in_any_order_of_a_topic(name: str, seed: int, story: Story) -> None:
    breaking, expected = BREAKS[name]
    breaking(story)
    events = _events(story)
    random.Random(seed).shuffle(events)
    assert expected <= kinds(_audited(story.policy, events))


@pytest.mark.parametrize("seed", range(10))
def test_a_record_that_was_published_twice_is_found(seed: int, story: Story) -> None:
    events = _events(story)
    events.append(next(event for event in events if event[0] == "record"))
    random.Random(seed).shuffle(events)
    found = kinds(_audited(story.policy, events))
    assert Kind.EXTRA_RECORDS in found
    assert found <= {Kind.EXTRA_RECORDS, Kind.WRONG_CLASS_SIZE, Kind.TOO_FEW_RECORDS, Kind.WRONG_DIGEST}


def test_a_settled_window_is_forgotten(story: Story) -> None:
    audit = Audit(story.policy)
    for kind, value in _events(story):
        audit.add_part(value) if kind == "part" else audit.add_record(*value)
    assert not audit._open
    assert not audit._waiting
    assert not audit._parts.incomplete


@pytest.mark.parametrize("seed", range(5))
def test_an_audit_is_at_rest_only_between_windows(seed: int, story: Story) -> None:
    # Of a topic that is still written to, an audit may end only where all that was begun is there.
    events = _events(story)
    random.Random(seed).shuffle(events)
    audit = Audit(story.policy)
    assert audit.at_rest()
    rests = []
    for kind, value in events:
        audit.add_part(value) if kind == "part" else audit.add_record(*value)
        rests.append(audit.at_rest())
    assert rests[-1]
    certified = [i for i, (kind, _) in enumerate(events) if kind == "part"]
    begun = range(certified[0], max(certified) + 1)
    complete = [i for i in begun if rests[i]]
    assert len(complete) < len(begun)


def test_records_without_a_certificate_are_found(story: Story) -> None:
    events = [event for event in _events(story) if event[0] == "record"]
    assert kinds(_audited(story.policy, events)) == {Kind.NO_CERTIFICATE}


def test_a_certificate_without_records_is_found(story: Story) -> None:
    events = [event for event in _events(story) if event[0] == "part"]
    found = kinds(_audited(story.policy, events))
    assert found == {Kind.NO_RECORDS, Kind.WRONG_CLASS_SIZE, Kind.WRONG_ACHIEVED_L}


@pytest.mark.parametrize("batch", [None, "", "Mrs Smith", "0" * 65])
def test_a_record_of_no_batch_is_found(batch: str | None, story: Story) -> None:
    verdict = _audited(story.policy, [*_events(story), ("record", (batch, story.records[0][0]))])
    assert kinds(verdict) == {Kind.NO_BATCH}
    assert "Smith" not in str(verdict)


def test_a_certificate_under_another_header_is_found(story: Story) -> None:
    audit = Audit(story.policy)
    for kind, value in _events(story):
        audit.add_part(value, "ff") if kind == "part" else audit.add_record(*value)
    assert kinds(audit.finish()) == {Kind.WRONG_BATCH}


def test_parts_of_two_certificates_do_not_pass_as_one(story: Story) -> None:
    first = story.certificates[0] | {"parts": 2}
    second = first | {"part": 2, "gcp": 0.5, "inputs": [], "classes": []}
    found = kinds(_audited(story.policy, [("part", encode(first)), ("part", encode(second))]))
    assert Kind.PARTS_DISAGREE in found


def test_several_parts_are_joined_into_one_certificate(story: Story) -> None:
    whole = story.certificates[0]
    parts = [
        whole | {"parts": 3, "part": 1, "classes": [], "inputs": whole["inputs"][:1]},
        whole | {"parts": 3, "part": 2, "classes": whole["classes"][:1], "inputs": whole["inputs"][1:]},
        whole | {"parts": 3, "part": 3, "classes": whole["classes"][1:], "inputs": []},
    ]
    encoded = [encode(part) for part in parts]
    verdict = audit_in_order(Audit(story.policy), encoded, story.records[0])
    assert verdict.violations == ()
    assert verdict.counts.parts == 3
    twice = _audited(story.policy, [("part", part) for part in [*encoded[:2], *encoded[1:]]])
    assert Kind.BATCH_TWICE in kinds(twice)


@pytest.mark.parametrize(
    ("timestamps", "bare"), [([1000, 2000], True), ([1500, 1500], True), ([1000, 1000], False)]
)
def test_metadata_that_tells_records_apart_is_found(timestamps: list[int], bare: bool, policy: Policy) -> None:
    release = release_of(policy, [ward_people(4)])
    (part,) = certificate_parts(release, policy, frame_of(release))
    for wrong in (False, True):
        audit = Audit(policy)
        audit.add_part(part)
        for i, record in enumerate(released_records(release, policy)):
            audit.add_record(f"{1:032x}", record, timestamps[i % 2] if wrong else 3000, bare=bare or not wrong)
        assert kinds(audit.finish()) == ({Kind.METADATA} if wrong else set())
