"""The certificate: its content, how it is cut into parts, and what a reader refuses."""

from __future__ import annotations

import hashlib
import json
import traceback
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.errors import CertificateError
from stream_anon.microdata.batch import Reason, Rejects
from stream_anon.microdata.diversity import Closeness, Diversity
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Classes, InputRange, Release
from stream_anon.privacy.certificate import (
    PART_BYTES,
    AskedCloseness,
    AskedSpread,
    certificate_digest,
    join_parts,
    read_part,
)
from stream_anon.privacy.certifying import CertificateFrame, certificate_parts
from stream_anon.privacy.promises import asked_of
from tests.support.releases import frame_of, read_certificate, release_of, ward_people, ward_policy


@pytest.fixture
def policy() -> Policy:
    return ward_policy()


@pytest.fixture
def release(policy: Policy) -> Release:
    return release_of(
        policy,
        [ward_people(5), ward_people(4, first=5, age=60, illness="stroke")],
        unplaced=ward_people(2, first=9),
        over_limit=1,
        rejected=[Reason.OUT_OF_RANGE, Reason.MALFORMED, Reason.OUT_OF_RANGE],
    )


def test_every_promise_of_the_design_stands_in_it(policy: Policy, release: Release) -> None:
    (part,) = certificate_parts(release, policy, frame_of(release, previous="sha256:" + "a" * 64))
    document = json.loads(part)
    assert document["schema"] == 2
    assert document["batch"] == f"{1:032x}"
    assert (document["part"], document["parts"]) == (1, 1)
    assert (document["in"], document["released"], document["suppressed"], document["rejected"]) == (15, 9, 3, 3)
    assert document["suppressed_by_reason"] == {"unplaced": 2, "over-limit": 1}
    assert document["rejected_by_reason"] == {"out-of-range": 2, "malformed": 1}
    assert document["asked"] == {"k": 3, "max_share": 0.5, "distinct_l": {"result": 2}, "sensitive": {}}
    assert document["achieved"] == {"k": 4, "distinct_l": {"result": 3}, "sensitive": {}}
    assert document["inputs"] == [{"topic": "people", "partition": 0, "start": 0, "end": 15}]
    assert [one["records"] for one in document["classes"]] == [5, 4]
    assert document["classes"][0]["values"]["plan"] == ["a", "b"]
    assert document["classes"][0]["values"]["patient.zip"] == "123**"
    assert document["classes"][0]["ncp"] == pytest.approx(release.classes.ncp[:, 0].mean())
    assert document["gcp"] == pytest.approx(release.gcp)
    assert document["policy"] == policy.digest
    assert document["previous"] == "sha256:" + "a" * 64


def test_the_order_of_classes_tells_nothing_of_how_they_were_formed(policy: Policy) -> None:
    """Neighbours on the engine's line would tell what `extra_levels` hides."""
    ages = [30 + 5 * step for step in range(9)]
    groups = [ward_people(4, first=4 * number, age=age) for number, age in enumerate(ages)]
    told = []
    for turn in (0, 4, 7):
        release = release_of(policy, groups[turn:] + groups[:turn])
        (part,) = certificate_parts(release, policy, frame_of(release))
        told.append([(one["records"], one["values"]) for one in json.loads(part)["classes"]])
    assert len(told[0]) == 9
    assert told[1] == told[0]
    assert told[2] == told[0]


def test_ignored_records_are_counted_by_reason_and_are_not_among_the_rejected(policy: Policy) -> None:
    reasons = [Reason.DELETED, Reason.TOMBSTONE, Reason.DELETED, Reason.MALFORMED]
    release = release_of(policy, [ward_people(5)], rejected=reasons)
    (part,) = certificate_parts(release, policy, frame_of(release))
    document = json.loads(part)
    assert document["ignored"] == {"deleted": 2, "tombstone": 1}
    assert (document["in"], document["released"], document["rejected"]) == (9, 5, 1)
    assert document["rejected_by_reason"] == {"malformed": 1}


def test_a_certificate_without_ignored_records_has_no_key_for_them(policy: Policy, release: Release) -> None:
    (part,) = certificate_parts(release, policy, frame_of(release))
    assert "ignored" not in json.loads(part)


def test_neither_the_seed_nor_a_field_that_passes_is_in_it(policy: Policy, release: Release) -> None:
    (part,) = certificate_parts(release, policy, frame_of(release))
    text = part.decode()
    assert "seed" not in text
    individual = '"individual":{"field":"person","path":["person"]}'
    assert "person" not in text.replace(individual, "")
    assert "fine" not in text
    assert "visits" not in text


def test_a_window_without_a_class_still_has_one_part(policy: Policy) -> None:
    release = release_of(policy, [], unplaced=ward_people(2))
    (part,) = certificate_parts(release, policy, frame_of(release))
    read = read_certificate([part])
    assert (read.classes, read.achieved.k, read.released, read.gcp) == ([], None, 0, 1.0)


def test_a_window_without_a_partition_and_without_a_record_has_one_part(policy: Policy) -> None:
    release = release_of(policy, [])
    frame = frame_of(release)
    frame = CertificateFrame(frame.batch, frame.opened, frame.closed, (), "exactly-once", "stream-anon 0")
    (part,) = certificate_parts(release, policy, frame)
    read = read_certificate([part])
    assert (read.inputs, read.gcp, read.records_in) == ([], None, 0)


def _many(policy: Policy, classes: int, partitions: int) -> Release:
    """Return a release of equal small classes: what a huge window gives."""
    few = release_of(policy, [ward_people(3)])
    one = few.classes
    return Release(
        classes=Classes(
            np.repeat(one.low, classes, axis=1),
            np.repeat(one.high, classes, axis=1),
            [list(column) * classes for column in one.values],
            np.repeat(one.records, classes),
            np.repeat(one.individuals, classes),
            np.repeat(one.ncp, classes, axis=1),
        ),
        class_of_row=np.repeat(np.arange(classes, dtype=np.int32), 3),
        order=np.arange(3 * classes, dtype=np.int64),
        payload=list(few.payload) * classes,
        suppressed={},
        rejects=Rejects.of([]),
        ranges=tuple(InputRange(i, 0, 3) for i in range(partitions)),
        arrivals=(),
        opened_at=0.0,
        closed_at=1.0,
        achieved_k=3,
        achieved_l={"result": 2},
        gcp=0.5,
    )


def test_no_part_reaches_512_kibibytes(policy: Policy) -> None:
    release = _many(policy, 20_000, 9_000)
    parts = certificate_parts(release, policy, frame_of(release))
    assert len(parts) > 3
    assert max(map(len, parts)) < PART_BYTES
    read = read_certificate(parts)
    assert (len(read.classes), len(read.inputs)) == (20_000, 9_000)
    assert [place.partition for place in read.inputs] == list(range(9_000))
    assert read_certificate(parts[::-1]) == read


def test_one_part_is_written_where_one_will_do(policy: Policy) -> None:
    release = _many(policy, 1_000, 12)
    parts = certificate_parts(release, policy, frame_of(release))
    assert len(parts) == 1


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 4), st.integers(0, 3))
def test_no_class_and_no_range_is_lost_between_parts(classes: int, partitions: int) -> None:
    policy = ward_policy()
    release = _many(policy, 1_400 * classes, 4_200 * partitions)
    frame = frame_of(release)
    parts = certificate_parts(release, policy, frame)
    read = read_certificate(parts)
    assert len(read.classes) == 1_400 * classes
    assert len(read.inputs) == 4_200 * partitions
    assert all(len(part) < PART_BYTES for part in parts)


def test_the_digest_is_that_of_the_lines_in_a_file() -> None:
    expected = hashlib.sha256(b'{"a":1}\n{"b":2}\n').hexdigest()
    assert certificate_digest([b'{"a":1}', b'{"b":2}']) == f"sha256:{expected}"


def test_bytes_divided_otherwise_into_parts_have_another_digest() -> None:
    assert certificate_digest([b"ab", b"c"]) != certificate_digest([b"a", b"bc"])


def _document(policy: Policy, release: Release) -> dict[str, Any]:
    (part,) = certificate_parts(release, policy, frame_of(release))
    document: dict[str, Any] = json.loads(part)
    return document


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", 3),
        ("schema", True),
        ("batch", "Q"),
        ("part", 0),
        ("part", 2),
        ("opened", "yesterday"),
        ("in", -1),
        ("in", 1.5),
        ("in", "15"),
        ("released", None),
        ("released", True),
        ("suppressed_by_reason", {"gate": -1}),
        ("asked", {"k": 1, "max_share": 0.5, "distinct_l": {}}),
        ("asked", {"k": 3}),
        ("achieved", {"k": 3, "distinct_l": {}, "note": "x"}),
        ("gcp", 1.01),
        ("delivery", "maybe"),
        ("previous", "a" * 64),
        ("inputs", [{"topic": "t", "partition": 0, "start": -1, "end": 1}]),
        ("classes", [{"records": 3}]),
        ("classes", {}),
        ("note", "x"),
    ],
)
def test_a_malformed_certificate_is_refused(key: str, value: object, policy: Policy, release: Release) -> None:
    document = _document(policy, release) | {key: value}
    with pytest.raises(CertificateError):
        read_certificate([json.dumps(document).encode()])


def test_no_message_repeats_what_a_malformed_certificate_holds(policy: Policy, release: Release) -> None:
    for stray in ({"released": "Mrs Smith"}, {"Mrs Smith": 1}, {"batch": "Mrs Smith"}):
        with pytest.raises(CertificateError) as caught:
            read_certificate([json.dumps(_document(policy, release) | stray).encode()])
        shown = "".join(traceback.format_exception(caught.value, chain=True))
        assert "Smith" not in shown.rpartition("CertificateError")[2]
        assert "msgspec." not in shown


@pytest.mark.parametrize("part", [b"", b"null", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"schema":2}'])
def test_noise_is_not_read_as_a_certificate(part: bytes) -> None:
    with pytest.raises(CertificateError):
        read_part(part)


def test_a_missing_key_is_refused(policy: Policy, release: Release) -> None:
    document = _document(policy, release)
    for key in document:
        shorter = {name: value for name, value in document.items() if name != key}
        with pytest.raises(CertificateError):
            read_certificate([json.dumps(shorter).encode()])


def test_parts_of_two_certificates_are_not_joined(policy: Policy) -> None:
    release = _many(policy, 4_000, 2)
    mine = certificate_parts(release, policy, frame_of(release, 1))
    other = certificate_parts(release, policy, frame_of(release, 2))
    assert len(mine) > 1
    with pytest.raises(CertificateError, match="disagree"):
        read_certificate([mine[0], *other[1:]])


@pytest.mark.parametrize("chosen", [[], [0], [0, 0], [1, 1], [0, 1, 1]])
def test_a_certificate_with_a_part_missing_or_twice_is_refused(chosen: list[int], policy: Policy) -> None:
    release = _many(policy, 3_000, 2)
    parts = certificate_parts(release, policy, frame_of(release))
    assert len(parts) == 2
    with pytest.raises(CertificateError):
        join_parts([read_part(parts[i]) for i in chosen])


@pytest.mark.parametrize(
    "change",
    [{"batch": "window-1"}, {"opened": "08:00"}, {"delivery": "twice"}, {"previous": "none"}, {"promises": "k"}],
)
def test_a_frame_that_no_reader_would_take_is_refused(change: dict[str, str]) -> None:
    given = {"batch": "0f", "opened": "2024-05-13T08:00:00Z", "closed": "2024-05-13T08:00:00Z", "inputs": ()}
    with pytest.raises(ValueError, match=next(iter(change))):
        CertificateFrame(**({"delivery": "file", "software": "x", **given} | change))  # type: ignore[arg-type]


def test_a_part_beyond_the_last_one_is_refused_alone(policy: Policy, release: Release) -> None:
    document = _document(policy, release)
    assert read_part(json.dumps(document | {"part": 2, "parts": 2}).encode()).part == 2
    with pytest.raises(CertificateError, match="exceeds"):
        read_part(json.dumps(document | {"part": 2}).encode())


def test_reasons_and_attributes_that_count_nothing_are_left_out(policy: Policy) -> None:
    release = replace(release_of(policy, [ward_people(3)]), missing={"day": 2, "visits": 0})
    document = _document(policy, release)
    assert release.suppressed
    assert document["suppressed_by_reason"] == {}
    assert document["missing"] == {"day": 2}


def test_numbers_of_values_are_asked_where_a_criterion_implies_one() -> None:
    close = Diversity(t_closeness=Closeness(0.3))
    policy = ward_policy(diversity={"result": close})
    assert asked_of(policy).distinct_l == {}
    assert asked_of(policy).sensitive == {"result": AskedSpread(t_closeness=AskedCloseness(0.3, "equal"))}
    assert asked_of(ward_policy()).sensitive == {}
    assert asked_of(ward_policy(diversity={"result": Diversity(entropy_l=2.5)})).distinct_l == {"result": 3}


def test_a_mean_that_rounding_took_above_one_is_written_as_one(policy: Policy, release: Release) -> None:
    beyond = np.full_like(release.classes.ncp, np.nextafter(1, 2))
    document = _document(policy, replace(release, classes=replace(release.classes, ncp=beyond)))
    assert [one["ncp"] for one in document["classes"]] == [1.0, 1.0]


def test_an_item_larger_than_a_part_stands_alone_in_its_part(policy: Policy, release: Release) -> None:
    parts = [read_part(part) for part in certificate_parts(release, policy, frame_of(release), part_bytes=1)]
    assert [(len(part.inputs), len(part.classes)) for part in parts] == [(1, 0), (0, 1), (0, 1)]
