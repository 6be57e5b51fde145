"""No class has more of those who fit it than `privacy.presence` allows, whatever the rows and the population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.closing import Closer
from stream_anon.engine.uniting import presence_uniting
from stream_anon.microdata.attributes import Identifier
from stream_anon.microdata.choices.method_choice import MethodChoice
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.population.presence_bound import PopulationCounts
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release, Suppression
from tests.attacks.town import ENGINES, Service, town_policy, townspeople
from tests.support.effort import examples
from tests.support.lying import Told, sealed
from tests.support.populations import bounded, of_nodes, population, shares
from tests.support.tables import Table, tables

LEAVES = CategoricalDomain(balanced([str(i) for i in range(8)], 2))  # height 3
X = QuasiIdentifier("x", LEAVES)
Y = QuasiIdentifier("y", CategoricalDomain(Hierarchy.flat(["a", "b", "c"])))
FOUR = ([0, 0, 1, 1, 6, 6, 7, 7], [0, 0, 0, 0, 2, 2, 2, 2])
PAIRS = [0, 0, 1, 1, 2, 2, 3, 3]


def _release(
    codes: Sequence[Sequence[int]],
    told: Sequence[int],
    known: PopulationCounts,
    most: float = 0.5,
    attributes: Sequence[QuasiIdentifier] = (X, Y),
    **given: Any,
) -> tuple[Policy, Release]:
    """Return what becomes of classes as a partitioner told them; k is 2."""
    policy = Policy((Identifier("person"), *attributes), 2, "person", 1.0, **bounded(most, known), **given)
    people = np.arange(len(told), dtype=np.int32)
    rows = Columns(np.array(codes, np.int32), people, np.empty((0, len(told)), np.int32))
    return policy, Closer(policy).release(sealed(policy, rows, Told(told)), np.random.default_rng(0))


def _published(release: Release) -> list[tuple[Any, ...]]:
    return [
        tuple(values[own] for values in release.classes.values) if own >= 0 else ()
        for own in release.class_of_row.tolist()
    ]


TOWN = population([(0, 0)] * 2 + [(1, 0)] * 8 + [(6, 2)] * 4 + [(7, 2)] * 4)


def test_a_class_of_which_too_many_are_in_the_data_is_united_with_the_one_it_costs_least_to_join() -> None:
    policy, release = _release(FOUR, PAIRS, TOWN)
    both = (LEAVES.publish(0, 1), "a")
    assert _published(release) == [both] * 4 + [("6", "c")] * 2 + [("7", "c")] * 2
    assert release.suppressed == {}
    assert release.gate_violations == 0
    assert release.achieved_presence == 0.5
    assert shares(policy, release) == [Fraction(4, 10), Fraction(1, 2), Fraction(1, 2)]


def test_what_no_union_helps_is_suppressed_for_its_reason_and_spoils_no_other_class() -> None:
    few = population([(0, 0)] * 2 + [(1, 0)] * 2 + [(6, 2)] * 4 + [(7, 2)] * 4)
    # Up to level 1 of x nothing has both (1, a) and (6, c).
    policy, release = _release(FOUR, PAIRS, few, attributes=(replace(X, max_level=1), Y))
    assert _published(release) == [()] * 4 + [("6", "c")] * 2 + [("7", "c")] * 2
    assert release.suppressed == {Suppression.PRESENCE: 4}
    assert release.gate_violations == 0
    assert max(shares(policy, release)) <= 0.5


def test_nothing_is_published_of_people_of_whom_the_population_knows_nobody() -> None:
    _, release = _release(FOUR, PAIRS, population([(3, 1)]))
    assert release.released == 0
    assert release.suppressed == {Suppression.PRESENCE: 8}
    assert release.achieved_presence is None


def test_two_classes_that_fail_are_united_until_they_hold() -> None:
    wide = population([(0, 0)] * 3 + [(3, 0)] * 3 + [(2, 0)] * 10 + [(6, 2)] * 8 + [(7, 2)] * 8)
    apart = [0, 0, 3, 3, *FOUR[0][4:]], FOUR[1]
    policy, release = _release(apart, PAIRS, wide, 0.25)
    assert _published(release) == [(LEAVES.publish(0, 3), "a")] * 4 + [("6", "c")] * 2 + [("7", "c")] * 2
    assert shares(policy, release) == [Fraction(1, 4)] * 3


def test_a_union_that_would_be_published_as_a_third_class_counts_its_people() -> None:
    # (0, a) and (1, a) would be published as the third class is; all three together are 8 of 15.
    third = ([0, 0, 0, 0, 1, 1, 1, 1], [0] * 8)
    known = population([(0, 0)] * 3 + [(1, 0)] * 12)
    policy, release = _release(third, [0, 0, 2, 2, 2, 2, 1, 1], known, attributes=(replace(X, max_level=1), Y))
    both = (LEAVES.publish(0, 1), "a")
    # Which of those with equal values are in which class is drawn.
    assert sorted(_published(release)) == [both] * 6 + [("1", "a")] * 2
    assert release.suppressed == {}
    assert shares(policy, release) == [Fraction(6, 15), Fraction(2, 12)]


def test_highest_levels_bound_what_is_united() -> None:
    limited = replace(X, max_level=0), Y
    _, release = _release(FOUR, PAIRS, TOWN, attributes=limited)
    assert _published(release) == [()] * 2 + [("1", "a")] * 2 + [("6", "c")] * 2 + [("7", "c")] * 2
    assert release.suppressed == {Suppression.PRESENCE: 2}


def test_on_fixed_levels_and_by_methods_what_fails_is_suppressed() -> None:
    fixed = X.at_level(0), Y.at_level(0)
    _, release = _release(FOUR, PAIRS, TOWN, attributes=fixed)
    assert release.suppressed == {Suppression.PRESENCE: 2}
    people = townspeople(400)
    policy = town_policy()
    known = population(
        [tuple(a.code(one[a.name]) for a in policy.quasi_identifiers) for one in (*people, *townspeople(1200, 1))]
    )
    from stream_anon.engine.recoding_closer import RecodingCloser, WholeTable

    policy = town_policy(method=MethodChoice("samarati"), **bounded(0.4, known))
    codes = [[a.code(one[a.name]) for one in people] for a in policy.quasi_identifiers]
    rows = Columns(np.array(codes, np.int32), np.arange(400, dtype=np.int32), np.empty((0, 400), np.int32))
    window = replace(sealed(policy, rows, Told([0] * 400)), partitioner=WholeTable())
    assert policy.method is not None
    found = RecodingCloser(policy, policy.method).release(window, np.random.default_rng(0))
    assert found.gate_violations == 0
    assert found.released
    assert all(share <= Fraction("0.4") for share in shares(policy, found))


def test_rounds_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence_uniting, "MOST_UNITING", 0)
    _, release = _release(FOUR, PAIRS, TOWN)
    assert release.suppressed == {Suppression.PRESENCE: 2}


def test_a_hostile_partitioner_that_makes_a_class_of_each_pair_publishes_none_that_fails() -> None:
    """Its classes of one person are its fault; that of too many of those who fit is nobody's."""
    policy, release = _release(FOUR, [0, 1, 2, 2, 3, 3, 4, 4], TOWN)
    assert max(shares(policy, release)) <= 0.5
    assert release.released + sum(release.suppressed.values()) == 8


def test_without_presence_nothing_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*given: object) -> None:
        raise AssertionError

    monkeypatch.setattr(presence_uniting, "near_classes", forbidden)
    monkeypatch.setattr(presence_uniting, "people_of", forbidden)
    release = Service(town_policy()).release(townspeople(100))
    assert release.released
    assert release.achieved_presence is None


@given(tables(), st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.data())
@examples(200)
def test_no_published_class_has_more_of_those_who_fit_it_than_is_allowed(
    table: Table, most: float, data: Any
) -> None:
    rows, n = table.rows, len(table.rows)
    attributes = of_nodes(table.attributes)
    everybody = [tuple(codes) for codes in rows.codes.T.tolist()] * data.draw(st.integers(0, 3))
    everybody += data.draw(st.lists(st.tuples(*(st.integers(0, a.size - 1) for a in attributes)), max_size=30))
    known = population([*everybody, tuple(0 for _ in attributes)])
    policy = Policy((Identifier("person"), *attributes), 2, "person", 1.0, **bounded(most, known))
    plain = replace(rows, sensitive=np.empty((0, n), np.int32), sets=())
    told = data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n))
    release = Closer(policy).release(sealed(policy, plain, Told(told)), np.random.default_rng(0))
    found = shares(policy, release)
    assert all(share <= Fraction(str(most)) for share in found)
    assert release.achieved_presence == (float(max(found)) if found else None)
    assert release.released + sum(release.suppressed.values()) == n
    for own, row in zip(release.class_of_row.tolist(), range(n), strict=True):
        if own >= 0:
            assert all(release.classes.low[:, own] <= rows.codes[:, row])
            assert all(release.classes.high[:, own] >= rows.codes[:, row])


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_keeps_it_and_uniting_loses_less_than_suppression(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, bare = townspeople(1000), town_policy(engine=engine)
    codes = [tuple(a.code(one[a.name]) for a in bare.quasi_identifiers) for one in people]
    others = [tuple(a.code(one[a.name]) for a in bare.quasi_identifiers) for one in townspeople(4000, 1)]
    policy = town_policy(engine=engine, **bounded(0.25, population(codes + others)))
    united = Service(policy).release(people)
    monkeypatch.setattr(presence_uniting, "MOST_UNITING", 0)
    suppressed = Service(policy).release(people)
    for release in (united, suppressed):
        assert all(share <= Fraction("0.25") for share in shares(policy, release))
        assert release.gate_violations == 0
    assert united.gcp is not None
    assert suppressed.gcp is not None
    assert united.gcp <= suppressed.gcp
