"""One person with most records of a class: the class's most frequent value is probably that person's."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

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
        f"k = 5, max_share = {max_share:g}: the most frequent illness of the classes of a person with 20 records is "
        f"that person's for {share(right, HEAVY)} (the town's most frequent illness: {share(likely, len(people))})"
    )
