from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from stream_anon.windowing.bounds import LEAST_MEMORY, LearnedBound, WindowBound

MANY, LEAST = 1_000_000, 10_000
GIB = 2.0**30


def _learned(memory: float = math.inf, *, fixed: bool = False) -> LearnedBound:
    """Return a bound that has grown to what was set."""
    learned = LearnedBound(WindowBound(MANY, memory), LEAST, fixed=fixed)
    for _ in range(4):
        learned.published(learned.now.records, 0.01)
    assert learned.now == WindowBound(MANY, memory)
    return learned


def test_the_first_window_holds_less_and_those_that_fill_it_fast_double_it() -> None:
    learned, found = LearnedBound(WindowBound(MANY), LEAST, fixed=False), []
    for _ in range(5):
        found.append(learned.now.records)
        learned.published(learned.now.records, 0.29)
    assert found == [100_000, 200_000, 400_000, 800_000, MANY]
    assert LearnedBound(WindowBound(MANY), 300_000, fixed=False).now.records == 300_000


def test_a_window_has_no_room_at_either_bound() -> None:
    bound = WindowBound(10, 1000.0)
    assert [bound.room(n, 0) for n in (0, 9, 10, 11)] == [10, 1, 0, 0]
    assert [bound.room(3, held) for held in (999, 1000, 1001)] == [7, 0, 0]


def test_memory_closes_no_window_of_few_records_and_no_empty_one() -> None:
    bound = WindowBound(10, 1000.0, 6)
    assert [bound.room(n, 2000) for n in (0, 5, 6, 7)] == [6, 1, 0, 0]
    assert bound.expected(1, 2000) == 6
    assert WindowBound(10, 0.0).room(0, 0) == 1
    assert WindowBound(3, 0.0, 6).room(2, 2000) == 1


def test_a_window_that_was_too_large_for_its_time_is_halved_until_it_is_small_enough() -> None:
    learned = _learned()
    found = []
    records = MANY
    while learned.too_slow(records):
        records = learned.now.records
        found.append(records)
    assert found == [500_000, 250_000, 125_000, 62_500, 31_250, 15_625, LEAST]


def test_a_small_window_that_is_slow_says_nothing_about_large_ones() -> None:
    learned = LearnedBound(WindowBound(MANY), LEAST, fixed=False)
    for records in (1, 60, LEAST):
        assert not learned.too_slow(records)
        learned.published(records, 1.0)
    assert learned.now.records == 100_000
    assert learned.too_slow(LEAST + 1)


def test_what_is_learned_leaves_alone_how_many_records_a_window_takes_at_the_least() -> None:
    learned = LearnedBound(WindowBound(MANY, GIB, 6), LEAST, fixed=False)
    learned.too_slow(100_000)
    learned.sealed(2**30, 0)
    assert learned.now == WindowBound(50_000, GIB / 2, 6)


def test_a_window_that_takes_most_of_its_time_is_halved_before_it_is_too_large() -> None:
    learned = _learned()
    learned.published(400_000, 0.8)
    assert learned.now.records == 200_000
    learned.published(200_000, 0.5)
    assert learned.now.records == 200_000


def test_full_windows_that_take_little_of_their_time_grow_back_to_where_they_began() -> None:
    learned = _learned()
    learned.too_slow(100_000)
    for _ in range(10):
        learned.published(learned.now.records // 4, 0.01)  # they were due: that they are fast tells nothing
    assert learned.now.records == 50_000
    for _ in range(10):
        learned.published(learned.now.records, 0.01)
    assert learned.now.records == MANY


def test_a_number_that_somebody_has_chosen_stays() -> None:
    learned = _learned(GIB, fixed=True)
    assert not learned.too_slow(MANY)
    learned.published(MANY, 0.9)
    learned.sealed(2**29, 0)
    assert learned.now == WindowBound(MANY, GIB)


def test_where_memory_is_short_windows_hold_half_until_there_is_enough_again() -> None:
    learned = _learned(GIB)
    learned.sealed(2**30, 2**30)
    assert learned.now.memory == GIB / 2
    learned.sealed(2**29, 5 * 2**29)
    assert learned.now.memory == GIB / 2
    learned.sealed(2**29, 7 * 2**30)
    assert learned.now.memory == GIB


@given(st.integers(2**24, 2**31))
def test_what_windows_may_hold_never_tells_the_bytes_of_one(held: int) -> None:
    learned = _learned(GIB)
    learned.sealed(held, 0)
    assert learned.now.memory in {2.0**power for power in range(24, 30)}
    assert min(held, GIB) / 2 <= max(learned.now.memory, LEAST_MEMORY)
    assert learned.now.memory < max(held, LEAST_MEMORY + 1)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("published"), st.integers(0, MANY), st.floats(0, 3)),
            st.tuples(st.just("too_slow"), st.integers(0, MANY), st.just(0)),
            st.tuples(st.just("sealed"), st.integers(0, 2**31), st.integers(0, 2**36)),
        ),
        max_size=30,
    )
)
def test_whatever_is_learned_stays_within_what_was_set(steps: list[tuple[str, int, float]]) -> None:
    learned = _learned(GIB)
    for what, number, other in steps:
        if what == "published":
            learned.published(number, other)
        elif what == "too_slow":
            learned.too_slow(number)
        else:
            learned.sealed(number, int(other))
        assert LEAST <= learned.now.records <= MANY
        assert LEAST_MEMORY <= learned.now.memory <= GIB
