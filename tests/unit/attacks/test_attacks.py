"""Each attack beside one that compares every person with every record, on made-up releases."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.attacks.finding_again import find_again
from stream_anon.attacks.inferring import homogeneous, infer, tell_by_skewness
from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known
from stream_anon.attacks.linking import link
from stream_anon.attacks.membership import likeness, tell_members
from stream_anon.attacks.singling_out import single_out
from stream_anon.measures.boxes import Boxes
from tests.support.made_up_release import (
    box,
    class_of,
    contradicted,
    crowds,
    held,
    known,
    nearest,
    person,
    releases,
    scene_of,
)


@settings(max_examples=60, deadline=None)
@given(releases, crowds, crowds)
def test_inference_takes_the_most_frequent_value_of_the_nearest_records(
    classes: list[Any], inside: list[Any], outside: list[Any]
) -> None:
    found = infer(scene_of(classes, known(inside), known(outside)), known(inside), known(outside), "ill")

    def right(people: list[Any]) -> float:
        total = 0.0
        for own, drug, ill in people:
            near = [record for number in nearest(own, classes)[1] for record in classes[number][2]]
            alike = [record for record in near if record[0] == drug] or near
            counts = Counter(value for _, value in alike)
            best = [value for value, count in counts.items() if count == max(counts.values())]
            total += (ill in best) / len(best)
        return total

    assert found.successes == pytest.approx(right(inside))
    assert found.control == (len(outside), pytest.approx(right(outside)))


@settings(max_examples=60, deadline=None)
@given(
    releases,
    crowds,
    crowds,
    st.lists(
        st.sampled_from([-103.0, -100.0, -4.0, 0.0, 98.0, 100.0, 104.0, np.nan]),
        min_size=3,
        max_size=3,
        unique_by=str,
    ),
)
def test_a_guessed_number_is_right_within_five_in_a_hundred(
    classes: list[Any], inside: list[Any], outside: list[Any], numbers: list[float]
) -> None:
    plain = scene_of(classes, known(inside), known(outside))
    found = infer(replace(plain, numbers={"ill": np.array(numbers)}), plain.inside, plain.outside, "ill")

    def near(guess: int, truth: int) -> bool:
        return guess == truth or abs(numbers[guess] - numbers[truth]) <= 0.05 * abs(numbers[guess])

    def best(values: list[int]) -> list[int]:
        right = {guess: sum(near(guess, value) for value in values) for guess in set(values)}
        return [guess for guess in right if right[guess] == max(right.values())]

    total = 0.0
    for own, drug, ill in inside:
        close = [record for number in nearest(own, classes)[1] for record in classes[number][2]]
        guessed = best([value for used, value in close if used == drug] or [value for _, value in close])
        total += float(np.mean([near(guess, ill) for guess in guessed]))
    assert found.successes == pytest.approx(total)
    usual = min(best([value for one in classes for _, value in one[2]]))
    assert found.chance == pytest.approx(np.mean([near(usual, ill) for _, _, ill in inside]))


@settings(max_examples=60, deadline=None)
@given(releases, crowds, crowds)
def test_skewness_says_what_most_of_the_nearest_records_have_and_few_of_all(
    classes: list[Any], inside: list[Any], outside: list[Any]
) -> None:
    scene = scene_of(classes, known(inside), known(outside))
    found = tell_by_skewness(scene, scene.inside, scene.outside, "ill")
    everywhere = [value for one in classes for _, value in one[2]]

    def said(people: list[Any]) -> int:
        total = 0
        for own, drug, ill in people:
            near = [record for number in nearest(own, classes)[1] for record in classes[number][2]]
            alike = [value for used, value in near if used == drug] or [value for _, value in near]
            unusual = everywhere.count(ill) <= len(everywhere) / 2
            total += unusual and alike.count(ill) > len(alike) / 2
        return total

    assert found.successes == said(inside)
    assert found.control == (len(outside), said(outside))


@settings(max_examples=60, deadline=None)
@given(releases, crowds, crowds)
def test_linking_draws_the_same_record_for_both_halves(
    classes: list[Any], inside: list[Any], outside: list[Any]
) -> None:
    scene = scene_of(classes, known(inside), known(outside))
    found = link(scene, scene.inside, scene.outside, ([0], [1]))

    def chance(own: tuple[int, int]) -> float:
        one, other = (
            {
                (number, place)
                for number in nearest(own, classes, (half,))[1]
                for place in range(len(classes[number][2]))
            }
            for half in (0, 1)
        )
        return len(one & other) / (len(one) * len(other))

    assert found.successes == pytest.approx(sum(chance(own) for own, _, _ in inside))
    assert found.control == (len(outside), pytest.approx(sum(chance(own) for own, _, _ in outside)))


def test_who_is_one_of_fewer_than_k_is_found_again() -> None:
    classes = [class_of((0, 2), (0, 5), (0, 0), (0, 1), (1, 2)), class_of((3, 5), (0, 5), *[(2, 0)] * 3)]
    people = [((0, 0), 0, 0), ((1, 3), 0, 1), ((2, 5), 1, 2), ((3, 0), 2, 0), ((4, 4), 2, 0), ((5, 1), 2, 0)]
    scene = scene_of(classes, known(people), known(people[:1]))
    # By the drug, which passes, one of the first three is alone, and the other two are two.
    found = find_again(scene, scene.inside, 3)
    assert (found.successes, found.surest) == (3, 1.0)
    assert find_again(scene, scene.inside, 1).successes == 0
    without = AttackScene(scene.released, scene.inside, scene.outside, ("ill",), ())
    assert find_again(without, without.inside, 3).successes == 0


def test_records_of_one_person_are_one_person() -> None:
    """k was counted in records: six records are of two people."""
    classes = [class_of((0, 5), (0, 5), *[(0, 0)] * 6)]
    people = known([((place, place), 0, 0) for place in range(6)], each=3)
    scene = AttackScene(held(classes), people, people, ("ill",), ())
    found = find_again(scene, people, 6)
    assert (found.successes, found.surest) == (6, 0.5)


def test_as_many_records_as_k_that_show_the_name_of_one_person_find_this_person() -> None:
    """Two of six come three times each: no class has fewer than six records, and each name has three."""
    classes = [class_of((0, 5), (0, 5), *[(0, 0)] * 3, *[(1, 0)] * 3)]
    people = known([((place, place), place // 3, 0) for place in range(6)], each=3)
    scene = scene_of(classes, people, people)
    found = find_again(scene, people, 2)
    assert (found.successes, found.surest) == (6, 1.0)
    counted = replace(scene, released=replace(scene.released, people=np.array([2])))
    assert find_again(counted, people, 2).successes == 6
    assert find_again(replace(counted, insensitive=()), people, 2).successes == 0


def _shows_drugs(inside: list[int], outside: list[int]) -> AttackScene:
    """Return a release of one class that shows the drug of each person inside."""

    def takes(drugs: list[int], first: int) -> Known:
        nothing = np.zeros(len(drugs), np.int64)
        return Known(
            np.zeros((2, len(drugs)), np.int32),
            {"drug": np.array(drugs), "ill": nothing},
            np.arange(len(drugs)) + first,
        )

    known_inside = takes(inside, 0)
    boxes = Boxes(np.zeros((2, 1), np.int32), np.full((2, 1), 5, np.int32), np.array([len(inside)]))
    held = HeldRelease(boxes, np.zeros(len(inside), np.int64), known_inside.passed)
    return AttackScene(held, known_inside, takes(outside, len(inside)), ("ill",), ("drug",))


@pytest.mark.parametrize("others", [40, 400, 4_000])
def test_a_description_that_fits_one_person_singles_out_who_is_in_the_release_only(others: int) -> None:
    """Each record shows the one drug that its person takes, and nobody else does, however many the others are."""
    scene = _shows_drugs(list(range(400)), list(range(400, 400 + others)))
    found = single_out(scene, 400, np.random.default_rng(1))
    # Of 1 to 4 columns some hold the drug: 0.625 of all guesses.
    assert found.success.low < 0.625 < found.success.high
    assert found.control == (400, 0.0)
    assert found.risk.low > 0.5
    # Without it nothing fits one person.
    hidden = replace(scene, insensitive=())
    assert single_out(hidden, 100, np.random.default_rng(1)).successes == pytest.approx(0)


@pytest.mark.parametrize(("inside", "outside"), [([0, 0, 1, 2, 2, 2], [0, 1, 1, 2]), ([0, 1, 1], [0, 0, 1, 2, 2])])
def test_descriptions_are_tried_on_crowds_of_one_size(inside: list[int], outside: list[int]) -> None:
    """All crowds of the larger group are drawn."""
    scene, attempts, size = _shows_drugs(inside, outside), 20_000, min(len(inside), len(outside))
    found = single_out(scene, attempts, np.random.default_rng(1))

    def alone(drug: int, crowds: list[tuple[int, ...]]) -> float:
        return float(np.mean([crowd.count(drug) == 1 for crowd in crowds]))

    def mine(row: int) -> float:
        others = [drug for place, drug in enumerate(inside) if place != row]
        return alone(inside[row], [(inside[row], *crowd) for crowd in combinations(others, size - 1)])

    with_drug = 0.625  # descriptions without it fit everybody
    assert found.success.value == pytest.approx(
        with_drug * np.mean([mine(row) for row in range(len(inside))]), abs=0.02
    )
    assert found.controlled is not None
    chance = np.mean([alone(drug, list(combinations(outside, size))) for drug in inside])
    assert found.controlled.value == pytest.approx(with_drug * chance, abs=0.02)


def test_members_are_told_from_others_only_where_the_release_differs() -> None:
    draws = np.random.default_rng(3)

    def crowd(count: int, most: int) -> NDArray[np.int32]:
        return np.asarray(draws.integers(0, most, (2, count)), np.int32)

    def alike(own: NDArray[np.int32]) -> Known:
        nothing = {name: np.zeros(own.shape[1], np.int64) for name in ("drug", "ill")}
        return Known(own, nothing, np.arange(own.shape[1]))

    def exact(own: NDArray[np.int32]) -> HeldRelease:
        ones = np.ones(own.shape[1], np.int64)
        return HeldRelease(Boxes(own, own, ones), np.arange(own.shape[1]), alike(own).passed)

    inside, outside = alike(crowd(400, 1000)), alike(crowd(400, 1000))
    shown = AttackScene(exact(inside.codes), inside, outside, ("ill",), ("drug",))
    found = tell_members(shown, inside, outside)
    assert found.risk.low > 0.9
    boxes = Boxes(np.zeros((2, 1), np.int32), np.full((2, 1), 999, np.int32), np.array([400]))
    hidden = AttackScene(
        HeldRelease(boxes, np.zeros(400, np.int64), inside.passed), inside, outside, ("ill",), ("drug",)
    )
    assert tell_members(hidden, inside, outside).risk.low == 0


def test_classes_of_one_value_are_homogeneous() -> None:
    classes = [class_of((0, 2), (0, 5), (0, 1), (1, 1)), class_of((3, 5), (0, 5), (0, 0), (0, 2), (1, 0))]
    people = known([((0, 0), 0, 0)])
    assert homogeneous(scene_of(classes, people, people), "ill").success.value == 2 / 5


@settings(max_examples=60, deadline=None)
@given(releases, crowds, st.integers(1, 3))
def test_as_many_people_are_found_among_as_all_classes_say(
    classes: list[Any], people: list[Any], each: int
) -> None:
    """Of several classes the one with most people counts, whichever of them are looked at."""
    inside = known(people, each)
    scene = scene_of(classes, inside, inside)
    found = find_again(scene, inside, 3)

    def fewest(one: Any, known_drug: int) -> int:
        fits = [
            row for row, (own, drug, _) in enumerate(people) if not contradicted(own, one) and drug == known_drug
        ]
        most = sorted(Counter(inside.people[fits].tolist()).values(), reverse=True)
        alike = sum(drug == known_drug for drug, _ in one[2])
        taken = [count for count in range(len(most)) if sum(most[: count + 1]) < alike]
        return len(taken) + 1

    expected = []
    for own, drug, _ in people:
        wrong, near = nearest(own, classes)
        alike = [number for number in near for record in classes[number][2] if record[0] == drug]
        if not wrong and alike:
            expected.append(max(fewest(classes[number], drug) for number in alike))
    assert found.successes == sum(among < 3 for among in expected)
    assert found.surest == pytest.approx(max([1 / among for among in expected], default=0.0))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(box, st.integers(0, 2)), min_size=1, max_size=6),
    st.lists(st.tuples(person, st.integers(-1, 2)), min_size=1, max_size=8),
)
def test_whose_window_is_known_is_sought_in_its_classes_alone(
    classes: list[tuple[Any, int]], people: list[tuple[Any, int]]
) -> None:
    windows = np.array([window for _, window in people])
    inside = replace(known([own for own, _ in people]), windows=windows)
    release = replace(held([one for one, _ in classes]), windows=np.array([window for _, window in classes]))
    scene = AttackScene(release, inside, inside, ("ill",), ("drug",))
    halves = ([0], [1])
    found = {
        "inference": infer(scene, inside, inside, "ill").successes,
        "linkability": link(scene, inside, inside, halves).successes,
        "found-again": find_again(scene, inside, 3).successes,
        "likeness": float(likeness(scene, inside).sum()),
    }
    everywhere = Counter(ill for one, _ in classes for drug, ill in one[2])
    expected = dict.fromkeys(found, 0.0)
    for number in np.unique(windows).tolist():
        own = inside.take(np.flatnonzero(windows == number))
        there = [one for one, window in classes if window == number]
        if not there:
            for drug, ill in zip(own.passed["drug"].tolist(), own.passed["ill"].tolist(), strict=True):
                alike = Counter(value for one, _ in classes for used, value in one[2] if used == drug) or everywhere
                best = [value for value, count in alike.items() if count == max(alike.values())]
                expected["inference"] += (ill in best) / len(best)
            continue
        alone = AttackScene(held(there), own, own, ("ill",), ("drug",))
        expected["inference"] += infer(alone, own, own, "ill").successes
        expected["linkability"] += link(alone, own, own, halves).successes
        expected["found-again"] += find_again(alone, own, 3).successes
        expected["likeness"] += float(likeness(alone, own).sum())
    assert found == pytest.approx(expected)
