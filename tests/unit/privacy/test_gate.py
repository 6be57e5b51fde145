from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.columns import NO_VALUE, Columns
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.criteria import Criteria, Spread
from stream_anon.privacy.gate import largest_matching, recount, violating_classes
from stream_anon.privacy.generalization import GeneralizedClasses, Generalizer, generalize
from tests.support.tables import diverse_values

LETTERS = CategoricalDomain(balanced(list("abcdefgh")))
NODES = QuasiIdentifier("x", LETTERS)
SETS = QuasiIdentifier("x", LETTERS, publication=PublishedForm.VALUES)
K3 = Criteria(3, 0.5, np.empty(0, np.int64))


def _columns(codes: Sequence[int], people: Sequence[int], values: Sequence[int] | None = None) -> Columns:
    sensitive = np.empty((0, len(codes)), np.int32) if values is None else np.array([values], np.int32)
    return Columns(np.array([codes], np.int32), np.array(people, np.int32), sensitive)


def _generalized(attribute: QuasiIdentifier, rows: Columns, classes: Sequence[int]) -> GeneralizedClasses:
    return generalize(
        [Generalizer(attribute)], [attribute], rows.codes, np.array(classes, np.int32), max(classes) + 1
    )


def _failing(
    generalized: GeneralizedClasses, rows: Columns, classes: Sequence[int], criteria: Criteria = K3
) -> list[bool]:
    return violating_classes(rows, np.array(classes, np.int64), generalized, criteria)[0].tolist()


def _judge(
    attribute: QuasiIdentifier, rows: Columns, classes: Sequence[int], criteria: Criteria = K3
) -> list[bool]:
    return _failing(_generalized(attribute, rows, classes), rows, classes, criteria)


GOOD = ([0, 1, 1, 4, 5, 5], [0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1])


def test_a_legal_release_passes() -> None:
    codes, people, classes = GOOD
    for attribute in (NODES, SETS):
        assert _judge(attribute, _columns(codes, people), classes) == [False, False]


FAMILIES = np.array([0, 0, 1, 1, 1, -1], np.int32)
WHOLE = Criteria(1, 1.0, np.array([2]), families=(np.array([2, 3]),))


@pytest.mark.parametrize(
    ("people", "values", "whole"),
    [
        pytest.param([0, 1], [0, 1], True, id="a whole family"),
        pytest.param([0, 1, 2, 3], [0, 1, 0, 0], True, id="some values twice"),
        pytest.param([0, 1, 2], [0, 2, 3], False, id="two families and neither of them whole"),
        pytest.param([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], True, id="two whole families"),
        pytest.param([0, 1, 2, 3], [0, 1, 2, 3], False, id="one value is not there"),
        pytest.param([0, 1, 0, 1, 1], [0, 1, 2, 3, 4], False, id="two people with the values of three"),
        pytest.param([0, 1, 0, 1, 2], [0, 1, 2, 3, 4], True, id="three people with those of both"),
        pytest.param([0, 0, 1], [2, 3, 4], False, id="somebody with two values and another"),
        pytest.param([0, 0, 1, 2], [2, 3, 4, 2], True, id="each value can be a person of its own"),
        pytest.param([0, 1, 2], [0, 1, 5], False, id="a value of no family"),
        pytest.param([0, 1, 2], [0, 1, -1], False, id="a missing value of no family"),
    ],
)
def test_a_class_with_a_value_of_a_family_needs_all_of_them_held_by_different_people(
    people: list[int], values: list[int], whole: bool
) -> None:
    rows = replace(_columns([0] * len(people), people, values), families=(FAMILIES,))
    counts = recount(np.zeros(len(people), np.int64), 1, rows, WHOLE)
    assert counts.whole is not None
    assert counts.whole.tolist() == [whole]
    assert WHOLE.permit(counts).tolist() == [whole]
    assert counts.take(np.array([0, 0])).whole.tolist() == [whole] * 2  # type: ignore[union-attr]


def test_families_are_counted_class_by_class() -> None:
    rows = replace(_columns([0] * 7, range(7), [0, 1, 0, 2, 3, 4, 1]), families=(FAMILIES,))
    counts = recount(np.array([0, 0, 1, 2, 2, 2, 3]), 5, rows, WHOLE)
    assert counts.whole is not None
    assert counts.whole.tolist() == [True, False, True, False, True]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 7), st.integers(-1, 5), st.integers(-1, 2)),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_families_are_whole_exactly_where_each_of_their_values_can_be_somebody_elses(
    rows: list[tuple[int, int, int, int]], first_too: bool
) -> None:
    """Of each of two attributes, or of the second alone; by Hall's condition on all sets of values."""
    group, people, first, second = map(list, zip(*rows, strict=True))
    family_of = (FAMILIES if first_too else None, np.array([0, 0, NO_VALUE], np.int32))
    sizes = (np.array([2, 3]) if first_too else None, np.array([2]))
    columns = Columns(
        np.zeros((1, len(rows)), np.int32),
        np.array(people, np.int32),
        np.array([first, second], np.int32),
        families=family_of,
    )
    counts = recount(np.array(group), 4, columns, Criteria(1, 1.0, np.array([2, 2]), families=sizes))
    assert counts.whole is not None
    for own in range(4):
        members = [row for row, number in enumerate(group) if number == own]
        expected = all(
            _is_whole([people[row] for row in members], [column[row] for row in members], known.tolist())
            for column, known in zip((first, second), family_of, strict=True)
            if known is not None
        )
        assert bool(counts.whole[own]) is expected


def _is_whole(people: list[int], values: list[int], family_of: list[int]) -> bool:
    if any(value < 0 or family_of[value] < 0 for value in values):
        return False
    for number in {family_of[value] for value in values}:
        family = [value for value, own in enumerate(family_of) if own == number]
        for size in range(1, len(family) + 1):
            for chosen in combinations(family, size):
                if len({who for who, value in zip(people, values, strict=True) if value in chosen}) < size:
                    return False
    return True


def test_the_families_of_each_attribute_must_be_whole() -> None:
    for first, second, whole in (([0, 1], [0, 1], True), ([0, 1], [0, 0], False), ([0, 0], [0, 1], False)):
        rows = Columns(
            np.zeros((1, 2), np.int32),
            np.arange(2, dtype=np.int32),
            np.array([first, second], np.int32),
            families=(FAMILIES, FAMILIES),
        )
        asked = Criteria(1, 1.0, np.array([2, 2]), families=(np.array([2, 3]),) * 2)
        counts = recount(np.zeros(2, np.int64), 1, rows, asked)
        assert counts.whole is not None
        assert counts.whole.tolist() == [whole]


def test_families_that_nobody_named_are_not_taken_for_whole() -> None:
    rows = _columns([0, 0], [0, 1], [0, 1])
    with pytest.raises(ValueError, match="families"):
        recount(np.zeros(2, np.int64), 1, rows, WHOLE)
    uncounted = recount(np.zeros(2, np.int64), 1, rows, replace(WHOLE, families=()))
    with pytest.raises(ValueError, match="families"):
        WHOLE.permit(uncounted)


def test_a_class_of_too_few_people_fails() -> None:
    codes, _, classes = GOOD
    assert _judge(NODES, _columns(codes, [0, 1, 2, 3, 4, 4]), classes) == [False, True]
    assert _judge(NODES, _columns(codes[:5], range(5)), classes[:5]) == [False, True]


def test_a_class_with_one_heavy_person_fails() -> None:
    codes, classes = [0] * 7 + [4] * 3, [0] * 7 + [1] * 3
    assert _judge(NODES, _columns(codes, [0, 0, 0, 0, 1, 2, 3, 5, 6, 7]), classes) == [True, False]
    assert _judge(NODES, _columns(codes, [0, 0, 0, 1, 1, 2, 3, 5, 6, 7]), classes) == [False, False]


def test_a_class_of_too_few_values_fails() -> None:
    criteria = Criteria(3, 0.5, np.array([2], np.int64))
    codes, people, classes = GOOD
    assert _judge(NODES, _columns(codes, people, [0, 0, 1, 2, 2, 2]), classes, criteria) == [False, True]


def test_a_row_outside_of_what_is_published_fails_its_class() -> None:
    codes, people, classes = GOOD
    rows = _columns(codes, people)
    generalized = _generalized(NODES, rows, classes)
    moved = _columns([7, *codes[1:]], people)  # after the classes were generalized
    assert _failing(generalized, moved, classes) == [True, False]


def test_a_row_outside_of_what_is_published_fails_all_classes_that_are_published_alike() -> None:
    codes, people, classes = [0, 1, 1, 0, 1, 1], range(6), [0, 0, 0, 1, 1, 1]
    generalized = _generalized(NODES, _columns(codes, people), classes)
    for row in range(6):
        moved = _columns([*codes[:row], 7, *codes[row + 1 :]], people)
        assert _failing(generalized, moved, classes) == [True, True]


@pytest.mark.parametrize("code", [0, 1, 5, 6, 7])
def test_a_row_below_or_above_its_published_node_fails_the_class(code: int) -> None:
    codes, people, classes = [2, 3, 4, 6, 6, 6], range(6), [0, 0, 0, 1, 1, 1]
    attribute = QuasiIdentifier("x", NumericDomain(Decimal(0), Decimal(7), Decimal(1), 0, tight=True))
    generalized = _generalized(attribute, _columns(codes, people), classes)  # 2..4 and 6
    for row in range(3):
        moved = _columns([*codes[:row], code, *codes[row + 1 :]], people)
        assert _failing(generalized, moved, classes) == [True, False]


def test_a_row_must_be_in_the_set_of_its_own_class() -> None:
    codes, people, classes = [0, 2, 4, 1, 3, 5], range(6), [0, 0, 0, 1, 1, 1]
    generalized = _generalized(SETS, _columns(codes, people), classes)
    moved = _columns([0, 3, 4, 1, 3, 5], people)  # the other class lists 3
    assert _failing(generalized, moved, classes) == [True, False]


def test_a_set_that_covers_everything_covers_its_own_class_only() -> None:
    codes, people, classes = [0, LETTERS.size, 4, 1, 3, 5], range(6), [0, 0, 0, 1, 1, 1]
    generalized = _generalized(SETS, _columns(codes, people), classes)
    assert generalized.values[0][0] == "*"
    moved = _columns([7, LETTERS.size, 4, 1, 4, 5], people)
    assert _failing(generalized, moved, classes) == [False, True]


@pytest.mark.parametrize("groups", [2**15 + 1, 2**16 + 2])
def test_groups_are_told_apart_by_all_bits_of_their_numbers(groups: int) -> None:
    """Everybody comes twice to each group whose number has the same low fifteen bits, in turns."""
    group = np.tile(np.arange(groups, dtype=np.int64), 2)
    rows = _columns(np.zeros(2 * groups, np.int32), group % 2**15)
    counts = recount(group, groups, rows, K3)
    assert np.unique(counts.individuals).tolist() == [1]
    assert np.unique(counts.largest).tolist() == [2]
    assert np.unique(counts.records).tolist() == [2]


def test_people_are_counted_in_groups_whose_rows_come_in_turns() -> None:
    rows = _columns([0] * 7, [0, 0, 1, 0, 0, 2, 0])
    counts = recount(np.array([0, 1, 0, 0, 1, 1, 0], np.int64), 2, rows, K3)
    assert counts.individuals.tolist() == [2, 2]
    assert counts.largest.tolist() == [3, 2]


def test_every_sensitive_attribute_is_judged() -> None:
    codes, people, classes = [0] * 4 + [4] * 4, np.arange(8, dtype=np.int32), [0] * 4 + [1] * 4
    even, flat = [0, 1, 0, 1] * 2, [0, 1, 0, 1, 1, 1, 1, 0]

    def judged(columns: list[list[int]], criteria: Criteria) -> list[bool]:
        rows = Columns(np.array([codes], np.int32), people, np.array(columns, np.int32))
        return _judge(NODES, rows, classes, criteria)

    compared = (Spread(t=0.1), Spread(delta=0.2), Spread(beta=0.1))
    for spread in (Spread(alpha=0.5), Spread(c=2, l=2), Spread(entropy_l=2), *compared):
        beside = spread in compared  # both classes are far from what they show together
        asked = Criteria(3, 0.5, np.array([0, 0]), (spread, spread))
        assert judged([even, even], asked) == [False, False]
        assert judged([even, flat], asked) == [beside, True]
        assert judged([flat, even], asked) == [beside, True]
        only_second = Criteria(3, 0.5, np.array([0, 0]), (Spread(), spread))
        assert judged([flat, even], only_second) == [False, False]
        assert judged([even, flat], only_second) == [beside, True]
    values = Criteria(3, 0.5, np.array([2, 2]))
    assert judged([even, [0, 1, 0, 1, 1, 1, 1, 1]], values) == [False, True]
    assert judged([[0, 0, 0, 0, 1, 0, 1, 0], even], values) == [True, False]


def test_a_row_that_a_set_does_not_list_fails_its_class() -> None:
    codes, people, classes = [0, 2, 4, 5, 5, 7], range(6), [0, 0, 0, 1, 1, 1]
    rows = _columns(codes, people)
    generalized = _generalized(SETS, rows, classes)
    moved = _columns([0, 3, 4, 5, 5, 7], people)  # between the ends, but not in the set
    assert _failing(generalized, rows, classes) == [False, False]
    assert _failing(generalized, moved, classes) == [True, False]


def test_two_classes_with_one_tuple_are_counted_together() -> None:
    # a, b | a, b: both are published as a..b. Apart neither has three people, together there are four.
    rows = _columns([0, 1, 0, 1], range(4))
    assert _judge(NODES, rows, [0, 0, 1, 1]) == [False, False]
    # The other way round: one person in both classes is one person.
    assert _judge(NODES, _columns([0, 1, 0, 1], [0, 1, 0, 1]), [0, 0, 1, 1]) == [True, True]


def test_a_set_published_as_the_star_lists_every_code_of_a_large_domain() -> None:
    large = QuasiIdentifier(
        "x", CategoricalDomain(balanced([str(i) for i in range(5_000)], 17)), publication=PublishedForm.VALUES
    )
    codes = [large.missing_code, 0, 1] * 400
    rows = _columns(codes, range(1_200))
    classes = np.repeat(np.arange(400), 3)
    generalized = _generalized(large, rows, classes.tolist())
    assert all(len(members) <= 3 for members in generalized.members[0] or ())
    failing, _ = violating_classes(rows, classes.astype(np.int64), generalized, K3)
    assert not failing.any()


def test_a_class_is_judged_without_the_rows_that_were_taken_away() -> None:
    """Three classes of values 00 11, 01 01, 22 22 33 33: far from a window with the last, near to one without."""
    rows = _columns([0] * 4 + [2] * 4 + [4] * 8, range(16), [0, 0, 1, 1, 0, 1, 0, 1, 2, 2, 2, 2, 3, 3, 3, 3])
    classes = [0] * 4 + [1] * 4 + [2] * 8
    asked = Criteria(3, 0.5, np.array([0]), (Spread(t=0.4),))
    assert _judge(NODES, rows, classes, asked) == [True, True, True]
    assert _judge(NODES, rows.take(slice(0, 8)), classes[:8], asked) == [False, False]


def test_one_person_who_comes_often_does_not_make_a_spread() -> None:
    """Over records the values are even, over people they are not; and the other way round."""
    asked = Criteria(3, 0.5, np.array([0]), (Spread(alpha=0.5),))
    often = _columns([0] * 8, [0, 1, 2, 3, 4, 4, 4, 4], [0, 0, 0, 0, 1, 1, 1, 1])
    assert _judge(NODES, often, [0] * 8, asked) == [True]
    many = _columns([0] * 8, [0, 0, 0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 0, 1, 1, 1])
    assert _judge(NODES, many, [0] * 8, asked) == [True]
    assert _judge(NODES, _columns([0] * 8, range(8), [0, 0, 0, 0, 1, 1, 1, 1]), [0] * 8, asked) == [False]


def test_a_class_without_a_value_fails() -> None:
    """All others have one, so people in the class without values are known to have none."""
    rows = _columns([0] * 4 + [4] * 4, range(8), [-1] * 4 + [0, 1, 0, 1])
    asked = Criteria(3, 0.5, np.array([0]), (Spread(t=0.4),))
    assert _judge(NODES, rows, [0] * 4 + [1] * 4, asked) == [True, True]
    mixed = _columns([0] * 4 + [4] * 4, range(8), [-1, -1, 0, 1] * 2)
    assert _judge(NODES, mixed, [0] * 4 + [1] * 4, asked) == [False, False]


def test_nothing_to_publish_passes_the_gate() -> None:
    nothing = GeneralizedClasses(
        np.empty((1, 0), np.int32),
        np.empty((1, 0), np.int32),
        [[]],
        np.empty((1, 0), np.int64),
        np.empty((1, 0)),
        [None],
    )
    failing, counts = violating_classes(Columns.empty(1, 0), np.empty(0, np.int64), nothing, K3)
    assert len(failing) == len(counts.records) == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=40))
def test_a_recount_agrees_with_one_by_hand(rows: list[tuple[int, int, int]]) -> None:
    group, people, values = zip(*rows, strict=True)
    counts = recount(
        np.array(group, np.int64), 4, _columns([0] * len(rows), people, values), Criteria(2, 0.5, np.array([3]))
    )
    for g in range(4):
        own = [(person, value) for number, person, value in rows if number == g]
        who = [person for person, _ in own]
        assert counts.records[g] == len(own)
        assert counts.individuals[g] == len(set(who))
        assert counts.largest[g] == max((who.count(person) for person in who), default=0)
        most = diverse_values(own)
        # Counted to the end only where it is asked for.
        assert min(most, 3) <= counts.values[0, g] <= most


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14))
def test_the_largest_matching_is_found(pairs: list[tuple[int, int]]) -> None:
    most = diverse_values(pairs)
    assert largest_matching(pairs, 99) == most
    for enough in range(1, 5):
        assert min(largest_matching(pairs, enough), enough) == min(most, enough)


def test_a_long_path_does_not_overflow_the_stack() -> None:
    """Each person holds two neighbouring values, so that every path is as long as it can be."""
    count = 1_200
    pairs = [(i, v) for i in range(count) for v in (i, i + 1)]
    assert largest_matching(pairs, count) == count


def test_one_person_with_many_values_does_not_make_a_class_diverse() -> None:
    rows = _columns([0] * 4, [0, 0, 1, 2], [0, 1, 2, 2])
    asked = Criteria(2, 0.5, np.array([3]))
    assert recount(np.zeros(4, np.int64), 1, rows, asked).values[0, 0] == 2


def test_a_missing_value_does_not_make_a_class_diverse() -> None:
    rows = _columns([0] * 4, [0, 1, 2, 3], [0, -1, 0, -1])
    assert recount(np.zeros(4, np.int64), 1, rows, Criteria(2, 0.5, np.array([2]))).values[0, 0] == 1


def test_fewer_columns_than_criteria_are_an_error() -> None:
    rows = _columns([0] * 4, [0, 1, 2, 3], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="shorter"):
        recount(np.zeros(4, np.int64), 1, rows, Criteria(2, 0.5, np.array([2, 2])))
