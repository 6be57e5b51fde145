"""Which unknown ids a registry is asked for: in order of their records, a bounded number of times."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.formats.registry import budget
from stream_anon.formats.registry.budget import A_SECOND, MOST_SAVED, RESERVED, QuestionBudget

_POLLS = st.lists(st.dictionaries(st.integers(0, 30), st.integers(1, 5), min_size=1), max_size=30)


def _spend(questions: QuestionBudget, count: int, now: float) -> None:
    for _ in range(count):
        questions.spend(now)


def test_ids_of_most_records_come_first_and_those_that_came_before_count() -> None:
    questions = QuestionBudget()
    questions.settle((), {3: 2, 4: 1})
    assert questions.chosen({1: 1, 2: 2, 3: 1, 4: 1}, 0.0) == [3, 2, 4, 1]
    questions.settle([3], {})
    assert questions.chosen({1: 1, 2: 2, 3: 1}, 0.0) == [2, 1, 3]


def test_the_last_questions_are_for_ids_that_two_records_named() -> None:
    questions = QuestionBudget()
    once = dict.fromkeys(range(1_000), 1)
    assert len(questions.chosen(once, 0.0)) == MOST_SAVED - RESERVED
    _spend(questions, MOST_SAVED - RESERVED, 0.0)
    assert questions.chosen(once, 0.0) == []
    assert questions.chosen(once | {7: 2, 8: 3}, 0.0) == [8, 7]
    assert len(questions.chosen(dict.fromkeys(range(1_000), 2), 0.0)) == RESERVED


def test_questions_come_back_with_time_and_not_beyond_the_most() -> None:
    questions = QuestionBudget()
    twice = dict.fromkeys(range(1_000), 2)
    _spend(questions, 2 * MOST_SAVED, 10.0)
    assert questions.chosen(twice, 10.0) == []
    assert len(questions.chosen(twice, 11.0)) == A_SECOND
    assert len(questions.chosen(twice, 5.0)) == A_SECOND, "time that runs backwards brings nothing"
    assert len(questions.chosen(twice, 10_000.0)) == MOST_SAVED


@given(_POLLS, st.integers(1, 8))
def test_records_are_counted_in_full_until_too_many_other_ids_are_named(
    polls: list[dict[int | str, int]], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "MOST_COUNTED", most)
        questions, named, since = QuestionBudget(), Counter[int | str](), dict[int | str, set[int | str]]()
        for poll in polls:
            questions.settle((), poll)
            named.update(poll)
            for number in poll:
                since.setdefault(number, set())
                for others in since.values():
                    others.add(number)
            assert len(questions._records) <= most
        for number, others in since.items():
            assert questions._records.get(number, 0) <= named[number]
            if len(others) <= most:
                assert questions._records[number] == named[number]
