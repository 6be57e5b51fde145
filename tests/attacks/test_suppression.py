"""Suppression: does the absence of records from the output reveal anything about the people they belong to?"""

from __future__ import annotations

from collections import Counter

import numpy as np

from stream_anon.microdata.release import Suppression
from tests.attacks.conftest import Measured
from tests.attacks.town import Person, Service, share, town_policy, townspeople


def _heavy_town() -> list[Person]:
    """Return a window in which one person has more records than all others together."""
    people = townspeople(30, seed=4)
    return [*people, *(people[0] for _ in range(60))]


def test_who_is_suppressed_does_not_depend_on_sensitive_values() -> None:
    """Promised: without l, what is suppressed follows from quasi-identifiers and individuals alone."""
    window = _heavy_town()
    release = Service(town_policy()).release(window)
    missing = set(np.flatnonzero(release.class_of_row < 0).tolist())
    assert missing
    assert {window[row]["person"] for row in missing} == {window[0]["person"]}
    draws = np.random.default_rng(0)
    for _ in range(5):
        ill = draws.permutation([person["illness"] for person in window])
        changed = [{**person, "illness": str(one)} for person, one in zip(window, ill, strict=True)]
        again = Service(town_policy()).release(changed)
        assert set(np.flatnonzero(again.class_of_row < 0).tolist()) == missing


def test_a_window_that_is_missing_for_want_of_values_tells_that_there_was_one(measured: Measured) -> None:
    """Not promised: with l, a whole window is kept back where it shows fewer than l values.

    Who knows that k people were in it, and that nothing came out, knows that they were alike. Promised is that
    nothing of it is published. Measured with nine of ten people of one illness and windows of as few people as
    quiet nights have; a longer `max_delay`, or `least_people` with `hold`, makes such windows rare.
    """
    missing = right = windows = guessed = 0
    draws = np.random.default_rng(3)
    for seed in range(200):
        ill = ["frequent" if one else "rare" for one in draws.random(10) < 0.9]
        window = [{**p, "illness": ill[i]} for i, p in enumerate(townspeople(10, seed))]
        release = Service(town_policy(distinct_l=2)).release(window)
        windows += 1
        guessed += ill.count("frequent")
        if not release.released:
            assert release.suppressed == {Suppression.SHORTFALL: 10}
            missing += 1
            right += Counter(ill).most_common(1)[0][1] == 10
    assert right == missing, "nothing else keeps back a window of ten people"
    measured(
        f"k = 5, distinct_l = 2, windows of ten people: {share(missing, windows)} of the windows are missing, and "
        f"of all their people the illness is known (guessing it: {share(guessed, 10 * windows)})"
    )


def test_the_output_does_not_say_how_much_is_missing() -> None:
    """Promised: what a window publishes looks alike, whether something of it was suppressed or not.

    Counts of suppressed records are in certificates, metrics and the status page, which readers do not get.
    """
    window = _heavy_town()
    release = Service(town_policy()).release(window)
    published = [window[row] for row in release.order.tolist()]
    alone = Service(town_policy()).release(published)
    assert not alone.suppressed
    assert alone.released == release.released
    assert Counter(alone.classes.records.tolist()) == Counter(release.classes.records.tolist())
    assert sorted(map(str, alone.classes.values)) == sorted(map(str, release.classes.values))
