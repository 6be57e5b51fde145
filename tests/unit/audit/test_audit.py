"""The audit: a right release passes, and each thing that is broken once is found for what it is."""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.records import decode_record
from stream_anon.audit.verdict import MOST_VIOLATIONS, Kind, Verdict
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import InputRange
from stream_anon.privacy.certificate import certificate_digest, certificate_parts
from tests.support.data import ROOT
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy

Certificates = list[dict[str, Any]]
Records = list[list[dict[str, Any]]]


@pytest.fixture
def policy() -> Policy:
    return ward_policy()


class Story:
    """Three windows of one worker over two partitions, as decoded JSON that a test may break."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.certificates: Certificates = []
        self.records: Records = []
        self._digests: dict[int, str] = {}  # by which certificates name each other
        previous = None
        groups = [
            [ward_people(5), ward_people(4, first=5, age=60, illness="stroke")],
            [ward_people(6, first=20, age=33, illness="cold")],
            [],
        ]
        for number, window in enumerate(groups, start=1):
            release = release_of(
                policy,
                window,
                unplaced=ward_people(2, first=90),
                over_limit=1,
                rejected=[Reason.OUT_OF_RANGE, Reason.MALFORMED],
                ranges=[
                    InputRange(0, 20 * (number - 1), 20 * number),
                    InputRange(1, 9 * number, 9 * number + 9),
                ],
            )
            (part,) = certificate_parts(release, policy, frame_of(release, number, previous))
            previous = certificate_digest([part])
            self.certificates.append(json.loads(part))
            self._digests[id(self.certificates[-1])] = previous
            self.records.append(released_records(release, policy))

    def parts(self) -> list[bytes]:
        """Return the certificates as they stand, the chain mended behind what was broken."""
        parts: list[bytes] = []
        renamed: dict[str, str] = {}
        for certificate in self.certificates:
            previous = certificate["previous"]
            parts.append(_encode(certificate | {"previous": renamed.get(previous, previous)}))
            renamed[self._digests[id(certificate)]] = certificate_digest([parts[-1]])
        return parts

    def verdict(self) -> Verdict:
        flat = [decode_record(_encode(record)) for window in self.records for record in window]
        return audit_in_order(self.policy, self.parts(), flat)


def _encode(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.fixture
def story(policy: Policy) -> Story:
    return Story(policy)


def _kinds(verdict: Verdict) -> set[Kind]:
    return {violation.kind for violation in verdict.violations}


def test_a_right_release_is_accused(story: Story) -> None:
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
    "other policy": (_certificate(1, policy="sha256:" + "1" * 64), {Kind.WRONG_POLICY}),
    "other engine": (_certificate(1, engine="forest"), {Kind.WRONG_POLICY}),
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
    "closed before opened": (_certificate(1, closed="2024-05-13T07:59:59Z"), {Kind.WRONG_TIMES}),
    "in one more": (_certificate(1, **{"in": 12}), {Kind.WRONG_IN}),
    "rejected one less": (_certificate(1, **{"in": 10}, rejected=1), {Kind.WRONG_REJECTED}),
    "suppressed one less": (_certificate(1, **{"in": 10}, suppressed=2), {Kind.WRONG_SUPPRESSED, Kind.WRONG_GCP}),
    "suppressed for no reason": (_reasons("suppressed"), {Kind.WRONG_SUPPRESSED}),
    "suppressed for another reason": (_reasons("suppressed", unplaced=2, mood=1), {Kind.UNKNOWN_REASON}),
    "rejected for another reason": (_reasons("rejected", mood=2), {Kind.UNKNOWN_REASON}),
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
    "not a certificate": (_certificate(1, schema=7), {Kind.MALFORMED_CERTIFICATE, Kind.NO_CERTIFICATE} | LOST),
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
def test_a_broken_release_passes(name: str, story: Story) -> None:
    breaking, expected = BREAKS[name]
    breaking(story)
    verdict = story.verdict()
    assert not verdict.clean
    assert _kinds(verdict) == expected


def test_every_kind_can_be_found(policy: Policy) -> None:
    # Those that a file cannot show are broken below, on topics.
    elsewhere = {Kind.PARTS_DISAGREE, Kind.WRONG_BATCH, Kind.NO_BATCH, Kind.EXTRA_RECORDS, Kind.METADATA}
    elsewhere |= {Kind.MALFORMED_RECORD}
    assert set.union(*(expected for _, expected in BREAKS.values())) | elsewhere == set(Kind)


def test_a_violation_does_not_name_its_class_and_window(story: Story) -> None:
    story.certificates[0]["classes"][1]["individuals"] = 2
    story.records[1][0]["illness"] = "flu"
    found = {(v.kind, v.batch, v.number, v.attribute) for v in story.verdict().violations}
    assert (Kind.TOO_FEW_INDIVIDUALS, f"{1:032x}", 1, None) in found
    assert (Kind.WRONG_CLASS_SIZE, f"{2:032x}", 0, None) in found


def test_a_violation_repeats_a_value_or_an_undeclared_key(story: Story) -> None:
    story.records[0][0] |= {"Mrs Smith": "Smith", "illness": "Smith", "person": "Smith", "visits": "Smith"}
    story.records[0][1]["patient"] = "Smith"
    story.certificates[1]["classes"][0]["values"] = {"Smith": "Smith"}
    story.certificates[2]["rejected_by_reason"] = {"Smith": 2}
    verdict = story.verdict()
    assert len(verdict.violations) > 5
    assert "Smith" not in str(verdict)


def test_violations_fill_the_memory(policy: Policy) -> None:
    audit = Audit(policy)
    for number in range(MOST_VIOLATIONS + 500):
        audit.add_record(f"{number:x}", None)
    verdict = audit.finish()
    assert len(verdict.violations) == MOST_VIOLATIONS
    assert verdict.more > 0
    assert not verdict.clean


def test_a_person_with_many_records_is_counted_as_many(policy: Policy) -> None:
    people = ward_people(3)
    release = release_of(policy, [[*people, *people]])
    (part,) = certificate_parts(release, policy, frame_of(release))
    assert audit_in_order(policy, [part], released_records(release, policy)).clean
    each = ward_policy(individual=EVERY_RECORD)
    assert _kinds(audit_in_order(each, [part], released_records(release, policy))) == {Kind.TOO_MANY_INDIVIDUALS}


def test_a_class_below_k_that_its_certificate_admits_passes() -> None:
    # The certificate and the records agree; only the policy is broken.
    policy, loose = ward_policy(k=3), ward_policy(k=2)
    release = release_of(loose, [ward_people(2)])
    (part,) = certificate_parts(release, loose, frame_of(release))
    found = _kinds(audit_in_order(policy, [part], released_records(release, loose)))
    assert found == {Kind.TOO_FEW_RECORDS, Kind.TOO_FEW_INDIVIDUALS, Kind.WRONG_CRITERIA}


# Topics ------------------------------------------------------------------------------------------------------


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
def test_the_order_of_a_topic_matters(seed: int, story: Story) -> None:
    events = _events(story)
    random.Random(seed).shuffle(events)
    verdict = _audited(story.policy, events)
    assert verdict.violations == ()
    assert (verdict.counts.windows, verdict.counts.records) == (3, 15)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", ["undeclared field", "gap", "exact value", "previous twice", "class one larger"])
def test_a_break_hides_behind_an_order(name: str, seed: int, story: Story) -> None:
    breaking, expected = BREAKS[name]
    breaking(story)
    events = _events(story)
    random.Random(seed).shuffle(events)
    assert expected <= _kinds(_audited(story.policy, events))


@pytest.mark.parametrize("seed", range(10))
def test_a_record_published_twice_passes(seed: int, story: Story) -> None:
    events = _events(story)
    events.append(next(event for event in events if event[0] == "record"))
    random.Random(seed).shuffle(events)
    found = _kinds(_audited(story.policy, events))
    assert Kind.EXTRA_RECORDS in found
    assert found <= {Kind.EXTRA_RECORDS, Kind.WRONG_CLASS_SIZE, Kind.TOO_FEW_RECORDS}


def test_a_settled_window_is_kept(story: Story) -> None:
    audit = Audit(story.policy)
    for kind, value in _events(story):
        audit.add_part(value) if kind == "part" else audit.add_record(*value)
    assert not audit._open
    assert not audit._waiting
    assert not audit._parts


@pytest.mark.parametrize("seed", range(5))
def test_an_audit_ends_in_the_middle_of_a_window(seed: int, story: Story) -> None:
    # Of a topic that is still written to, an audit may end only where all that was begun is there.
    events = _events(story)
    random.Random(seed).shuffle(events)
    audit = Audit(story.policy)
    assert audit.at_rest
    rests = []
    for kind, value in events:
        audit.add_part(value) if kind == "part" else audit.add_record(*value)
        rests.append(audit.at_rest)
    assert rests[-1]
    certified = [i for i, (kind, _) in enumerate(events) if kind == "part"]
    begun = range(certified[0], max(certified) + 1)
    complete = [i for i in begun if rests[i]]
    assert len(complete) < len(begun)


def test_records_without_certificate_pass(story: Story) -> None:
    events = [event for event in _events(story) if event[0] == "record"]
    assert _kinds(_audited(story.policy, events)) == {Kind.NO_CERTIFICATE}


def test_a_certificate_without_records_passes(story: Story) -> None:
    events = [event for event in _events(story) if event[0] == "part"]
    found = _kinds(_audited(story.policy, events))
    assert found == {Kind.NO_RECORDS, Kind.WRONG_CLASS_SIZE, Kind.WRONG_ACHIEVED_L}


@pytest.mark.parametrize("batch", [None, "", "Mrs Smith", "0" * 65])
def test_a_record_of_no_batch_passes(batch: str | None, story: Story) -> None:
    verdict = _audited(story.policy, [*_events(story), ("record", (batch, story.records[0][0]))])
    assert _kinds(verdict) == {Kind.NO_BATCH}
    assert "Smith" not in str(verdict)


def test_a_certificate_under_another_header_passes(story: Story) -> None:
    audit = Audit(story.policy)
    for kind, value in _events(story):
        audit.add_part(value, "ff") if kind == "part" else audit.add_record(*value)
    assert _kinds(audit.finish()) == {Kind.WRONG_BATCH}


def test_parts_of_two_certificates_pass_as_one(story: Story) -> None:
    first = story.certificates[0] | {"parts": 2}
    second = first | {"part": 2, "gcp": 0.5, "inputs": [], "classes": []}
    found = _kinds(_audited(story.policy, [("part", _encode(first)), ("part", _encode(second))]))
    assert Kind.PARTS_DISAGREE in found


def test_several_parts_are_not_joined(story: Story) -> None:
    whole = story.certificates[0]
    parts = [
        whole | {"parts": 3, "part": 1, "classes": [], "inputs": whole["inputs"][:1]},
        whole | {"parts": 3, "part": 2, "classes": whole["classes"][:1], "inputs": whole["inputs"][1:]},
        whole | {"parts": 3, "part": 3, "classes": whole["classes"][1:], "inputs": []},
    ]
    encoded = [_encode(part) for part in parts]
    verdict = audit_in_order(story.policy, encoded, story.records[0])
    assert verdict.violations == ()
    assert verdict.counts.parts == 3
    twice = _audited(story.policy, [("part", part) for part in [*encoded[:2], *encoded[1:]]])
    assert Kind.BATCH_TWICE in _kinds(twice)


@pytest.mark.parametrize(
    ("timestamps", "bare"), [([1000, 2000], True), ([1500, 1500], True), ([1000, 1000], False)]
)
def test_metadata_tells_records_apart(timestamps: list[int], bare: bool, policy: Policy) -> None:
    release = release_of(policy, [ward_people(4)])
    (part,) = certificate_parts(release, policy, frame_of(release))
    for wrong in (False, True):
        audit = Audit(policy)
        audit.add_part(part)
        for i, record in enumerate(released_records(release, policy)):
            audit.add_record(f"{1:032x}", record, timestamps[i % 2] if wrong else 3000, bare=bare or not wrong)
        assert _kinds(audit.finish()) == ({Kind.METADATA} if wrong else set())


# Several workers -----------------------------------------------------------------------------------------------


def _workers(policy: Policy) -> tuple[list[bytes], Records]:
    """Worker 1 hands partition 1 to worker 2 after its first window: both chains and all ranges are right."""
    spans = [
        (1, None, [InputRange(0, 0, 9), InputRange(1, 5, 12)]),
        (1, 0, [InputRange(0, 9, 30)]),
        (2, None, [InputRange(1, 12, 40), InputRange(2, 0, 0)]),
        (2, 2, [InputRange(1, 40, 60), InputRange(2, 0, 8)]),
        (1, 1, [InputRange(0, 30, 45)]),
    ]
    parts: list[bytes] = []
    records: Records = []
    for number, (_, before, ranges) in enumerate(spans, start=1):
        release = release_of(policy, [ward_people(4)], ranges=ranges, seed=number)
        previous = None if before is None else certificate_digest([parts[before]])
        parts += certificate_parts(release, policy, frame_of(release, number, previous))
        records.append(released_records(release, policy))
    return parts, records


@pytest.mark.parametrize("seed", range(10))
def test_several_workers_are_accused(seed: int, policy: Policy) -> None:
    parts, records = _workers(policy)
    order = list(range(5))
    random.Random(seed).shuffle(order)
    flat = [record for i in order for record in records[i]]
    verdict = audit_in_order(policy, [parts[i] for i in order], flat)
    assert verdict.violations == ()
    assert verdict.counts.partitions == 3


@pytest.mark.parametrize("left_out", range(3))
def test_a_window_of_a_worker_is_lost(left_out: int, policy: Policy) -> None:
    parts, records = _workers(policy)
    kept = [i for i in range(5) if i != left_out]
    verdict = audit_in_order(policy, [parts[i] for i in kept], [r for i in kept for r in records[i]])
    assert _kinds(verdict) & {Kind.GAP, Kind.UNKNOWN_PREVIOUS}


def test_two_workers_release_one_range(policy: Policy) -> None:
    releases = [release_of(policy, [ward_people(4)], ranges=[InputRange(0, 0, 8)]) for _ in range(2)]
    parts = [certificate_parts(r, policy, frame_of(r, n))[0] for n, r in enumerate(releases)]
    records = [record for release in releases for record in released_records(release, policy)]
    assert _kinds(audit_in_order(policy, parts, records)) == {Kind.OVERLAP}


# Decoding ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        b'{"age":25,"age":"*"}',
        b'{"a":{"b":1,"b":2}}',
        b'{"a":[{"b":1,"b":2}]}',
        b"[]",
        b"1",
        b"null",
        b"",
        b"{",
        b'{"a":NaN}',
        b"\xff",
        b'{"a":' + b"[" * 100_000,
        None,
    ],
)
def test_what_is_hidden_from_a_decoder_passes(text: bytes | None) -> None:
    assert decode_record(text) is None


@pytest.mark.parametrize("text", [b'{"a":1}', b'{ "a": 1.50 }', b'{"a":"\\u00e9","b":{"min":1,"max":2}}', b"{}"])
def test_a_record_written_otherwise_is_refused(text: bytes) -> None:
    assert decode_record(text) == json.loads(text)


def test_a_malformed_record_passes(story: Story) -> None:
    flat: list[Any] = [record for window in story.records for record in window]
    flat[0] = None
    found = _kinds(audit_in_order(story.policy, story.parts(), flat))
    assert Kind.MALFORMED_RECORD in found


# Independence ----------------------------------------------------------------------------------------------------


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_the_audit_shares_code_with_what_it_audits() -> None:
    allowed = (
        "stream_anon.audit",
        "stream_anon.microdata",
        "stream_anon.errors",
        "stream_anon.privacy.certificate",
    )
    for path in (ROOT / "stream_anon" / "audit").glob("*.py"):
        used = [name for name in _imports(path) if name.startswith("stream_anon")]
        assert all(name.startswith(allowed) for name in used), path.name
