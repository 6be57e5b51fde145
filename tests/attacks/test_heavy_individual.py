"""One person with most records of a class: the class's most frequent value is probably that person's."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from stream_anon.microdata.policy import EVERY_RECORD
from tests.attacks.conftest import Measured
from tests.attacks.town import Service, classes_of, share, town_policy, townspeople

HEAVY = 30  # people with many records


@pytest.mark.parametrize("max_share", [0.5, 0.25])
def test_nobody_holds_more_of_a_class_than_max_share(max_share: float, measured: Measured) -> None:
    """Promised: no more than `max_share` of a class is one person's, and k people are in it all the same.

    Measured: how often the most frequent illness of the classes of a person with 20 records is that person's.
    """
    people = townspeople(600, seed=11)
    records = [*people, *(person for person in people[:HEAVY] for _ in range(19))]
    order = np.random.default_rng(0).permutation(len(records))
    window = [records[i] for i in order.tolist()]
    release = Service(town_policy(max_records=2000, max_share=max_share)).release(window)
    votes: dict[str, Counter[str]] = {person["person"]: Counter() for person in people[:HEAVY]}
    for rows in classes_of(release):
        owners = Counter(window[row]["person"] for row in rows)
        assert len(owners) >= 5
        assert max(owners.values()) <= max_share * len(rows)
        values = Counter(window[row]["illness"] for row in rows)
        for person, count in owners.items():
            if person in votes:
                votes[person][max(values, key=lambda v: values[v])] += count
    right = sum(max(vote, key=lambda v: vote[v]) == people[i]["illness"] for i, vote in enumerate(votes.values()))
    likely = Counter(person["illness"] for person in people).most_common(1)[0][1]
    measured(
        f"k = 5, max_share = {max_share:g}: the most frequent illness of the classes of a person with 20 records "
        f"is that person's for {share(right, HEAVY)} (the town's most frequent: {share(likely, len(people))})"
    )


def test_one_person_with_several_values_does_not_make_a_class_diverse() -> None:
    """Promised: l different values of l different people, so that nobody makes l alone.

    Everybody has one illness, and every eighth comes three times, with two more: were values counted without their
    holders, classes would be published in which both other values are one person's and all others share one.
    """
    people = [{**person, "illness": "frequent"} for person in townspeople(400, seed=12)]
    more = [{**person, "illness": illness} for person in people[::8] for illness in ("rare", "rarer")]
    window = [*people, *more]
    release = Service(town_policy(distinct_l=3)).release(window)
    assert len(release.classes) > 5
    for rows in classes_of(release):
        assert len({window[row]["illness"] for row in rows}) >= 3
        assert len({window[row]["person"] for row in rows if window[row]["illness"] != "frequent"}) >= 2


def test_one_person_can_make_a_class_where_every_record_counts_as_an_individual(measured: Measured) -> None:
    """Not promised with `individual: every-record`: that k records are of k people. It has to be written out."""
    people = townspeople(200, seed=13)
    window = [person for person in people for _ in range(5)]
    for individual in ("person", EVERY_RECORD):
        policy = replace(town_policy(max_records=2000), individual=individual)
        release = Service(policy).release(window)
        owners = [len({window[row]["person"] for row in rows}) for rows in classes_of(release)]
        alone = sum(one == 1 for one in owners)
        if individual == "person":
            assert min(owners) >= 5
        else:
            measured(
                f"k = 5, individual: every-record, five records a person: {share(alone, len(owners))} of the "
                "classes are of one person alone"
            )
