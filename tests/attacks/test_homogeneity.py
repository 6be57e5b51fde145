"""Homogeneity: all records of a class share one sensitive value, so it is known of everybody in the class."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from stream_anon.microdata.diversity import Closeness, Diversity, Recursion
from tests.attacks.conftest import Measured
from tests.attacks.town import ENGINES, Service, share, town_policy, townspeople, values_of
from tests.support.adult import SENSITIVE, adult_policy, adult_releases


def _report(classes: list[Counter[str]]) -> str:
    people = sum(values.total() for values in classes)
    known = sum(values.total() for values in classes if len(values) == 1)
    guessed = sum(max(values.values()) for values in classes)
    almost = sum(values.total() for values in classes if max(values.values()) >= 0.9 * values.total())
    return (
        f"{share(known, people)} of the people have a class of one sensitive value, {share(almost, people)} one "
        f"in which a value has 90 %; the most frequent value of a class is right for {share(guessed, people)}"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_no_class_shows_fewer_than_l_values_of_a_sensitive_attribute(engine: str, measured: Measured) -> None:
    """Promised: with `distinct_l` every class shows l values. Without it, nothing; nor how frequent a value is."""
    people = townspeople(1000)
    for distinct_l in (None, 3):
        policy = town_policy(distinct_l=distinct_l, engine=engine)
        classes = values_of(Service(policy).release(people), people)
        assert classes
        assert min(len(values) for values in classes) >= (distinct_l or 1)
        asked = "k = 5 alone" if distinct_l is None else f"k = 5, distinct_l = {distinct_l}"
        measured(f"made-up town, {engine}, {asked}: {_report(classes)}")


def test_a_missing_value_does_not_count_towards_l_but_another_spelling_does(measured: Measured) -> None:
    """Promised: a missing value counts for nothing. Not promised: that l values differ in meaning."""
    people = townspeople(200, seed=9)
    missing = [{**person, "illness": "HIV" if i % 2 else None} for i, person in enumerate(people)]
    assert Service(town_policy(distinct_l=2)).release(missing).released == 0
    spelt = [{**person, "illness": ("HIV", "hiv", "HIV ")[i % 3]} for i, person in enumerate(people)]
    release = Service(town_policy(distinct_l=3)).release(spelt)
    measured(
        "distinct_l = 3 where everybody has one illness, spelt in three ways: "
        f"{share(release.released, 200)} of the records are released"
    )


@pytest.mark.parametrize(
    "asked",
    [
        Diversity(2),
        Diversity(entropy_l=2.5),
        Diversity(recursive_cl=Recursion(0.66, 2)),
        Diversity(alpha=0.4),
        Diversity(t_closeness=Closeness(0.4)),
    ],
    ids=str,
)
def test_no_class_consists_of_people_without_a_value(asked: Diversity) -> None:
    """Promised by every criterion: no class holds only people without a value, who would be known to have none."""
    people = townspeople(400, seed=3)
    healthy = [{**person, "illness": None} if person["home"][0] == "h" else person for person in people]
    for engine in ENGINES:
        release = Service(town_policy(k=3, diversity=asked, engine=engine)).release(healthy)
        assert release.released
        assert all(any(values) for values in values_of(release, healthy))


def test_with_l_no_class_of_the_census_has_one_salary_only(measured: Measured) -> None:
    """Promised and measured as above, on the census at k = 10 in windows of 2,000."""
    for diversity in ({}, {SENSITIVE: Diversity(2)}):
        policy = adult_policy(max_records=2000, diversity=diversity)
        classes: list[Counter[str]] = []
        for release in adult_releases(policy):
            place = [a.name for a in policy.passed].index(SENSITIVE)
            values = np.array([str(passed[place]) for passed in release.payload])  # type: ignore[index]
            classes += [Counter(values[release.class_of_row == c].tolist()) for c in range(len(release.classes))]
        assert min(len(values) for values in classes) >= (2 if diversity else 1)
        asked = "distinct_l = 2" if diversity else "no l"
        measured(f"Adult, k = 10, windows of 2,000, {asked}: {_report(classes)}")
