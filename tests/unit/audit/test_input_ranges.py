"""How input ranges join if an input topic was deleted and created again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.verdict import Kind, Verdict
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import InputRange
from stream_anon.privacy.certificate import certificate_digest
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, release_of, released_records, ward_people
from tests.unit.audit.story import kinds


class _Window(NamedTuple):
    topic_id: str | None
    start: int
    end: int
    minutes: int


def _verdict(policy: Policy, windows: Sequence[_Window], order: Sequence[int] | None = None) -> Verdict:
    parts, records, previous = [], [], None
    for number, window in enumerate(windows, start=1):
        release = release_of(policy, [ward_people(4)], ranges=[InputRange(0, window.start, window.end)])
        frame = frame_of(release, number, previous, topic_id=window.topic_id, minutes=window.minutes)
        (part,) = certificate_parts(release, policy, frame)
        previous = certificate_digest([part])
        parts.append(part)
        records.append(released_records(release, policy))
    order = order or range(len(windows))
    return audit_in_order(Audit(policy), [parts[i] for i in order], [r for i in order for r in records[i]])


OLD = [_Window("old", 0, 10, 1), _Window("old", 10, 30, 3)]
NEW = [_Window("new", 0, 20, 8), _Window("new", 20, 40, 9)]


def test_a_topic_that_was_created_anew_begins_its_offsets_again_in_whatever_order_its_windows_come(
    policy: Policy,
) -> None:
    for order in permutations(range(4)):
        verdict = _verdict(policy, [*OLD, *NEW], order)
        assert verdict.violations == ()
        assert [(life.topic_id, life.windows) for life in verdict.lives] == [("old", 2), ("new", 2)]
        assert verdict.counts.partitions == 1


def test_a_range_that_is_released_twice_within_a_life_is_an_overlap(policy: Policy) -> None:
    assert kinds(_verdict(policy, [*OLD, *NEW, _Window("new", 20, 40, 10)])) == {Kind.OVERLAP}


def _losing(policy: Policy, *lost: tuple[int, int], start: int = 20, end: int = 100) -> Verdict:
    release = release_of(policy, [ward_people(4)], ranges=[InputRange(0, start, end)])
    frame = frame_of(release)
    (place,) = frame.inputs
    parts = certificate_parts(release, policy, replace(frame, lost={place[:2]: lost}))
    return audit_in_order(Audit(policy), parts, released_records(release, policy))


def test_what_a_certificate_calls_lost_is_counted_and_no_gap(policy: Policy) -> None:
    verdict = _losing(policy, (20, 30), (90, 100))
    assert (verdict.violations, verdict.counts.lost) == ((), 20)
    assert _losing(policy).counts.lost == 0


@pytest.mark.parametrize(
    "lost",
    [[(19, 30)], [(90, 101)], [(30, 30)], [(40, 30)], [(50, 60), (30, 40)], [(30, 50), (40, 60)]],
    ids=["before", "behind", "empty", "backwards", "disordered", "overlapping"],
)
def test_what_is_called_lost_lies_inside_its_range_in_order(policy: Policy, lost: list[tuple[int, int]]) -> None:
    assert Kind.WRONG_RANGE in kinds(_losing(policy, *lost))


def test_records_do_not_come_from_what_was_lost(policy: Policy) -> None:
    assert kinds(_losing(policy, (20, 98))) == {Kind.TOO_MANY_RECORDS}


def test_a_gap_within_a_life_is_a_gap(policy: Policy) -> None:
    assert kinds(_verdict(policy, [*OLD, _Window("new", 0, 20, 8), _Window("new", 24, 40, 9)])) == {Kind.GAP}


@pytest.mark.parametrize("late", [_Window("new", 30, 40, 8), _Window("invented", 0, 10, 4)])
def test_an_id_that_is_used_while_another_one_is_in_use_is_named(policy: Policy, late: _Window) -> None:
    verdict = _verdict(policy, [*OLD, late, _Window("old", 30, 40, 10)])
    assert kinds(verdict) == {Kind.LIVES_MIXED}
    assert {violation.attribute for violation in verdict.violations} == {"people"}


def test_windows_that_name_no_id_belong_to_the_first_life(policy: Policy) -> None:
    unnamed = [window._replace(topic_id=None) for window in OLD]
    verdict = _verdict(policy, [*unnamed, _Window("old", 30, 40, 5), *NEW])
    assert verdict.violations == ()
    assert [(life.topic_id, life.windows) for life in verdict.lives] == [("old", 3), ("new", 2)]
    assert kinds(_verdict(policy, [*unnamed, _Window("old", 25, 40, 5)])) == {Kind.OVERLAP}


def test_a_topic_whose_windows_name_no_id_has_one_life(policy: Policy) -> None:
    verdict = _verdict(policy, [window._replace(topic_id=None) for window in OLD])
    assert [(life.topic_id, life.windows) for life in verdict.lives] == [("", 2)]


def test_clocks_of_two_workers_may_differ_by_less_than_a_minute(policy: Policy) -> None:
    skewed = [_Window("old", 0, 10, 1), _Window("old", 10, 30, 4), _Window("new", 0, 20, 3)]
    assert _verdict(policy, skewed).violations == ()
