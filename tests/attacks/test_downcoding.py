"""Downcoding (Cohen, USENIX Security 2022): a minimal generalization shows that no narrower one was legal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from tests.attacks.conftest import Measured
from tests.attacks.downcoding import Claim, claims
from tests.attacks.town import SEARCHING, Person, Service, classes_of, share, town_policy, townspeople


def _claims(policy: Policy, release: Release, people: Sequence[Person]) -> list[Claim]:
    """Return what the attacker claims of every generalized value of a class."""
    found: list[Claim] = []
    for j, attribute in enumerate(policy.quasi_identifiers):
        codes = np.array([attribute.code(person[attribute.name]) for person in people], np.int32)
        found += claims(attribute, release.classes.low[j], release.classes.high[j], codes, release.class_of_row)
    return found


def _crowded(people: list[Person]) -> list[Person]:
    """Nearly all live in one place and are of one sex."""
    return [{**p, "home": "h1", "sex": "female"} if i % 25 else p for i, p in enumerate(people)]


@pytest.mark.parametrize("engine", SEARCHING)
@pytest.mark.parametrize("skewed", [False, True])
def test_nodes_are_published_but_not_wider_than_they_must_be(engine: str, skewed: bool, measured: Measured) -> None:
    """Promised: with `nodes` only nodes of the declared hierarchy leave, never a true value of somebody.

    Not promised: that a node is wider than it must be. Its minimality proves that its rows lie under two of its
    children at least; measured is how surprising that is to who knows how frequent the children are.
    """
    policy, people = town_policy(engine=engine), townspeople(1000)
    people = _crowded(people) if skewed else people
    found = _claims(policy, Service(policy).release(people), people)
    assert found
    assert all(claim.right for claim in found), "a node is wider than the least one: its price buys nothing"
    bits = sum(claim.bits for claim in found) / len(found)
    where = "96 % in one place and of one sex" if skewed else "evenly spread"
    measured(f"k = 5, {engine}, {where}: minimality gives {bits:.2f} bits a generalized value of a class")


def test_on_fixed_levels_a_node_proves_nothing_of_the_values_under_it(measured: Measured) -> None:
    """Promised of `full-domain`: a value is published on its level, whoever else is in the class."""
    policy, people = town_policy(engine="full-domain"), _crowded(townspeople(1000))
    release = Service(policy).release(people)
    found = _claims(policy, release, people)
    right = sum(claim.right for claim in found) / len(found)
    assert right < 1, "every published node is minimal still"
    measured(
        f"full-domain, 96 % in one place and of one sex: that two children of a node occur is right for {right:.0%}"
    )


def test_extra_levels_leave_the_attacker_as_sure_as_before(measured: Measured) -> None:
    """Promised of `extra_levels`: still nodes, each over its rows. Not promised: how unsure the attacker gets."""
    people = _crowded(townspeople(1000))
    for most in (1, 2):
        policy = town_policy(extra_levels=most)
        release = Service(policy).release(people)
        found = _claims(policy, release, people)
        right, chance = (
            sum(claim.right for claim in found) / len(found),
            sum(claim.chance for claim in found) / len(found),
        )
        assert right < 1, "every published node is minimal still"
        measured(
            f"`extra_levels: {most}`, 96 % in one place and of one sex: that two children of a node occur is right "
            f"for {right:.0%} instead of 100 % (by chance {chance:.0%}), at a GCP of {release.gcp:.3f} instead of "
            f"{Service(town_policy()).release(people).gcp:.3f}"
        )


def test_tight_ranges_give_two_true_values_for_each_class(measured: Measured) -> None:
    """Promised for `tight`: the range covers its class. Its ends are true values of somebody, as documented."""
    policy, people = town_policy(tight=True), townspeople(1000)
    release = Service(policy).release(people)
    ends = exact = 0
    for c, rows in enumerate(classes_of(release)):
        ages = [people[row]["age"] for row in rows]
        assert int(release.classes.low[0][c]) <= min(ages)
        assert int(release.classes.high[0][c]) >= max(ages)
        ends += 2
        exact += (int(release.classes.low[0][c]) == min(ages)) + (int(release.classes.high[0][c]) == max(ages))
    measured(
        f"`tight`: {share(exact, ends)} of the ends of published ranges are true ages of somebody in the class"
    )


@pytest.mark.parametrize("engine", SEARCHING)
def test_sets_give_every_true_value_of_their_class(engine: str, measured: Measured) -> None:
    """Promised for `values`: the set covers its class. Each member is a true value of somebody, as documented.

    Measured is how much narrower that is than the node which would have been published.
    """
    policy, people = town_policy(engine=engine, publication=PublishedForm.VALUES), townspeople(1000)
    release = Service(policy).release(people)
    members = true = under_nodes = 0
    for j, attribute in enumerate(policy.quasi_identifiers[1:], 1):
        for published, rows in zip(release.classes.values[j], classes_of(release), strict=True):
            occurring = {people[row][attribute.name] for row in rows}
            if published == ROOT_LABEL:  # so the set of all values is written
                assert len(occurring) == attribute.domain.size
                continue
            told = set(published) if isinstance(published, list) else {published}
            assert told >= occurring, "a true value is left out"
            codes = [attribute.code(value) for value in told]
            low, high = attribute.node(min(codes), max(codes))
            under_nodes += min(high, attribute.domain.size - 1) - low + 1
            members += len(told)
            true += len(told & occurring)
    assert true == members, "a value that nobody has is in a set: it costs and hides nobody"
    measured(
        f"k = 5, {engine}, `values`: {share(true, members)} of the members of published sets are true values of "
        f"somebody in the class; nodes would name {under_nodes / members:.2f} values for each"
    )
