"""How many workers a stream needs: as measured where it was measured, and never fewer for more."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.operations.plan.sizing import capacity, sizing
from tests.support.data import ROOT

# Bytes a record, records of a window: records a second of one worker.
MEASURED = {
    (1_000, 1_000): 58_000,
    (1_000, 10_000): 113_000,
    (1_000, 100_000): 86_000,
    (10_000, 1_000): 24_000,
    (10_000, 10_000): 44_000,
}
# MB, where little of a record is published, and where nearly all of it is.
LITTLE = {(1_000, 1_000): 268, (1_000, 100_000): 406, (10_000, 1_000): 397, (10_000, 10_000): 535}
ALL = {(1_000, 1_000): 364, (1_000, 10_000): 465, (1_000, 100_000): 739}
RATES = st.floats(0.01, 1e7)
LENGTHS = st.floats(1, 1e6)
WINDOWS = st.integers(2, 1_000_000)


@pytest.mark.parametrize(("case", "speed"), MEASURED.items())
def test_one_worker_takes_what_was_measured(case: tuple[int, int], speed: int) -> None:
    assert capacity(*case) == pytest.approx(speed, rel=0.01)
    page = (ROOT / "docs" / "guides" / "operations.md").read_text()
    assert f"{speed:,}" in page.partition("## Sizing")[2], "the page names the figure"


@pytest.mark.parametrize(
    ("case", "measured", "most"),
    [*((case, mb, 2.0) for case, mb in LITTLE.items()), *((case, mb, 1.25) for case, mb in ALL.items())],
)
def test_memory_is_never_less_than_was_measured_and_not_much_more(
    case: tuple[int, int], measured: int, most: float
) -> None:
    assert measured <= sizing(1, *case).memory <= most * measured
    page = (ROOT / "docs" / "guides" / "operations.md").read_text()
    assert re.search(rf"\b{measured}\b", page.partition("## Sizing")[2]), "the page names the figure"


def test_a_worker_is_not_planned_to_be_always_busy() -> None:
    assert sizing(75_000, 1_000, 10_000).workers == 1
    assert sizing(113_000, 1_000, 10_000).workers == 2
    assert sizing(800_000, 1_000, 10_000).workers == 11


@given(RATES, RATES, LENGTHS, LENGTHS, WINDOWS)
def test_more_or_longer_records_never_need_less(
    rate: float, other: float, length: float, other_length: float, window: int
) -> None:
    less = sizing(min(rate, other), min(length, other_length), window)
    more = sizing(max(rate, other), max(length, other_length), window)
    assert 1 <= less.workers <= more.workers
    assert 0 < less.memory <= more.memory


@pytest.mark.parametrize(
    ("window", "share", "measured"),
    [(2_000, 1, 1_000), (9_999, 1, 1_000), (30_000, 1, 100_000), (1_000_000, 1, 100_000), (500, 0.5, 1_000)],
)
def test_a_window_that_was_not_measured_counts_as_its_slower_neighbour(
    window: int, share: float, measured: int
) -> None:
    assert capacity(1_000, window) == pytest.approx(share * capacity(1_000, measured))
