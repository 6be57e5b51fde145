"""Auditing several workers: a chain for each, ranges of all."""

from __future__ import annotations

import random

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import InputRange
from stream_anon.privacy.certificate import certificate_digest
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, release_of, released_records, ward_people
from tests.unit.audit.story import Records, kinds


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
def test_the_windows_of_several_workers_pass(seed: int, policy: Policy) -> None:
    parts, records = _workers(policy)
    order = list(range(5))
    random.Random(seed).shuffle(order)
    flat = [record for i in order for record in records[i]]
    verdict = audit_in_order(Audit(policy), [parts[i] for i in order], flat)
    assert verdict.violations == ()
    assert verdict.counts.partitions == 3


@pytest.mark.parametrize("left_out", range(3))
def test_a_missing_window_of_a_worker_is_found(left_out: int, policy: Policy) -> None:
    parts, records = _workers(policy)
    kept = [i for i in range(5) if i != left_out]
    verdict = audit_in_order(Audit(policy), [parts[i] for i in kept], [r for i in kept for r in records[i]])
    assert kinds(verdict) & {Kind.GAP, Kind.UNKNOWN_PREVIOUS}


def test_one_range_released_by_two_workers_is_found(policy: Policy) -> None:
    releases = [release_of(policy, [ward_people(4)], ranges=[InputRange(0, 0, 8)]) for _ in range(2)]
    parts = [certificate_parts(r, policy, frame_of(r, n))[0] for n, r in enumerate(releases)]
    records = [record for release in releases for record in released_records(release, policy)]
    assert kinds(audit_in_order(Audit(policy), parts, records)) == {Kind.OVERLAP}
