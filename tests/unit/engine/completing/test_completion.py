"""Which groups are completed, and what their counterfeits show: laws on small tables."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.completing import completion
from stream_anon.engine.completing.completion import ShortClasses
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.columns import Columns

K = 6
CLASSES = st.lists(st.integers(0, 9), min_size=1, max_size=12)
"""How many people each class has, on a line: class c publishes codes 10 c to 10 c + 9."""


def _table(people: list[int], values: int = 3) -> ShortClasses:
    number = np.repeat(np.arange(len(people)), people).astype(np.int32)
    within = np.concatenate([np.arange(own) for own in people]).astype(np.int32)
    codes = (10 * number + within)[None]
    rows = Columns(codes, np.arange(len(number), dtype=np.int32), (within % values)[None])
    released = np.array(people)[number] >= K
    low = (10 * np.arange(len(people), dtype=np.int32))[None]
    return ShortClasses(rows, released, np.where(released, -1, number).astype(np.int32), low, low + 9)


def _draws(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(CLASSES, st.sampled_from([0.01, 0.05, 0.1, 0.5]), st.integers(1, 3), st.integers(0, 9))
def test_those_that_need_fewest_are_completed_while_there_may_be_more(
    people: list[int], most: float, asked: int, seed: int
) -> None:
    bound, least = RecordBound(most), np.array([asked])
    chosen = _table(people).chosen(K, least, bound, _draws(seed)).tolist()
    fit = sorted((own for own in people if K / 2 <= own < K and min(own, 3) >= asked), reverse=True)
    released = sum(own for own in people if own >= K)
    expected: list[int] = []
    for own in fit if released else []:
        made = sum(K - other for other in [*expected, own])
        if made > most * (released + K * (len(expected) + 1)) + 1e-9:
            break
        expected.append(own)
    assert len(set(chosen)) == len(chosen)
    assert [people[one] for one in chosen] == expected


@given(CLASSES, st.integers(0, 9))
def test_counterfeits_fill_each_class_and_show_values_of_it_or_of_released_rows(
    people: list[int], seed: int
) -> None:
    table = _table(people)
    chosen = table.chosen(K, np.array([1]), RecordBound(0.5), _draws(seed))
    made = table.drawn(chosen, K, _draws(seed))
    assert len(made.like) == len(made.donors) == sum(K - people[one] for one in chosen.tolist())
    filled = np.bincount(table.short[made.like], minlength=len(people))
    for one in range(len(people)):
        assert filled[one] == (K - people[one] if one in chosen else 0)
    for like, donor in zip(made.like.tolist(), made.donors.tolist(), strict=True):
        assert table.released[donor] or table.short[donor] == table.short[like]


def test_the_nearest_released_rows_lend_their_values() -> None:
    # Classes of 9, 4 and 9 people at codes 0, 10 and 20, and 100 far away.
    table = _table([9, 4, 9, *[9] * 60])
    lent = set[int]()
    for seed in range(300):
        lent |= set(table.drawn(np.array([1]), K, _draws(seed)).donors.tolist())
    own = set(range(9, 13))
    assert own < lent
    assert len(lent) == len(own) + completion.NEIGHBOURS
    # By distance from codes 10 to 19, those below and those above by turns.
    others = table.rows.codes[0, sorted(lent - own)]
    assert set(range(9)) <= set(others.tolist())
    assert others.max() < 20 + 10 * 6


def test_equally_many_people_are_chosen_among_by_chance() -> None:
    table = _table([30, 5, 5])
    first = {table.chosen(K, np.array([1]), RecordBound(1 / 36), _draws(seed)).tolist()[0] for seed in range(30)}
    assert first == {1, 2}


def test_without_a_released_row_nothing_is_completed() -> None:
    assert not len(_table([5, 5, 5]).chosen(K, np.array([1]), RecordBound(0.9), _draws()))
