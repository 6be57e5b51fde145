"""When the open forest is laid: arithmetic on row counts."""

from __future__ import annotations

from itertools import pairwise

import pytest

from stream_anon.clustering.forest.arriving.schedule import GROWTH, next_mark
from stream_anon.clustering.partitioning import UNKNOWN, Outlook


@pytest.mark.parametrize(
    ("rate", "at_once", "rows", "classes"),
    [
        pytest.param(1_000.0, 10, 9_700, True, id="slowly, polls of a few rows"),
        pytest.param(1_000.0, 400, 9_600, True, id="never later than one poll before the end"),
        pytest.param(1_000.0, 450, 9_550, False, id="too many late for classes"),
        pytest.param(20_000.0, 10, 9_700, False, id="no time to form classes"),
        pytest.param(36_000.0, 10, 9_550, False, id="as many are late as come while the line is laid"),
    ],
)
def test_the_mark_leaves_enough_time_for_its_work(rate: float, at_once: int, rows: int, classes: bool) -> None:
    for held in (rows, rows + 7):  # how rows were cut into batches has no part in it
        mark = next_mark(Outlook(10_000, rate, at_once), held, 10, sizes_decide=True)
        assert mark is not None
        assert (mark.rows, mark.classes) == (rows, classes)
    assert next_mark(Outlook(10_000, rate, at_once), rows - 1, 10, sizes_decide=True) is None


@pytest.mark.parametrize(
    "outlook",
    [
        pytest.param(UNKNOWN, id="no time passes"),
        pytest.param(Outlook(10_000, 300_000.0), id="a backlog"),
        pytest.param(Outlook(10_000, 100.0, 2_000), id="polls of a fifth of the window"),
        pytest.param(Outlook(30, 1.0), id="three classes"),
    ],
)
def test_nothing_is_prepared_where_it_saves_nothing(outlook: Outlook) -> None:
    assert next_mark(outlook, 10_000, 10, sizes_decide=True) is None


def test_classes_are_prepared_only_where_sizes_alone_decide() -> None:
    free = next_mark(Outlook(10_000, 10_500.0), 9_700, 10, sizes_decide=True)
    bound = next_mark(Outlook(10_000, 10_500.0), 9_700, 10, sizes_decide=False)
    assert free is not None
    assert bound is not None
    assert (free.classes, bound.classes) == (True, False)
    assert free.rows == bound.rows  # somebody who comes twice after the mark does not change where it was


def test_the_last_block_is_there_when_the_window_ends() -> None:
    mark = next_mark(Outlook(1_000, 10_000.0, 10), 966, 10, sizes_decide=True)
    assert mark is not None
    assert mark.block == 10
    ends, reached = [], mark.rows
    while reached < 1_000:
        reached = mark.block_end(reached)
        ends.append(reached)
    assert ends == [970, 980, 990, 1_000]
    assert mark.block_end(1_000) == 1_010


def test_a_window_without_a_known_end_is_laid_each_time_it_has_grown_by_a_fixed_ratio() -> None:
    marks = {
        mark.rows
        for held in range(1, 3_000)
        if (mark := next_mark(Outlook(None, 5.0), held, 10, sizes_decide=True)) is not None
    }
    ordered = sorted(marks)
    assert ordered[0] == 40
    ratios = [b / a for a, b in pairwise(ordered)]
    assert all(GROWTH <= ratio <= GROWTH + 0.03 for ratio in ratios)
    assert ordered[-1] * GROWTH >= 2_999 / 1.03
