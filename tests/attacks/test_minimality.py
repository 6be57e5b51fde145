"""Minimality and replay of the algorithm: the engine is public, so an attacker computes the classes himself."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.attacks.conftest import Measured
from tests.attacks.town import ENGINES, Service, classes_of, crowds_of, share, town_policy, townspeople


@pytest.mark.parametrize("engine", ENGINES)
def test_classes_do_not_depend_on_sensitive_values_where_none_is_guarded(engine: str) -> None:
    """Promised: without l the classes are computed from quasi-identifiers and individuals alone.

    Whoever replays the engine learns who is in which class, and of each still only that it is one of k: no
    sensitive value had a part in it. Were there any dependence, classes would say something about values.
    """
    people = townspeople(600)
    draws = np.random.default_rng(5)
    truth = crowds_of(Service(town_policy(engine=engine)).release(people), people)
    for _ in range(5):
        ill = draws.permutation([person["illness"] for person in people])
        changed = [{**person, "illness": str(one)} for person, one in zip(people, ill, strict=True)]
        assert crowds_of(Service(town_policy(engine=engine)).release(changed), people) == truth


@pytest.mark.parametrize("engine", ENGINES)
def test_classes_that_l_forbade_tell_that_they_were_alike(engine: str, measured: Measured) -> None:
    """Not promised (Wong et al., VLDB 2007): with l, classes are changed where they would have shared one value.

    The attacker replays the engine without l; a class of the replay that was not published was probably one of
    a single value. Promised is only what each published class shows: l values.
    """
    total = alike = vanished = alike_vanished = 0
    for seed in range(12):
        people = [
            # Two illnesses, one of them rare: many classes would show the frequent one only.
            {**person, "illness": "rare" if int(person["illness"].split()[1]) > 6 else "frequent"}
            for person in townspeople(400, seed)
        ]
        replay = Service(town_policy(engine=engine)).release(people)
        release = Service(town_policy(distinct_l=2, engine=engine)).release(people)
        published = crowds_of(release, people)
        for rows in classes_of(release):
            assert len({people[row]["illness"] for row in rows}) >= 2
        for rows in classes_of(replay):
            values = Counter(people[row]["illness"] for row in rows)
            crowd = tuple(sorted((people[row]["age"], people[row]["home"], people[row]["sex"]) for row in rows))
            total += 1
            alike += len(values) == 1
            if crowd not in published:
                vanished += 1
                alike_vanished += len(values) == 1
    assert vanished
    measured(
        f"k = 5, distinct_l = 2, {engine}: of the {vanished} classes that a replay without l finds and that were "
        f"not published {share(alike_vanished, vanished)} are of one value, of all that it finds "
        f"{share(alike, total)}"
    )
