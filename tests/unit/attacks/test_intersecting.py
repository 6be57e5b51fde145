"""Intersection beside an attacker who keeps a list of values for every person."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.intersecting import MOST_VISITS, intersect
from stream_anon.attacks.knowledge import AttackScene, Families, Known
from tests.support.made_up_release import CODES, box, class_of, codes, contradicted, held, known, scene_of

WINDOWS = 3
visit = st.tuples(codes, st.integers(0, 1), st.integers(-1, WINDOWS - 1))
returning = st.tuples(st.integers(0, 2), st.lists(visit, min_size=1, max_size=4))
placed = st.lists(st.tuples(box, st.integers(0, WINDOWS - 1)), min_size=1, max_size=6)


def _people(people: list[Any]) -> Known:
    """Return the records of people, the first of everybody first: their order is not that of persons."""
    rows = sorted(
        (number, person, own, drug, ill, window)
        for person, (ill, visits) in enumerate(people)
        for number, (own, drug, window) in enumerate(visits)
    )
    return replace(
        known([(own, drug, ill) for _, _, own, drug, ill, _ in rows]),
        people=np.array([person for _, person, *_ in rows], np.int64),
        windows=np.array([row[-1] for row in rows], np.int64),
    )


def _scene(classes: list[Any], inside: list[Any], outside: list[Any]) -> AttackScene:
    release = replace(held([one for one, _ in classes]), windows=np.array([own for _, own in classes], np.int64))
    return AttackScene(release, _people(inside), _people(outside), ("ill",), ("drug",))


def _attacked(scene: AttackScene, most: int = 100) -> AttackResult | None:
    return intersect(scene, "ill", most, np.random.default_rng(1))


def _left(visits: list[Any], classes: list[Any]) -> list[list[int]]:
    """Return for each visit that a class fits the illnesses of the records that may be the person's."""
    left = []
    for own, drug, window in visits:
        fits = [one for one, where in classes if where == window and not contradicted(own, one)]
        records = [record for one in fits for record in one[2]]
        alike = [record for record in records if record[0] == drug] or records
        if records:
            left.append([ill for _, ill in alike])
    return left


@settings(max_examples=100, deadline=None)
@given(placed, st.lists(returning, min_size=1, max_size=6), st.lists(returning, min_size=1, max_size=4))
def test_of_the_values_that_most_windows_have_the_likeliest_is_taken(
    classes: list[Any], inside: list[Any], outside: list[Any]
) -> None:
    everywhere = Counter(ill for one, _ in classes for _, ill in one[2])
    usual = min(value for value, count in everywhere.items() if count == max(everywhere.values()))
    share = {value: count / everywhere.total() for value, count in everywhere.items()}
    fewest = []

    def right(people: list[Any]) -> float:
        total = 0.0
        for ill, visits in people:
            left = _left(visits, classes)
            often = Counter(value for values in left for value in set(values))
            if len(visits) < 2 or not left:
                total += len(visits) > 1 and ill == usual
                continue
            likely = {value: log(share[value]) for value in often if often[value] == max(often.values())}
            for value in likely:
                likely[value] += sum(log(v.count(value) / len(v) / share[value]) for v in left if value in v)
            best = [value for value in likely if likely[value] > max(likely.values()) - 1e-9]
            total += (ill in best) / len(best)
            if max(often.values()) == len(left) and ill in likely and people is inside:
                fewest.append(len(likely))
        return total

    found = _attacked(_scene(classes, inside, outside))
    several, others = (sum(len(visits) > 1 for _, visits in people) for people in (inside, outside))
    if not several:
        assert found is None
        return
    assert found is not None
    assert (found.attempts, found.successes) == (several, pytest.approx(right(inside)))
    assert found.control == (others, pytest.approx(right(outside)))
    assert found.surest == (1 / min(fewest) if fewest else None)


EVERYWHERE = ((0, CODES - 1), (0, CODES - 1))


def _classes(*illnesses: tuple[int, ...]) -> list[Any]:
    """Return a class of everybody for each window."""
    return [(class_of(*EVERYWHERE, *((0, ill) for ill in own)), number) for number, own in enumerate(illnesses)]


def _person(ill: int, *windows: int) -> Any:
    return ill, [((1, 1), 0, window) for window in windows]


def test_two_windows_leave_one_value_where_each_leaves_two() -> None:
    scene = _scene(_classes((0, 1), (0, 2)), [_person(0, 0, 1)], [_person(1, 0, 1)])
    found = _attacked(scene)
    assert found is not None
    assert (found.successes, found.control, found.surest) == (1, (1, 0.0), 1.0)


def test_whose_value_changes_is_not_attacked_and_who_comes_very_often_is_looked_at_for_a_while() -> None:
    scene = _scene(_classes((0, 1), (0, 2)), [_person(0, 0, 1), _person(1, 0, 0)], [_person(1, 0, 1)])
    illnesses = scene.inside.passed["ill"].copy()
    illnesses[scene.inside.people == 1] = [1, 2]
    changed = replace(scene.inside, passed={**scene.inside.passed, "ill": illnesses})
    found = intersect(replace(scene, inside=changed), "ill", 100, np.random.default_rng(1))
    assert found is not None
    assert found.attempts == 1
    late = _scene(_classes((0, 1), (0, 2)), [_person(0, *[0] * MOST_VISITS, 1)], [_person(1, 0, 1)])
    found = _attacked(late)
    assert found is not None
    assert found.surest == 0.5  # the window that leaves one value came after them


def test_a_few_people_are_attacked_where_a_few_are_asked() -> None:
    people = [_person(number % 2, 0, 1) for number in range(9)]
    found = _attacked(_scene(_classes((0, 1), (0, 1)), people, people[:5]), 3)
    assert found is not None
    assert found.attempts == 3
    assert found.control is not None
    assert found.control[0] == 3


def test_a_family_leaves_all_of_its_values_and_the_most_frequent_is_guessed() -> None:
    """Values 0 and 1 are one family, 2 and 3 the other; a window shows which family, never which value."""
    people = [_person(family, 0, 1) for family in (0, 0, 1)]
    scene = _scene(_classes((0, 1), (0, 0)), people, people)
    values = np.array([0, 1, 2] * 2, np.int64)
    families = Families.of(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1, 2, 3]))
    assert families.within.tolist() == pytest.approx([4 / 6, 2 / 6, 1 / 2, 1 / 2])
    hidden = replace(
        scene,
        inside=replace(scene.inside, values={"ill": values}),
        outside=replace(scene.outside, values={"ill": values}),
        families={"ill": families},
    )
    assert hidden.votes("ill", np.arange(2)) == pytest.approx([4 / 6, 2 / 6, 1 / 2, 1 / 2])
    found = _attacked(hidden)
    assert found is not None
    # The first family is left of everybody. Its most frequent value is the first person's alone.
    assert (found.attempts, found.successes, found.surest) == (3, 1, 0.5)


def test_nobody_who_returns_is_no_attack() -> None:
    classes = [class_of(*EVERYWHERE, (0, 0), (0, 1))]
    people = known([((0, 0), 0, 0), ((1, 1), 0, 1)])
    assert _attacked(scene_of(classes, people, people)) is None
