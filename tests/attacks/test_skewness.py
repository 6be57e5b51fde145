"""Skewness: a class shows l values and still reveals more than the window does (Li et al., ICDE 2007)."""

from __future__ import annotations

from collections import Counter
from math import log

import pytest

from stream_anon.microdata.diversity import Closeness, Diversity, Recursion
from tests.attacks.conftest import Measured
from tests.attacks.town import (
    ENGINES,
    FULL_DOMAIN,
    Service,
    crowds_of,
    ordered_crowds,
    share,
    town_policy,
    townspeople,
    values_of,
)

ASKED = {
    "distinct_l 3": Diversity(3),
    "entropy_l 3": Diversity(entropy_l=3),
    "recursive (2, 2)": Diversity(recursive_cl=Recursion(2, 2)),
    "alpha 0.4": Diversity(alpha=0.4),
    "t 0.3": Diversity(t_closeness=Closeness(0.3)),
    "delta 2": Diversity(delta_disclosure=2),
    "beta 1": Diversity(beta_likeness=1),
}


def _promised(values: Counter[str], whole: Counter[str], asked: Diversity) -> bool:
    """Return whether a class meets the criterion, counted in the plainest way."""
    heights, n = sorted(values.values(), reverse=True), values.total()
    ratios = {v: values[v] / n / (whole[v] / whole.total()) for v in whole}
    over = sum(max(0.0, values[v] / n - whole[v] / whole.total()) for v in whole)
    return (
        len(heights) >= asked.values
        and (asked.entropy_l is None or -sum(h / n * log(h / n) for h in heights) >= log(asked.entropy_l) - 1e-9)
        and (
            asked.recursive_cl is None
            or heights[0] < asked.recursive_cl.c * sum(heights[asked.recursive_cl.l - 1 :])
        )
        and (asked.alpha is None or heights[0] <= asked.alpha * n)
        and (asked.t_closeness is None or over <= asked.t_closeness.t + 1e-9)
        and (
            asked.delta_disclosure is None
            or all(values[v] and abs(log(ratio)) < asked.delta_disclosure for v, ratio in ratios.items())
        )
        and (asked.beta_likeness is None or max(ratios.values()) - 1 <= asked.beta_likeness + 1e-9)
    )


@pytest.mark.parametrize("name", ASKED)
def test_no_class_tells_more_than_the_criterion_allows(name: str, measured: Measured) -> None:
    """Promised: every class meets the criterion. Measured: how much surer a class makes one than the window."""
    people = townspeople(600)
    for engine in ENGINES:
        release = Service(town_policy(diversity=ASKED[name], engine=engine)).release(people)
        classes = values_of(release, people)
        whole = sum(classes, Counter[str]())
        if engine == FULL_DOMAIN and not classes:
            continue  # on its levels no group of this town is large enough
        assert classes
        assert all(_promised(values, whole, ASKED[name]) for values in classes)
        guessed = sum(max(values.values()) for values in classes)
        factor = max(
            count / values.total() / (whole[v] / whole.total()) for values in classes for v, count in values.items()
        )
        most = max(max(values.values()) / values.total() for values in classes)
        measured(
            f"{name}, {engine}, GCP {release.gcp:.2f}: the most frequent value of a class is right for "
            f"{share(guessed, whole.total())}, has {100 * most:.0f} % of a class at most; a value is up to "
            f"{factor:.0f} times as frequent as in the window"
        )


def test_classes_that_closeness_forbade_tell_how_they_were_spread(measured: Measured) -> None:
    """Not promised (minimality): a replay of the engine without a criterion shows which classes it changed."""
    for name, asked in ASKED.items():
        total = skewed = vanished = skewed_vanished = 0
        for seed in range(4):
            people = townspeople(300, seed)
            replay = Service(town_policy()).release(people)
            published = crowds_of(Service(town_policy(diversity=asked)).release(people), people)
            whole = Counter(person["illness"] for person in people)
            for values, crowd in zip(values_of(replay, people), ordered_crowds(replay, people), strict=True):
                unfit = not _promised(values, whole, asked)
                total += 1
                skewed += unfit
                if crowd not in published:
                    vanished += 1
                    skewed_vanished += unfit
        measured(
            f"{name}, replay without it: {share(vanished, total)} of the classes vanished; of these "
            f"{share(skewed_vanished, vanished)} were not as asked, of all {share(skewed, total)}"
        )
