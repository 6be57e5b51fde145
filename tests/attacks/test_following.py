"""Following: somebody who comes again is found by their class in the window before, and moves meanwhile."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.following import Reader
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.domains.families import label_of
from stream_anon.operations.dealt_families import deal
from tests.attacks.conftest import Measured
from tests.attacks.town import HOMES, Person, Service, classes_of, town_policy, townspeople

REGULARS, OTHERS, WINDOWS = 200, 800, 30


def _moved(people: list[Person], chance: float, draws: np.random.Generator) -> list[Person]:
    """Return the people, some of whom have moved, and all of whom may have had a birthday."""
    return [
        {
            **person,
            "home": HOMES[int(draws.integers(len(HOMES)))] if draws.random() < chance else person["home"],
            "age": min(99, person["age"] + int(draws.random() < 1 / 12)),
        }
        for person in people
    ]


@pytest.mark.parametrize("chance", [0.0, 0.1], ids=["nobody-moves", "a-tenth-moves"])
def test_people_who_move_are_among_their_family_too_and_may_be_followed(measured: Measured, chance: float) -> None:
    """Promised: who comes back keeps a whole family, wherever they are then. Measured: how well they are followed.

    The reader knows who comes, and after each window in which class they were.
    """
    families = deal(Counter(person["illness"] for person in townspeople(5_000, seed=9)), 3)
    plain = town_policy()
    own = Sensitive("illness", families=tuple(families))
    policy = replace(plain, attributes=(*plain.attributes[:-1], own))
    regulars, draws = townspeople(REGULARS, seed=1), np.random.default_rng(4)
    names = [person["person"] for person in regulars]
    reader, service = Reader(policy, names, own.labels), Service(policy)
    left = [set(own.labels) for _ in regulars]
    for number in range(1, WINDOWS + 1):
        people = [*regulars, *townspeople(OTHERS, seed=100 + number)]
        release = service.release(people)
        for rows in classes_of(release):
            seen = {str(release.payload[row][0]) for row in rows}
            for row in rows:
                if row < REGULARS:
                    left[row] &= seen
        reader.read(release, {person["person"]: (row, person) for row, person in enumerate(regulars)})
        regulars = _moved(regulars, chance, draws)
    for person, labels in zip(regulars, left, strict=True):
        values = {value for family in families for value in family if label_of(family) in labels}
        assert len(values) >= 3
        assert person["illness"] in values
    found = reader.shares(names)
    assert found["followed"] > 2 * found["largest"], "the reader must do better than by chance"
    shares = {name: f"{100 * found[name]:.0f} %" for name in ("followed", "by_value", "largest", "always")}
    measured(
        f"k = 5, families of 3, {WINDOWS} windows of 1,000 with 200 regulars, of whom {100 * chance:.0f} % move "
        f"after each: their class is named before it is seen for {shares['followed']}, with what their classes had "
        f"in common for {shares['by_value']}, by the size of classes for {shares['largest']}; each time for "
        f"{shares['always']} of them"
    )
