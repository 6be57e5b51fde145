"""Arrival: do the classes show who came last, if they were prepared before the window ended?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from stream_anon.clustering.forest.arriving.schedule import LATE
from stream_anon.microdata.release import Release
from tests.attacks.conftest import Measured
from tests.attacks.town import HOMES, Person, Service, classes_of, crowds_of, share, town_policy, townspeople

WINDOW, WINDOWS = 1_000, 6
LATEST = int(LATE * WINDOW)
RATES = {"line": 20_000.0, "classes": 5_000.0}


def test_classes_that_nobody_prepared_tell_who_came_first() -> None:
    """Promised where nothing is prepared: the same people in another order form the same classes.

    Files, the library, backlogs and short windows are so.
    """
    people = townspeople(600)
    draws = np.random.default_rng(1)
    truth = crowds_of(Service(town_policy()).release(people), people)
    for _ in range(3):
        turned = [people[i] for i in draws.permutation(len(people)).tolist()]
        assert crowds_of(Service(town_policy()).release(turned), turned) == truth


@pytest.mark.parametrize("way", RATES)
def test_the_classes_tell_who_came_last(way: str, measured: Measured) -> None:
    """Not promised: who came after the line was laid or the classes were formed.

    The attacker is told all classes and everybody's quasi-identifiers. He names those who stick out most from
    classes with many rows; or he replays the engine from scratch and names those whose company is not the one he
    finds. More than six times what chance gives him would be worth an alarm.
    """
    names = {"by the rim": 0, "by a replay": 0}
    for seed in range(WINDOWS):
        service, replay = (Service(town_policy(), seed) for _ in range(2))
        before, people = townspeople(WINDOW, 1_000 + seed), townspeople(WINDOW, seed)
        service.release(before)  # the order is learned from this one
        replay.release(before)
        release = service.release_as_they_come(people, RATES[way])
        latest = range(WINDOW - LATEST, WINDOW)
        rim = _sticking_out(release, people)[:LATEST]
        company = _in_other_company(release, replay.release(people))[:LATEST]
        names["by the rim"] += len(set(rim.tolist()) & set(latest))
        names["by a replay"] += len(set(company.tolist()) & set(latest))
    for how, found in names.items():
        assert found < 6 * LATE * LATEST * WINDOWS
        measured(
            f"{way}: of the {100 * LATE:.0f} % of a window that the attacker names {how} "
            f"{share(found, LATEST * WINDOWS)} did come last (by chance {100 * LATE:.1f} %)"
        )


def _in_other_company(release: Release, replay: Release) -> np.ndarray:
    """Return the rows, those first whose class shares least with the one of a replay."""
    published, found = release.class_of_row, replay.class_of_row
    alike = np.array(
        [
            ((published == own) & (found == other)).sum() / ((published == own) | (found == other)).sum()
            for own, other in zip(published, found, strict=True)
        ]
    )
    return np.argsort(alike, kind="stable")


def _sticking_out(release: Release, people: Sequence[Person]) -> np.ndarray:
    """Return the rows, those first that stick out most from classes with most rows."""
    score = np.zeros(len(people))
    for rows in classes_of(release):
        ages = sorted(people[row]["age"] for row in rows)
        homes, sexes = (Counter(people[row][name] for row in rows) for name in ("home", "sex"))
        for row in rows:
            age = people[row]["age"]
            others = [other for other in ages if other != age] if ages.count(age) == 1 else ages
            saved = (ages[-1] - ages[0] - (others[-1] - others[0])) / 100
            saved += (homes[people[row]["home"]] == 1 and len(homes) > 1) / len(HOMES)
            saved += (sexes[people[row]["sex"]] == 1 and len(sexes) > 1) / 3
            score[row] = saved * len(rows)
    return np.argsort(-score, kind="stable")
