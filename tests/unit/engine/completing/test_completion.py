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


def _table(people: list[int], values: int = 3, shown: list[int] | None = None) -> ShortClasses:
    number = np.repeat(np.arange(len(people)), people).astype(np.int32)
    within = np.concatenate([np.arange(own) for own in people]).astype(np.int32)
    codes = (10 * number + within)[None]
    rows = Columns(codes, np.arange(len(number), dtype=np.int32), (within % values)[None])
    released = np.array(people)[number] >= K
    low = (10 * np.arange(len(people), dtype=np.int32))[None]
    short = np.where(released, -1, number).astype(np.int32)
    # Unless values are told, everybody is published with the same one.
    published = np.array([[0] * len(number) if shown is None else shown])
    return ShortClasses(rows, released, short, low, low + 9, published)


LEAST = np.array([1])


def _draws(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(CLASSES, st.sampled_from([0.01, 0.05, 0.1, 0.5]), st.integers(1, 3), st.integers(0, 9))
def test_those_that_need_fewest_are_completed_while_there_may_be_more(
    people: list[int], most: float, asked: int, seed: int
) -> None:
    bound, least = RecordBound(most), np.array([asked])
    chosen = _table(people).chosen(K, least, bound, _draws(seed))
    fit = sorted((own for own in people if K / 2 <= own < K and min(own, 3) >= asked), reverse=True)
    released = sum(own for own in people if own >= K)
    expected: list[int] = []
    for own in fit if released else []:
        made = sum(K - other for other in [*expected, own])
        if made > most * (released + K * (len(expected) + 1)) + 1e-9:
            break
        expected.append(own)
    assert [people[one] for one in chosen] == expected


@given(CLASSES, st.integers(0, 9))
def test_counterfeits_fill_each_class_and_show_values_of_it_or_of_released_rows(
    people: list[int], seed: int
) -> None:
    table = _table(people)
    chosen = table.chosen(K, LEAST, RecordBound(0.5), _draws(seed))
    made = table.drawn(chosen, K, _draws(seed))
    assert len(made.like) == len(made.donors) == sum(K - people[one] for one in chosen)
    filled = np.bincount(table.short[made.like], minlength=len(people))
    for one in range(len(people)):
        assert filled[one] == (K - people[one] if one in chosen else 0)
    for like, donor in zip(made.like.tolist(), made.donors.tolist(), strict=True):
        assert table.released[donor] or table.short[donor] == table.short[like]


def _lenders(table: ShortClasses, seed: int = 0) -> dict[int, set[int]]:
    return {one: set(own.tolist()) for one, own in table.chosen(K, LEAST, RecordBound(0.5), _draws(seed)).items()}


def test_the_nearest_released_rows_lend_their_values() -> None:
    # Classes of 9, 4 and 9 people at codes 0, 10 and 20, and 180 far away.
    table = _table([9, 4, 9, *[9] * 20])
    lent = set[int]()
    for seed in range(900):
        chosen = table.chosen(K, LEAST, RecordBound(0.5), _draws(seed))
        lent |= set(table.drawn(chosen, K, _draws(seed)).donors.tolist())
    own = set(range(9, 13))
    assert own < lent
    assert len(lent) == len(own) + completion.NEIGHBOURS
    # By distance from codes 10 to 19, those below and those above by turns.
    others = table.rows.codes[0, sorted(lent - own)]
    assert set(range(9)) <= set(others.tolist())
    assert others.max() < 20 + 10 * 11


def test_a_class_with_a_value_that_is_unusual_near_by_is_not_completed() -> None:
    """It would be somebody's for sure, and whatever else is shown there likelier nobody's."""
    usual = completion.LEAST_HOLDERS
    near = [0] * (30 - usual) + [1] * usual
    assert list(_lenders(_table([4, 30], shown=[0, 0, 0, 1, *near]))) == [0]
    near[-1] = 0
    assert not _lenders(_table([4, 30], shown=[0, 0, 0, 1, *near]))
    # Nor is it enough that many have it who are far away.
    far = [9] * 11
    assert not _lenders(_table([4, *far, 9], shown=[0, 0, 0, 1, *[0] * 99, *[1] * 9]))


def test_unusual_values_of_released_rows_are_lent_to_nobody() -> None:
    table = _table([4, 30], shown=[0, 0, 0, 0, *[0] * 27, 7, 7, 8])
    assert _lenders(table) == {0: set(range(4 + 27))}


def test_nobody_is_completed_where_everybody_has_a_value_of_their_own() -> None:
    assert not _lenders(_table([4, 5, 60], shown=list(range(69))))


def test_equally_many_people_are_chosen_among_by_chance() -> None:
    table = _table([30, 5, 5])
    first = {next(iter(table.chosen(K, LEAST, RecordBound(1 / 36), _draws(seed)))) for seed in range(30)}
    assert first == {1, 2}


def test_without_a_released_row_nothing_is_completed() -> None:
    assert not len(_table([5, 5, 5]).chosen(K, LEAST, RecordBound(0.9), _draws()))
