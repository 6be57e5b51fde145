"""RAISE: classes are published alike until every shield holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.clustering.shield_groups import PATIENCE, WIDTH, AlikeGroups, join_groups, people_of_groups
from stream_anon.engine import raising
from stream_anon.engine.closing import Closer
from stream_anon.engine.raising import Raiser
from stream_anon.microdata.attributes import Identifier, PublishedForm, QuasiIdentifier, Sensitive, Unknown
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.diversity import Closeness, Diversity
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import Release, Suppression
from stream_anon.privacy.costs.cost import cost_model, interval_cost
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.generalization import Generalizer, generalize
from tests.support.effort import examples
from tests.support.lying import Told, sealed
from tests.support.raising import Bounds, Group, joined
from tests.support.tables import Table, tables

LEAVES = CategoricalDomain(balanced([str(i) for i in range(8)], 2))  # height 3
X = QuasiIdentifier("x", LEAVES)
Y = QuasiIdentifier("y", CategoricalDomain(Hierarchy.flat(["a", "b", "c"])))


def _release(
    codes: Sequence[Sequence[int]],
    told: Sequence[int],
    shields: Sequence[Shield],
    attributes: Sequence[QuasiIdentifier] = (X, Y),
    people: Sequence[int] = (),
    *,
    fixed: bool = False,
    **given: Any,
) -> Release:
    """Return what becomes of classes as a partitioner told them; k is 2."""
    policy = Policy(
        (Identifier("person"), *attributes, Sensitive("s")), 2, "person", 1.0, shields=tuple(shields), **given
    )
    values = [[i % 2 for i in range(len(told))] for _ in policy.diverse]
    rows = Columns(
        np.array(codes, np.int32),
        np.array(people or range(len(told)), np.int32),
        np.array(values, np.int32).reshape(len(policy.diverse), len(told)),
    )
    return Closer(policy, fixed=fixed).release(sealed(policy, rows, Told(told)), np.random.default_rng(0))


def _published(release: Release) -> list[tuple[Any, ...]]:
    return [
        tuple(values[own] for values in release.classes.values) if own >= 0 else ()
        for own in release.class_of_row.tolist()
    ]


FOUR = ([0, 0, 1, 1, 6, 6, 7, 7], [0, 0, 1, 1, 2, 2, 0, 0])


def test_a_group_that_falls_short_is_raised_with_the_one_it_costs_least_to_join() -> None:
    release = _release(FOUR, [0, 0, 1, 1, 2, 2, 3, 3], [Shield(("x",), 4)])
    low, high = LEAVES.publish(0, 1), LEAVES.publish(6, 7)
    assert _published(release) == [(low, y) for y in "aabb"] + [(high, y) for y in "ccaa"]
    assert (release.achieved_k, release.achieved_shields) == (2, (4,))
    assert release.suppressed == {}
    assert release.gate_violations == 0


def test_classes_that_are_published_alike_after_it_are_one_class() -> None:
    light = replace(Y, weight=0.1)  # else (0, a) and (7, a) would be cheaper to join
    release = _release(FOUR, [0, 0, 1, 1, 2, 2, 3, 3], [Shield(("x", "y"), 4)], (X, light))
    assert len(release.classes) == 2
    assert release.classes.individuals.tolist() == [4, 4]
    assert _published(release) == [(LEAVES.publish(0, 1), "*")] * 4 + [(LEAVES.publish(6, 7), "*")] * 4


def test_what_is_in_no_shield_stays_as_it_is_and_a_large_group_is_not_touched() -> None:
    codes = [0, 0, 0, 0, 0, 4, 4, 5, 5], [0, 0, 1, 1, 1, 0, 0, 1, 1]
    release = _release(codes, [0, 0, 1, 1, 1, 2, 2, 3, 3], [Shield(("x",), 4)])
    assert _published(release)[:5] == [("0", "a")] * 2 + [("0", "b")] * 3
    assert _published(release)[5:] == [(LEAVES.publish(4, 5), y) for y in "aabb"]
    assert release.achieved_shields == (4,)  # of five and four


def test_individuals_count_not_records() -> None:
    """Both classes of x = 0 are of the same two people."""
    people = [0, 1, 0, 1, 2, 3, 4, 5]
    release = _release(FOUR, [0, 0, 1, 1, 2, 2, 3, 3], [Shield(("x",), 4)], people=people)
    assert set(_published(release)) == {("*", y) for y in "abc"}
    assert release.achieved_shields == (6,)


def test_a_group_above_which_nothing_may_be_published_is_suppressed_for_its_shield() -> None:
    bound = replace(X, max_level=1)
    release = _release(
        ([0, 0, 1, 1, 6, 6], [0, 0, 1, 1, 2, 2]), [0, 0, 1, 1, 2, 2], [Shield(("x",), 4)], (bound, Y)
    )
    assert release.class_of_row.tolist() == [0, 0, 1, 1, -1, -1]
    assert release.suppressed == {Suppression.SHIELD: 2}
    assert release.gate_violations == 0


def test_on_fixed_levels_nothing_is_raised() -> None:
    fixed = X.at_level(1)
    release = _release(
        ([0, 0, 1, 1, 6, 6], [0, 0, 1, 1, 2, 2]), [0, 0, 1, 1, 2, 2], [Shield(("x",), 4)], (fixed, Y.at_level(0))
    )
    assert release.suppressed == {Suppression.SHIELD: 2}
    assert _published(release)[:4] == [(LEAVES.publish(0, 1), y) for y in "aabb"]


def test_a_raiser_that_may_not_raise_suppresses_what_falls_short() -> None:
    codes = [0, 0, 0, 0, 6, 6, 7, 7], [0, 0, 1, 1, 2, 2, 0, 0]
    told = [0, 0, 1, 1, 2, 2, 3, 3]
    release = _release(codes, told, [Shield(("x",), 4)], fixed=True)
    assert release.class_of_row.tolist() == [0, 0, 1, 1, -1, -1, -1, -1]
    assert release.suppressed == {Suppression.SHIELD: 4}
    assert _release(codes, told, [Shield(("x",), 4)]).suppressed == {}


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_raising_ends_after_so_many_turns_of_all_shields(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first turn raises all that falls short here, the second one finds nothing."""
    monkeypatch.setattr(raising, "MOST_TURNS", turns)
    calls: list[int] = []
    joined = Raiser._joined

    def noted(self: Raiser, *given: Any) -> raising.Raised:
        calls.append(len(calls))
        return joined(self, *given)

    monkeypatch.setattr(Raiser, "_joined", noted)
    release = _release(FOUR, [0, 0, 1, 1, 2, 2, 3, 3], [Shield(("x",), 4)])
    assert len(calls) == turns
    assert release.suppressed == ({Suppression.SHIELD: 8} if not turns else {})


def test_who_is_suppressed_for_one_shield_may_be_missed_by_another() -> None:
    """Class 2 falls by x; without it y = b has two people only."""
    x, y = replace(X, max_level=0), replace(Y, max_level=0)
    codes = [0, 0, 0, 0, 6, 6, 0, 0], [0, 0, 1, 1, 1, 1, 0, 0]
    release = _release(codes, [0, 0, 1, 1, 2, 2, 0, 0], [Shield(("x",), 3), Shield(("y",), 4)], (x, y))
    assert release.class_of_row.tolist() == [0, 0, -1, -1, -1, -1, 0, 0]
    assert release.suppressed == {Suppression.SHIELD: 4}


def test_a_window_of_fewer_people_than_a_shield_asks_is_suppressed_whole() -> None:
    release = _release(FOUR, [0, 0, 1, 1, 2, 2, 3, 3], [Shield(("x",), 9)])
    assert release.suppressed == {Suppression.SHORTFALL: 8}


def test_sets_are_united_and_all_values_are_a_star() -> None:
    sets = replace(Y, publication=PublishedForm.VALUES)
    eight = [0] * 6, [0, 0, 2, 2, 1, 1]
    release = _release(eight, [0, 0, 1, 1, 2, 2], [Shield(("y",), 3)], (X, sets))
    found = {str(value[1]) for value in _published(release)}
    assert found == {"['a', 'b']", "['a', 'b', 'c']", "*"} & found
    assert release.achieved_shields[0] >= 3


def test_shields_on_several_sets_hold_together() -> None:
    shields = [Shield(("x",), 4), Shield(("y",), 6), Shield(("x", "y"), 3)]
    release = _release(FOUR, [0, 0, 1, 1, 2, 2, 3, 3], shields)
    assert release.suppressed == {}
    assert all(found >= shield.k for found, shield in zip(release.achieved_shields, shields, strict=True))


def test_a_union_that_misses_a_criterion_of_frequencies_is_no_violation() -> None:
    """Person 0 has value 1 in both classes, which counts once in their union: two of three pairs have value 0."""
    diversity = {"s": Diversity(alpha=0.5)}
    codes, told, people = ([0, 0, 1, 1], [0, 0, 0, 0]), [0, 0, 1, 1], [1, 0, 2, 0]
    release = _release(codes, told, [Shield(("x",), 3)], people=people, diversity=diversity)
    assert release.suppressed == {Suppression.GATE: 4}
    assert release.gate_violations == 0
    alone = _release(codes, told, [], people=people, diversity=diversity)
    assert (alone.released, alone.gate_violations) == (4, 0)


def test_criteria_survive_the_union_of_classes() -> None:
    diversity = {"s": Diversity(t_closeness=Closeness(0.1), alpha=0.5)}
    release = _release(FOUR, [0, 0, 1, 1, 2, 2, 3, 3], [Shield(("x",), 4)], diversity=diversity)
    assert (release.released, release.gate_violations) == (8, 0)


def test_unknown_values_alone_are_not_raised_with_others_above_the_highest_level() -> None:
    bound = replace(X, max_level=1, unknown=Unknown.ROOT)
    unknown = bound.unknown_code
    codes = [0, 0, 1, 1, unknown, unknown], [0, 0, 1, 1, 2, 2]
    release = _release(codes, [0, 0, 1, 1, 2, 2], [Shield(("x",), 4)], (bound, Y))
    assert _published(release)[:4] == [(LEAVES.publish(0, 1), y) for y in "aabb"]
    assert release.suppressed == {Suppression.SHIELD: 2}
    assert release.gate_violations == 0


def test_a_set_that_covers_everything_makes_its_unions_cover_everything() -> None:
    sets = replace(Y, publication=PublishedForm.VALUES)
    codes = [0] * 7, [0, 1, 2, 0, 0, 1, 1]
    release = _release(codes, [0, 0, 0, 1, 1, 2, 2], [Shield(("y",), 4)], (X, sets))
    assert _published(release) == [("0", "*")] * 7
    assert (release.suppressed, release.gate_violations) == ({}, 0)


def test_what_raise_leaves_short_is_a_violation_that_the_gate_takes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(self: Raiser, people: Any, class_of_row: Any, generalized: Any, united: Any) -> raising.Raised:
        return raising.Raised(class_of_row, generalized, united)

    monkeypatch.setattr(Raiser, "raised", nothing)
    codes = [0, 0, 0, 0, 6, 6], [0, 0, 1, 1, 2, 2]
    release = _release(codes, [0, 0, 1, 1, 2, 2], [Shield(("x",), 4)])
    assert release.class_of_row.tolist() == [0, 0, 1, 1, -1, -1]
    assert release.suppressed == {Suppression.GATE: 2}
    assert release.gate_violations == 1


def test_the_gate_does_not_believe_that_raise_stays_below_the_highest_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Raiser, "_cells", lambda self, groups: np.zeros(len(groups.records), np.int64))
    bound = replace(X, max_level=1)
    codes = [0, 0, 1, 1, 6, 6], [0, 0, 1, 1, 2, 2]
    release = _release(codes, [0, 0, 1, 1, 2, 2], [Shield(("x",), 4)], (bound, Y))
    assert release.suppressed[Suppression.GATE] >= 2
    assert release.gate_violations >= 1
    assert all(bound.read(value) is not None for value in release.classes.values[0])


def test_rows_that_a_failing_class_takes_along_are_counted_for_the_shield(monkeypatch: pytest.MonkeyPatch) -> None:
    """The partitioner lies: class 1 is of one person. Without it x = 0 has two people left."""
    codes = [0, 0, 0, 6, 6, 6], [0, 0, 1, 2, 2, 2]
    release = _release(codes, [0, 0, 1, 2, 2, 2], [Shield(("x",), 3)])
    assert release.class_of_row.tolist() == [-1, -1, -1, 0, 0, 0]
    assert release.suppressed == {Suppression.GATE: 1, Suppression.SHIELD: 2}
    assert release.gate_violations == 1


def test_shields_that_hold_by_themselves_change_nothing() -> None:
    told = [0, 0, 1, 1, 2, 2, 3, 3]
    own, none = _release(FOUR, told, [Shield(("x",), 2)]), _release(FOUR, told, [])
    assert own.classes.values == none.classes.values
    assert own.class_of_row.tolist() == none.class_of_row.tolist()
    assert own.achieved_shields == (2,)


def test_a_policy_without_shields_hands_everything_on_and_makes_no_cost_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(raising, "objective", None)
    monkeypatch.setattr(raising, "join_groups", None)
    monkeypatch.setattr(raising, "people_of_groups", None)
    policy = Policy((X, Y, Sensitive("s")), 2, EVERY_RECORD)
    generalizers = [Generalizer(a) for a in policy.quasi_identifiers]
    class_of_row = np.array([0, 0], np.int32)
    codes = np.zeros((2, 2), np.int32)
    generalized = generalize(generalizers, policy.quasi_identifiers, codes, class_of_row, 1)
    united = np.zeros(1, np.bool_)
    found = Raiser(policy, generalizers).raised(np.arange(2, dtype=np.int32), class_of_row, generalized, united)
    assert found.class_of_row is class_of_row
    assert found.generalized is generalized
    assert found.united is united
    assert found.gone == 0


def _raised(
    codes: Sequence[Any],
    told: Any,
    shields: Sequence[Shield],
    united: Sequence[bool],
    attributes: Sequence[QuasiIdentifier] = (X, Y),
) -> raising.Raised:
    """Return what RAISE makes of classes."""
    policy = Policy((*attributes, Sensitive("s")), 2, EVERY_RECORD, 1.0, shields=tuple(shields))
    generalizers = [Generalizer(a) for a in policy.quasi_identifiers]
    rows, class_of_row = np.array(codes, np.int32), np.array(told, np.int32)
    generalized = generalize(generalizers, policy.quasi_identifiers, rows, class_of_row, len(united))
    people = np.arange(len(told), dtype=np.int32)
    return Raiser(policy, generalizers).raised(people, class_of_row, generalized, np.array(united))


def test_a_class_that_held_several_before_still_does() -> None:
    found = _raised(FOUR, [0, 0, 1, 1, 2, 2, 3, 3], [Shield(("x",), 4)], [False, True, False, False])
    assert (
        found.generalized.values[0]
        != _raised(FOUR, [0, 0, 1, 1, 2, 2, 3, 3], [], [False] * 4).generalized.values[0]
    )
    assert found.united[found.class_of_row].tolist() == [False] * 2 + [True] * 2 + [False] * 4


def test_the_set_of_a_union_holds_the_values_of_its_parts_and_no_others() -> None:
    sets = replace(X, publication=PublishedForm.VALUES)
    codes = [0, 0, 2, 2, 5, 5, 7, 7], [0, 0, 1, 1, 2, 2, 0, 0]
    found = _raised(codes, [0, 0, 1, 1, 2, 2, 3, 3], [Shield(("x",), 4)], [False] * 4, (sets, Y))
    classes = found.class_of_row[::2].tolist()
    members, values = found.generalized.members[0] or [], found.generalized.values[0]
    assert [members[own] for own in classes] == [(0, 2)] * 2 + [(5, 7)] * 2
    assert [values[own] for own in classes] == [["0", "2"]] * 2 + [["5", "7"]] * 2


def test_once_a_class_is_gone_a_failure_of_any_other_is_no_violation() -> None:
    """The others are compared with fewer rows then, as if they were unions."""
    codes = [0, 0, 1, 1, 6, 6], [0, 0, 1, 1, 2, 2]
    bound = replace(X, max_level=1)
    found = _raised(codes, [0, 0, 1, 1, 2, 2], [Shield(("x",), 4)], [False] * 3, (bound, Y))
    assert found.gone == 2
    assert found.united.tolist() == [True, True]


def test_shields_that_share_an_attribute_are_met_in_several_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raising y and z parts classes that were alike by x and y."""
    z = replace(Y, name="z")
    codes = np.repeat([[0, 2, 2, 3, 5], [0, 0, 2, 0, 1], [2, 2, 1, 0, 2]], 2, axis=1).tolist()
    given = codes, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [Shield(("x", "y"), 4), Shield(("y", "z"), 4)], (X, Y, z)
    release = _release(*given)
    assert release.suppressed == {}
    assert min(release.achieved_shields) >= 4
    monkeypatch.setattr(raising, "MOST_TURNS", 1)
    assert _release(*given).suppressed == {Suppression.SHIELD: 2}


def test_who_was_suppressed_before_another_turn_is_counted_after_it() -> None:
    """Class 2 falls by x; without it y = b has two people only, and is raised."""
    codes = [0, 0, 0, 0, 6, 6, 0, 0], [0, 0, 1, 1, 1, 1, 0, 0]
    shields = [Shield(("x",), 3), Shield(("y",), 4)]
    release = _release(codes, [0, 0, 1, 1, 2, 2, 0, 0], shields, (replace(X, max_level=0), Y))
    assert _published(release) == [("0", "*")] * 4 + [()] * 2 + [("0", "*")] * 2
    assert release.suppressed == {Suppression.SHIELD: 2}


def test_what_cannot_be_raised_is_suppressed_for_too_few_people_not_records() -> None:
    codes = [0, 0, 0, 0, 6, 6, 6, 6], [0] * 8
    people = [0, 1, 2, 3, 4, 5, 4, 5]
    release = _release(codes, [0] * 4 + [1] * 4, [Shield(("x",), 4)], (replace(X, max_level=0), Y), people=people)
    assert release.suppressed == {Suppression.SHIELD: 4}
    assert release.gate_violations == 0


@pytest.mark.parametrize(
    ("publication", "k", "classes"),
    [
        (PublishedForm.NODES, 3, [(0, 0), (7, 5), (7, 7), (1, 2), (1, 7)]),
        (PublishedForm.VALUES, 4, [(0, 2, 4), (0, 4, 4), (0, 2, 4), (0, 1, 4)]),
    ],
)
def test_equally_near_groups_are_joined_whatever_the_order_of_rows(
    publication: PublishedForm, k: int, classes: Sequence[Sequence[int]]
) -> None:
    """Intervals that begin or end alike, and sets with the same ends."""
    attributes = replace(X, publication=publication), Y
    found = set()
    size = len(classes[0])
    for order in permutations(range(len(classes))):
        codes = [code for one in order for code in classes[one]], np.repeat(order, size) % 3
        told = np.repeat(np.arange(len(order)), size)
        done = _raised(codes, told, [Shield(("x",), k)], [False] * len(order), attributes)
        value = dict(zip(np.repeat(order, size).tolist(), done.class_of_row.tolist(), strict=True))
        found.add(tuple(str(done.generalized.values[0][value[one]]) for one in range(len(order))))
    assert len(found) == 1


def _model_cost(model: CostModel, places: Sequence[int], bounds: Bounds) -> float:
    total = 0.0
    for j, (low, high) in zip(places, bounds, strict=True):
        total += interval_cost(model, j, low, high)
    return total


@st.composite
def _lines(draw: st.DrawFn) -> tuple[Table, list[Group], int, int, int]:
    """Groups of random people with different bounds, k, width and patience."""
    table = draw(tables())
    bounds = st.tuples(
        *(
            st.tuples(st.integers(0, a.domain.size - 1), st.integers(0, a.domain.size - 1)).map(
                lambda ends: (min(ends), max(ends))
            )
            for a in table.attributes
        )
    )
    every = sorted(draw(st.lists(bounds, min_size=1, max_size=12, unique=True)))
    groups = []
    for own in every:
        people = draw(st.sets(st.integers(0, 9), min_size=1, max_size=5))
        extra, cell = draw(st.integers(0, 2)), draw(st.sampled_from([0, 0, 0, 1]))
        groups.append(Group(own, len(people) + extra, people, cell, [len(groups)]))
    return (
        table,
        groups,
        draw(st.integers(2, 9)),
        draw(st.sampled_from([1, 2, WIDTH])),
        draw(st.sampled_from([0, 1, PATIENCE])),
    )


@examples(200)
@given(_lines())
def test_groups_are_joined_as_the_plain_program_joins_them(line: tuple[Table, list[Group], int, int, int]) -> None:
    table, groups, k, width, patience = line
    places = np.arange(len(table.attributes), dtype=np.int64)
    low, high = (np.array([[b[end] for b in group.bounds] for group in groups], np.int32) for end in (0, 1))
    weights = np.array([group.records for group in groups], np.int64)
    starts = np.cumsum([0, *(len(group.people) for group in groups)]).astype(np.int64)
    people = np.array([person for group in groups for person in sorted(group.people)], np.int32)
    cells = np.array([group.cell for group in groups], np.int64)
    name, short = np.empty(len(groups), np.int64), np.empty(len(groups), np.bool_)
    alike = AlikeGroups(table.model, places, low, high, cells, weights)
    join_groups(alike, starts, people, k, width, patience, name, short)
    expected = joined(groups, lambda bounds: _model_cost(table.model, places.tolist(), bounds), k, width, patience)
    unions: dict[int, list[int]] = {}
    for number in range(len(groups)):
        root = number
        while name[root] != root:
            root = int(name[root])
        unions.setdefault(root, []).append(number)
    assert sorted(unions.values()) == sorted(sorted(group.members) for group in expected)
    for group in expected:
        root = min(group.members)
        assert [*zip(low[root].tolist(), high[root].tolist(), strict=True)] == list(group.bounds)
        assert weights[root] == group.records
        assert bool(short[root]) == (len(group.people) < k)


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 6)), max_size=30))
def test_people_of_groups_are_counted_once(pairs: list[tuple[int, int]]) -> None:
    starts = np.empty(6, np.int64)
    groups = np.array([group for group, _ in pairs], np.int64)
    found = people_of_groups(groups, np.array([person for _, person in pairs], np.int32), starts)
    for group in range(5):
        own = found[starts[group] : starts[group + 1]].tolist()
        assert sorted(own) == sorted({person for other, person in pairs if other == group})


@examples(100)
@given(table=tables(), data=st.data())
def test_the_order_of_rows_and_classes_changes_nothing(table: Table, data: st.DataObject) -> None:
    n = len(table.rows)
    assume(n > 1)
    told = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    order = np.array(data.draw(st.permutations(range(n))))
    names = np.array(data.draw(st.permutations(range(6))))
    k = data.draw(st.integers(3, 8))
    shields = (Shield((table.attributes[0].name,), k), Shield((table.attributes[-1].name,), k + 1))[
        : len(table.attributes)
    ]

    def found(rows: Columns, clusters: NDArray[np.int64]) -> list[tuple[str, ...]]:
        policy = Policy((*table.attributes, Sensitive("s")), 2, EVERY_RECORD, 1.0, shields=shields)
        generalizers = [Generalizer(a) for a in policy.quasi_identifiers]
        _, dense = np.unique(clusters, return_inverse=True)
        generalized = generalize(
            generalizers, policy.quasi_identifiers, rows.codes, dense.astype(np.int32), int(dense.max()) + 1
        )
        united = np.zeros(int(dense.max()) + 1, np.bool_)
        done = Raiser(policy, generalizers).raised(rows.individuals, dense.astype(np.int32), generalized, united)
        return [
            tuple(str(values[own]) for values in done.generalized.values) if own >= 0 else ()
            for own in done.class_of_row.tolist()
        ]

    there = found(table.rows, told)
    turned = Columns(
        np.ascontiguousarray(table.rows.codes[:, order]),
        table.rows.individuals[order],
        np.ascontiguousarray(table.rows.sensitive[:, order]),
    )
    back = found(turned, names[told[order]])
    assert [there[i] for i in order] == back


def test_ten_thousand_groups_take_bounded_work() -> None:
    """Every group is short, and the plain program would compare each with each in every round."""
    draws = np.random.default_rng(0)
    domain = CategoricalDomain(balanced([str(i) for i in range(512)], 2))
    attributes = [QuasiIdentifier("x", domain), QuasiIdentifier("y", domain)]
    codes = np.unique(draws.integers(0, 512, (10_000, 2)).astype(np.int32), axis=0)
    g = len(codes)
    name, short = np.empty(g, np.int64), np.empty(g, np.bool_)
    people = np.arange(2 * g, dtype=np.int32)
    starts = np.arange(0, 2 * g + 1, 2).astype(np.int64)
    weights = np.full(g, 2, np.int64)
    places, cells = np.arange(2, dtype=np.int64), np.zeros(g, np.int64)
    alike = AlikeGroups(cost_model(attributes), places, codes.copy(), codes.copy(), cells, weights)
    join_groups(alike, starts, people, 50, WIDTH, PATIENCE, name, short)
    roots = name == np.arange(g)
    assert not short[roots].any()
    assert roots.sum() > g / 150  # unions of about 50 people, not one of all
