"""Ranges join in any order; gaps and overlaps name the window behind them, and the horizon excuses gaps only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import inf
from typing import NamedTuple

import msgspec
import pytest

from stream_anon.audit.chain import Chain
from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.input_ranges import Ranges
from stream_anon.audit.scope import Removed, seconds_of
from stream_anon.audit.verdict import Kind, Life, Violation
from stream_anon.privacy.certificate import Certificate, CertifiedRange
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, read_certificate, release_of, ward_people, ward_policy

POLICY = ward_policy()


class _Window(NamedTuple):
    """A window over one range: its batch is its number, and it closed so many seconds after eight."""

    number: int
    start: int
    end: int
    seconds: int
    partition: int = 0
    topic_id: str | None = None


def _time(seconds: int) -> str:
    return f"2024-05-13T08:{seconds // 60:02}:{seconds % 60:02}Z"


def _certificate(*windows: _Window, records: int = 0) -> Certificate:
    release = release_of(POLICY, [ward_people(3)])
    (first, *_) = windows
    whole = read_certificate(certificate_parts(release, POLICY, frame_of(release, first.number)))
    inputs = [CertifiedRange("people", one.partition, one.start, one.end, one.topic_id) for one in windows]
    return msgspec.structs.replace(whole, inputs=inputs, closed=_time(first.seconds), records_in=records)


def _batch(number: int) -> str:
    return f"{number:032x}"


def _ranges(windows: Sequence[_Window]) -> tuple[Ranges, CollectedViolations]:
    findings = CollectedViolations()
    ranges = Ranges(findings)
    for window in windows:
        ranges.add(_certificate(window))
    return ranges, findings


# [0, 10) [10, 20) [20, 30)    [40, 50) [50, 60)
ROW = [
    _Window(1, 0, 10, 10),
    _Window(2, 10, 20, 20),
    _Window(3, 20, 30, 30),
    _Window(4, 40, 50, 40),
    _Window(5, 50, 60, 50),
]


def test_ranges_that_meet_are_one_in_whatever_order_they_come() -> None:
    for order in permutations(ROW):
        ranges, findings = _ranges(order)
        assert not ranges.joined()
        # Window 3 ends what stands before the gap, window 4 begins what stands behind it.
        assert ranges.joined(seconds_of(_time(30)))
        assert not ranges.joined(seconds_of(_time(29)))
        removed = Removed()
        assert ranges.finish(removed, -inf) == 1
        assert findings.listed() == (Violation(Kind.GAP, _batch(4), None, "people/0"),)
        assert removed.gaps == 0


@pytest.mark.parametrize(("horizon", "excused"), [(30, True), (29, False)])
def test_a_gap_is_excused_up_to_the_horizon(horizon: int, excused: bool) -> None:
    ranges, findings = _ranges(ROW)
    removed = Removed()
    ranges.finish(removed, seconds_of(_time(horizon)))
    assert (removed.gaps, len(findings.listed())) == ((1, 0) if excused else (0, 1))


def test_nothing_excuses_an_overlap() -> None:
    ranges, findings = _ranges([_Window(1, 0, 10, 1), _Window(2, 9, 20, 2)])
    assert not ranges.joined()
    removed = Removed()
    ranges.finish(removed, inf)
    assert findings.listed() == (Violation(Kind.OVERLAP, _batch(2), None, "people/0"),)
    assert removed.gaps == 0


def test_a_range_within_another_does_not_hide_a_gap_behind_both() -> None:
    ranges, findings = _ranges([_Window(1, 0, 30, 1), _Window(2, 5, 10, 2), _Window(3, 40, 50, 3)])
    ranges.finish(Removed(), -inf)
    assert set(findings.listed()) == {
        Violation(Kind.OVERLAP, _batch(2), None, "people/0"),
        Violation(Kind.GAP, _batch(3), None, "people/0"),
    }


def test_what_follows_is_compared_with_the_range_that_reaches_farthest() -> None:
    # [0, 30) with [5, 10) inside, then [20, 40); far behind [60, 70), [65, 80).
    rows = [(0, 30), (5, 10), (20, 40), (60, 70), (65, 80)]
    ranges, findings = _ranges([_Window(n, a, b, n) for n, (a, b) in enumerate(rows)])
    ranges.finish(Removed(), -inf)
    found = {one.batch: one.kind for one in findings.listed()}
    assert found == {
        _batch(1): Kind.OVERLAP,
        _batch(2): Kind.OVERLAP,
        _batch(3): Kind.GAP,
        _batch(4): Kind.OVERLAP,
    }


def test_each_gap_is_excused_by_the_window_before_it() -> None:
    ranges, findings = _ranges([_Window(1, 0, 10, 1), _Window(2, 20, 30, 9), _Window(3, 40, 50, 3)])
    removed = Removed()
    ranges.finish(removed, seconds_of(_time(5)))
    assert removed.gaps == 1
    assert findings.listed() == (Violation(Kind.GAP, _batch(3), None, "people/0"),)


@pytest.mark.parametrize("again", [_Window(9, 0, 5, 9), _Window(9, 5, 10, 9), _Window(9, 0, 10, 9)])
def test_a_range_that_begins_or_ends_where_another_does_overlaps_it(again: _Window) -> None:
    _, findings = _ranges([_Window(1, 0, 10, 1), again])
    assert findings.listed() == (Violation(Kind.OVERLAP, _batch(9), None, "people/0"),)


def test_partitions_join_each_for_itself() -> None:
    windows = [_Window(1, 0, 10, 1), _Window(2, 70, 80, 2, partition=1), _Window(3, 10, 20, 3)]
    ranges, findings = _ranges(windows)
    assert ranges.joined()
    assert ranges.finish(Removed(), -inf) == 2
    assert findings.listed() == ()


def test_an_empty_range_is_right_and_one_that_ends_before_it_starts_is_not() -> None:
    findings = CollectedViolations()
    ranges = Ranges(findings)
    ranges.add(_certificate(_Window(1, 5, 5, 1), _Window(1, 0, 3, 1, partition=1)))
    assert findings.listed() == ()
    assert [life.windows for life in ranges.lives()] == [1]
    ranges.add(_certificate(_Window(2, 6, 5, 2)))
    assert findings.listed() == (Violation(Kind.WRONG_RANGE, _batch(2), None, "people/0"),)
    ranges.add(_certificate(_Window(3, 20, 30, 3), _Window(3, 30, 40, 3)))
    assert Violation(Kind.WRONG_RANGE, _batch(3), None, "people/0") in findings.listed()


@pytest.mark.parametrize(("records", "right"), [(9, True), (10, True), (11, False)])
def test_a_window_has_no_more_records_than_its_ranges_hold(records: int, right: bool) -> None:
    findings = CollectedViolations()
    windows = (_Window(1, 3, 10, 1), _Window(1, 5, 8, 1, partition=1), _Window(1, 5, 5, 1, partition=2))
    Ranges(findings).add(_certificate(*windows, records=records))
    assert findings.listed() == (() if right else (Violation(Kind.TOO_MANY_RECORDS, _batch(1)),))


def test_a_range_that_runs_backwards_takes_no_room_from_the_others() -> None:
    findings = CollectedViolations()
    window = (_Window(1, 0, 10, 1), _Window(1, 9, 2, 1, partition=1))
    Ranges(findings).add(_certificate(*window, records=10))
    assert findings.listed() == (Violation(Kind.WRONG_RANGE, _batch(1), None, "people/1"),)


def test_a_life_knows_its_first_and_last_window_in_whatever_order_they_come() -> None:
    windows = [_Window(n, 10 * n, 10 * n + 10, n, topic_id="new") for n in (1, 2, 3)]
    for order in permutations(windows):
        ranges, _ = _ranges(order)
        assert ranges.lives() == [Life("people", "new", _time(1), _time(3), 3, _batch(1))]
    same = [_Window(n, 10 * n, 10 * n + 10, 5, topic_id="new") for n in (2, 1)]
    assert _ranges(same)[0].lives() == [Life("people", "new", _time(5), _time(5), 2, _batch(1))]


def test_windows_without_an_id_are_part_of_the_first_life_by_time() -> None:
    named = [_Window(3, 0, 10, 30, topic_id="b"), _Window(4, 0, 10, 40, topic_id="a")]
    unnamed = [_Window(1, 10, 20, 10), _Window(2, 20, 30, 35)]
    for order in permutations([*named, *unnamed]):
        ranges, findings = _ranges(order)
        assert ranges.lives() == [
            Life("people", "b", _time(10), _time(35), 3, _batch(1)),
            Life("people", "a", _time(40), _time(40), 1, _batch(4)),
        ]
        assert ranges.joined()
        removed = Removed()
        ranges.finish(removed, inf)
        assert findings.listed() == ()
        assert removed.gaps == 0, "they meet"


def test_an_empty_range_begins_no_life() -> None:
    ranges = Ranges(CollectedViolations())
    ranges.add(_certificate(_Window(1, 5, 5, 1, topic_id="new")))
    assert ranges.lives() == []
    assert ranges.finish(Removed(), -inf) == 1


@pytest.mark.parametrize(("last", "mixed"), [(100, False), (160, False), (161, True)])
def test_a_life_may_end_a_minute_after_the_next_one_began(last: int, mixed: bool) -> None:
    windows = [_Window(1, 0, 10, 50, topic_id="a"), _Window(2, 10, 20, last, topic_id="a")]
    ranges, findings = _ranges([*windows, _Window(3, 0, 10, 100, topic_id="b")])
    ranges.finish(Removed(), -inf)
    expected = (Violation(Kind.LIVES_MIXED, _batch(3), None, "people"),) if mixed else ()
    assert findings.listed() == expected


def test_a_chain_is_joined_once_every_certificate_that_is_named_is_there() -> None:
    first, second = _certificate(ROW[0]), _certificate(ROW[1])
    second = msgspec.structs.replace(second, previous="sha256:" + "1" * 64)
    for horizon, chains, found in ((-inf, 0, [Kind.UNKNOWN_PREVIOUS]), (0.0, 1, [])):
        findings, removed = CollectedViolations(), Removed()
        chain = Chain(findings)
        assert chain.joined
        chain.add(second, "sha256:" + "2" * 64)
        assert not chain.joined
        chain.finish(removed, horizon)
        assert [one.kind for one in findings.listed()] == found
        assert removed.chains == chains
        chain.add(first, "sha256:" + "1" * 64)
        assert chain.joined
    findings = CollectedViolations()
    chain = Chain(findings)
    chain.add(first, "sha256:" + "1" * 64)
    for number in (2, 3):
        chain.add(msgspec.structs.replace(second, batch=_batch(number)), f"sha256:{number}")
    assert chain.joined
    assert findings.listed() == (Violation(Kind.PREVIOUS_TWICE, _batch(3)),)


def test_an_unknown_certificate_is_told_with_the_first_that_names_it() -> None:
    findings = CollectedViolations()
    chain = Chain(findings)
    for number in (7, 8):
        certificate = msgspec.structs.replace(_certificate(ROW[0]), batch=_batch(number), previous="sha256:x")
        chain.add(certificate, f"sha256:{number}")
    chain.finish(Removed(), -inf)
    assert set(findings.listed()) == {
        Violation(Kind.PREVIOUS_TWICE, _batch(8)),
        Violation(Kind.UNKNOWN_PREVIOUS, _batch(7)),
    }


def test_every_unknown_certificate_is_told_in_whatever_order_they_come() -> None:
    told = set()
    for order in permutations(range(3)):
        findings = CollectedViolations()
        chain = Chain(findings)
        for number in order:
            certificate = msgspec.structs.replace(
                _certificate(ROW[0]), batch=_batch(number), previous=f"sha256:{number}"
            )
            chain.add(certificate, f"sha256:{number + 10}")
        chain.finish(Removed(), -inf)
        told.add(findings.listed())
    assert told == {tuple(Violation(Kind.UNKNOWN_PREVIOUS, _batch(number)) for number in range(3))}
