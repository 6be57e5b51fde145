"""With public keys, each way in which somebody may meddle with certificates has its own name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.formats.released_texts import decode_record
from stream_anon.audit.scope import CHECKED, SIGNED, TRUSTED, UNCHECKED, AuditScope
from stream_anon.audit.verdict import Kind, Signer, Verdict, Violation
from stream_anon.privacy.certificate import certificate_digest
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.privacy.signing.public_keys import PublicKeys
from stream_anon.privacy.signing.signature import with_signatures
from tests.support.meddling import FALSE_SIGNATURES, KEYS, ONE, OTHER, STRANGER
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import Story, encode, kinds

Lines = list[bytes]
CLOSED = "2024-05-13T08:00:30Z"


def _lines(story: Story) -> Lines:
    """Return the document (lines 0 and 1) and three certificates (2 to 7), each line followed by its signature."""
    return with_signatures([*PolicyDocument.of(story.policy).parts(), *story.parts()], ONE.sign)


def _verdict(
    story: Story, lines: Lines, keys: PublicKeys | None = KEYS, order: Sequence[int] = (0, 1, 2)
) -> Verdict:
    flat = [decode_record(encode(record)) for window in order for record in story.records[window]]
    return audit_in_order(Audit(story.policy, public_keys=keys), lines, flat)


def _batches(verdict: Verdict, kind: Kind) -> list[str | None]:
    return [one.batch for one in verdict.violations if one.kind is kind]


def _batch(number: int) -> str:
    return f"{number:032x}"


def test_what_is_signed_is_clean_and_it_is_told_who_signed(story: Story) -> None:
    verdict = _verdict(story, _lines(story))
    assert verdict.violations == ()
    assert verdict.counts.signed == verdict.counts.windows == 3
    assert verdict.counts.parts == 4
    assert verdict.signers == (Signer(ONE.name, CLOSED, CLOSED, 3),)
    assert (verdict.checked, verdict.trusted) == ((*CHECKED, SIGNED), TRUSTED)


def test_without_public_keys_signatures_change_nothing_but_what_is_taken_on_trust(story: Story) -> None:
    verdict, bare = _verdict(story, _lines(story), None), _verdict(story, _lines(story)[::2], None)
    assert verdict.violations == bare.violations == ()
    assert (verdict.counts, verdict.signers, verdict.checked) == (bare.counts, (), CHECKED)
    assert (verdict.trusted, bare.trusted) == ((*TRUSTED, UNCHECKED.format(3)), TRUSTED)


@pytest.mark.parametrize("number", range(4))
def test_a_part_without_a_signature_is_unsigned(number: int, story: Story) -> None:
    lines = _lines(story)
    del lines[2 * number + 1]
    verdict = _verdict(story, lines)
    assert verdict.violations == (Violation(Kind.UNSIGNED, _batch(number) if number else None),)
    assert verdict.counts.signed == (2 if number else 3)


@pytest.mark.parametrize("number", range(4))
def test_a_part_that_was_changed_is_forged(number: int, story: Story) -> None:
    lines = _lines(story)
    story.certificates[2]["software"] = "stream-anon of somebody else"
    changed = encode(json.loads(lines[0])) + b" " if not number else story.parts()[number - 1] + b" "
    lines[2 * number] = changed
    found = _verdict(story, lines)
    assert _batches(found, Kind.FORGED) == [_batch(number) if number else None]
    # Its digest is another one now, so the certificate that follows it follows an unknown one.
    assert kinds(found) == {Kind.FORGED} | ({Kind.UNKNOWN_PREVIOUS} if number in (1, 2) else set())


@pytest.mark.parametrize(
    ("signature", "kind"),
    [
        *FALSE_SIGNATURES,
        (lambda _: b"Mrs Smith", Kind.FORGED),
        (lambda _: b"", Kind.FORGED),
    ],
)
def test_a_signature_that_does_not_hold_is_found(
    signature: Callable[[bytes], bytes], kind: Kind, story: Story
) -> None:
    audit = Audit(story.policy, public_keys=KEYS)
    part = story.parts()[0]
    read = audit.add_part(part, None, signature(part))
    assert read is not None
    for record in story.records[0]:
        audit.add_record(read.batch, record)
    verdict = audit.finish()
    assert verdict.violations == (Violation(kind, _batch(1)),)
    assert verdict.counts.signed == 0
    assert "Smith" not in str(verdict)


def test_a_line_of_a_file_that_is_neither_part_nor_signature_is_found(story: Story) -> None:
    lines = _lines(story)
    lines[3] = b"Mrs Smith"
    verdict = _verdict(story, lines)
    assert kinds(verdict) == {Kind.UNSIGNED, Kind.MALFORMED_CERTIFICATE}
    assert "Smith" not in str(verdict)
    assert kinds(_verdict(story, [*_lines(story), ONE.sign(b"nothing")])) == {Kind.MALFORMED_CERTIFICATE}


# One chain -------------------------------------------------------------------------------------------------------


def test_a_certificate_that_was_dropped_is_missed_by_the_next_one(story: Story) -> None:
    lines = _lines(story)
    del lines[4:6]
    verdict = _verdict(story, lines, order=(0, 2))
    assert kinds(verdict) == {Kind.UNKNOWN_PREVIOUS, Kind.GAP}
    assert _batches(verdict, Kind.UNKNOWN_PREVIOUS) == [_batch(3)]


def test_certificates_in_another_order_are_found_where_they_are_signed(story: Story) -> None:
    lines = _lines(story)
    swapped = [*lines[:4], *lines[6:], *lines[4:6]]
    verdict = _verdict(story, swapped, order=(0, 2, 1))
    assert verdict.violations == (Violation(Kind.REORDERED, _batch(3)),)
    assert _verdict(story, swapped[::2], None, (0, 2, 1)).clean, (
        "whoever checks no signature sees what was seen before"
    )


def _on_topic(story: Story, places: Sequence[tuple[int, int]], signers: Sequence[Any] = (ONE,) * 3) -> Verdict:
    """Audit windows in the order of `places`: of each its number from 0, and its partition."""
    audit, parts = Audit(story.policy, public_keys=KEYS), story.parts()
    for number, partition in places:
        audit.add_part(parts[number], _batch(number + 1), signers[number].sign(parts[number]), partition)
        for record in story.records[number]:
            audit.add_record(_batch(number + 1), record)
    assert audit.at_rest()
    return audit.finish()


def test_the_order_between_partitions_means_nothing_and_within_one_it_does(story: Story) -> None:
    for order in permutations(range(3)):
        assert _on_topic(story, [(number, number) for number in order]).clean
        behind = {_batch(n + 1) for n in (1, 2) if order.index(n) < order.index(n - 1)}
        verdict = _on_topic(story, [(number, 0) for number in order])
        assert verdict.violations == tuple(
            Violation(Kind.REORDERED, batch) for batch in _batches(verdict, Kind.REORDERED)
        )
        assert set(_batches(verdict, Kind.REORDERED)) == behind


def test_who_signs_again_with_another_key_breaks_the_chain_in_any_order(story: Story) -> None:
    for order in permutations(range(3)):
        verdict = _on_topic(story, [(number, number) for number in order], [ONE, OTHER, OTHER])
        assert verdict.violations == (Violation(Kind.SIGNER_CHANGED, _batch(2)),)
        assert verdict.counts.signed == 3


def test_a_new_chain_may_begin_with_a_new_key_and_the_report_says_when(story: Story) -> None:
    story.certificates[1]["previous"] = None
    story.certificates[1]["closed"] = story.certificates[2]["closed"] = "2024-05-13T09:00:00Z"
    verdict = _on_topic(story, [(2, 0), (0, 1), (1, 2)], [ONE, OTHER, OTHER])
    assert verdict.violations == ()
    assert verdict.signers == (
        Signer(ONE.name, CLOSED, CLOSED, 1),
        Signer(OTHER.name, "2024-05-13T09:00:00Z", "2024-05-13T09:00:00Z", 2),
    )


# Replays ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(1, 4))
def test_a_certificate_that_stands_there_again_is_replayed(number: int, story: Story) -> None:
    lines = _lines(story)
    again = [*lines, *lines[2 * number : 2 * number + 2]]
    verdict = _verdict(story, again)
    assert verdict.violations == (Violation(Kind.REPLAYED, _batch(number)),)
    assert verdict.counts.signed == 3
    assert kinds(_verdict(story, again[::2], None)) == {Kind.BATCH_TWICE}, "without keys its name is the former one"


def test_what_was_forged_under_a_known_batch_is_no_replay(story: Story) -> None:
    lines = _lines(story)
    forged = [story.parts()[2] + b" ", STRANGER.sign(b"")]
    for meddled in ([*lines, *forged], [*lines[:-2], *forged, *lines[-2:]]):
        assert kinds(_verdict(story, meddled)) == {Kind.UNKNOWN_SIGNER, Kind.BATCH_TWICE}


def test_a_policy_document_may_stand_there_again(story: Story) -> None:
    lines = _lines(story)
    assert _verdict(story, [*lines, *lines[:2]]).clean


# Several parts ---------------------------------------------------------------------------------------------------


POLICY = ward_policy()
RELEASE = release_of(POLICY, [ward_people(4), ward_people(4, first=9, age=60, illness="stroke")])


def _parts() -> Lines:
    (whole,) = certificate_parts(RELEASE, POLICY, frame_of(RELEASE))
    return certificate_parts(RELEASE, POLICY, frame_of(RELEASE), len(whole) - 200)


def _in_parts(signers: Sequence[Any], parts: Lines, keys: PublicKeys | None = KEYS) -> Verdict:
    audit = Audit(POLICY, public_keys=keys)
    for part, signer in zip(parts, signers, strict=True):
        audit.add_part(part, None, None if signer is None else signer.sign(part))
    for record in released_records(RELEASE, POLICY):
        audit.add_record(_batch(1), record)
    return audit.finish()


@pytest.mark.parametrize(
    ("signers", "expected", "signed"),
    [
        ((ONE, ONE, ONE), set(), 1),
        ((ONE, OTHER, OTHER), {Kind.SIGNER_CHANGED}, 0),
        ((ONE, ONE, None), {Kind.UNSIGNED}, 0),
        ((STRANGER, ONE, ONE), {Kind.UNKNOWN_SIGNER}, 0),
    ],
)
def test_all_parts_of_a_certificate_are_signed_by_one_key(
    signers: Sequence[Any], expected: set[Kind], signed: int
) -> None:
    verdict = _in_parts(signers, _parts())
    assert kinds(verdict) == expected
    assert verdict.counts.signed == signed


def test_parts_may_come_in_any_order_and_what_follows_them_is_joined() -> None:
    parts = _parts()
    empty = release_of(POLICY, [])
    frame = frame_of(empty, 2, certificate_digest(parts))
    (following,) = certificate_parts(empty, POLICY, frame)
    for order in permutations(parts):
        assert Kind.UNKNOWN_PREVIOUS not in kinds(_in_parts([ONE] * 4, [*order, following]))


def test_a_window_of_several_parts_is_one_that_nobody_checked() -> None:
    assert _in_parts([ONE] * 3, _parts(), None).trusted == (*TRUSTED, UNCHECKED.format(1))


@pytest.mark.parametrize(
    ("signers", "expected"),
    [
        ((ONE, ONE, ONE, ONE), {Kind.REPLAYED}),
        ((STRANGER, ONE, ONE, ONE), {Kind.UNKNOWN_SIGNER, Kind.BATCH_TWICE}),
        ((ONE, STRANGER, ONE, ONE), {Kind.UNKNOWN_SIGNER, Kind.BATCH_TWICE}),
    ],
)
def test_a_part_may_be_replayed_before_the_others_come(signers: Sequence[Any], expected: set[Kind]) -> None:
    first, second, third = _parts()
    assert kinds(_in_parts(signers, [first, first, second, third])) == expected


def test_of_parts_that_disagree_none_was_replayed() -> None:
    first, second, third = _parts()
    second = second.replace(b'"software":"', b'"software":"other ')
    verdict = _in_parts([ONE] * 4, [first, second, third, third])
    assert {Kind.PARTS_DISAGREE, Kind.BATCH_TWICE} <= kinds(verdict)
    assert Kind.REPLAYED not in kinds(verdict)


def test_what_a_later_release_made_is_not_called_unsigned(story: Story) -> None:
    (document,) = PolicyDocument.of(story.policy).parts()
    for part in (document.replace(b'"schema":1', b'"schema":2'), story.parts()[0].replace(b"2", b"3", 1)):
        audit = Audit(story.policy, public_keys=KEYS)
        audit.add_part(part)
        assert kinds(audit.finish()) == {Kind.LATER_VERSION}


# A stretch -------------------------------------------------------------------------------------------------------

SINCE = 1_715_587_200.0  # 2024-05-13T08:00:00Z


@pytest.mark.parametrize(
    ("stretch", "timestamp", "expected"),
    [
        (AuditScope(), None, {None, _batch(1)}),
        (AuditScope(since=SINCE), int(SINCE * 1000), {None, _batch(1)}),
        (AuditScope(since=SINCE), int(SINCE * 1000) - 1, {_batch(1)}),
        (AuditScope(since=SINCE + 60), int(SINCE * 1000), set()),
        (AuditScope(batch=_batch(1)), None, {_batch(1)}),
        (AuditScope(batch=_batch(2)), None, set()),
    ],
)
def test_what_is_older_than_the_key_may_be_unsigned(
    stretch: AuditScope, timestamp: int | None, expected: set[str | None], story: Story
) -> None:
    audit = Audit(story.policy, stretch=stretch, public_keys=KEYS)
    for part in PolicyDocument.of(story.policy).parts():
        audit.add_part(part, None, None, 0, timestamp)
    audit.add_part(story.parts()[0], _batch(1), None, 0, timestamp)
    for record in story.records[0]:
        audit.add_record(_batch(1), record)
    verdict = audit.finish()
    assert kinds(verdict) <= {Kind.UNSIGNED}
    assert {one.batch for one in verdict.violations} == expected


def test_a_signed_window_that_is_left_out_is_not_among_those_that_nobody_checked(story: Story) -> None:
    audit = Audit(story.policy, stretch=AuditScope(batch=_batch(2)))
    for part in story.parts():
        audit.add_part(part, None, ONE.sign(part))
    assert audit.finish().trusted == (*TRUSTED, UNCHECKED.format(1))
