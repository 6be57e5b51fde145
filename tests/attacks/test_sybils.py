"""Sybils: the attacker writes records of made-up people beside the victim, and subtracts them from the class."""

from __future__ import annotations

import numpy as np
import pytest

from tests.attacks.conftest import Measured
from tests.attacks.town import Person, Service, classes_of, share, town_policy, townspeople

K, TOWN, VICTIMS = 5, 400, 40


def _planted(victim: Person, count: int, names: str) -> list[Person]:
    """Return records like the victim's in all but the illness; `names` may hold the record's number."""
    return [{**victim, "person": names.format(i), "illness": f"planted {i % 3}"} for i in range(count)]


def _isolated(count: int, names: str, distinct_l: int | None = None) -> tuple[int, int]:
    """Return how many victims are alone among planted records in their class, and how many had a class."""
    alone = placed = 0
    people = townspeople(TOWN, seed=7)
    for victim in range(VICTIMS):
        records = [*people, *_planted(people[victim], count, names)]
        order = np.random.default_rng(victim).permutation(len(records))
        window = [records[i] for i in order.tolist()]
        release = Service(town_policy(K, distinct_l=distinct_l, max_records=2 * TOWN)).release(window)
        assert int(release.classes.individuals.min()) >= K, "planted people are people: k holds in name"
        for rows in classes_of(release):
            members = [window[row] for row in rows]
            if any(member["person"] == people[victim]["person"] for member in members):
                placed += 1
                alone += sum(not member["illness"].startswith("planted") for member in members) == 1
    return alone, placed


@pytest.mark.parametrize(("count", "distinct_l"), [(K - 1, None), (K - 1, 2), (2, None)])
def test_planted_people_count_towards_k(count: int, distinct_l: int | None, measured: Measured) -> None:
    """Not promised: k counts ids, and who may write to the input may make them up. Nor does l help.

    Promised is only that a class has k ids. Who may write to the input is for the brokers' ACLs.
    """
    alone, placed = _isolated(count, "sybil {}", distinct_l)
    asked = "" if distinct_l is None else f", distinct_l = {distinct_l}"
    measured(
        f"k = {K}{asked}, {count} planted people with the victim's quasi-identifiers: {share(alone, placed)} of "
        "the victims are alone with them in a class, their illness is known"
    )


def test_planted_records_of_one_person_do_not_make_k() -> None:
    """Promised: k counts people, so that many records under one id leave the victim k - 2 strangers at least."""
    alone, placed = _isolated(4 * K, "one")
    assert placed
    assert alone == 0
