"""Intersection: somebody who is known to be in several classes has a value that occurs in all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.domains.families import label_of
from stream_anon.operations.families import deal
from tests.attacks.conftest import Measured
from tests.attacks.town import ILLNESSES, Service, classes_of, share, town_policy, townspeople, values_of

REGULARS, OTHERS, WINDOWS = 200, 800, 10


def test_recurring_people_have_a_crowd_in_each_window_but_not_in_all_of_them(measured: Measured) -> None:
    """Promised: k people and l values per class and window. Measured: what is left of it over windows.

    The attacker knows who comes in each window and that their illness stays the same. Of each illness he
    takes its share in the window, times how much more frequent it is in each of the person's classes.
    """
    regulars = townspeople(REGULARS, seed=1)
    service = Service(town_policy(distinct_l=3))
    left = [set(ILLNESSES) for _ in regulars]
    likely = [dict.fromkeys(ILLNESSES, 1.0) for _ in regulars]
    for number in range(1, WINDOWS + 1):
        others = townspeople(OTHERS, seed=100 + number)
        people = [*regulars, *others]
        release = service.release(people)
        assert int(release.classes.individuals.min()) >= 5
        values = values_of(release, people)
        assert min(len(one) for one in values) >= 3
        usual = Counter(person["illness"] for person in people)
        for person, own in enumerate(left):
            seen = values[int(release.class_of_row[person])]
            own.intersection_update(seen)
            for illness in ILLNESSES:
                more = (seen[illness] / seen.total()) / (usual[illness] / len(people))
                likely[person][illness] *= more if number > 1 else more * usual[illness]
            assert regulars[person]["illness"] in own, "the attack must not lose the true value"
        if number in (1, 2, 3, 5, 10):
            found = sum(len(own) == 1 for own in left)
            right = sum(
                max(ILLNESSES, key=likely[person].__getitem__) == regulars[person]["illness"]
                for person in range(REGULARS)
            )
            measured(
                f"k = 5, distinct_l = 3, windows of 1,000 with 200 regulars: after {number:2} windows "
                f"{share(found, REGULARS)} of the regulars have one illness left, and the likeliest is right for "
                f"{share(right, REGULARS)}"
            )


@pytest.mark.parametrize("least", [2, 3])
def test_people_who_return_are_among_their_family_however_often_they_come(measured: Measured, least: int) -> None:
    """Promised: what a person may have is never less than a family. Measured: how sure the likeliest of it is.

    The attacker knows what the one above does, and who is in which class in each of a hundred windows.
    """
    families = tuple(deal(Counter(person["illness"] for person in townspeople(5_000, seed=9)), least))
    plain = town_policy()
    policy = replace(plain, attributes=(*plain.attributes[:-1], Sensitive("illness", families=families)))
    service = Service(policy)
    regulars = townspeople(REGULARS, seed=1)
    left = [set(families) for _ in regulars]
    usual = Counter[str]()
    for number in range(1, 101):
        people = [*regulars, *townspeople(OTHERS, seed=100 + number)]
        release = service.release(people)
        shown = [row[0] for row in release.payload]
        seen = [{shown[row] for row in rows} for rows in classes_of(release)]
        for person, possible in enumerate(left):
            possible &= {one for one in families if label_of(one) in seen[int(release.class_of_row[person])]}
        usual.update(person["illness"] for person in people)
    values = [{value for family in own for value in family} for own in left]
    assert min(map(len, values)) >= least
    assert all(person["illness"] in own for person, own in zip(regulars, values, strict=True))
    right = sum(
        max(own, key=usual.__getitem__) == person["illness"] for person, own in zip(regulars, values, strict=True)
    )
    bound = max(max(usual[value] for value in one) / sum(usual[value] for value in one) for one in families)
    known = sum(len(own) == 1 for own in left)
    assert known > REGULARS / 2, "the attack must find most families"
    measured(
        f"k = 5, families of {least}, windows of 1,000 with 200 regulars: after 100 windows the family of "
        f"{share(known, REGULARS)} of the regulars is known, none has fewer than {min(map(len, values))} illnesses "
        f"left, and the most frequent one is right for {share(right, REGULARS)}; of no family more than "
        f"{100 * bound:.0f} % have one illness"
    )


def test_several_records_of_one_person_may_lie_in_several_classes_of_a_window(measured: Measured) -> None:
    """Promised: each class has k people. Measured: what one window tells who knows which records belong together.

    Everybody moves between records (home differs), and the illness stays.
    """
    people = townspeople(300, seed=2)
    homes = [person["home"] for person in townspeople(900, seed=3)]
    records = [{**people[i % 300], "home": homes[i]} for i in range(900)]
    release = Service(town_policy(distinct_l=3)).release(records)
    assert int(release.classes.individuals.min()) >= 5
    values = values_of(release, records)
    alone = together = 0
    for person in range(300):
        classes = {int(release.class_of_row[row]) for row in range(person, 900, 300)} - {-1}
        sets = [set(values[c]) for c in classes]
        assert all(len(one) >= 3 for one in sets)
        alone += any(len(one) == 1 for one in sets)
        together += len(set.intersection(*sets)) == 1 if sets else 0
    assert alone == 0
    measured(
        f"k = 5, distinct_l = 3, three records of each person in one window: {share(together, 300)} of the people "
        "have one illness in common to their classes"
    )
