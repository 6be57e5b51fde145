from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

from stream_anon.microdata.attributes import Identifier, Sensitive
from stream_anon.microdata.diversity import Closeness, Distance, Diversity, Recursion
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.criteria import ClassCounts, Criteria, Spread, Spreads


def _permit(criteria: Criteria, records: int, individuals: int, largest: int, *values: int) -> bool:
    columns = [np.array([number], np.int64) for number in (records, individuals, largest)]
    (answer,) = criteria.permit(ClassCounts(*columns, np.array(values, np.int64).reshape(len(values), 1)))
    return bool(answer)


def test_only_some_figures_compare_a_class_with_all_rows() -> None:
    beside = (Spread(t=0.5), Spread(delta=1), Spread(beta=1))
    alone = (Spread(), Spread(entropy_l=2), Spread(c=2, l=2), Spread(alpha=0.5))
    assert [asked.compares for asked in (*beside, *alone)] == [True] * 3 + [False] * 4


K3 = Criteria(3, 0.5, np.empty(0, np.int64))
L2 = Criteria(3, 0.5, np.array([2, 3], np.int64))


@pytest.mark.parametrize(
    ("counts", "legal"),
    [
        ((3, 3, 1), True),
        ((9, 2, 5), False),  # many records of few people
        ((4, 3, 2), True),  # exactly half
        ((5, 3, 3), False),  # more than half
    ],
)
def test_people_and_their_shares_are_counted_not_records(counts: tuple[int, int, int], legal: bool) -> None:
    assert _permit(K3, *counts) is legal


def test_every_criterion_must_be_met() -> None:
    assert _permit(L2, 6, 6, 1, 2, 3)
    assert not _permit(L2, 6, 6, 1, 1, 3)
    assert not _permit(L2, 6, 6, 1, 2, 2)


def test_a_window_waits_for_the_people_of_its_largest_demand() -> None:
    assert K3.least_people == 3
    assert Criteria(3, 0.5, np.array([2, 7], np.int64)).least_people == 7
    assert Criteria(3, 0.5, np.array([2, 7], np.int64), crowd=9).least_people == 9


def test_a_window_of_too_few_people_or_values_is_out_of_reach() -> None:
    assert K3.in_reach(3, [])
    assert not K3.in_reach(2, [])
    assert L2.in_reach(3, [np.array([2, 1]), np.array([1, 1, 1])])
    assert not L2.in_reach(3, [np.array([2, 1]), np.array([1, 2, 0])])


@pytest.mark.parametrize(
    ("asked", "occurrences", "reached"),
    [
        (Spread(entropy_l=2), [5, 5], True),
        (Spread(entropy_l=2), [6, 4], False),
        (Spread(entropy_l=2), [6, 4, 1], True),
        (Spread(c=2, l=2), [5, 3], True),
        (Spread(c=2, l=2), [6, 3], False),  # equality is not enough
        (Spread(c=9, l=3), [5, 5], False),
        (Spread(alpha=0.5), [5, 5], True),
        (Spread(alpha=0.5), [6, 5], False),
        (Spread(t=0.01), [9, 1], True),  # the window is as far from itself as can be asked
        (Spread(t=0.01, ordered=True), [], True),
        (Spread(delta=0.01, beta=0.01), [9, 1], True),
    ],
)
def test_a_window_whose_values_cannot_meet_a_criterion_is_out_of_reach(
    asked: Spread, occurrences: list[int], reached: bool
) -> None:
    criteria = Criteria(3, 0.5, np.array([0]), (asked,))
    assert criteria.in_reach(9, [np.array(occurrences, np.int64)]) is reached
    assert not criteria.in_reach(2, [np.array(occurrences, np.int64)])


@pytest.mark.parametrize(
    ("asked", "figures", "worse"),
    [
        (Spread(entropy_l=2), (log(2), 0.0, 0.0, 0.0, 0.0, 0.0), (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
        (Spread(t=0.2), (0.0, 0.0, 0.2, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)),
        (Spread(alpha=0.4), (0.0, 0.0, 0.0, 0.4, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)),
        (Spread(beta=2), (0.0, 0.0, 0.0, 0.0, 0.0, 2.0), (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)),
    ],
)
def test_a_bound_may_be_met_but_not_exceeded_by_a_millionth(
    asked: Spread, figures: tuple[float, ...], worse: tuple[float, ...]
) -> None:
    def permitted(step: float) -> bool:
        found = Spreads(*(np.array([f + step * w]) for f, w in zip(figures, worse, strict=True)))
        (answer,) = found.permitted(asked)
        return bool(answer)

    assert permitted(0)
    assert permitted(1e-12)  # what rounding leaves
    assert not permitted(1e-6)


@pytest.mark.parametrize(("asked", "place"), [(Spread(c=2, l=2), 1), (Spread(delta=2), 4)])
def test_recursion_and_delta_allow_no_equality_and_everything_below(asked: Spread, place: int) -> None:
    figures = np.zeros((6, 5))
    figures[place] = [2.0, 2 - 1e-12, 2 - 1e-6, 2 + 1e-6, np.inf]
    assert Spreads(*figures).permitted(asked).tolist() == [False, False, True, False, False]


def test_a_criterion_that_is_not_asked_for_permits_everything_and_is_not_certified() -> None:
    worst = Spreads(*(np.array([figure]) for figure in (0.0, np.inf, 1.0, 1.0, np.inf, 99.0)))
    assert worst.permitted(Spread()).tolist() == [True]
    assert worst.reached(Spread()) == {}
    assert worst.reached(Spread(beta=100, alpha=0.5)) == {"alpha": 1.0, "beta": 99.0}


def test_the_worse_of_two_counts_stands_for_each_figure() -> None:
    one, two = np.arange(6.0)[:, None], np.arange(6.0)[::-1, None]
    worse = Spreads(*one).or_worse(Spreads(*two))
    figures = [worse.entropy, worse.tilt, worse.distance, worse.share, worse.disclosure, worse.gain]
    assert [float(figure[0]) for figure in figures] == [0, 4, 3, 3, 4, 5]


def test_a_window_is_in_reach_by_every_attribute_and_by_l_of_each() -> None:
    def reached(*occurrences: list[int], spread: Spread) -> bool:
        criteria = Criteria(3, 0.5, np.zeros(len(occurrences), np.int64), (spread,) * len(occurrences))
        return criteria.in_reach(9, [np.array(own, np.int64) for own in occurrences])

    # 4 < 2 x (2 + 1), but not 4 < 1 x 1: the sum begins at the value in place l.
    assert reached([4, 2, 1], spread=Spread(c=2, l=2))
    assert not reached([4, 3, 1], spread=Spread(c=2, l=3))
    assert reached([4, 3, 1, 2], spread=Spread(c=2, l=3))
    assert not reached([5, 5], [6, 4], spread=Spread(alpha=0.5))
    assert not reached([6, 4], [5, 5], spread=Spread(alpha=0.5))
    assert reached([5, 5], [5, 5], spread=Spread(alpha=0.5))


def test_a_spread_that_nobody_counted_is_an_error() -> None:
    counts = ClassCounts(*(np.array([9]) for _ in range(3)), np.array([[3]]), [None])
    with pytest.raises(ValueError, match="not counted"):
        Criteria(3, 0.5, np.array([0]), (Spread(t=0.5),)).permit(counts)


def test_criteria_stand_beside_their_attributes() -> None:
    attributes = (
        Identifier("name"),
        Sensitive("first"),
        QuasiIdentifier("sex", CategoricalDomain(Hierarchy.flat(["f", "m"]))),
        Sensitive("second"),
        Sensitive("third"),
    )
    policy = Policy(attributes, 3, "name", diversity={"third": Diversity(5), "first": Diversity(2)})
    assert Criteria.of(policy).distinct_l.tolist() == [2, 5]
    assert [a.name for a in policy.diverse] == ["first", "third"]


def test_chosen_classes_keep_their_own_figures() -> None:
    figures = np.arange(18.0).reshape(6, 3)
    counts = ClassCounts(
        np.array([7, 8, 9]),
        np.array([4, 5, 6]),
        np.array([1, 2, 3]),
        np.array([[3, 4, 5], [1, 1, 2]]),
        [None, Spreads(*figures)],
    )
    taken = counts.take(np.array([2, 0, 2]))
    assert (taken.records.tolist(), taken.individuals.tolist()) == ([9, 7, 9], [6, 4, 6])
    assert (taken.largest.tolist(), taken.values.tolist()) == ([3, 1, 3], [[5, 3, 5], [2, 1, 2]])
    nothing, spread = taken.spreads
    assert nothing is None
    assert spread is not None
    found = (spread.entropy, spread.tilt, spread.distance, spread.share, spread.disclosure, spread.gain)
    assert [figure.tolist() for figure in found] == figures[:, [2, 0, 2]].tolist()


def test_every_criterion_is_read_from_its_setting_and_is_off_without_one() -> None:
    assert Spread.of(Diversity(2)) == Spread()
    assert not Spread().asks
    for diversity, spread in (
        (Diversity(entropy_l=2.5), Spread(entropy_l=2.5)),
        (Diversity(recursive_cl=Recursion(4, 3)), Spread(c=4, l=3)),
        (Diversity(t_closeness=Closeness(0.2)), Spread(t=0.2)),
        (Diversity(t_closeness=Closeness(0.2, Distance.ORDERED)), Spread(t=0.2, ordered=True)),
        (Diversity(alpha=0.4), Spread(alpha=0.4)),
    ):
        assert Spread.of(diversity) == spread
        assert spread.asks


def test_a_window_whose_values_are_all_missing_can_meet_a_share_and_no_number_of_values() -> None:
    nothing = [np.zeros(0, np.int64)]
    assert Criteria(3, 0.5, np.array([0]), (Spread(alpha=0.5),)).in_reach(9, nothing)
    assert not Criteria(3, 0.5, np.array([1]), (Spread(alpha=0.5),)).in_reach(9, nothing)


def test_values_of_fewer_attributes_than_are_judged_are_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        L2.in_reach(3, [np.array([2, 1])])


HOME = QuasiIdentifier("home", CategoricalDomain(Hierarchy.flat(["north", "south"])))


def test_the_sizes_of_families_are_of_attributes_whose_values_are_published() -> None:
    families = (("flu", "cold"), ("gout", "pox", None))
    policy = Policy(
        (
            HOME,
            Sensitive("a"),
            Sensitive("b", families=families, shown_as=ShownAs.VALUE),
            Sensitive("c", families=families),
        ),
        2,
        EVERY_RECORD,
        diversity={name: Diversity(2) for name in "abc"},
    )
    criteria = Criteria.of(policy)
    assert [None if sizes is None else sizes.tolist() for sizes in criteria.families] == [None, [2, 3], None]
    assert criteria.keep_whole
    without = replace(policy, attributes=(*policy.attributes[:2], policy.attributes[3]), diversity={})
    assert not Criteria.of(without).keep_whole


def test_families_whose_values_are_published_ask_for_as_many_values_as_the_smallest_has() -> None:
    whole = Sensitive(
        "b", families=(("flu", "cold", "gout"), ("pox", None, "mumps", "cough")), shown_as=ShownAs.VALUE
    )
    policy = Policy((HOME, whole), 2, EVERY_RECORD)
    assert policy.diversity == {"b": Diversity(3)}
    assert replace(policy, diversity={"b": Diversity(alpha=0.9)}).diversity == {"b": Diversity(3, alpha=0.9)}
    assert replace(policy, diversity={"b": Diversity(alpha=0.4)}).diversity == {"b": Diversity(alpha=0.4)}
    assert replace(policy, attributes=(HOME, replace(whole, shown_as=ShownAs.FAMILY)), diversity={}).diversity == {}
