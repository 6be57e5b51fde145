"""Each attack beside one that compares every person with every record, on made-up releases."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.attacks.finding_again import find_again
from stream_anon.attacks.inferring import homogeneous, infer
from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known
from stream_anon.attacks.linking import link
from stream_anon.attacks.membership import tell_members
from stream_anon.attacks.singling_out import single_out
from stream_anon.measures.boxes import Boxes

CODES, VALUES = 6, 3
codes = st.tuples(st.integers(0, CODES - 1), st.integers(0, CODES - 1))
person = st.tuples(codes, st.integers(0, VALUES - 1), st.integers(0, VALUES - 1))
bounds = st.tuples(codes, codes).map(lambda ends: tuple((min(pair), max(pair)) for pair in zip(*ends, strict=True)))
sets = st.sets(st.integers(0, CODES - 1), min_size=1)
box = st.tuples(
    bounds, st.one_of(st.none(), sets), st.lists(st.tuples(*[st.integers(0, VALUES - 1)] * 2), min_size=1)
)


def _known(people: list[Any], each: int = 1) -> Known:
    columns = np.array([own for own, _, _ in people], np.int32).reshape(-1, 2).T
    passed = {name: np.array([one[place] for one in people], np.int64) for place, name in ((1, "drug"), (2, "ill"))}
    return Known(columns, passed, np.arange(len(people)) // each)


def _held(classes: list[Any]) -> HeldRelease:
    """Return a release; the first attribute of a class may be a set."""
    low = np.array([[one[0][place][0] for one in classes] for place in (0, 1)], np.int32)
    high = np.array([[one[0][place][1] for one in classes] for place in (0, 1)], np.int32)
    members: list[tuple[int, ...]] = []
    for number, (_, chosen, _) in enumerate(classes):
        members.append(() if chosen is None else tuple(sorted(chosen)))
        if chosen is not None:
            low[0, number], high[0, number] = min(chosen), max(chosen)
    rows = [(number, *record) for number, one in enumerate(classes) for record in one[2]]
    sizes = np.array([len(one[2]) for one in classes], np.int64)
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return HeldRelease(Boxes(low, high, sizes, {0: members}), columns[0], {"drug": columns[1], "ill": columns[2]})


def _wrong(own: tuple[int, int], one: Any, places: tuple[int, ...] = (0, 1)) -> int:
    """Return how many attributes of a person a class contradicts."""
    (first, second), chosen, _ = one
    fits = (
        first[0] <= own[0] <= first[1] if chosen is None else own[0] in chosen,
        second[0] <= own[1] <= second[1],
    )
    return sum(not fits[place] for place in places)


def _near(own: tuple[int, int], classes: list[Any], places: tuple[int, ...] = (0, 1)) -> tuple[int, list[int]]:
    wrong = [_wrong(own, one, places) for one in classes]
    return min(wrong), [number for number, count in enumerate(wrong) if count == min(wrong)]


def _scene(classes: list[Any], inside: Known, outside: Known) -> AttackScene:
    return AttackScene(_held(classes), inside, outside, ("ill",), ("drug",))


releases = st.lists(box, min_size=1, max_size=5)
crowds = st.lists(person, min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(releases, crowds, crowds)
def test_inference_takes_the_most_frequent_value_of_the_nearest_records(
    classes: list[Any], inside: list[Any], outside: list[Any]
) -> None:
    found = infer(_scene(classes, _known(inside), _known(outside)), _known(inside), _known(outside), "ill")

    def right(people: list[Any]) -> float:
        total = 0.0
        for own, drug, ill in people:
            near = [record for number in _near(own, classes)[1] for record in classes[number][2]]
            alike = [record for record in near if record[0] == drug] or near
            counts = Counter(value for _, value in alike)
            best = [value for value, count in counts.items() if count == max(counts.values())]
            total += (ill in best) / len(best)
        return total

    assert found.successes == pytest.approx(right(inside))
    assert found.control == (len(outside), pytest.approx(right(outside)))


@settings(max_examples=60, deadline=None)
@given(releases, crowds, crowds)
def test_linking_draws_the_same_record_for_both_halves(
    classes: list[Any], inside: list[Any], outside: list[Any]
) -> None:
    scene = _scene(classes, _known(inside), _known(outside))
    found = link(scene, scene.inside, scene.outside, ([0], [1]))

    def chance(own: tuple[int, int]) -> float:
        one, other = (
            {
                (number, place)
                for number in _near(own, classes, (half,))[1]
                for place in range(len(classes[number][2]))
            }
            for half in (0, 1)
        )
        return len(one & other) / (len(one) * len(other))

    assert found.successes == pytest.approx(sum(chance(own) for own, _, _ in inside))
    assert found.control == (len(outside), pytest.approx(sum(chance(own) for own, _, _ in outside)))


def _class(ages: tuple[int, int], places: tuple[int, int], *records: tuple[int, int]) -> Any:
    return ((ages, places), None, list(records))


def test_who_is_one_of_fewer_than_k_is_found_again() -> None:
    classes = [_class((0, 2), (0, 5), (0, 0), (0, 1), (1, 2)), _class((3, 5), (0, 5), *[(2, 0)] * 3)]
    people = [((0, 0), 0, 0), ((1, 3), 0, 1), ((2, 5), 1, 2), ((3, 0), 2, 0), ((4, 4), 2, 0), ((5, 1), 2, 0)]
    scene = _scene(classes, _known(people), _known(people[:1]))
    # By the drug, which passes, one of the first three is alone, and the other two are two.
    found = find_again(scene, scene.inside, 3)
    assert (found.successes, found.surest) == (3, 1.0)
    assert find_again(scene, scene.inside, 1).successes == 0
    without = AttackScene(scene.released, scene.inside, scene.outside, ("ill",), ())
    assert find_again(without, without.inside, 3).successes == 0


def test_records_of_one_person_are_one_person() -> None:
    """k was counted in records: six records are of two people."""
    classes = [_class((0, 5), (0, 5), *[(0, 0)] * 6)]
    people = _known([((place, place), 0, 0) for place in range(6)], each=3)
    scene = AttackScene(_held(classes), people, people, ("ill",), ())
    found = find_again(scene, people, 6)
    assert (found.successes, found.surest) == (6, 0.5)


def test_a_description_that_fits_one_person_singles_out_who_is_in_the_release_only() -> None:
    """Each record shows the one drug that its person takes, and nobody else does."""
    count = 40
    inside = Known(
        np.zeros((2, count), np.int32),
        {"drug": np.arange(count), "ill": np.zeros(count, np.int64)},
        np.arange(count),
    )
    outside = Known(inside.codes, {**inside.passed, "drug": np.arange(count) + count}, np.arange(count))
    boxes = Boxes(np.zeros((2, 1), np.int32), np.full((2, 1), 5, np.int32), np.array([count]))
    held = HeldRelease(
        boxes, np.zeros(count, np.int64), {"drug": np.arange(count), "ill": np.zeros(count, np.int64)}
    )
    scene = AttackScene(held, inside, outside, ("ill",), ("drug",))
    found = single_out(scene, 400, np.random.default_rng(1))
    # Of 1 to 4 columns some hold the drug: 0.625 of all guesses.
    assert found.success.low < 0.625 < found.success.high
    assert found.control == (400, 0.0)
    assert found.risk.low > 0.5
    # Without it nothing fits one person.
    hidden = AttackScene(held, inside, outside, ("ill",), ())
    assert single_out(hidden, 100, np.random.default_rng(1)).successes == 0


def test_members_are_told_from_others_only_where_the_release_differs() -> None:
    draws = np.random.default_rng(3)

    def crowd(count: int, most: int) -> NDArray[np.int32]:
        return np.asarray(draws.integers(0, most, (2, count)), np.int32)

    def known(own: NDArray[np.int32]) -> Known:
        nothing = {name: np.zeros(own.shape[1], np.int64) for name in ("drug", "ill")}
        return Known(own, nothing, np.arange(own.shape[1]))

    def exact(own: NDArray[np.int32]) -> HeldRelease:
        ones = np.ones(own.shape[1], np.int64)
        return HeldRelease(Boxes(own, own, ones), np.arange(own.shape[1]), known(own).passed)

    inside, outside = known(crowd(400, 1000)), known(crowd(400, 1000))
    shown = AttackScene(exact(inside.codes), inside, outside, ("ill",), ("drug",))
    found = tell_members(shown, inside, outside)
    assert found.risk.low > 0.9
    boxes = Boxes(np.zeros((2, 1), np.int32), np.full((2, 1), 999, np.int32), np.array([400]))
    hidden = AttackScene(
        HeldRelease(boxes, np.zeros(400, np.int64), inside.passed), inside, outside, ("ill",), ("drug",)
    )
    assert tell_members(hidden, inside, outside).risk.low == 0


def test_classes_of_one_value_are_homogeneous() -> None:
    classes = [_class((0, 2), (0, 5), (0, 1), (1, 1)), _class((3, 5), (0, 5), (0, 0), (0, 2), (1, 0))]
    people = _known([((0, 0), 0, 0)])
    assert homogeneous(_scene(classes, people, people), "ill").success.value == 2 / 5


@settings(max_examples=60, deadline=None)
@given(releases, crowds, st.integers(1, 3))
def test_as_many_people_are_found_among_as_all_classes_say(
    classes: list[Any], people: list[Any], each: int
) -> None:
    """Of several classes the one with most people counts, whichever of them are looked at."""
    inside = _known(people, each)
    scene = _scene(classes, inside, inside)
    found = find_again(scene, inside, 3)

    def fewest(one: Any) -> int:
        fits = [row for row, (own, _, _) in enumerate(people) if not _wrong(own, one)]
        most = sorted(Counter(inside.people[fits].tolist()).values(), reverse=True)
        taken = [count for count in range(len(most)) if sum(most[: count + 1]) < len(one[2])]
        return len(taken) + 1

    expected = []
    for own, drug, _ in people:
        wrong, near = _near(own, classes)
        alike = [record for number in near for record in classes[number][2] if record[0] == drug]
        if not wrong and alike:
            expected.append(min(len(alike), max(fewest(classes[number]) for number in near)))
    assert found.successes == sum(among < 3 for among in expected)
    assert found.surest == pytest.approx(max([1 / among for among in expected], default=0.0))
