from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from stream_anon.adapters.prometheus.column_histogram import ColumnHistogram

BOUNDS = (0.5, 1.0, 2.0, 10.0)


@given(st.lists(st.tuples(st.floats(0, 20), st.integers(0, 5)), max_size=30))
def test_a_column_is_counted_as_value_by_value(rows: list[tuple[float, int]]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    columns = ColumnHistogram("x_seconds", "X.", BOUNDS, ours)
    single = Histogram("x_seconds", "X.", buckets=BOUNDS, registry=theirs)
    columns.observe([v for v, _ in rows], [n for _, n in rows])
    for number, times in rows:
        for _ in range(times):
            single.observe(number)

    for bound in ("0.5", "1.0", "2.0", "10.0", "+Inf"):
        own = ours.get_sample_value("x_seconds_bucket", {"le": bound.removesuffix(".0")})
        assert own == theirs.get_sample_value("x_seconds_bucket", {"le": bound})
    assert ours.get_sample_value("x_seconds_sum") == pytest.approx(theirs.get_sample_value("x_seconds_sum"))
    assert ours.get_sample_value("x_seconds_count") == theirs.get_sample_value("x_seconds_count")


def test_clocks_that_differ_never_make_a_sum_shrink() -> None:
    registry = CollectorRegistry()
    columns = ColumnHistogram("x_seconds", "X.", BOUNDS, registry)
    columns.observe(-4.0)

    assert registry.get_sample_value("x_seconds_sum") == 0
    assert registry.get_sample_value("x_seconds_count") == 1
