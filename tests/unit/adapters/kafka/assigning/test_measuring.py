"""What a member measures of its load."""

from __future__ import annotations

import pytest

from stream_anon.adapters.kafka.assigning.measuring import CATCH_UP, Measured

ONE, OTHER = ("people", 0), ("people", 1)


def after(seconds: int, busy: float, read: tuple[int, int], waiting: tuple[int, int] = (0, 0)) -> Measured:
    """Return what is known after some seconds at these rates, noted every two."""
    measured = Measured()
    for now in range(0, seconds + 1, 2):
        counts = {ONE: read[0] * now, OTHER: read[1] * now}
        measured.note(100.0 + now, busy * now, counts, dict(zip((ONE, OTHER), waiting, strict=True)))
    return measured


def test_nothing_is_known_before_a_minute_has_passed() -> None:
    assert (after(58, 0.5, (1, 1)).busy, after(58, 0.5, (1, 1)).loads) == (None, {})
    assert Measured().load is None


def test_a_minute_tells_the_busy_share_and_each_partitions_part_of_it() -> None:
    measured = after(60, 0.5, (30, 10))
    assert measured.busy == pytest.approx(0.5)
    assert measured.loads == pytest.approx({ONE: 0.375, OTHER: 0.125})


def test_only_the_last_minute_counts() -> None:
    measured = after(60, 1.0, (1, 1))
    for now in range(62, 92, 2):
        measured.note(100.0 + now, 60.0, {ONE: 60, OTHER: 60}, {})
    assert measured.busy == pytest.approx(0.5)
    measured.note(192.0, 60.0, {ONE: 60, OTHER: 60}, {})
    assert measured.busy == pytest.approx(28 / 60)


def test_what_waits_is_load_that_should_be_gone_in_time() -> None:
    """One second of each minute's reading costs 0.01 busy seconds a record: 300 seconds of it make up a backlog."""
    measured = after(60, 1.0, (100, 0), (0, int(100 * CATCH_UP)))
    assert measured.loads == pytest.approx({ONE: 1.0, OTHER: 1.0})


def test_a_member_that_reads_nothing_of_what_waits_does_not_know_its_load() -> None:
    assert after(60, 0.0, (0, 0), (5, 0)).loads == {}
    assert after(60, 0.02, (0, 0)).loads == pytest.approx({ONE: 0.01, OTHER: 0.01})


def test_other_partitions_are_measured_anew() -> None:
    measured = after(60, 0.5, (1, 1))
    measured.note(162.0, 31.0, {ONE: 60}, {ONE: 0})
    assert (measured.busy, measured.loads) == (None, {})


def test_the_busy_share_is_never_above_one_nor_below_zero() -> None:
    assert after(60, 1.5, (1, 1)).busy == 1.0
    assert after(60, -1.5, (1, 1)).busy == 0.0
