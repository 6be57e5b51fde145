"""How values are dealt into families that classes keep whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.coding import BatchBuilder
from stream_anon.microdata.domains.families import Family
from stream_anon.operations.whole_families import FamilyLosses, deal_whole, improved
from tests.attacks.town import town_policy, townspeople
from tests.support.object_coder import ObjectCoder

COUNTS = st.lists(st.integers(1, 60), min_size=2, max_size=9).map(
    lambda counts: {f"v{place}": count for place, count in enumerate(counts)}
)


@given(COUNTS, st.integers(2, 4), st.integers(2, 12))
def test_each_value_is_in_one_of_as_many_families_as_there_can_be(
    people: dict[str | None, int], least: int, k: int
) -> None:
    if len(people) < least:
        return
    families = deal_whole(people, least, k)
    assert sorted(str(value) for family in families for value in family) == sorted(map(str, people))
    assert all(len(family) >= least for family in families)
    assert len(families) == len(people) // least


def test_the_rarest_values_are_together_and_drag_no_frequent_one_along() -> None:
    """With the rarest value stands no more than must: its people are all that there can be classes of."""
    people = dict(zip("abcdefgh", [400, 390, 380, 370, 360, 350, 3, 2], strict=True))
    assert deal_whole({**people}, 3, 5)[-1] == ("f", "g", "h")
    assert deal_whole({**people}, 2, 5)[-1] == ("g", "h")


@given(COUNTS, st.randoms())
def test_the_order_in_which_values_come_does_not_matter(people: dict[str | None, int], draws: object) -> None:
    items = list(people.items())
    draws.shuffle(items)  # type: ignore[attr-defined]
    assert deal_whole(dict(items), 2, 5) == deal_whole(people, 2, 5)


def _unlike(family: Family) -> float:
    """Return how far apart the values of a family are, which are numbers."""
    numbers = [int(value or 0) for value in family]
    return float(max(numbers) - min(numbers))


def test_values_change_places_until_nothing_is_gained() -> None:
    found = improved([("1", "9"), ("8", "2"), ("5", "4")], 2, _unlike)
    assert sorted(map(sorted, found)) == [["1", "2"], ["4", "5"], ["8", "9"]]


def test_values_move_out_of_families_that_have_more_than_they_must() -> None:
    assert sorted(map(sorted, improved([("1", "2", "9"), ("7", "8")], 2, _unlike))) == [["1", "2"], ["7", "8", "9"]]
    assert sorted(map(sorted, improved([("7", "8"), ("1", "2", "9")], 2, _unlike))) == [["1", "2"], ["7", "8", "9"]]
    assert sorted(map(len, improved([("1", "2", "9"), ("7", "8")], 3, _unlike))) == [2, 3]


def test_no_more_families_are_measured_than_may_be() -> None:
    measured: list[Family] = []

    def noted(family: Family) -> float:
        measured.append(family)
        return _unlike(family)

    families = [(str(i), str(99 - i)) for i in range(40)]
    found = improved(families, 2, noted, most=100)
    assert len(measured) <= 100 + 2 * 4
    assert sum(map(_unlike, found)) < sum(map(_unlike, families))


def test_a_family_costs_what_its_classes_lose_and_whoever_is_suppressed_all() -> None:
    policy = town_policy(distinct_l=3)
    builder, coder = BatchBuilder(policy, 0), ObjectCoder(policy)
    people = [dict(person) for person in townspeople(600)]
    for number, person in enumerate(people):
        builder.add(coder.code_object(person), number)
    losses = FamilyLosses(policy, "illness", builder.build(None))
    counts = {name: sum(person["illness"] == name for person in people) for name in ("illness 0", "illness 1")}
    pair = losses.of(("illness 0", "illness 1"))
    assert losses.of(("illness 1", "illness 0")) == pair
    assert len(losses._known) == 1
    assert 0 < losses.without < pair / sum(counts.values()) < 1
    absent = losses.of(("illness 0", "nobody has it"))
    assert absent == pytest.approx(counts["illness 0"])
    assert losses.of(("nobody has it", "nor that")) == 0
    assert len(losses) == 600
