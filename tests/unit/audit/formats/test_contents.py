"""What an audit sees by the digests of classes, and what it does not accuse."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from math import inf
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.digests.comparing import DigestMeans, Uncompared
from stream_anon.audit.digests.kept_lines import KeptLines
from stream_anon.audit.formats.contents import lines_of
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.scope import Horizon
from stream_anon.audit.verdict import Kind, Verdict, Violation
from stream_anon.microdata.attributes import Insensitive, ScalarType
from stream_anon.microdata.output.digest_key import DigestKey
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import InputRange
from stream_anon.operations.audit.temporary_lines import TemporaryLines
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import Records, Story, encode, kinds

KEY = DigestKey(b"a secret of the controller")
FIRST, SECOND = f"{1:032x}", f"{2:032x}"


def _policy(**changes: Any) -> Policy:
    plain = ward_policy()
    tags = Insensitive("tags", ScalarType.STRING, many=True)
    dose = Insensitive("dose", ScalarType.NUMBER)
    given = {"digest_key": KEY} | changes
    return replace(plain, attributes=(*plain.attributes, tags, dose), **given)


def _story(policy: Policy) -> Story:
    """Return windows of records with a list and a number, certified as they are."""
    return Story(policy, lambda i: {"tags": [f"t{i}", "all"], "dose": 2.5 if i % 2 else i})


def _classes(records: Records) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a record of each class of the first window, with different results."""
    flu = next(one for one in records[0] if one["illness"] == "flu")
    other = next(one for one in records[0] if one["illness"] != "flu" and one["result"] != flu["result"])
    return flu, other


def _exchange(records: Records) -> None:
    one, other = _classes(records)
    one["result"], other["result"] = other["result"], one["result"]


def _replace_by_a_copy(records: Records) -> None:
    flu, _ = _classes(records)
    place = next(i for i, one in enumerate(records[0]) if one["illness"] == "flu" and one is not flu)
    records[0][place] = dict(flu)


BOTH = {(Kind.WRONG_DIGEST, 0), (Kind.WRONG_DIGEST, 1)}
CHANGES: dict[str, tuple[Callable[[Records], object], set[tuple[Kind, int | None]]]] = {
    "sensitive values of two classes exchanged": (_exchange, BOTH),
    "an insensitive value changed": (lambda rs: _classes(rs)[0].update(visits=77), {(Kind.WRONG_DIGEST, 0)}),
    "an insensitive value taken away": (lambda rs: _classes(rs)[1].update(visits=None), {(Kind.WRONG_DIGEST, 1)}),
    "a number changed a little": (lambda rs: _classes(rs)[0].update(dose=2.500000001), {(Kind.WRONG_DIGEST, 0)}),
    "an item of a list removed": (lambda rs: _classes(rs)[0]["tags"].pop(), {(Kind.WRONG_DIGEST, 0)}),
    "an item added": (lambda rs: _classes(rs)[0]["tags"].append("new"), {(Kind.WRONG_DIGEST, 0)}),
    "an item twice": (lambda rs: _classes(rs)[0]["tags"].append("all"), {(Kind.WRONG_DIGEST, 0)}),
    "all items removed": (lambda rs: _classes(rs)[1]["tags"].clear(), {(Kind.WRONG_DIGEST, 1)}),
    "a record replaced by a copy of another": (_replace_by_a_copy, {(Kind.WRONG_DIGEST, 0)}),
    "a value of half a surrogate pair": (
        lambda rs: _classes(rs)[1].update(tags=["\ud800"]),
        {(Kind.WRONG_DIGEST, 1)},
    ),
    "the records in another order": (lambda rs: rs[0].reverse(), set()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_record_is_found_in_its_class(change: str) -> None:
    story = _story(_policy())
    changing, expected = CHANGES[change]
    changing(story.records)
    verdict = _verdict(story)
    assert {(one.kind, one.number) for one in verdict.violations} - _shown(verdict) == expected
    assert {one.batch for one in verdict.violations} <= {FIRST}
    assert verdict.counts.recounted == 3


def _shown(verdict: Verdict) -> set[tuple[Kind, int | None]]:
    """Return what sensitive values show besides: an exchange may leave a class with too few of them."""
    besides = {Kind.TOO_FEW_VALUES, Kind.WRONG_ACHIEVED_L}
    return {(one.kind, one.number) for one in verdict.violations if one.kind in besides}


def _verdict(story: Story, policy: Policy | None = None, keys: Sequence[DigestKey] = ()) -> Verdict:
    flat = [record for window in story.records for record in window]
    return audit_in_order(Audit(policy or story.policy, digests=DigestMeans(keys)), story.parts(), flat)


def test_a_record_that_is_away_or_too_many_is_a_matter_of_size_alone() -> None:
    story = _story(_policy())
    del story.records[2:], story.certificates[2:]
    taken = story.records[1].pop()
    assert kinds(_verdict(story)) == {Kind.WRONG_CLASS_SIZE, Kind.NO_RECORDS}
    story.records[1] += [taken, dict(taken)]
    assert Kind.WRONG_DIGEST not in kinds(_verdict(story))


def test_a_record_that_is_accused_by_itself_is_not_accused_again() -> None:
    story = _story(_policy())
    story.records[0][0]["visits"] = "many"
    assert kinds(_verdict(story)) == {Kind.WRONG_TYPE}


def test_digests_of_classes_cannot_be_exchanged_with_their_values() -> None:
    story = _story(_policy(digest_key=KEY))
    one, other = story.certificates[0]["classes"]
    one["digest"], other["digest"] = other["digest"], one["digest"]
    assert {(v.kind, v.number) for v in _verdict(story).violations} == BOTH


def test_a_class_whose_digest_was_taken_away_is_accused() -> None:
    story = _story(_policy())
    del story.certificates[0]["classes"][1]["digest"]
    assert _verdict(story).violations == (Violation(Kind.WRONG_DIGEST, FIRST, 1),)


def test_a_record_may_be_spelled_in_any_way() -> None:
    story = _story(_policy())
    spelled = []
    for window in story.records:
        for record in window:
            turned = dict(reversed(record.items()))
            text = json.dumps(turned, indent=2, ensure_ascii=True).replace('"fine"', '"\\u0066ine"')
            assert text.encode() != encode(record)
            spelled.append(decode_record(text.replace('"dose": 2.5', '"dose": 25e-1').encode()))
    verdict = audit_in_order(Audit(story.policy), story.parts(), spelled)
    assert verdict.clean
    assert verdict.counts.recounted == 3


def test_typed_formats_say_the_same_as_json() -> None:
    passed = (
        Insensitive("a", ScalarType.NUMBER),
        Insensitive("b", ScalarType.NUMBER, many=True),
        Insensitive("c", ScalarType.STRING),
        Insensitive("d", ScalarType.STRING, many=True),
        Insensitive("e", ScalarType.INTEGER),
    )
    json_rows = [
        (3, [1, 2.5], "", [], 10**20),
        (2**53 + 1, None, "x", ["", "y"], 0),
        (10**20, None, "x", None, 0),
        (-0.0, [2**53], None, None, None),
    ]
    typed_rows = [
        (3.0, [1.0, 2.5], None, None, 10**20),
        (2.0**53, None, "x", ["", "y"], 0),
        (1e20, None, "x", None, 0),
        (0, [2.0**53], "", [], None),
    ]
    one, other = (list(zip(*rows, strict=True)) for rows in (json_rows, typed_rows))
    assert lines_of(passed, one, 3) == lines_of(passed, other, 3)
    assert lines_of((), (), 2) == [b"[]", b"[]"]


def test_keyed_digests_are_compared_by_those_who_have_the_key() -> None:
    story = _story(_policy(digest_key=KEY))
    _exchange(story.records)
    assert {(one.kind, one.number) for one in _verdict(story).violations} >= BOTH
    without = _verdict(story, _policy(digest_key=None))
    assert (kinds(without) - {Kind.TOO_FEW_VALUES, Kind.WRONG_ACHIEVED_L}, without.counts.recounted) == (set(), 0)
    assert without.uncompared == {Uncompared.NO_KEY: 3}


OTHER, NEW = DigestKey(b"the secret of somebody else"), DigestKey(b"the next secret of the controller")
GIVEN: dict[str, tuple[Policy, tuple[DigestKey, ...], int]] = {
    "none": (_policy(digest_key=None), (), 0),
    "another one": (_policy(digest_key=OTHER), (), 0),
    "the new one": (_policy(digest_key=NEW), (), 1),
    "the old one": (_policy(digest_key=KEY), (), 2),
    "the new and the old one": (_policy(digest_key=NEW), (KEY,), 3),
    "both, beside settings without one": (_policy(digest_key=None), (OTHER, NEW, KEY), 3),
}


@pytest.mark.parametrize("given", GIVEN)
def test_after_a_change_of_the_key_windows_are_compared_by_the_key_that_they_name(given: str) -> None:
    policy, keys, recounted = GIVEN[given]
    old, new = _story(_policy()), _story(_policy(digest_key=NEW))
    for changed in (False, True):
        if changed:  # is found in windows of each key that is given, and in no other
            old.records[0][0]["visits"] = new.records[1][0]["visits"] = 77
        certificates = [*old.certificates[:1], *new.certificates[1:2], *old.certificates[2:]]
        records = [*old.records[0], *new.records[1], *old.records[2]]
        parts = [encode(one) for one in certificates]
        verdict = audit_in_order(Audit(policy, digests=DigestMeans(keys)), parts, records)
        found = {one.batch for one in verdict.violations if one.kind is Kind.WRONG_DIGEST}
        by = {policy.digest_key, *keys}
        expected = {batch for batch, key in ((FIRST, KEY), (SECOND, NEW)) if key in by}
        assert found == (expected if changed else set())
        assert kinds(verdict) <= {Kind.WRONG_DIGEST, Kind.GAP, Kind.UNKNOWN_PREVIOUS, Kind.DIGESTS_WITHOUT_KEY}
        accused = sum(one.kind is Kind.DIGESTS_WITHOUT_KEY for one in verdict.violations)
        assert accused == (3 - recounted if by != {None} else 0), "a forger could name a key that nobody has"
        assert verdict.counts.recounted == recounted
        reason = Uncompared.OTHER_KEY if by != {None} else Uncompared.NO_KEY
        assert verdict.uncompared == ({reason: 3 - recounted} if recounted < 3 else {})


def test_windows_that_name_no_key_are_compared_by_every_key_that_is_given() -> None:
    """As the first certificates with digests do."""
    story = _story(_policy())
    for certificate in story.certificates:
        del certificate["digest_key"]
    verdict = _verdict(story, _policy(digest_key=NEW), (OTHER, KEY))
    assert verdict.clean
    assert verdict.counts.recounted == 3
    assert kinds(_verdict(story, _policy(digest_key=OTHER))) == {Kind.WRONG_DIGEST}


def test_a_window_that_names_a_key_that_did_not_make_its_digests_is_accused() -> None:
    story = _story(_policy())
    for certificate in story.certificates:
        certificate["digest_key"] = NEW.name
    assert kinds(_verdict(story, story.policy, (NEW,))) == {Kind.WRONG_DIGEST}


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "no digests": lambda one: one.pop("digests"),
    "an unknown policy": lambda one: one.update(promises=None, policy="sha256:" + "9" * 64),
    "a document that is not there": lambda one: one.update(promises="sha256:" + "9" * 64),
}


@pytest.mark.parametrize("forge", FORGED)
def test_who_has_a_key_accuses_windows_that_it_cannot_compare(forge: str) -> None:
    story = _story(_policy())
    for certificate in story.certificates:
        FORGED[forge](certificate)
    story.records[0][0]["visits"] = 77
    verdict = _verdict(story, _policy(digest_key=KEY))
    assert Kind.DIGESTS_WITHOUT_KEY in kinds(verdict)
    reason = Uncompared.NO_DIGESTS if forge == "no digests" else Uncompared.ON_TRUST
    assert verdict.uncompared == {reason: 3}


def test_a_window_that_names_its_policy_otherwise_has_other_digests() -> None:
    story = _story(_policy())
    for certificate in story.certificates:
        certificate["promises"] = None
    assert kinds(_verdict(story)) == {Kind.WRONG_DIGEST}


def test_a_window_without_a_policy_document_is_compared_by_the_digest_of_its_policy() -> None:
    policy = _policy()
    people = [person | {"tags": ["all"], "dose": 1} for person in ward_people(5)]
    release = release_of(policy, [people], ranges=[InputRange(0, 0, 5)])
    records, parts = released_records(release, policy), certificate_parts(release, policy, frame_of(release))
    verdict = audit_in_order(Audit(policy), parts, records)
    assert verdict.clean
    assert verdict.counts.recounted == 1
    records[0]["visits"] = 77
    assert kinds(audit_in_order(Audit(policy), parts, records)) == {Kind.WRONG_DIGEST}


def test_certificates_without_digests_are_audited_as_before() -> None:
    story = _story(_policy(digest_key=None))
    for certificate in story.certificates:
        assert "digests" not in certificate
        assert not any("digest" in one for one in certificate["classes"])
    story.records[0][0]["visits"] = 77
    verdict = _verdict(story)
    assert verdict.clean
    assert verdict.counts.recounted == 0
    assert verdict.uncompared == {Uncompared.NO_DIGESTS: 3}


def test_windows_that_fill_by_turns_are_compared_though_memory_does_not_hold_them() -> None:
    story = _story(_policy())
    story.records[0][0]["visits"] = 77
    with TemporaryLines() as spill:
        audit = Audit(story.policy, digests=DigestMeans(lines=KeptLines(spill, most=500)))
        for part in story.parts():
            audit.add_part(part)
        for records in zip_longest(*story.records):
            for batch, record in zip((FIRST, SECOND), records, strict=False):
                if record is not None:
                    audit.add_record(batch, record)
        verdict = audit.finish()
        assert [spill.taken(number) for number in range(3)] == [[]] * 3
    assert verdict.violations == (Violation(Kind.WRONG_DIGEST, FIRST, 0),)
    assert verdict.counts.recounted == 3


def test_windows_that_may_lack_records_are_told() -> None:
    story = _story(_policy())
    audit = Audit(story.policy)
    for part in story.parts():
        audit.add_part(part)
    verdict = audit.finish(Horizon(records=inf))
    assert verdict.counts.recounted + sum(verdict.uncompared.values()) == verdict.counts.windows == 3
    assert verdict.uncompared == {Uncompared.REMOVED: 2}  # the third one has none


def test_a_window_whose_records_came_before_their_certificate_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    for held, recounted in ((200_000, 1), (3, 0)):  # what is not held is counted at once
        monkeypatch.setattr("stream_anon.audit.audit._MOST_HELD", held)
        story = _story(_policy())
        audit = Audit(story.policy)
        for record in story.records[0]:
            audit.add_record(FIRST, record)
        audit.add_part(story.parts()[0])
        verdict = audit.finish()
        assert Kind.WRONG_DIGEST not in kinds(verdict)
        assert verdict.counts.recounted == recounted
        assert verdict.uncompared == ({} if recounted else {Uncompared.TOO_EARLY: 1})


def test_only_numbers_are_read_as_doubles_and_only_empty_texts_and_lists_as_missing() -> None:
    passed = (
        Insensitive("serial", ScalarType.INTEGER),
        Insensitive("dose", ScalarType.NUMBER),
        Insensitive("doses", ScalarType.NUMBER, many=True),
        Insensitive("word", ScalarType.STRING),
        Insensitive("words", ScalarType.STRING, many=True),
    )
    large = 2**53 + 1
    columns = [[large, 0], [large, -large], [[large, 1.0], []], ["", "x"], [[], [""]]]
    assert lines_of(passed, columns, 2) == [
        b"[9007199254740993,9007199254740992,[9007199254740992,1],null,null]",
        b'[0,-9007199254740992,null,"x",[""]]',
    ]
