"""Intersection: somebody who is known to be in several classes has a value that occurs in all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.domains.families import Family, ShownAs, label_of
from stream_anon.microdata.policy import Policy
from stream_anon.operations.dealt_families import deal
from stream_anon.operations.whole_families import deal_whole
from stream_anon.privacy.promises import promises_of
from stream_anon.privacy.weakening import weakened
from tests.attacks.conftest import Measured
from tests.attacks.town import ILLNESSES, Person, Service, classes_of, share, town_policy, townspeople, values_of

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


def _with_families(
    families: Sequence[Family], rest: str | None = None, shown_as: ShownAs = ShownAs.FAMILY, engine: str = "forest"
) -> Policy:
    plain = town_policy(engine=engine)
    own = Sensitive("illness", families=tuple(families), rest=rest, shown_as=shown_as)
    return replace(plain, attributes=(*plain.attributes[:-1], own))


def _common(policy: Policy, regulars: Sequence[Person], windows: range) -> list[set[str] | None]:
    """Return the labels that all classes of each regular have in common; None for whoever is in no class.

    Without a rest, records of a value in no family are rejected before the engine sees them.
    """
    service, own = Service(policy), policy.attribute("illness")
    assert isinstance(own, Sensitive)
    common: list[set[str] | None] = [None] * len(regulars)
    for number in windows:
        people = [*regulars, *townspeople(OTHERS, seed=100 + number)]
        fitting = [
            person
            for person, record in enumerate(people)
            if own.rest is not None or record["illness"] in own.label_of
        ]
        release = service.release([people[person] for person in fitting])
        shown = [str(row[0]) for row in release.payload]
        seen = [{shown[row] for row in rows} for rows in classes_of(release)]
        for person, of in zip(fitting, release.class_of_row.tolist(), strict=True):
            if person < len(regulars) and of >= 0:
                before = common[person]
                common[person] = set(seen[of]) if before is None else before & seen[of]
    return common


@pytest.mark.parametrize("least", [2, 3])
def test_people_who_return_are_among_their_family_however_often_they_come(measured: Measured, least: int) -> None:
    """Promised: what a person may have is never less than a family. Measured: how sure the likeliest of it is.

    The attacker knows what the one above does, and who is in which class in each of a hundred windows.
    """
    families = deal(Counter(person["illness"] for person in townspeople(5_000, seed=9)), least)
    regulars = townspeople(REGULARS, seed=1)
    common = _common(_with_families(families), regulars, range(1, 101))
    usual = Counter(person["illness"] for person in regulars)
    for number in range(1, 101):
        usual.update(person["illness"] for person in townspeople(OTHERS, seed=100 + number))
    of_label = {label_of(family): family for family in families}
    values = [{value for label in labels or of_label for value in of_label[label]} for labels in common]
    assert min(map(len, values)) >= least
    assert all(person["illness"] in own for person, own in zip(regulars, values, strict=True))
    right = sum(
        max(own, key=usual.__getitem__) == person["illness"] for person, own in zip(regulars, values, strict=True)
    )
    bound = max(max(usual[value] for value in one) / sum(usual[value] for value in one) for one in families)
    known = sum(labels is not None and len(labels) == 1 for labels in common)
    assert known > REGULARS / 2, "the attack must find most families"
    measured(
        f"k = 5, families of {least}, windows of 1,000 with 200 regulars: after 100 windows the family of "
        f"{share(known, REGULARS)} of the regulars is known, none has fewer than {min(map(len, values))} illnesses "
        f"left, and the most frequent one is right for {share(right, REGULARS)}; of no family more than "
        f"{100 * bound:.0f} % have one illness"
    )


@pytest.mark.parametrize("least", [2, 3])
def test_people_who_return_are_among_a_whole_family_where_values_are_published(
    measured: Measured, least: int
) -> None:
    """Promised: what all classes of a person have in common holds their family. Measured: whether more."""
    counts: Counter[str | None] = Counter(person["illness"] for person in townspeople(5_000, seed=9))
    families = deal_whole(counts, least, 5)
    regulars = townspeople(REGULARS, seed=1)
    common = _common(_with_families(families, shown_as=ShownAs.VALUE), regulars, range(1, 41))
    family_of = {value: family for family in families for value in family}
    whole = [set(family_of[person["illness"]]) for person in regulars]
    left = [(own, values) for own, values in zip(whole, common, strict=True) if values is not None]
    assert len(left) > 0.95 * REGULARS
    assert all(values >= own for own, values in left)
    alone = sum(values == own for own, values in left)
    assert alone > REGULARS / 2, "the attack must find most families"
    measured(
        f"k = 5, families of {least} that classes keep whole, windows of 1,000 with 200 regulars: after 40 windows "
        f"{share(alone, len(left))} of the regulars have their family left and no more, and none less"
    )


def test_on_fixed_levels_families_that_are_kept_whole_are_short_and_absence_tells_it(measured: Measured) -> None:
    """Not promised, and `check` warns of it: a family short of a value, or of k people, is missing whole."""
    counts: Counter[str | None] = Counter(person["illness"] for person in townspeople(5_000, seed=9))
    families = deal_whole(counts, 2, 5)
    regulars = townspeople(REGULARS, seed=1)
    often = {value for family in families for value in family if value != min(family, key=counts.__getitem__)}
    missing: dict[str, list[Person]] = {}
    for engine in ("forest", "full-domain"):
        policy = _with_families(families, shown_as=ShownAs.VALUE, engine=engine)
        common = _common(policy, regulars, range(1, 21))
        missing[engine] = [who for who, labels in zip(regulars, common, strict=True) if labels is None]
    assert not missing["forest"]
    told = missing["full-domain"]
    assert len(told) > 10
    frequent, of_all = (sum(who["illness"] in often for who in group) for group in (told, regulars))
    measured(
        f"k = 5, families of 2 that classes keep whole on fixed levels: {len(told)} of 200 regulars are in no "
        f"class of 20 windows, with the forest none; {share(frequent, len(told))} have the more frequent value of "
        f"their family, of all {share(of_all, REGULARS)}"
    )


LEFT_OUT = ILLNESSES[-3:]
LISTED = (*(ILLNESSES[first : first + 3] for first in range(0, 15, 3)), ILLNESSES[15:17])


def test_who_never_shows_has_a_value_that_no_family_lists(measured: Measured) -> None:
    """Not promised: that a rejection hides the value. Where every value is listed, nobody is always missing.

    The attacker knows that the regulars came to ten windows, and in which classes they are.
    """
    regulars = townspeople(REGULARS, seed=1)
    without = _common(_with_families(LISTED), regulars, range(1, 11))
    missing = [person for person, labels in enumerate(without) if labels is None]
    left_out = [person for person, own in enumerate(regulars) if own["illness"] in LEFT_OUT]
    assert missing == left_out
    assert len(left_out) > 3
    assert None not in _common(_with_families((*LISTED, LEFT_OUT)), regulars, range(1, 11))
    measured(
        f"k = 5, families without three of twenty illnesses: of 200 regulars {len(missing)} are in no class of ten "
        f"windows, and {share(len(left_out), len(missing))} of these have one of the three; with all twenty listed "
        "nobody is"
    )


def test_who_is_in_the_rest_is_among_all_values_that_no_family_lists_and_no_more_is_promised(
    measured: Measured,
) -> None:
    """Promised: whoever is in the rest may have any value that no family lists. Not promised: how many these are.

    The attacker does what the one above does, and knows which of the unlisted values is the most frequent one.
    """
    regulars = townspeople(REGULARS, seed=1)
    unlisted = [person for person, own in enumerate(regulars) if own["illness"] in LEFT_OUT]
    policy = _with_families(LISTED, "other")
    early, common = (_common(policy, regulars, range(1, windows)) for windows in (11, 101))
    assert all("other" in (common[person] or ()) for person in unlisted)
    first, found = ([i for i, labels in enumerate(own) if labels == {"other"}] for own in (early, common))
    assert set(first) <= set(found) <= set(unlisted)
    assert len(found) > 3, "the attack must find somebody"
    usual = Counter(person["illness"] for person in townspeople(5_000, seed=9))
    likeliest = max(LEFT_OUT, key=usual.__getitem__)
    right = sum(regulars[person]["illness"] == likeliest for person in found)
    measured(
        f"k = 5, families without three of twenty illnesses and a rest: of {len(unlisted)} regulars with one of "
        f"the three {len(first)} are known to be in the rest after 10 windows and {len(found)} after 100, and the "
        f"most frequent one is right for {share(right, len(found))} of these; one alone would be certain"
    )


@pytest.mark.parametrize("grown", [True, False], ids=["a-family-grows", "a-family-of-its-own"])
def test_who_appears_only_since_a_family_grew_has_what_is_new_in_it(measured: Measured, grown: bool) -> None:
    """Promised: a change of the policy that is not told as weaker leaves everybody among as many values.

    The attacker knows who came to ten windows before the change and to ten behind it.
    """
    regulars = townspeople(REGULARS, seed=1)
    before = _with_families(LISTED)
    added = [(*LISTED[i], LEFT_OUT[i]) for i in range(3)] if grown else [*LISTED[:3], LEFT_OUT]
    after = _with_families((*added, *LISTED[3:]))
    earlier, later = _common(before, regulars, range(1, 11)), _common(after, regulars, range(11, 41))
    known = {value for family in LISTED for value in family}
    of_label = {label_of(family): set(family) for family in (*added, *LISTED[3:])}
    left = [
        set.union(*(of_label[label] - known for label in labels)) & set(LEFT_OUT)
        for was, labels in zip(earlier, later, strict=True)
        if was is None and labels is not None
    ]
    truth = [own["illness"] for own, was in zip(regulars, earlier, strict=True) if was is None]
    assert len(left) == len(truth) > 3
    assert all(value in own for value, own in zip(truth, left, strict=True))
    certain = sum(len(own) == 1 for own in left)
    assert bool(weakened(promises_of(before), promises_of(after))) == grown
    if not grown:
        assert {len(own) for own in left} == {3}
        return
    assert certain > 0, "the attack must find somebody"
    measured(
        f"k = 5, three families that get an illness each: of {len(left)} regulars who are in a class only since "
        f"then the illness of {share(certain, len(left))} is certain; as a family of three of their own nobody's is"
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
