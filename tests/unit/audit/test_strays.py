"""Records and parts that belong nowhere are counted, and looked at all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stream_anon.audit import audit as audit_module
from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.scope import AuditScope
from stream_anon.audit.verdict import Kind, Violation
from stream_anon.privacy.certificate import certificate_digest
from stream_anon.privacy.policy_document import PolicyDocument
from tests.unit.audit.story import Story, encode, kinds


def _read(audit: Audit, story: Story, *, records_first: bool = False) -> Audit:
    def parts() -> None:
        for part in story.parts():
            audit.add_part(part)

    if not records_first:
        parts()
    for certificate, records in zip(story.certificates, story.records, strict=True):
        for record in records:
            audit.add_record(certificate["batch"], record)
    if records_first:
        parts()
    return audit


def _identifying(story: Story) -> dict[str, Any]:
    return story.records[0][0] | {"person": "p1"}


def test_an_identifier_is_found_in_a_record_that_names_no_batch(story: Story) -> None:
    audit = _read(Audit(story.policy), story)
    audit.add_record(None, _identifying(story))
    verdict = audit.finish()
    assert kinds(verdict) == {Kind.NO_BATCH, Kind.IDENTIFYING_FIELD}
    assert verdict.counts.records == 16


def test_an_identifier_is_found_in_a_record_beyond_those_of_its_window(story: Story) -> None:
    audit = _read(Audit(story.policy), story)
    batch = story.certificates[0]["batch"]
    audit.add_record(batch, _identifying(story))
    verdict = audit.finish()
    found = Violation(Kind.IDENTIFYING_FIELD, batch, None, "person")
    assert set(verdict.violations) == {Violation(Kind.EXTRA_RECORDS, batch), found}
    assert verdict.counts.records == 16


def test_an_identifier_is_found_in_a_record_of_a_file_behind_all_certificates(story: Story) -> None:
    flat = [record for window in story.records for record in window]
    verdict = audit_in_order(Audit(story.policy), story.parts(), [*flat, _identifying(story), _identifying(story)])
    assert kinds(verdict) == {Kind.NO_CERTIFICATE, Kind.IDENTIFYING_FIELD}
    assert Violation(Kind.NO_CERTIFICATE, count=2) in verdict.violations
    assert verdict.counts.records == 17


def test_an_empty_message_among_certificates_is_no_certificate(story: Story) -> None:
    audit = _read(Audit(story.policy), story)
    assert audit.add_part(None) is None
    assert audit.add_part(b"", "ff") is None
    verdict = audit.finish()
    assert set(verdict.violations) == {
        Violation(Kind.MALFORMED_CERTIFICATE),
        Violation(Kind.MALFORMED_CERTIFICATE, "ff"),
    }
    assert verdict.counts.parts == 5


def test_a_stretch_that_nobody_can_read_is_a_violation(story: Story) -> None:
    audit = _read(Audit(story.policy), story)
    for offsets in (3, 4):
        audit.add_unreadable("out/0", offsets)
    assert audit.finish().violations == (Violation(Kind.UNREADABLE, attribute="out/0", count=7),)


def test_a_header_that_is_no_batch_is_not_repeated(story: Story) -> None:
    audit = _read(Audit(story.policy), story)
    audit.add_part(b"{}", "Mrs Smith")
    audit.add_part(b"{}")
    assert audit.finish().violations == (Violation(Kind.MALFORMED_CERTIFICATE, count=2),)


def test_a_document_of_a_later_release_is_named_as_such(story: Story) -> None:
    (document,) = PolicyDocument.of(story.policy).parts()
    for schema, found in ((1, set()), (2, {Kind.LATER_VERSION})):
        audit = _read(Audit(story.policy), story)
        audit.add_part(encode(json.loads(document) | {"schema": schema}))
        assert kinds(audit.finish()) == found


def test_an_audit_of_one_batch_does_not_ask_how_windows_join(story: Story) -> None:
    story.certificates[1]["inputs"].pop()
    story.certificates[2]["previous"] = "sha256:" + "2" * 64
    stretch = AuditScope(batch=story.certificates[0]["batch"])
    assert _read(Audit(story.policy, stretch=stretch), story).finish().violations == ()


def test_an_audit_of_one_batch_counts_its_own_records_whatever_comes_first(story: Story) -> None:
    story.records[1][0]["person"] = "p1"
    for number, count in ((0, 9), (1, 6)):
        stretch = AuditScope(batch=story.certificates[number]["batch"])
        verdict = _read(Audit(story.policy, stretch=stretch), story, records_first=True).finish()
        assert kinds(verdict) == ({Kind.IDENTIFYING_FIELD} if number else set())
        counts = verdict.counts
        assert (counts.windows, counts.records, counts.partitions) == (1, count, 0)


def test_an_audit_of_one_batch_misses_its_own_parts_only(story: Story) -> None:
    story.certificates[1] |= {"parts": 2}
    for number, found in ((0, set()), (1, {Kind.MISSING_PART})):
        stretch = AuditScope(batch=story.certificates[number]["batch"])
        assert kinds(_read(Audit(story.policy, stretch=stretch), story).finish()) == found


def test_records_beyond_those_that_are_kept_are_read_under_the_given_policy(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "_MOST_HELD", 4)
    verdict = _read(Audit(story.policy), story, records_first=True).finish()
    assert verdict.violations == ()
    assert verdict.counts.records == 15
    story.records[1][5]["person"] = "p1"
    assert kinds(_read(Audit(story.policy), story, records_first=True).finish()) == {Kind.IDENTIFYING_FIELD}


def test_a_header_that_names_the_batch_of_its_certificate_is_right(story: Story) -> None:
    audit = Audit(story.policy)
    for certificate, part in zip(story.certificates, story.parts(), strict=True):
        read = audit.add_part(part, certificate["batch"])
        assert read is not None
        for record in story.records[story.certificates.index(certificate)]:
            audit.add_record(read.batch, record)
    assert audit.finish().violations == ()


def test_a_part_that_follows_a_refused_certificate_is_one_too_many(story: Story) -> None:
    first = story.certificates[0] | {"parts": 2}
    second = first | {"part": 2, "gcp": 0.5, "inputs": [], "classes": []}
    audit = Audit(story.policy)
    for part in (first, second, first):
        audit.add_part(encode(part))
    audit.add_record(first["batch"], story.records[0][0])
    found = kinds(audit.finish())
    alone = {Kind.TOO_FEW_RECORDS, Kind.TOO_FEW_VALUES}
    assert found == {Kind.PARTS_DISAGREE, Kind.BATCH_TWICE} | alone, "it has a certificate, though a broken one"


def test_records_of_a_file_follow_the_last_part_of_their_certificate(story: Story) -> None:
    whole, *others = story.parts()
    classes = story.certificates[0]["classes"]
    parts = [
        json.loads(whole) | {"parts": 2, "classes": classes[:1]},
        json.loads(whole) | {"parts": 2, "part": 2, "classes": classes[1:], "inputs": []},
    ]
    encoded = [encode(part) for part in parts]
    second = json.loads(others[0]) | {"previous": certificate_digest(encoded)}
    flat = [record for window in story.records[:2] for record in window]
    verdict = audit_in_order(Audit(story.policy), [*encoded, encode(second)], flat)
    assert verdict.violations == ()
    assert (verdict.counts.windows, verdict.counts.records) == (2, 15)


def test_topics_that_the_settings_read_are_right_and_their_lives_are_told(story: Story) -> None:
    flat = [record for window in story.records for record in window]
    for reads, lives in (({"people"}, ["people"]), (set[str](), [])):
        verdict = audit_in_order(Audit(story.policy, reads=reads.__contains__), story.parts(), flat)
        assert [life.topic for life in verdict.lives] == lives
        assert kinds(verdict) == (set() if reads else {Kind.WRONG_TOPIC})
